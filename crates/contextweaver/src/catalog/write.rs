//! Writes a catalog in one of the file formats.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weaver_types::CapabilityDraft;
use weaver_types::formats::{ToolFormat, ToolSet, ToolSetOptions};

use crate::catalog::load::CatalogFormat;
use crate::catalog::{Catalog, ItemKind, item_json};
use crate::error::CatalogError;

/// A catalog as text, with notes on what the format could not express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenCatalog {
    /// The text, ending in a line break.
    pub text: String,
    /// What was left out or changed; each note names its item.
    pub notes: Vec<String>,
}

/// Writes a catalog in a format. Our own formats hold everything; provider formats hold only tools.
///
/// # Errors
/// [`CatalogError`] if the format can only be read (OpenAPI, skills), or if an item cannot be a
/// capability (a name that no provider accepts, a description that is too long).
pub fn write(catalog: &Catalog, format: CatalogFormat) -> Result<WrittenCatalog, CatalogError> {
    let item_values = || catalog.iter().map(item_json::to_json).collect::<Vec<Value>>();
    let text = match (format, format.provider_format()) {
        (_, Some(provider)) => return write_tools(catalog, provider),
        (CatalogFormat::Json, _) => pretty_json(&Value::Array(item_values()))?,
        (CatalogFormat::JsonLines, _) => {
            item_values().iter().fold(String::new(), |out, item| out + &item.to_string() + "\n")
        }
        (CatalogFormat::Yaml, _) => {
            let mut out = String::new();
            write_yaml(&Value::Array(item_values()), 0, &mut out);
            out
        }
        _ => return Err(CatalogError::ReadOnly { format: format.as_str() }),
    };
    Ok(WrittenCatalog { text, notes: Vec::new() })
}

fn pretty_json(value: &Value) -> Result<String, CatalogError> {
    Ok(serde_json::to_string_pretty(value).map_err(CatalogError::NotJson)? + "\n")
}

fn write_tools(catalog: &Catalog, format: ToolFormat) -> Result<WrittenCatalog, CatalogError> {
    let mut notes = Vec::new();
    let mut capabilities = Vec::new();
    for item in catalog.iter() {
        if matches!(item.kind, ItemKind::Prompt | ItemKind::Resource | ItemKind::Skill) {
            notes.push(format!("`{}` is a {} and no tool: left out", item.id, item.kind));
            continue;
        }
        capabilities.push(CapabilityDraft::from(item).build().map_err(CatalogError::Capability)?);
    }
    let set = ToolSet::new(format, &capabilities, ToolSetOptions::default())
        .map_err(CatalogError::Name)?;
    notes.extend(
        set.limitations()
            .iter()
            .map(|note| format!("`{}`{}: {}", note.capability, note.place, note.text)),
    );
    let definitions = Value::Array(set.definitions().to_vec());
    let document = match format {
        ToolFormat::Mcp => json!({ "tools": definitions }),
        ToolFormat::Gemini => json!([{ "functionDeclarations": definitions }]),
        _ => definitions,
    };
    Ok(WrittenCatalog { text: pretty_json(&document)?, notes })
}

/// Writes block-style YAML. Strings are quoted as in JSON, which YAML reads with the same meaning.
fn write_yaml(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    // Writing to a string cannot fail.
    match value {
        Value::Array(list) if !list.is_empty() => {
            for inner in list {
                let _ = write!(out, "{pad}-");
                write_yaml_member(inner, indent, out);
            }
        }
        Value::Object(map) if !map.is_empty() => {
            for (key, inner) in map {
                let _ = write!(out, "{pad}{}:", quoted_for_yaml(key));
                write_yaml_member(inner, indent, out);
            }
        }
        Value::String(text) => {
            let _ = writeln!(out, "{pad}{}", quoted_for_yaml(text));
        }
        other => {
            let _ = writeln!(out, "{pad}{other}");
        }
    }
}

fn write_yaml_member(inner: &Value, indent: usize, out: &mut String) {
    let nested = match inner {
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    };
    if nested {
        out.push('\n');
        write_yaml(inner, indent + 2, out);
    } else {
        out.push(' ');
        write_yaml(inner, 0, out);
    }
}

/// A JSON string in which characters that YAML does not allow are escaped.
fn quoted_for_yaml(text: &str) -> String {
    let json = Value::String(text.to_owned()).to_string();
    json.chars().fold(String::with_capacity(json.len()), |mut out, c| {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
        out
    })
}
