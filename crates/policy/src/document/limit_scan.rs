//! Scans the text before it is parsed, to bound its nesting depth and its number of entries.
//!
//! A hostile text is thus rejected before a parser builds a tree for it. The scan is one pass over
//! the bytes and needs memory only for open brackets and for the names of table lists. It
//! recognises just strings, comments, brackets, commas and lines. It may therefore accept text that
//! is not TOML, but it never rejects a document within the limits.

use std::collections::HashMap;

use super::{MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_ENTRIES};

/// The maximum number of table headers in one text, and of dotted keys.
const MAX_TABLES: usize = 8 * MAX_DOCUMENT_ENTRIES;

/// Which limit a text exceeds, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitExceeded {
    pub(super) at: usize,
    pub(super) code: &'static str,
    pub(super) message: &'static str,
    pub(super) remedy: &'static str,
}

fn too_deep(at: usize) -> LimitExceeded {
    let (message, remedy) =
        ("the document is nested too deeply", "nest at most 32 tables and lists");
    LimitExceeded { at, code: "policy.too_deep", message, remedy }
}

fn too_many(at: usize) -> LimitExceeded {
    let message = "more than 20000 entries in one list or table, or too many tables";
    LimitExceeded { at, code: "policy.too_many", message, remedy: "merge entries or remove some" }
}

struct LimitScanner<'t> {
    text: &'t [u8],
    at: usize,
    /// The number of commas in each open bracket.
    open: Vec<usize>,
    /// The number of keys without a dot since the last header.
    keys: usize,
    /// The number of keys with a dot. They can belong to many tables, so they are not counted per
    /// table.
    dotted_keys: usize,
    /// The number of dots since the last line, comma, bracket or `=`.
    dots: usize,
    headers: usize,
    lists: HashMap<&'t [u8], usize>,
}

/// The first limit that the text exceeds, if any.
pub(super) fn limit_exceeded(text: &str) -> Option<LimitExceeded> {
    let mut reader = LimitScanner {
        text: text.as_bytes(),
        at: 0,
        open: Vec::new(),
        keys: 0,
        dotted_keys: 0,
        dots: 0,
        headers: 0,
        lists: HashMap::new(),
    };
    reader.read().err()
}

