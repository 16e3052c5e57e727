//! The JSON form of an item in Weaver's own catalog files.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use weaver_types::Effects;

use crate::catalog::SelectableItem;
use crate::catalog::printable;
use crate::error::CatalogError;

/// The keys of an item that are read. The file may come from elsewhere, so other keys are ignored.
#[derive(Deserialize)]
pub(super) struct ItemJson {
    id: String,
    kind: Option<String>,
    name: Option<String>,
    description: Option<String>,
    namespace: Option<String>,
    tags: Option<Vec<String>>,
    #[serde(alias = "args_schema", alias = "input_schema", alias = "inputSchema")]
    schema: Option<Value>,
    #[serde(alias = "outputSchema")]
    output_schema: Option<Value>,
    examples: Option<Vec<Value>>,
    effects: Option<Value>,
    side_effects: Option<bool>,
    cost_hint: Option<f64>,
    depends_on: Option<Vec<String>>,
    provides: Option<Vec<String>>,
    requires: Option<Vec<String>>,
    constraints: Option<Map<String, Value>>,
    metadata: Option<Map<String, Value>>,
}

impl ItemJson {
    pub(super) fn into_item(self) -> Result<SelectableItem, CatalogError> {
        let id = printable(&self.id);
        let name = self.name.unwrap_or_default();
        let mut item =
            SelectableItem::from_source_id(&self.id, name, self.description.unwrap_or_default())?;
        item.kind = self.kind.as_deref().map_or(Ok(item.kind), str::parse)?;
        item.namespace = self.namespace.unwrap_or_default();
        item.tags = self.tags.unwrap_or_default();
        item.examples = self.examples.unwrap_or_default().into_iter().map(example_text).collect();
        item.effects = match self.effects {
            // `side_effects: true` says that the item writes, but not where, so the wider
            // reach is assumed. `false` is often written without thought, so it counts as undeclared.
            None | Some(Value::Null) => {
                self.side_effects.filter(|has_some| *has_some).map(|_| Effects::WRITE_OPEN)
            }
            Some(effects) => parse_effects(&effects, &id)?,
        };
        item.cost_hint = thousandths(self.cost_hint.unwrap_or_default(), &id)?;
        for other in self.depends_on.unwrap_or_default() {
            item.depends_on.insert(super::id_encoding::encode_id(&other)?.0);
        }
        item.provides = self.provides.unwrap_or_default().into_iter().collect();
        item.requires = self.requires.unwrap_or_default().into_iter().collect();
        item.constraints = self.constraints.unwrap_or_default();
        item.metadata = self.metadata.unwrap_or_default();
        item.output_schema = self.output_schema.filter(is_schema_given).map(Into::into);
        Ok(match self.schema.filter(is_schema_given) {
            Some(schema) => item.with_schema(&schema),
            None => item,
        })
    }
}

/// Whether a schema was given. Some catalogs write an empty object when there is none.
fn is_schema_given(schema: &Value) -> bool {
    !schema.is_null() && schema.as_object().is_none_or(|object| !object.is_empty())
}

fn example_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn parse_effects(value: &Value, id: &str) -> Result<Option<Effects>, CatalogError> {
    let known = match value {
        Value::String(word) if word == "undeclared" => Some(None),
        Value::String(word) => Effects::parse_shorthand(word).map(Some),
        other => Effects::deserialize(other).ok().map(Some),
    };
    known.ok_or_else(|| CatalogError::Effects { id: id.to_owned() })
}

/// A cost in thousandths.
fn thousandths(cost: f64, id: &str) -> Result<u64, CatalogError> {
    const MAX: f64 = 1e12;
    if !(0.0..=MAX).contains(&cost) {
        return Err(CatalogError::Cost { id: id.to_owned() });
    }
    // Within 0 and 10^15, which a double holds exactly.
    Ok((cost * 1000.0).round() as u64)
}

/// The keys of an item that are written. Empty values are left out.
#[derive(Serialize)]
struct WrittenItem<'a> {
    id: &'a str,
    kind: &'a str,
    name: &'a str,
    description: &'a str,
    namespace: &'a str,
    tags: &'a [String],
    schema: Option<&'a Value>,
    output_schema: Option<&'a Value>,
    examples: &'a [String],
    effects: Option<Effects>,
    cost_hint: Option<Value>,
    depends_on: Vec<&'a str>,
    provides: Vec<&'a String>,
    requires: Vec<&'a String>,
    constraints: &'a Map<String, Value>,
    metadata: &'a Map<String, Value>,
}

/// The item as a JSON object that [`ItemJson`] reads back. If the item has no schema, one is made of
/// its parameters.
pub(super) fn to_json(item: &SelectableItem) -> Value {
    let from_parameters = parameters_schema(item);
    let form = WrittenItem {
        id: item.source_id(),
        kind: item.kind.as_str(),
        name: &item.name,
        description: &item.description,
        namespace: &item.namespace,
        tags: &item.tags,
        schema: item.schema.as_deref().or(from_parameters.as_ref()),
        output_schema: item.output_schema.as_deref(),
        examples: &item.examples,
        effects: item.effects,
        cost_hint: cost_json(item.cost_hint),
        depends_on: item.depends_on.iter().map(|id| id.as_str()).collect(),
        provides: item.provides.iter().collect(),
        requires: item.requires.iter().collect(),
        constraints: &item.constraints,
        metadata: &item.metadata,
    };
    // Texts, numbers and values that are JSON already always serialise.
    let mut value = serde_json::to_value(form).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, value| key == "id" || key == "kind" || !is_empty(value));
    }
    value
}

fn parameters_schema(item: &SelectableItem) -> Option<Value> {
    if item.schema.is_some() || item.parameters.is_empty() {
        return None;
    }
    let all = item.parameters.iter();
    let properties: Map<String, Value> = all
        .map(|parameter| (parameter.name.clone(), json!({ "description": parameter.description })))
        .collect();
    Some(json!({ "type": "object", "properties": properties }))
}

fn cost_json(thousandths: u64) -> Option<Value> {
    if thousandths == 0 {
        return None;
    }
    if thousandths.is_multiple_of(1000) {
        return Some(json!(thousandths / 1000));
    }
    Some(json!(thousandths as f64 / 1000.0))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
