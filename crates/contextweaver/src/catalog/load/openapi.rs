//! Reads OpenAPI 3.0 and 3.1: each operation becomes an item. Nothing is called or fetched.

use serde_json::{Map, Value};

use crate::catalog::load::CatalogEntry;
use crate::catalog::load::operation::Operation;
use crate::catalog::load::reference::ReferenceExpander;
use crate::catalog::printable;
use crate::error::CatalogError;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

pub(super) fn read(
    value: &Value,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, CatalogError> {
    let version = value.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("3.0") && !version.starts_with("3.1") {
        let found = value.get("swagger").and_then(Value::as_str).unwrap_or(version);
        return Err(CatalogError::OpenApi { found: printable(found) });
    }
    let paths = value.get("paths").and_then(Value::as_object);
    // OpenAPI 3.1 allows a document without `paths`; it has no operations.
    let no_paths = Map::new();
    let paths = match (paths, value.get("paths")) {
        (Some(paths), _) => paths,
        (None, None) => &no_paths,
        (None, Some(_)) => return Err(CatalogError::MissingList { wanted: "an object `paths`" }),
    };
    let title = value.pointer("/info/title").and_then(Value::as_str).unwrap_or_default();
    let namespace = namespace.map_or_else(|| slug(title), str::to_owned);
    let mut expander = ReferenceExpander::new(value);
    let mut entries = Vec::new();
    for (path, item) in paths {
        let item = expander.resolve(item);
        let path_parameters = item.get("parameters").and_then(Value::as_array);
        for method in METHODS {
            let Some(operation) = item.get(method).filter(|value| value.is_object()) else {
                continue;
            };
            let place = format!("{} {}", method.to_uppercase(), printable(path));
            let operation = Operation { method, path, value: operation, path_parameters };
            entries.push(CatalogEntry {
                location: place,
                item: operation.to_item(&namespace, &mut expander),
            });
        }
    }
    Ok(entries)
}

/// Turns a title into an id prefix: `Pet Store (v2)` becomes `pet_store_v2`.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.map(str::to_lowercase).collect::<Vec<_>>().join("_");
    slug.chars().take(48).collect()
}
