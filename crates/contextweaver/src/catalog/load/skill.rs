//! Reads a skill in the Agent Skills format: a `SKILL.md` with YAML front matter.

use serde_json::Value;

use crate::catalog::{ItemKind, SelectableItem};
use crate::error::CatalogError;

/// The longest front matter, in bytes.
const MAX_FRONT_MATTER: usize = 64 * 1024;

/// Splits a skill into its front matter and the text below it.
pub(super) fn split_front_matter(text: &str) -> Result<(&str, &str), CatalogError> {
    let malformed = |problem| Err(CatalogError::FrontMatter { problem });
    let Some(rest) = text
        .strip_prefix("---")
        .and_then(|rest| rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')))
    else {
        return malformed("it does not begin with a line `---`");
    };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let front_matter = rest.get(..end).unwrap_or_default();
            let body = rest.get(end + line.len()..).unwrap_or_default();
            return if end > MAX_FRONT_MATTER {
                malformed("it is longer than 64 KiB")
            } else {
                Ok((front_matter, body))
            };
        }
        end += line.len();
    }
    malformed("it has no second line `---`")
}

/// The item of a skill. Its instructions stay in the file; they are read when it is chosen.
pub(super) fn skill_item(
    front_matter: &Value,
    namespace: Option<&str>,
) -> Result<SelectableItem, CatalogError> {
    let text = |key: &str| front_matter.get(key).and_then(Value::as_str).map(str::trim);
    let required =
        |field| text(field).filter(|t| !t.is_empty()).ok_or(CatalogError::Missing { field });
    let (name, description) = (required("name")?, required("description")?);
    let id = match namespace {
        Some(namespace) => format!("{namespace}.{name}"),
        None => name.to_owned(),
    };
    let mut item = SelectableItem::from_source_id(&id, name, description)?;
    item.kind = ItemKind::Skill;
    item.namespace = namespace.unwrap_or_default().to_owned();
    for key in ["license", "compatibility", "allowed-tools", "metadata"] {
        if let Some(value) = front_matter.get(key).filter(|value| !value.is_null()) {
            item.metadata.insert(key.to_owned(), value.clone());
        }
    }
    Ok(item)
}
