//! Reads the lists of an MCP server: tools, prompts and resources.

use serde_json::{Value, json};
use weaver_types::formats::{self, ToolFormat};

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
        return Err(CatalogError::MissingList { wanted: "`tools`, `prompts` or `resources`" });
    }
    let mut entries = Vec::new();
    let read_tool: fn(&Value, Option<&str>) -> Result<SelectableItem, CatalogError> = tool_item;
    for (kind, list, read) in [
        ("tool", tools, read_tool),
        ("prompt", prompts, prompt_item),
        ("resource", resources, resource_item),
        ("resource template", templates, resource_item),
    ] {
        let list = list.into_iter().flatten().enumerate();
        entries.extend(list.map(|(index, entry)| {
            let place = format!("{kind} {index}");
            CatalogEntry { location: place, item: read(entry, namespace) }
        }));
    }
    Ok(entries)
}

fn tool_item(tool: &Value, namespace: Option<&str>) -> Result<SelectableItem, CatalogError> {
    let list = Value::Array(vec![tool.clone()]);
    let draft = formats::drafts_from_tools(ToolFormat::Mcp, namespace, &list).into_iter().next();
    let draft = draft.ok_or(CatalogError::MissingList { wanted: "a tool" })?;
    let draft = draft.map_err(CatalogError::Import)?;
    let mut item = SelectableItem::from(&draft);
    item.namespace = namespace.unwrap_or_default().to_owned();
    // Without annotations the effects are unknown. Given annotations are completed with MCP's
    // defaults.
    item.effects = tool.get("annotations").and_then(Value::as_object).map(|_| draft.effects);
    Ok(item)
}

fn prompt_item(prompt: &Value, namespace: Option<&str>) -> Result<SelectableItem, CatalogError> {
    let mut item = base_item(prompt, "name", namespace)?;
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

fn resource_item(
    resource: &Value,
    namespace: Option<&str>,
) -> Result<SelectableItem, CatalogError> {
    let key = if resource.get("uri").is_some() { "uri" } else { "uriTemplate" };
    let mut item = base_item(resource, key, namespace)?;
    item.kind = ItemKind::Resource;
    Ok(item)
}

/// The parts that prompts and resources have in common. The namespace keeps the ids of several
/// servers apart.
fn base_item(
    value: &Value,
    id_key: &'static str,
    namespace: Option<&str>,
) -> Result<SelectableItem, CatalogError> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let source_id = text(id_key).ok_or(CatalogError::Missing { field: id_key })?;
    let id = match namespace {
        Some(namespace) => format!("{namespace}.{source_id}"),
        None => source_id.to_owned(),
    };
    let name = text("title").or(text("name")).unwrap_or_default();
    let mut item =
        SelectableItem::from_source_id(&id, name, text("description").unwrap_or_default())?;
    item.namespace = namespace.unwrap_or_default().to_owned();
    Ok(item)
}
