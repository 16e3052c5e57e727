//! JSON within a text: lines, fenced blocks, events, and documents that are cut or nested too deeply
//! for a parser.
//!
//! One pass with a stack of its own. Outside of brackets everything is text. Inside, what is not
//! JSON closes all open brackets, so program text with braces is left alone; a comma before a
//! closing bracket is accepted. What a name hides counts once its object is closed, or where the
//! text ends.

use super::engine::Detection;

/// The longest name that is looked up, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// The deepest nesting, which bounds the memory for a text of brackets. What goes deeper is read as
/// if it began there.
const MAX_DEPTH: usize = 4_096;

/// What may follow in an open object or list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedToken {
    /// A name, or the end of the object.
    Name,
    Colon,
    /// A value; in a list also its end.
    Value,
    /// A comma or the end.
    Comma,
}

/// An open object or list.
#[derive(Debug)]
struct OpenPart<'t> {
    is_object: bool,
    expected: ExpectedToken,
    /// The name of the field that is read; of a list, its own.
    name: Option<&'t str>,
    /// Where it begins, and the rule that hides it as a whole.
    hidden: Option<(usize, usize)>,
}

/// Every value that its field name hides in the parts of a text that are JSON, in order.
/// `hidden_rule` gets the name and the text from the value on.
pub(super) fn values_under_names(
    text: &str,
    mut hidden_rule: impl FnMut(&str, &[u8]) -> Option<usize>,
) -> Vec<Detection> {
    let mut reader = PartReader { text, ..PartReader::default() };
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if reader.open.is_empty() {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(next) = memchr::memchr2(b'{', b'[', rest) else { break };
            at += next;
            reader.begin(at, None);
            at += 1;
            continue;
        }
        match reader.read(at, &mut hidden_rule) {
            Some(end) => at = end,
            // This may begin a part.
            None => reader.abandon(),
        }
    }
    reader.finish()
}

#[derive(Debug, Default)]
struct PartReader<'t> {
    text: &'t str,
    open: Vec<OpenPart<'t>>,
    found: Vec<Detection>,
    /// How many of them were found when a part was closed last.
    accepted: usize,
    /// How many parts are around the outermost one that is hidden as a whole.
    hidden_depth: Option<usize>,
}

impl<'t> PartReader<'t> {
    /// Reads what is at this position in the innermost part; `None` if that is not JSON.
    fn read(
        &mut self,
        at: usize,
        hidden_rule: &mut impl FnMut(&str, &[u8]) -> Option<usize>,
    ) -> Option<usize> {
        let byte = *self.text.as_bytes().get(at)?;
        let part = self.open.last_mut()?;
        match (byte, part.expected) {
            (b' ' | b'\n' | b'\r' | b'\t', _) => {}
            (b'}', ExpectedToken::Name | ExpectedToken::Comma) if part.is_object => self.end(at),
            (b']', ExpectedToken::Value | ExpectedToken::Comma) if !part.is_object => self.end(at),
            (b',', ExpectedToken::Comma) => {
                part.expected =
                    if part.is_object { ExpectedToken::Name } else { ExpectedToken::Value };
            }
            (b':', ExpectedToken::Colon) => part.expected = ExpectedToken::Value,
            (b'"', ExpectedToken::Name) => {
                let end = self.scalar_end(at)?;
                let part = self.open.last_mut()?;
                part.name = self.text.get(at..end).filter(|name| name.len() <= MAX_NAME_BYTES);
                part.expected = ExpectedToken::Colon;
                return Some(end);
            }
            (_, ExpectedToken::Value) => {
                let name = part.name.filter(|_| self.hidden_depth.is_none());
                let is_container = matches!(byte, b'{' | b'[');
                if is_container {
                    // A list was judged with its items; an object in it has names of its own.
                    let named = name.filter(|_| byte == b'[' || part.is_object);
                    let rule =
                        named.and_then(|name| hidden_rule(name, self.text.as_bytes().get(at..)?));
                    self.open.last_mut()?.expected = ExpectedToken::Comma;
                    if self.open.len() >= MAX_DEPTH {
                        return None;
                    }
                    self.begin(at, rule);
                    return Some(at + 1);
                }
                let end = self.scalar_end(at)?;
                self.open.last_mut()?.expected = ExpectedToken::Comma;
                if let Some(rule) =
                    name.and_then(|name| hidden_rule(name, self.text.as_bytes().get(at..)?))
                {
                    self.found.push(Detection { range: at..end, rule });
                }
                return Some(end);
            }
            _ => return None,
        }
        Some(at + 1)
    }

