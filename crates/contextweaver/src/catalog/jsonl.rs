//! Items from a text with one JSON object per line.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use weaver_types::CapabilityId;

use crate::catalog::{Catalog, SelectableItem};
use crate::error::CatalogError;

const MAX_LINE: usize = 1024 * 1024;

/// The keys of a line. The file belongs to somebody else, so other keys are ignored.
#[derive(Deserialize)]
struct Line {
    id: String,
    name: Option<String>,
    description: Option<String>,
    namespace: Option<String>,
    tags: Option<Vec<String>>,
    schema: Option<Value>,
    examples: Option<Vec<String>>,
}

pub(super) fn read(text: &str) -> Result<Catalog, CatalogError> {
    let mut catalog = Catalog::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        item(line)
            .and_then(|item| catalog.insert(item))
            .map_err(|source| CatalogError::Line { line: at + 1, source: Box::new(source) })?;
    }
    Ok(catalog)
}

fn item(line: &str) -> Result<SelectableItem, CatalogError> {
    if line.len() > MAX_LINE {
        return Err(CatalogError::TooLarge {
            id: "?".to_owned(),
            field: "the line",
            size: line.len(),
            unit: "bytes",
            max: MAX_LINE,
        });
    }
    let line: Line = serde_json::from_str(line).map_err(CatalogError::Json)?;
    let (id, source_id) = match CapabilityId::parse(&line.id) {
        Ok(id) if !line.id.contains('%') => (id, None),
        _ => (CapabilityId::parse(encoded(&line.id))?, Some(line.id)),
    };
    let name = line.name.unwrap_or_default();
    let mut item = SelectableItem::new(id, name, line.description.unwrap_or_default());
    item.source_id = source_id;
    item.namespace = line.namespace.unwrap_or_default();
    item.tags = line.tags.unwrap_or_default();
    item.examples = line.examples.unwrap_or_default();
    Ok(match line.schema {
        Some(schema) => item.with_schema(&schema),
        None => item,
    })
}

/// The text with every byte outside visible ASCII, and the percent sign, as `%XX`. Two texts
/// never become one.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_graphic() && byte != b'%' {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_items() {
        let text = concat!(
            "\u{feff}{\"id\":\"fs.read\",\"name\":\"read\",\"description\":\"Read a file\",\"extra\":1}\r\n",
            "\n",
            "{\"id\":\"b c\",\"name\":\"\",\"description\":null,\"tags\":null,\"schema\":",
            "{\"properties\":{\"path\":{\"description\":\"where\"}}}}"
        );
        let catalog = Catalog::from_jsonl(text).unwrap();
        let ids: Vec<_> = catalog.iter().map(SelectableItem::source_id).collect();
        assert_eq!(ids, ["b c", "fs.read"]);
        let item = catalog.get(&CapabilityId::parse("b%20c").unwrap()).unwrap();
        assert_eq!(item.display_name(), "b c");
        assert_eq!(item.parameters.first().unwrap().name, "path");
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, code) in [
            ("{\"id\":\"a\"}\n\nnonsense", 3, "catalog.json"),
            ("{\"id\":\"a\"}\n{\"id\":\"a\"}", 2, "catalog.duplicate"),
            ("{\"id\":\"\"}", 1, "catalog.id"),
            ("{\"name\":\"a\"}", 1, "catalog.json"),
        ] {
            let error = Catalog::from_jsonl(text).unwrap_err();
            assert!(error.to_string().starts_with(&format!("line {line}: ")), "{error}");
            assert_eq!(error.code(), code, "{error}");
        }
        let long = format!("{{\"id\":\"a\",\"name\":\"{}\"}}", "n".repeat(600));
        assert_eq!(Catalog::from_jsonl(&long).unwrap_err().code(), "catalog.too_large");
        let line = format!("{{\"id\":\"a\",\"x\":\"{}\"}}", "n".repeat(MAX_LINE));
        assert_eq!(Catalog::from_jsonl(&line).unwrap_err().code(), "catalog.too_large");
    }

    #[test]
    fn encoding_keeps_ids_apart() {
        let text = "{\"id\":\"a b\"}\n{\"id\":\"a%20b\"}\n{\"id\":\"a\u{200b}b\"}\n{\"id\":\"ab\"}";
        assert_eq!(Catalog::from_jsonl(text).unwrap().len(), 4);
    }
}
