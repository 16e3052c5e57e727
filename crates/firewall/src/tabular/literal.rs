//! Literals as Python's `repr` and SQL write them: lists of dictionaries or of tuples.

use serde_json::{Map, Number, Value};

use super::{MAX_ROWS, numbered};

/// The deepest nesting.
const MAX_DEPTH: usize = 32;

/// The rows of a text that is one list, or a sequence of dictionaries a line.
pub(super) fn rows(text: &str) -> Option<Vec<Value>> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.blanks();
    if reader.at < text.len() {
        return None;
    }
    match value {
        Value::Array(items) if !items.is_empty() => items.into_iter().map(row).collect(),
        _ => None,
    }
}

/// The rows of `INSERT INTO … VALUES (…), (…)`.
pub(super) fn inserted(text: &str) -> Option<Vec<Value>> {
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
        Value::Array(cells) => Some(numbered(cells)),
        _ => None,
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Option<Value> {
        self.blanks();
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
            self.blanks();
            if self.peek()? == end {
                self.at += 1;
                self.depth -= 1;
                return Some(Value::Array(items));
            }
            if items.len() >= MAX_ROWS {
                return None;
            }
            items.push(self.value()?);
            self.comma(end)?;
        }
    }

    fn dictionary(&mut self) -> Option<Value> {
        let mut fields = Map::new();
        self.enter()?;
        loop {
            self.blanks();
            if self.peek()? == b'}' {
                self.at += 1;
                self.depth -= 1;
                return Some(Value::Object(fields));
            }
            let name = match self.value()? {
                Value::String(name) => name,
                other => other.to_string(),
            };
            self.blanks();
            if self.peek()? != b':' {
                return None;
            }
            self.at += 1;
            let value = self.value()?;
            fields.insert(name, value);
            self.comma(b'}')?;
        }
    }

    fn enter(&mut self) -> Option<()> {
        self.at += 1;
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())
    }

    /// A comma, or the end that comes next.
    fn comma(&mut self, end: u8) -> Option<()> {
        self.blanks();
        match self.peek()? {
            b',' => self.at += 1,
            next if next == end => {}
            _ => return None,
        }
        Some(())
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.peek()?;
        self.at += 1;
        let mut out = String::new();
        let rest = self.text.get(self.at..)?;
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => out.push(escaped(&mut chars)?),
                // SQL writes a quote twice.
                _ if c == char::from(quote)
                    && quote == b'\''
                    && matches!(chars.peek(), Some((_, '\''))) =>
                {
                    chars.next();
                    out.push('\'');
                }
                _ if c == char::from(quote) => {
                    self.at += at + 1;
                    return Some(out);
                }
                _ => out.push(c),
            }
        }
        None
    }

    fn number(&mut self) -> Option<Value> {
        let rest = self.text.get(self.at..)?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..end)?;
        self.at += end;
        match serde_json::from_str::<Number>(word) {
            Ok(number) => Some(Value::Number(number)),
            Err(_) => Some(Value::String(word.to_owned())),
        }
    }

    /// `None`, `True`, `NULL`, or a call such as `Decimal('1.5')`, which stays text.
    fn word(&mut self) -> Option<Value> {
        let rest = self.text.get(self.at..)?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..end).filter(|word| !word.is_empty())?;
        self.at += end;
        let value = match word.to_ascii_lowercase().as_str() {
            "none" | "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if self.peek() == Some(b'(') => {
                let start = self.at - end;
                self.list(b')')?;
                Value::String(self.text.get(start..self.at)?.to_owned())
            }
            _ => return None,
        };
        Some(value)
    }
}

fn escaped(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>) -> Option<char> {
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
        for other in
            ["word", "1 2", "'open", "'\\ud800'", "'\\xzz'", "{'a' 1}", "{1", "f(", "]", ""]
        {
            assert_eq!(cell(other), None, "{other}");
        }
    }

    #[test]
    fn literals_nest_32_levels_and_no_more() {
        let nested = |levels: usize| {
            rows(&format!("[({}{},)]", "[".repeat(levels), "]".repeat(levels))).is_some()
        };
        assert!(nested(30) && !nested(31));
        let beside = format!("[({})]", "[[]], ".repeat(40));
        assert!(rows(&beside).is_some());
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
            assert_eq!(inserted(sql).is_some(), is_read, "{sql}");
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
        assert_eq!(inserted(sql).unwrap()[0]["column_2"], "it's");
        for other in ["[", "[1, 2]", "(", "[{'a': }]", "[{'a': 1}] and more", &"[".repeat(10_000)] {
            assert_eq!(rows(other), None, "{other:.20}");
        }
    }
}
