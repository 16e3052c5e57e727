//! The lists of an MCP server: tools, prompts and resources.

use serde_json::{Value, json};
use weaver_types::formats::{self, Format};

use crate::catalog::load::CatalogEntry;
use crate::catalog::{ItemKind, SelectableItem};
use crate::error::CatalogError;

pub(super) fn read(
    value: &Value,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, CatalogError> {
    let inner = value.get("result").unwrap_or(value);
    let list = |key: &str| inner.get(key).and_then(Value::as_array);
    let tools = list("tools").or_else(|| inner.as_array());
    let (prompts, resources) = (list("prompts"), list("resources"));
    let templates = list("resourceTemplates");
    if [tools, prompts, resources, templates].iter().all(Option::is_none) {
        return Err(CatalogError::NoList { wanted: "`tools`, `prompts` or `resources`" });
    }
    let mut entries = Vec::new();
    let read_tool: fn(&Value, Option<&str>) -> Result<SelectableItem, CatalogError> = tool;
    for (kind, list, read) in [
        ("tool", tools, read_tool),
        ("prompt", prompts, prompt),
        ("resource", resources, resource),
        ("resource template", templates, resource),
    ] {
        let list = list.into_iter().flatten().enumerate();
        entries.extend(list.map(|(at, one)| {
            let place = format!("{kind} {at}");
            CatalogEntry { place, item: read(one, namespace) }
        }));
    }
    Ok(entries)
}

fn tool(tool: &Value, namespace: Option<&str>) -> Result<SelectableItem, CatalogError> {
    let list = Value::Array(vec![tool.clone()]);
    let draft = formats::drafts(Format::Mcp, namespace, &list).into_iter().next();
    let draft = draft.ok_or(CatalogError::NoList { wanted: "a tool" })?;
    let draft = draft.map_err(CatalogError::Import)?;
    let mut item = SelectableItem::from(&draft);
    item.namespace = namespace.unwrap_or_default().to_owned();
    // Nothing said is unknown, and shown as such; what is said is read with MCP's defaults.
    item.effects = tool.get("annotations").and_then(Value::as_object).map(|_| draft.effects);
    Ok(item)
}

fn prompt(prompt: &Value, namespace: Option<&str>) -> Result<SelectableItem, CatalogError> {
    let mut item = described(prompt, "name", namespace)?;
    item.kind = ItemKind::Prompt;
    let arguments = prompt.get("arguments").and_then(Value::as_array);
    let arguments = arguments.into_iter().flatten();
    let properties: serde_json::Map<String, Value> = arguments
        .filter_map(|argument| {
            let description = argument.get("description").and_then(Value::as_str);
            let schema =
                json!({ "type": "string", "description": description.unwrap_or_default() });
            Some((argument.get("name")?.as_str()?.to_owned(), schema))
        })
        .collect();
    if !properties.is_empty() {
        item = item.with_schema(&json!({ "type": "object", "properties": properties }));
    }
    Ok(item)
}

fn resource(resource: &Value, namespace: Option<&str>) -> Result<SelectableItem, CatalogError> {
    let key = if resource.get("uri").is_some() { "uri" } else { "uriTemplate" };
    let mut item = described(resource, key, namespace)?;
    item.kind = ItemKind::Resource;
    Ok(item)
}

/// What prompts and resources have in common. The namespace keeps those of several servers apart.
fn described(
    value: &Value,
    id_key: &'static str,
    namespace: Option<&str>,
) -> Result<SelectableItem, CatalogError> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let named = text(id_key).ok_or(CatalogError::Missing { field: id_key })?;
    let id = match namespace {
        Some(namespace) => format!("{namespace}.{named}"),
        None => named.to_owned(),
    };
    let name = text("title").or(text("name")).unwrap_or_default();
    let mut item = SelectableItem::named(&id, name, text("description").unwrap_or_default())?;
    item.namespace = namespace.unwrap_or_default().to_owned();
    Ok(item)
}
