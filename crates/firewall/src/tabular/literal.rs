//! Parses literals of Python's `repr` and of SQL: lists of dictionaries or tuples.

use serde_json::{Map, Number, Value};

use super::{MAX_ROWS, numbered_columns};

/// The deepest nesting.
const MAX_DEPTH: usize = 32;

/// The rows of a text that is one list.
pub(super) fn rows(text: &str) -> Option<Vec<Value>> {
    let mut reader = LiteralParser { text, position: 0, depth: 0 };
    let value = reader.value()?;
    reader.skip_whitespace();
    if reader.position < text.len() {
        return None;
    }
    match value {
        Value::Array(items) if !items.is_empty() => items.into_iter().map(row).collect(),
        _ => None,
    }
}

/// The rows of `INSERT INTO … VALUES (…), (…)`.
pub(super) fn insert_rows(text: &str) -> Option<Vec<Value>> {
    let upper = text.get(..text.len().min(4_096)).unwrap_or(text).to_ascii_uppercase();
    if !upper.starts_with("INSERT INTO") {
        return None;
    }
    let values = upper.find("VALUES")?.checked_add("VALUES".len())?;
    let list = text.get(values..)?.trim().trim_end_matches(';').trim();
    rows(&format!("[{list}]"))
}

fn row(item: Value) -> Option<Value> {
    match item {
        Value::Object(_) => Some(item),
        Value::Array(cells) => Some(numbered_columns(cells)),
        _ => None,
    }
}

struct LiteralParser<'t> {
    text: &'t str,
    position: usize,
    depth: usize,
}

impl LiteralParser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn skip_whitespace(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.position += 1;
        }
    }

    fn value(&mut self) -> Option<Value> {
        self.skip_whitespace();
        match self.peek()? {
            b'[' => self.list(b']'),
            b'(' => self.list(b')'),
            b'{' => self.dictionary(),
            b'\'' | b'"' => self.string().map(Value::String),
            b'-' | b'+' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn list(&mut self, end: u8) -> Option<Value> {
        let mut items = Vec::new();
        self.enter()?;
        loop {
            self.skip_whitespace();
            if self.peek()? == end {
                self.position += 1;
                self.depth -= 1;
                return Some(Value::Array(items));
            }
            if items.len() >= MAX_ROWS {
                return None;
            }
            items.push(self.value()?);
            self.comma_or_end(end)?;
        }
    }

    fn dictionary(&mut self) -> Option<Value> {
        let mut fields = Map::new();
        self.enter()?;
        loop {
            self.skip_whitespace();
            if self.peek()? == b'}' {
                self.position += 1;
                self.depth -= 1;
                return Some(Value::Object(fields));
            }
            let name = match self.value()? {
                Value::String(name) => name,
                other => other.to_string(),
            };
            self.skip_whitespace();
            if self.peek()? != b':' {
                return None;
            }
            self.position += 1;
            let value = self.value()?;
            fields.insert(name, value);
            self.comma_or_end(b'}')?;
        }
    }

    fn enter(&mut self) -> Option<()> {
        self.position += 1;
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())
    }

    /// Expects a comma, or the closing bracket (which is not consumed).
    fn comma_or_end(&mut self, end: u8) -> Option<()> {
        self.skip_whitespace();
        match self.peek()? {
            b',' => self.position += 1,
            next if next == end => {}
            _ => return None,
        }
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.peek()?;
        self.position += 1;
        let mut out = String::new();
        let rest = self.text.get(self.position..)?;
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => out.push(escaped_char(&mut chars)?),
                // SQL escapes a quote by doubling it.
                _ if c == char::from(quote)
                    && quote == b'\''
                    && matches!(chars.peek(), Some((_, '\''))) =>
                {
                    chars.next();
                    out.push('\'');
                }
                _ if c == char::from(quote) => {
                    self.position += at + 1;
                    return Some(out);
                }
                _ => out.push(c),
            }
        }
        None
    }

    fn number(&mut self) -> Option<Value> {
        let rest = self.text.get(self.position..)?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..end)?;
        self.position += end;
        match serde_json::from_str::<Number>(word) {
            Ok(number) => Some(Value::Number(number)),
            Err(_) => Some(Value::String(word.to_owned())),
        }
    }

    /// `None`, `True`, `NULL`, or a call such as `Decimal('1.5')`, which stays text.
    fn word(&mut self) -> Option<Value> {
        let rest = self.text.get(self.position..)?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..end).filter(|word| !word.is_empty())?;
        self.position += end;
        let value = match word.to_ascii_lowercase().as_str() {
            "none" | "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if self.peek() == Some(b'(') => {
                let start = self.position - end;
                self.list(b')')?;
                Value::String(self.text.get(start..self.position)?.to_owned())
            }
            _ => return None,
        };
        Some(value)
    }
}

