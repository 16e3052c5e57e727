//! A catalog in other forms.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weaver_types::CapabilityDraft;
use weaver_types::formats::{Format, Offer, ToolSet};

use crate::catalog::load::CatalogFormat;
use crate::catalog::{Catalog, ItemKind, form};
use crate::error::CatalogError;

/// A catalog as a text, and what the form could not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenCatalog {
    /// The text, ending in a line break.
    pub text: String,
    /// What was left out or changed, each naming its item.
    pub notes: Vec<String>,
}

/// Writes a catalog in a format. Our own formats hold everything; those of providers hold tools.
///
/// # Errors
/// [`CatalogError`]: OpenAPI and skills are read only; an item is no capability (no name that a
/// provider takes, a description that is too long).
pub fn write(catalog: &Catalog, format: CatalogFormat) -> Result<WrittenCatalog, CatalogError> {
    let all = || catalog.iter().map(form::written).collect::<Vec<Value>>();
    let text = match (format, format.provider()) {
        (_, Some(provider)) => return tools(catalog, provider),
        (CatalogFormat::Json, _) => pretty(&Value::Array(all()))?,
        (CatalogFormat::JsonLines, _) => {
            all().iter().fold(String::new(), |out, item| out + &item.to_string() + "\n")
        }
        (CatalogFormat::Yaml, _) => {
            let mut out = String::new();
            yaml(&Value::Array(all()), 0, &mut out);
            out
        }
        _ => return Err(CatalogError::ReadOnly { format: format.as_str() }),
    };
    Ok(WrittenCatalog { text, notes: Vec::new() })
}

fn pretty(value: &Value) -> Result<String, CatalogError> {
    Ok(serde_json::to_string_pretty(value).map_err(CatalogError::Text)? + "\n")
}

fn tools(catalog: &Catalog, format: Format) -> Result<WrittenCatalog, CatalogError> {
    let mut notes = Vec::new();
    let mut capabilities = Vec::new();
    for item in catalog.iter() {
        if matches!(item.kind, ItemKind::Prompt | ItemKind::Resource | ItemKind::Skill) {
            notes.push(format!("`{}` is a {} and no tool: left out", item.id, item.kind));
            continue;
        }
        capabilities.push(CapabilityDraft::from(item).build().map_err(CatalogError::Capability)?);
    }
    let set = ToolSet::new(format, &capabilities, Offer::default()).map_err(CatalogError::Name)?;
    notes.extend(
        set.notes()
            .iter()
            .map(|note| format!("`{}`{}: {}", note.capability, note.place, note.text)),
    );
    let definitions = Value::Array(set.definitions().to_vec());
    let whole = match format {
        Format::Mcp => json!({ "tools": definitions }),
        Format::Gemini => json!([{ "functionDeclarations": definitions }]),
        _ => definitions,
    };
    Ok(WrittenCatalog { text: pretty(&whole)?, notes })
}

/// Block style with quoted texts, which YAML reads as JSON does.
fn yaml(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    // Writing to a string cannot fail.
    match value {
        Value::Array(list) if !list.is_empty() => {
            for inner in list {
                let _ = write!(out, "{pad}-");
                member(inner, indent, out);
            }
        }
        Value::Object(map) if !map.is_empty() => {
            for (key, inner) in map {
                let _ = write!(out, "{pad}{}:", quoted(key));
                member(inner, indent, out);
            }
        }
        Value::String(text) => {
            let _ = writeln!(out, "{pad}{}", quoted(text));
        }
        other => {
            let _ = writeln!(out, "{pad}{other}");
        }
    }
}

fn member(inner: &Value, indent: usize, out: &mut String) {
    let nested = match inner {
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    };
    if nested {
        out.push('\n');
        yaml(inner, indent + 2, out);
    } else {
        out.push(' ');
        yaml(inner, 0, out);
    }
}

/// A JSON string without characters that YAML refuses in one.
fn quoted(text: &str) -> String {
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
