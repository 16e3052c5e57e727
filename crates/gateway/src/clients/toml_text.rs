//! Splits TOML into statements with their lines, for Codex' `config.toml`.
//!
//! A scanner finds the boundaries of statements (it knows strings, comments and brackets). The
//! `toml` crate parses their content: each statement separately for its key, and the whole file for
//! its values.

use std::ops::Range;

use serde_json::Value;
use toml::de::DeTable;

use super::error::SyntaxFault;

/// A table header, or a key with its value.
#[derive(Debug)]
pub(super) struct Statement {
    /// Whole lines, including the last line end.
    pub(super) span: Range<usize>,
    /// The full path of the key, including its table.
    pub(super) path: Vec<String>,
    pub(super) is_header: bool,
}

/// Parses the whole file.
pub(super) fn parse(text: &str) -> Result<Value, SyntaxFault> {
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = text.len() - plain.len();
    let table: toml::Table = toml::from_str(plain).map_err(|error| SyntaxFault {
        offset: error.span().map_or(0, |span| span.start) + skipped,
        message: format!("not TOML: {}", error.message()),
    })?;
    serde_json::to_value(table)
        .map_err(|error| SyntaxFault { offset: 0, message: format!("not readable: {error}") })
}

/// The statements in file order.
pub(super) fn statements(text: &str) -> Result<Vec<Statement>, SyntaxFault> {
    let mut out = Vec::new();
    let mut table: Vec<String> = Vec::new();
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let line = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let start = rest.trim_start_matches([' ', '\t']);
        if start.trim_start_matches('\r').starts_with(['\n', '#']) || start.trim().is_empty() {
            at += line;
            continue;
        }
        let end = at + statement_length(rest);
        let statement = text.get(at..end).unwrap_or_default();
        let is_header = start.starts_with('[');
        let path = if is_header { header(statement) } else { key(statement) };
        let fault = || SyntaxFault { offset: at, message: "this statement has no key".to_owned() };
        let path = path.ok_or_else(fault)?;
        if is_header {
            table.clone_from(&path);
            out.push(Statement { span: at..end, path, is_header });
        } else {
            let path = table.iter().cloned().chain(path).collect();
            out.push(Statement { span: at..end, path, is_header });
        }
        at = end;
    }
    Ok(out)
}

/// The length of the statement at the beginning of a text, up to the end of its last line.
fn statement_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' if depth == 0 => return at + 1,
            b'#' => {
                let rest = text.get(at..).unwrap_or_default();
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            b'"' | b'\'' => {
                at += string_length(text.get(at..).unwrap_or_default(), *byte);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The length of the string at the beginning of a text, including quotes.
fn string_length(text: &str, quote: u8) -> usize {
    let triple = [quote; 3];
    let bytes = text.as_bytes();
    let many = bytes.starts_with(&triple);
    let mut at = if many { 3 } else { 1 };
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        if *byte == b'\\' && quote == b'"' {
            at += 2;
        } else if many && rest.starts_with(&triple) {
            // Up to two more quotes belong to the string.
            let more = rest.iter().skip(3).take(2).take_while(|next| **next == quote).count();
            return at + 3 + more;
        } else if !many && (*byte == quote || *byte == b'\n') {
            return at + usize::from(*byte == quote);
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The path of a header, of a table or an array of tables.
fn header(statement: &str) -> Option<Vec<String>> {
    let table = DeTable::parse(statement).ok()?;
    Some(key_path(table.get_ref()))
}

/// The path of a key within its table.
fn key(statement: &str) -> Option<Vec<String>> {
    // The value may be long, so only the part before it is parsed.
    let mut at = 0;
    let bytes = statement.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'=' => break,
            b'"' | b'\'' => at += string_length(statement.get(at..)?, *byte),
            _ => at += 1,
        }
    }
    let key = format!("{}= 0", statement.get(..at)?);
    let table = DeTable::parse(&key).ok()?;
    Some(key_path(table.get_ref()))
}

/// The path of keys down to the innermost table.
fn key_path(table: &DeTable<'_>) -> Vec<String> {
    let mut path = Vec::new();
    let mut level = Some(table);
    while let Some((name, value)) = level.and_then(|table| table.iter().next()) {
        path.push(name.get_ref().to_string());
        level = match value.get_ref() {
            toml::de::DeValue::Table(table) => Some(table),
            toml::de::DeValue::Array(items) => match items.iter().next().map(|one| one.get_ref()) {
                Some(toml::de::DeValue::Table(table)) => Some(table),
                _ => None,
            },
            _ => None,
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_know_strings_brackets_and_comments() {
        let text = "# [no]\na.b = \"\"\"\n[no]\n\"\"\"\r\n\n[mcp_servers.\"x.y\"] # [no]\n\
                    args = [ # ]\n  \"]\",\n  '''\n[no]''',\n]\nenv = { A = \"}\" }\n[[list]]\nc=1";
        let found = statements(text).unwrap();
        let paths: Vec<String> = found.iter().map(|one| one.path.join("/")).collect();
        assert_eq!(
            paths,
            [
                "a/b", "mcp_servers/x.y", "mcp_servers/x.y/args", "mcp_servers/x.y/env", "list",
                "list/c"
            ]
        );
        let joined: String = found.iter().map(|one| text.get(one.span.clone()).unwrap()).collect();
        assert_eq!(joined, text.replacen("# [no]\na", "a", 1).replace("\r\n\n", "\r\n"));
    }
}