impl<'t> LimitScanner<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn read(&mut self) -> Result<(), LimitExceeded> {
        let mut line_begins = true;
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => self.skip_line(),
                b'"' | b'\'' => self.skip_text(byte),
                b'[' if line_begins && self.open.is_empty() => self.header()?,
                b'[' | b'{' => self.enter()?,
                b']' | b'}' => {
                    self.open.pop();
                    self.at += 1;
                }
                b',' | b'=' => self.entry(byte)?,
                _ => self.at += 1,
            }
            self.dots = match byte {
                b'\n' | b',' | b'=' | b'{' | b'[' => 0,
                b'.' => self.dots + 1,
                _ => self.dots,
            };
            if self.dots > MAX_DOCUMENT_DEPTH {
                return Err(too_deep(self.at));
            }
            line_begins = byte == b'\n' || (line_begins && matches!(byte, b' ' | b'\t' | b'\r'));
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<(), LimitExceeded> {
        if self.open.len() >= MAX_DOCUMENT_DEPTH {
            return Err(too_deep(self.at));
        }
        self.open.push(0);
        self.at += 1;
        Ok(())
    }

    /// Counts a comma inside brackets, or a key outside of them.
    fn entry(&mut self, byte: u8) -> Result<(), LimitExceeded> {
        let (count, most) = match (byte, self.open.last_mut()) {
            (b',', Some(commas)) => (commas, MAX_DOCUMENT_ENTRIES),
            (b'=', None) if self.dots > 0 => (&mut self.dotted_keys, MAX_TABLES),
            (b'=', None) => (&mut self.keys, MAX_DOCUMENT_ENTRIES),
            _ => {
                self.at += 1;
                return Ok(());
            }
        };
        *count += 1;
        // A trailing comma is allowed, so `most` commas are not too many.
        if *count > most {
            return Err(too_many(self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// Scans a table header, or one more entry of a list of tables.
    fn header(&mut self) -> Result<(), LimitExceeded> {
        let begin = self.at;
        let rest = self.rest();
        let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        let line = rest.get(..end).unwrap_or(rest);
        self.at += end;
        self.keys = 0;
        self.headers += 1;
        if self.headers > MAX_TABLES {
            return Err(too_many(begin));
        }
        let Some(name) = line.strip_prefix(b"[[") else { return check_key_depth(line, begin) };
        let close = name.windows(2).position(|pair| pair == b"]]").unwrap_or(name.len());
        let name = name.get(..close).unwrap_or(name).trim_ascii();
        let count = self.lists.entry(name).or_insert(0);
        *count += 1;
        if *count > MAX_DOCUMENT_ENTRIES {
            Err(too_many(begin))
        } else {
            check_key_depth(name, begin)
        }
    }

    fn skip_line(&mut self) {
        let rest = self.rest();
        self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }

    /// Skips a quoted string, on one line or, in triple quotes, on several.
    fn skip_text(&mut self, quote: u8) {
        let long = self.rest().starts_with(&[quote; 3]);
        self.at += if long { 3 } else { 1 };
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' if quote == b'"' => self.at += 2,
                b'\n' if !long => return,
                byte if byte == quote && !long => {
                    self.at += 1;
                    return;
                }
                byte if byte == quote && self.rest().starts_with(&[quote; 3]) => {
                    // Up to two quotes may precede the three that end the string.
                    let quotes = self.rest().iter().take(5).take_while(|b| **b == quote).count();
                    self.at += quotes;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }
}

/// Each dot outside of quotes adds one level.
fn check_key_depth(name: &[u8], at: usize) -> Result<(), LimitExceeded> {
    let (mut quote, mut levels) = (None, 1_usize);
    for byte in name {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'.') => levels += 1,
            (None, b'#') => break,
            (Some(open), close) if open == *close => quote = None,
            _ => {}
        }
    }
    if levels > MAX_DOCUMENT_DEPTH { Err(too_deep(at)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Option<&'static str> {
        limit_exceeded(text).map(|exceeded| exceeded.code)
    }

    #[test]
    fn depth_is_seen_before_parsing() {
        let lists = |n| format!("x = {}{}\n", "[".repeat(n), "]".repeat(n));
        assert_eq!(code(&lists(MAX_DOCUMENT_DEPTH)), None);
        assert_eq!(code(&lists(MAX_DOCUMENT_DEPTH + 1)), Some("policy.too_deep"));
        assert_eq!(code(&format!("x = {}", "{a=".repeat(33))), Some("policy.too_deep"));
        assert_eq!(code(&format!("[{}a]\n", "a.".repeat(32))), Some("policy.too_deep"));
        assert_eq!(code(&format!("{}a = 1\n", "a.".repeat(33))), Some("policy.too_deep"));
        assert_eq!(code(&format!("x = {{ {}a = 1 }}\n", "a.".repeat(33))), Some("policy.too_deep"));
        assert_eq!(code(&format!("x = [{}]\n", "1.5, ".repeat(99))), None);
        assert_eq!(code(&format!("['{}a']\n", "a.".repeat(32))), None);
    }

    #[test]
    fn entries_are_counted_where_they_stand() {
        let many = |one: &str, n: usize| one.repeat(n);
        for one in ["[[rules]]\n", "  [[ rules ]] # x\n"] {
            assert_eq!(code(&many(one, MAX_DOCUMENT_ENTRIES)), None);
            assert_eq!(code(&many(one, MAX_DOCUMENT_ENTRIES + 1)), Some("policy.too_many"));
        }
        assert_eq!(code(&many("a = 1\n", MAX_DOCUMENT_ENTRIES + 1)), Some("policy.too_many"));
        assert_eq!(code(&many("a.b = 1\n", MAX_DOCUMENT_ENTRIES + 1)), None);
        assert_eq!(code(&many("a = 0.1\n", MAX_DOCUMENT_ENTRIES + 1)), Some("policy.too_many"));
        assert_eq!(code(&many("a.b = 1\n", MAX_TABLES + 1)), Some("policy.too_many"));
        assert_eq!(code(&many("[a]\nb = 1\n", MAX_DOCUMENT_ENTRIES + 1)), None);
        assert_eq!(code(&many("[a]\n", MAX_TABLES)), None);
        assert_eq!(code(&many("[a]\n", MAX_TABLES + 1)), Some("policy.too_many"));
        assert_eq!(code(&format!("x = [{}]", many("1,", MAX_DOCUMENT_ENTRIES))), None);
        assert_eq!(
            code(&format!("x = [{}1]", many("1,", MAX_DOCUMENT_ENTRIES + 1))),
            Some("policy.too_many")
        );
        assert_eq!(code(&format!("x = [{}]", many("[1,2],", MAX_DOCUMENT_ENTRIES))), None);
    }

    #[test]
    fn texts_and_comments_count_for_nothing() {
        let deep = "[".repeat(50);
        for text in [
            format!("x = \"{deep}\""),
            format!("x = '{deep}'"),
            format!("x = \"\\\"{deep}\""),
            format!("x = \"\"\"\n{deep}\\\"\"\" \n\"\"\""),
            format!("x = '''\n{deep}''\n'''"),
            format!("# {deep}\nx = 1"),
            format!("x = [ # {deep}\n1]"),
            format!("x = \"\"\"a\"\"\"\"\" # {deep}"),
            format!("x = \"\"\"a\"b {deep}\"\"\""),
            format!("x = \"\"\"\nx {deep}\n\"\"\""),
            format!("x = '''\nx {deep}\n'''"),
            format!("[a] # {}\n", ".".repeat(40)),
            format!("[\"{}\"]\n", ".".repeat(40)),
        ] {
            assert_eq!(code(&text), None, "{text}");
        }
        assert_eq!(code(&format!("x = \"a\"\ny = {deep}")), Some("policy.too_deep"));
        assert_eq!(code(&format!("x = 'a\\'\ny = {deep}")), Some("policy.too_deep"));
        assert_eq!(code(&format!("x = \"\"\"a\"\"\"\ny = {deep}")), Some("policy.too_deep"));
        // In single quotes a backslash is no escape, and a text of one line ends with its line.
        assert_eq!(code(&format!("x = ['a\\', {deep}")), Some("policy.too_deep"));
        assert_eq!(code(&format!("x = \"a\ny = {deep}")), Some("policy.too_deep"));
        assert_eq!(code(&format!("x = \"\\\\\"\ny = {deep}")), Some("policy.too_deep"));
        let just = "[".repeat(33);
        assert_eq!(code(&format!("x = \"\"\"a\"\"\"\ny = {just}")), Some("policy.too_deep"));
        assert_eq!(code(&format!("['a'.{}b]\n", "a.".repeat(32))), Some("policy.too_deep"));
    }

    #[test]
    fn names_may_have_as_many_levels_as_tables_may_nest() {
        let header = |dots| code(&format!("[{}a]\n", "a.".repeat(dots)));
        assert_eq!((header(31), header(32)), (None, Some("policy.too_deep")));
        let list = |dots| code(&format!("[[{}a]]\n", "a.".repeat(dots)));
        assert_eq!((list(31), list(32)), (None, Some("policy.too_deep")));
        let key = |dots| code(&format!("{}a = 1\n", "a.".repeat(dots)));
        assert_eq!((key(32), key(33)), (None, Some("policy.too_deep")));
        // Dots of another line, entry or level are others.
        for ends in ["\n", ",", "=", "{", "["] {
            let text = format!("x = {{ {0}a {ends} {0}a = 1", "a.".repeat(20));
            assert_eq!(code(&text), None, "{ends:?}");
        }
    }
}
