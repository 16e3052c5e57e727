//! The names of columns in the order in which a text has them: parsed JSON keeps no order, and a
//! table is read, copied and edited in its own.

use weaver_types::{RawContent, RawResult};

/// The most names.
const MAX_NAMES: usize = 256;
/// How far into a text its first row is looked for, in bytes.
const MAX_LOOK: usize = 64 * 1024;

/// The names of the columns of a result's rows, as far as a text of it says their order.
pub(crate) fn in_order(raw: &RawResult) -> Vec<String> {
    let block = raw.blocks.as_ref().and_then(|blocks| {
        blocks.blocks.iter().find_map(|block| block.get("text").and_then(|text| text.as_str()))
    });
    let own = match &raw.content {
        RawContent::Text(text) => Some(text.as_str()),
        RawContent::Binary { bytes, .. } => crate::tabular::text_of(bytes),
        RawContent::Json(_) | RawContent::Rows(_) => None,
    };
    own.or(block).map_or_else(Vec::new, of_text)
}

/// Of the head of CSV, or of a Markdown table; or of the first row of JSON.
fn of_text(text: &str) -> Vec<String> {
    let text = text.trim_start();
    let head = text.get(..text.floor_char_boundary(MAX_LOOK)).unwrap_or_default();
    match head.as_bytes().first() {
        Some(b'{' | b'[') => of_first_row(head),
        Some(b'|') => super::markdown::head(head).unwrap_or_default(),
        _ => super::csv::head(head).unwrap_or_default(),
    }
}

/// The names in the first object that is an item of a list, or of the first line of JSON lines.
fn of_first_row(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let by_line = text.lines().nth(1).is_some_and(|line| line.trim_start().starts_with('{'));
    let mut names = Vec::new();
    let mut open = Vec::new();
    let mut row = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                let is_item = open.last().map_or(by_line, |parent| *parent == b'[');
                if row.is_none() && *byte == b'{' && is_item {
                    row = Some(open.len() + 1);
                }
                open.push(*byte);
            }
            b'}' | b']' => {
                if row == Some(open.len()) {
                    return names;
                }
                open.pop();
            }
            b'"' => {
                let end = crate::redact::json_text::scalar_end(bytes, at);
                let is_name = crate::redact::json_text::next_is_colon(bytes, end);
                if is_name && row == Some(open.len()) && names.len() < MAX_NAMES {
                    let name = text.get(at..end).and_then(|name| serde_json::from_str(name).ok());
                    names.extend(name);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    // A row that does not end here says only some of its names.
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_the_text() {
        for (text, wanted) in [
            ("id,name,email\n1,a,b\n2,c,d\n", "id name email"),
            ("| z | a |\n|---|---|\n| 1 | 2 |\n", "z a"),
            ("{\"z\": 1, \"a\": {\"y\": 2}}\n{\"z\": 3}\n", "z a"),
            ("{\"meta\": {\"k\": 1}, \"rows\": [{\"z\": [{\"q\": 1}], \"\\u0061\": 2}]}", "z a"),
            ("[{\"b\": \"}\\\"{\", \"a\": 1}]", "b a"),
            ("{\"z\": 1, \"a\": 2}", ""),
            ("plain words", ""),
            ("", ""),
        ] {
            assert_eq!(of_text(text).join(" "), wanted, "{text}");
        }
    }
}
