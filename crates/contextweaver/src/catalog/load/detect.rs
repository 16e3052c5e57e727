//! Detects the format of a catalog.

use serde_json::Value;

use crate::catalog::load::CatalogFormat;
use crate::error::CatalogError;

/// The format of a text, as far as its beginning tells: JSON lines, a skill, YAML, or some JSON.
pub(super) fn of_text(text: &str) -> CatalogFormat {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    if first == "---" && lines.any(|line| line == "---") {
        return CatalogFormat::Skill;
    }
    if first.starts_with('{') {
        let object = serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok();
        let more = text.lines().filter(|line| !line.trim().is_empty()).nth(1).is_some();
        return if object && more { CatalogFormat::JsonLines } else { CatalogFormat::Json };
    }
    match first.starts_with('[') || first.is_empty() {
        true => CatalogFormat::Json,
        false => CatalogFormat::Yaml,
    }
}

/// The format of a value, by its keys and those of its entries.
pub(super) fn of_value(value: &Value) -> Result<CatalogFormat, CatalogError> {
    if value.get("openapi").is_some() || value.get("swagger").is_some() {
        return Ok(CatalogFormat::OpenApi);
    }
    if value.get("items").is_some_and(Value::is_array) {
        return Ok(CatalogFormat::Json);
    }
    let inner = value.get("result").unwrap_or(value);
    if ["prompts", "resources", "resourceTemplates"].iter().any(|key| inner.get(key).is_some()) {
        return Ok(CatalogFormat::Mcp);
    }
    let listed = inner.get("tools");
    if value.get("id").is_some_and(Value::is_string) && listed.is_none() {
        return Ok(CatalogFormat::Json);
    }
    let list = listed.unwrap_or(inner).as_array();
    let list = list.ok_or(CatalogError::NoList { wanted: "a list of items or tools" })?;
    let otherwise = if listed.is_some() { CatalogFormat::Mcp } else { CatalogFormat::Json };
    Ok(list.iter().find_map(of_entry).unwrap_or(otherwise))
}

fn of_entry(entry: &Value) -> Option<CatalogFormat> {
    let has = |key: &str| entry.get(key).is_some();
    let function = entry.get("type").and_then(Value::as_str) == Some("function");
    let format = if has("functionDeclarations") || has("parametersJsonSchema") {
        CatalogFormat::Gemini
    } else if function && has("function") {
        CatalogFormat::OpenAi
    } else if function {
        CatalogFormat::OpenAiResponses
    } else if has("id") {
        CatalogFormat::Json
    } else if has("inputSchema") {
        CatalogFormat::Mcp
    } else if has("input_schema") {
        CatalogFormat::Anthropic
    } else if has("parameters") && has("name") {
        CatalogFormat::Gemini
    } else {
        return None;
    };
    Some(format)
}
