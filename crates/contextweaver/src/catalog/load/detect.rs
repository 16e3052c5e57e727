//! Detects the format of a catalog.

use serde_json::Value;

use crate::catalog::load::CatalogFormat;
use crate::error::CatalogError;

/// Guesses the format of a text from its first lines: JSON Lines, a skill, YAML, or some kind of
/// JSON.
pub(super) fn format_of_text(text: &str) -> CatalogFormat {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    if first == "---" && lines.any(|line| line == "---") {
        return CatalogFormat::Skill;
    }
    if first.starts_with('{') {
        let object = serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok();
        let has_more_lines = text.lines().filter(|line| !line.trim().is_empty()).nth(1).is_some();
        return if object && has_more_lines {
            CatalogFormat::JsonLines
        } else {
            CatalogFormat::Json
        };
    }
    match first.starts_with('[') || first.is_empty() {
        true => CatalogFormat::Json,
        false => CatalogFormat::Yaml,
    }
}

/// Guesses the format of a value from its keys and those of its entries.
pub(super) fn format_of_value(value: &Value) -> Result<CatalogFormat, CatalogError> {
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
    let tools = inner.get("tools");
    if value.get("id").is_some_and(Value::is_string) && tools.is_none() {
        return Ok(CatalogFormat::Json);
    }
    let list = tools.unwrap_or(inner).as_array();
    let list = list.ok_or(CatalogError::MissingList { wanted: "a list of items or tools" })?;
    let fallback = if tools.is_some() { CatalogFormat::Mcp } else { CatalogFormat::Json };
    Ok(list.iter().find_map(format_of_entry).unwrap_or(fallback))
}

fn format_of_entry(entry: &Value) -> Option<CatalogFormat> {
    let has_key = |key: &str| entry.get(key).is_some();
    let is_function = entry.get("type").and_then(Value::as_str) == Some("function");
    let format = if has_key("functionDeclarations") || has_key("parametersJsonSchema") {
        CatalogFormat::Gemini
    } else if is_function && has_key("function") {
        CatalogFormat::OpenAi
    } else if is_function {
        CatalogFormat::OpenAiResponses
    } else if has_key("id") {
        CatalogFormat::Json
    } else if has_key("inputSchema") {
        CatalogFormat::Mcp
    } else if has_key("input_schema") {
        CatalogFormat::Anthropic
    } else if has_key("parameters") && has_key("name") {
        CatalogFormat::Gemini
    } else {
        return None;
    };
    Some(format)
}