fn escaped_char(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>) -> Option<char> {
    let (_, c) = chars.next()?;
    let digits = match c {
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        other => return Some(other),
    };
    let code: String = chars.take(digits).map(|(_, c)| c).collect();
    char::from_u32(u32::from_str_radix(&code, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell(text: &str) -> Option<Value> {
        let rows = rows(&format!("[({text},)]"))?;
        rows.first()?.get("column_1").cloned()
    }

    #[test]
    fn a_list_without_rows_is_no_table() {
        assert!(rows("[]").is_none() && rows("()").is_none() && rows("[1]").is_none());
    }

    #[test]
    fn a_literal_has_the_value_that_it_writes() {
        for (text, value) in [
            ("1", json!(1)),
            ("-2.5", json!(-2.5)),
            ("+1", json!("+1")),
            ("1_000", json!("1_000")),
            ("007", json!("007")),
            ("None", json!(null)),
            ("NULL", json!(null)),
            ("true", json!(true)),
            ("False", json!(false)),
            ("Decimal('1.5')", json!("Decimal('1.5')")),
            ("a.b(1, [2])", json!("a.b(1, [2])")),
            ("''", json!("")),
            ("'it''s'", json!("it's")),
            ("\"a\"", json!("a")),
            ("'a\"b'", json!("a\"b")),
            ("'\\n\\t\\r\\\\'", json!("\n\t\r\\")),
            ("'\\x41\\u00e9\\U0001f600'", json!("A\u{e9}\u{1f600}")),
            ("[1, [2, ], ]", json!([1, [2]])),
            ("(1, 2)", json!([1, 2])),
            ("{'a': 1, 2: {}}", json!({ "a": 1, "2": {} })),
        ] {
            assert_eq!(cell(text), Some(value), "{text}");
        }
        for other in [
            "word", "word 1)", "1 2", "'open", "'\\ud800'", "'\\xzz'", "{'a' 1}", "{1", "f(", "]",
            "",
        ] {
            assert_eq!(cell(other), None, "{other}");
        }
    }

    #[test]
    fn literals_nest_32_levels_and_no_more() {
        let nested = |levels: usize| {
            rows(&format!("[({}{},)]", "[".repeat(levels), "]".repeat(levels))).is_some()
        };
        assert!(nested(30) && !nested(31));
        let beside = |inner: &str| rows(&format!("[({})]", inner.repeat(40))).is_some();
        assert!(beside("[[]], ") && beside("{'a': {}}, ") && beside("f(1), "));
    }

    #[test]
    fn an_insert_has_its_rows_after_its_values() {
        for (sql, is_read) in [
            ("insert into t values (1, 'a')", true),
            ("INSERT INTO t VALUES\n(1, 'a'),\n(2, 'b');\n", true),
            ("INSERT INTO t SELECT 1", false),
            ("INSERT t VALUES (1)", false),
            ("UPDATE t SET a = 1", false),
        ] {
            assert_eq!(insert_rows(sql).is_some(), is_read, "{sql}");
        }
    }

    #[test]
    fn literals_are_rows() {
        let text = "[{'id': 1, 'name': 'O\\'Neil', 'ok': True, 'none': None, 'd': datetime.date(2024, 1, 2)}]";
        let row = json!({"id": 1, "name": "O'Neil", "ok": true, "none": null, "d": "datetime.date(2024, 1, 2)"});
        assert_eq!(rows(text), Some(vec![row]));
        assert_eq!(
            rows("[(1, 'a'), (2, \"b\")]").unwrap()[1],
            json!({"column_1": 2, "column_2": "b"})
        );
        let sql = "INSERT INTO t (a, b) VALUES (1, 'it''s'), (-2.5, NULL);";
        assert_eq!(insert_rows(sql).unwrap()[0]["column_2"], "it's");
        for other in ["[", "[1, 2]", "(", "[{'a': }]", "[{'a': 1}] and more", &"[".repeat(10_000)] {
            assert_eq!(rows(other), None, "{other:.20}");
        }
    }
}
