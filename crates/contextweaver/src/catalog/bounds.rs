//! Limits on the size of an item.

use serde_json::{Map, Value};
use weaver_types::canonical::{self, Profile};

use crate::catalog::{SelectableItem, printable};
use crate::error::CatalogError;

const MAX_NAME: usize = 512;
const MAX_TEXT: usize = 64 * 1024;
const MAX_LIST: usize = 1024;

/// The largest schema, in bytes as canonical JSON.
pub const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// The deepest schema, in levels of objects and arrays.
pub const MAX_SCHEMA_DEPTH: usize = 32;
/// The most properties in one schema, at all levels together.
pub const MAX_SCHEMA_PROPERTIES: usize = 512;

impl SelectableItem {
    /// Checks every size limit of the item.
    ///
    /// # Errors
    /// [`CatalogError::TooLarge`] or [`CatalogError::Schema`], with the item, the field and the
    /// remedy.
    pub fn check_bounds(&self) -> Result<(), CatalogError> {
        let parameters: usize =
            self.parameters.iter().map(|p| p.name.len() + p.description.len()).sum();
        let text = self.description.len() + total_bytes(&self.tags) + total_bytes(&self.examples);
        let links = total_bytes(&self.provides) + total_bytes(&self.requires);
        self.check_size("the name", self.name.len(), "bytes", MAX_NAME)?;
        self.check_size("the namespace", self.namespace.len(), "bytes", MAX_NAME)?;
        self.check_size("the text", text, "bytes", MAX_TEXT)?;
        self.check_size("the parameter text", parameters, "bytes", MAX_TEXT)?;
        self.check_size("`provides` and `requires`", links, "bytes", MAX_TEXT)?;
        for (field, count) in [
            ("the list of tags", self.tags.len()),
            ("the list of parameters", self.parameters.len()),
            ("the list of examples", self.examples.len()),
            ("`depends_on`", self.depends_on.len()),
            ("`provides`", self.provides.len()),
            ("`requires`", self.requires.len()),
        ] {
            self.check_size(field, count, "entries", MAX_LIST)?;
        }
        for (field, schema) in [("schema", &self.schema), ("output_schema", &self.output_schema)] {
            if let Some(schema) = schema {
                self.check_schema(field, schema)?;
            }
        }
        self.check_constraints_and_metadata()
    }

    fn check_schema(&self, field: &'static str, schema: &Value) -> Result<(), CatalogError> {
        let id = || printable(self.id.as_str());
        if !schema.is_object() && !schema.is_boolean() {
            let problem = "is neither an object nor a boolean".to_owned();
            return Err(CatalogError::Schema { id: id(), field, problem });
        }
        let SchemaSize { depth, properties } = SchemaSize::of(schema);
        self.check_size(field, depth, "levels", MAX_SCHEMA_DEPTH)?;
        self.check_size(field, properties, "properties", MAX_SCHEMA_PROPERTIES)?;
        let bytes = canonical::to_bytes(schema, Profile::Foreign).map_err(|error| {
            let problem = format!("cannot be written as canonical JSON: {error}");
            CatalogError::Schema { id: id(), field, problem }
        })?;
        self.check_size(field, bytes.len(), "bytes", MAX_SCHEMA_BYTES)
    }

    /// Bounds these maps too, although they are neither searched nor shown: they still take memory.
    fn check_constraints_and_metadata(&self) -> Result<(), CatalogError> {
        let mut size = 0;
        for (field, map) in [("constraints", &self.constraints), ("metadata", &self.metadata)] {
            let depth =
                map.values().map(|value| SchemaSize::of(value).depth).max().unwrap_or(0) + 1;
            self.check_size(field, depth, "levels", MAX_SCHEMA_DEPTH)?;
            size += json_bytes(map);
        }
        self.check_size("`constraints` and `metadata`", size, "bytes", MAX_TEXT)
    }

    fn check_size(
        &self,
        field: &'static str,
        size: usize,
        unit: &'static str,
        max: usize,
    ) -> Result<(), CatalogError> {
        if size <= max {
            return Ok(());
        }
        Err(CatalogError::TooLarge { id: printable(self.id.as_str()), field, size, unit, max })
    }
}

fn json_bytes(map: &Map<String, Value>) -> usize {
    if map.is_empty() { 0 } else { serde_json::to_string(map).map_or(usize::MAX / 4, |t| t.len()) }
}

fn total_bytes<'a>(texts: impl IntoIterator<Item = &'a String>) -> usize {
    texts.into_iter().map(String::len).sum()
}

/// The depth of a JSON value, and the number of properties that it declares.
pub(super) struct SchemaSize {
    pub(super) depth: usize,
    pub(super) properties: usize,
}

impl SchemaSize {
    /// Uses an explicit stack instead of recursion: a value built in code may be nested arbitrarily
    /// deep.
    pub(super) fn of(value: &Value) -> Self {
        let mut this = Self { depth: 0, properties: 0 };
        let mut pending = vec![(value, 1)];
        while let Some((value, level)) = pending.pop() {
            match value {
                Value::Object(map) => {
                    this.depth = this.depth.max(level);
                    if let Some(Value::Object(properties)) = map.get("properties") {
                        this.properties += properties.len();
                    }
                    pending.extend(map.values().map(|inner| (inner, level + 1)));
                }
                Value::Array(list) => {
                    this.depth = this.depth.max(level);
                    pending.extend(list.iter().map(|inner| (inner, level + 1)));
                }
                _ => {}
            }
        }
        this
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::CapabilityId;

    use super::*;

    fn with(schema: &Value) -> Result<(), CatalogError> {
        let id = CapabilityId::parse("a.b").unwrap();
        SelectableItem::new(id, "b", "").with_schema(schema).check_bounds()
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({}), |inner, _| json!({ "items": inner }))
    }

    fn wide(count: usize) -> Value {
        let all: Map<String, Value> = (0..count).map(|n| (format!("p{n}"), json!({}))).collect();
        json!({ "properties": all })
    }

    #[test]
    fn schemas_are_bounded_in_depth_properties_and_bytes() {
        assert!(with(&nested(MAX_SCHEMA_DEPTH)).is_ok());
        assert!(with(&wide(MAX_SCHEMA_PROPERTIES)).is_ok());
        let long = |n: usize| json!({ "description": "x".repeat(n) });
        let room = MAX_SCHEMA_BYTES - r#"{"description":""}"#.len();
        assert!(with(&long(room)).is_ok());
        for (schema, said) in [
            (nested(MAX_SCHEMA_DEPTH + 1), "schema of `a.b` has 33 levels, at most 32"),
            (wide(MAX_SCHEMA_PROPERTIES + 1), "schema of `a.b` has 513 properties, at most 512"),
            (long(room + 1), "schema of `a.b` has 65537 bytes, at most 65536"),
            (json!("text"), "schema of `a.b` is neither an object nor a boolean"),
        ] {
            let error = with(&schema).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn what_is_not_searched_is_bounded_too() {
        let mut item = SelectableItem::new(CapabilityId::parse("a").unwrap(), "", "");
        item.metadata.insert("x".to_owned(), json!("y".repeat(MAX_TEXT)));
        assert_eq!(item.check_bounds().unwrap_err().code(), "catalog.too_large");
        item.metadata = Map::from_iter([("x".to_owned(), nested(MAX_SCHEMA_DEPTH))]);
        assert!(item.check_bounds().unwrap_err().to_string().contains("metadata"));
    }
}
