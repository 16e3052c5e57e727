//! OpenAPI 3.0 and 3.1: each operation becomes an item. Nothing is called, nothing is fetched.

use serde_json::{Map, Value};

use crate::catalog::load::CatalogEntry;
use crate::catalog::load::operation::Operation;
use crate::catalog::load::reference::Expander;
use crate::catalog::shown;
use crate::error::CatalogError;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

pub(super) fn read(
    value: &Value,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, CatalogError> {
    let version = value.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("3.0") && !version.starts_with("3.1") {
        let found = value.get("swagger").and_then(Value::as_str).unwrap_or(version);
        return Err(CatalogError::OpenApi { found: shown(found) });
    }
    let paths = value.get("paths").and_then(Value::as_object);
    // 3.1 allows a document without paths; it has no operations then.
    let none = Map::new();
    let paths = match (paths, value.get("paths")) {
        (Some(paths), _) => paths,
        (None, None) => &none,
        (None, Some(_)) => return Err(CatalogError::NoList { wanted: "an object `paths`" }),
    };
    let title = value.pointer("/info/title").and_then(Value::as_str).unwrap_or_default();
    let namespace = namespace.map_or_else(|| slug(title), str::to_owned);
    let mut expander = Expander::new(value);
    let mut entries = Vec::new();
    for (path, item) in paths {
        let item = expander.resolved(item);
        let shared = item.get("parameters").and_then(Value::as_array);
        for method in METHODS {
            let Some(operation) = item.get(method).filter(|value| value.is_object()) else {
                continue;
            };
            let place = format!("{} {}", method.to_uppercase(), shown(path));
            let operation = Operation { method, path, value: operation, shared };
            entries.push(CatalogEntry { place, item: operation.item(&namespace, &mut expander) });
        }
    }
    Ok(entries)
}

/// A title as the beginning of an id: `Pet Store (v2)` is `pet_store_v2`.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.map(str::to_lowercase).collect::<Vec<_>>().join("_");
    slug.chars().take(48).collect()
}