    /// Where the string, number or literal ends that begins here; `None` if there is none.
    ///
    /// A string ends on its line, and a number where its characters do: a scan that fails is not
    /// repeated for the brackets that it passed.
    fn scalar_end(&self, at: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(at..)?;
        let len = match rest {
            [b'"', inner @ ..] => {
                let mut is_escaped = false;
                let len = inner.iter().position(|byte| {
                    let ends = matches!(byte, b'\n' | b'"') && !is_escaped;
                    is_escaped = !is_escaped && *byte == b'\\';
                    ends
                })?;
                (inner.get(len) == Some(&b'"')).then_some(len + 2)?
            }
            [b'-' | b'0'..=b'9', ..] => {
                rest.iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count()
            }
            _ => [&b"true"[..], b"false", b"null"]
                .into_iter()
                .find(|literal| rest.starts_with(literal))?
                .len(),
        };
        Some(at + len)
    }

    fn begin(&mut self, at: usize, rule: Option<usize>) {
        let is_object = self.text.as_bytes().get(at) == Some(&b'{');
        // Items of a list have its name.
        let name = self.open.last().and_then(|part| part.name).filter(|_| !is_object);
        if rule.is_some() {
            self.hidden_depth = Some(self.open.len());
        }
        self.open.push(OpenPart {
            is_object,
            expected: if is_object { ExpectedToken::Name } else { ExpectedToken::Value },
            name,
            hidden: rule.map(|rule| (at, rule)),
        });
    }

    /// Ends the innermost part.
    fn end(&mut self, at: usize) {
        let Some(part) = self.open.pop() else { return };
        if let Some((start, rule)) = part.hidden {
            self.hidden_depth = None;
            self.found.push(Detection { range: start..at + 1, rule });
        }
        self.accepted = self.found.len();
    }

    /// What is open is not JSON, so what was found since a part was closed does not count.
    fn abandon(&mut self) {
        self.found.truncate(self.accepted);
        self.open.clear();
        self.hidden_depth = None;
    }

    /// What was found. Where the text ends within a part, what is hidden as a whole ends there, too.
    fn finish(mut self) -> Vec<Detection> {
        let hidden = self.open.iter().find_map(|part| part.hidden);
        if let Some((start, rule)) = hidden {
            self.found.push(Detection { range: start..self.text.len(), rule });
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> Vec<&str> {
        let hides =
            |name: &str, value: &[u8]| (name == "\"x\"" && !value.starts_with(b"n")).then_some(7);
        let found = values_under_names(text, hides);
        assert!(found.is_sorted_by_key(|one| one.range.start), "{text}");
        found.into_iter().map(|one| text.get(one.range).unwrap()).collect()
    }

    #[test]
    fn names_hide_values_wherever_json_is_in_a_text() {
        let deep = format!("{{\"a\":{}1{},\"x\":2}}", "[".repeat(200), "]".repeat(200));
        for (text, values) in [
            ("{\"x\":1}\n{\"x\":2}\n", &["1", "2"][..]),
            ("```json\n{\n  \"x\": \"v\"\n}\n```", &["\"v\""]),
            ("HTTP 200\n{\"a\":{\"x\":[1,2]}}", &["[1,2]"]),
            ("data: {\"x\":\"v\"}\n\ndata: {\"x\":3}", &["\"v\"", "3"]),
            ("{\"x\":1,\"a\":[1,],}", &["1"]),
            ("{\"a\":1,\"x\":\"v\"", &["\"v\""]),
            ("{\"a\":1,\"x\":{\"b\":2,", &["{\"b\":2,"]),
            ("[{\"x\":null},{\"x\":true}]", &["true"]),
            ("f(a) { g({\"x\": 1}); }", &["1"]),
            ("{\"x\": {\"x\": 1}}", &["{\"x\": 1}"]),
            ("[{\"x\": \"a\\\"b\"}, more]", &["\"a\\\"b\""]),
            (&deep, &["2"]),
        ] {
            assert_eq!(hidden(text), values, "{text}");
        }
    }

    #[test]
    fn a_text_of_brackets_takes_bounded_memory() {
        let text = "[".repeat(3 * MAX_DEPTH) + "{\"x\":1}";
        assert_eq!(hidden(&text), ["1"]);
        let mut reader = PartReader { text: &text, ..PartReader::default() };
        reader.begin(0, None);
        let mut deepest = 0;
        for at in 1..text.len() {
            if reader.read(at, &mut |_, _| None).is_none() {
                reader.abandon();
                reader.begin(at, None);
            }
            deepest = deepest.max(reader.open.len());
        }
        assert_eq!(deepest, MAX_DEPTH);
    }

    #[test]
    fn program_text_is_no_json() {
        for text in [
            "", "{\"x\": value}", "{\"x\": f(1)}", "{\"x\": 'v'}", "{x: 1}", "{\"x\" => 1}",
            "\"x\": 1", "{\"x\": 1, b: 2}", "{\"x\": \"v\nw\"}", "{\"x\", 1}", "{\"x\": 1; }",
            "[\"x\": 1]", "{\"x\": {b}}", "{\"x\": 1]",
        ] {
            assert_eq!(hidden(text), Vec::<&str>::new(), "{text}");
        }
        // What is not JSON ends at once, and a part may begin there.
        assert_eq!(hidden("{ {\"x\": 1} "), ["1"]);
        assert_eq!(hidden("{\"a\" {\"x\": 1} "), ["1"]);
    }
}
