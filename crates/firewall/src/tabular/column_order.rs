//! Column names in the order in which a text has them. Parsed JSON loses the order, but people
//! read, copy and edit a table in its own.

use weaver_types::{RawContent, RawResult};

/// The most names.
const MAX_NAMES: usize = 256;
/// How far into a text the first row is searched, in bytes.
const MAX_LOOK: usize = 64 * 1024;

/// The column names of a result's rows, if a text of it reveals their order.
pub(crate) fn column_names_in_order(raw: &RawResult) -> Vec<String> {
    let block = raw.blocks.as_ref().and_then(|blocks| {
        blocks.blocks.iter().find_map(|block| block.get("text").and_then(|text| text.as_str()))
    });
    let content_text = match &raw.content {
        RawContent::Text(text) => Some(text.as_str()),
        RawContent::Binary { bytes, .. } => crate::tabular::printable_text(bytes),
        RawContent::Json(_) | RawContent::Rows(_) => None,
    };
    content_text.or(block).map_or_else(Vec::new, from_text)
}

/// From the header of CSV or a Markdown table, or from the first JSON row.
fn from_text(text: &str) -> Vec<String> {
    let text = text.trim_start();
    let head = text.get(..text.floor_char_boundary(MAX_LOOK)).unwrap_or_default();
    match head.as_bytes().first() {
        Some(b'{' | b'[') => from_first_row(head),
        Some(b'|') => super::markdown::column_names(head).unwrap_or_default(),
        _ => super::csv::column_names(head).unwrap_or_default(),
    }
}

/// The names in the first object within a list, or on the first line of JSON lines.
fn from_first_row(text: &str) -> Vec<String> {
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
            // Python's `repr` quotes texts with `'`, which JSON has only within texts.
            b'"' | b'\'' => {
                let end = text_end(bytes, at, *byte);
                let is_name = crate::redact::json_text::next_is_colon(bytes, end);
                if is_name && row == Some(open.len()) && names.len() < MAX_NAMES {
                    names.extend(text.get(at..end).and_then(unquote));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    // A row that is cut off yields only its first names.
    names
}

/// The position after the closing quotation mark of a text, or the end.
fn text_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut is_escaped = false;
    let is_end = |byte: &u8| {
        let is_end = *byte == quote && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    let length = bytes.iter().skip(start + 1).position(is_end);
    length.map_or(bytes.len(), |length| start + length + 2)
}

/// The value of a quoted text. A name with an escape that only Python has is none.
fn unquote(text: &str) -> Option<String> {
    match text.strip_prefix('\'') {
        Some(rest) => {
            rest.strip_suffix('\'').filter(|name| !name.contains('\\')).map(str::to_owned)
        }
        None => serde_json::from_str(text).ok(),
    }
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
            ("[{'z': 'it', \"a'\": \"}'{\", 'c': '\\'}'}, {'d': 1}]", "z a' c"),
            ("{\"z\": 1, \"a\": 2}", ""),
            ("plain words", ""),
            ("", ""),
        ] {
            assert_eq!(from_text(text).join(" "), wanted, "{text}");
        }
    }
}
