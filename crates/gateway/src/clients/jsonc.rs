//! Parses JSON with comments and trailing commas, keeping the byte span of every member.
//!
//! VS Code, Zed and opencode write such files; strict JSON is also accepted.

use std::ops::Range;

use serde_json::{Map, Value};

use super::error::SyntaxFault;

/// The deepest nesting that is accepted.
const MAX_DEPTH: usize = 64;

/// A value and its byte span.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) content: NodeContent,
}

#[derive(Debug)]
pub(super) enum NodeContent {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
}

/// One member of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// From the quote before the name to the end of the value.
    pub(super) span: Range<usize>,
    /// The offset of the following comma, if any.
    pub(super) comma: Option<usize>,
    pub(super) value: Node,
}

impl Node {
    /// The members, if this is an object.
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.content {
            NodeContent::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The value without spans.
    pub(super) fn to_value(&self) -> Value {
        match &self.content {
            NodeContent::Scalar(value) => value.clone(),
            NodeContent::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            NodeContent::Object(members) => {
                let members = members.iter();
                let members = members.map(|one| (one.name.clone(), one.value.to_value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }
}

/// Parses a text.
pub(super) fn parse(text: &str) -> Result<Node, SyntaxFault> {
    let mut parser = Parser { text, offset: 0 };
    if text.starts_with('\u{feff}') {
        parser.offset = '\u{feff}'.len_utf8();
    }
    parser.skip_trivia()?;
    let node = parser.value(0)?;
    parser.skip_trivia()?;
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.fault("there is text after the end of the JSON value")),
    }
}

struct Parser<'t> {
    text: &'t str,
    offset: usize,
}

impl Parser<'_> {
    fn fault(&self, message: impl Into<String>) -> SyntaxFault {
        SyntaxFault { offset: self.offset, message: message.into() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// Skips whitespace and comments.
    fn skip_trivia(&mut self) -> Result<(), SyntaxFault> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.offset += 1,
                Some(b'/') if self.rest().starts_with("//") => {
                    self.offset += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                Some(b'/') if self.rest().starts_with("/*") => match self.rest().find("*/") {
                    Some(end) => self.offset += end + 2,
                    None => return Err(self.fault("a comment `/*` has no end `*/`")),
                },
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, SyntaxFault> {
        if depth > MAX_DEPTH {
            return Err(self.fault(format!("more than {MAX_DEPTH} levels are nested")));
        }
        let start = self.offset;
        let content = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => NodeContent::Scalar(Value::String(self.string()?)),
            Some(_) => NodeContent::Scalar(self.literal()?),
            None => return Err(self.fault("the file ends where a value is expected")),
        };
        Ok(Node { span: start..self.offset, content })
    }

    fn object(&mut self, depth: usize) -> Result<NodeContent, SyntaxFault> {
        let open = self.offset;
        self.offset += 1;
        let mut members: Vec<Member> = Vec::new();
        let mut names = std::collections::BTreeSet::new();
        loop {
            self.skip_trivia()?;
            if self.peek() == Some(b'}') {
                self.offset += 1;
                return Ok(NodeContent::Object(members));
            }
            self.check_goes_on(open, "this `{` has no `}`")?;
            if members.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.fault("a comma is missing between two members"));
            }
            if self.peek() != Some(b'"') {
                return Err(self.fault("a name in double quotes, or `}`, is expected here"));
            }
            let start = self.offset;
            let name = self.string()?;
            if !names.insert(name.clone()) {
                self.offset = start;
                return Err(self.fault("this name stands twice in one object"));
            }
            self.skip_trivia()?;
            if self.peek() != Some(b':') {
                return Err(self.fault("a colon is missing after a name"));
            }
            self.offset += 1;
            self.skip_trivia()?;
            let value = self.value(depth + 1)?;
            let span = start..self.offset;
            let comma = self.comma()?;
            members.push(Member { name, span, comma, value });
        }
    }

    fn array(&mut self, depth: usize) -> Result<NodeContent, SyntaxFault> {
        let open = self.offset;
        self.offset += 1;
        let mut items = Vec::new();
        let mut has_comma = true;
        loop {
            self.skip_trivia()?;
            if self.peek() == Some(b']') {
                self.offset += 1;
                return Ok(NodeContent::Array(items));
            }
            self.check_goes_on(open, "this `[` has no `]`")?;
            if !has_comma {
                return Err(self.fault("a comma is missing between two items of a list"));
            }
            items.push(self.value(depth + 1)?);
            has_comma = self.comma()?.is_some();
        }
    }

    /// Fails at the bracket that stands at `open` if the text ends here.
    fn check_goes_on(&mut self, open: usize, message: &str) -> Result<(), SyntaxFault> {
        if self.peek().is_some() {
            return Ok(());
        }
        self.offset = open;
        Err(self.fault(message))
    }

    /// Skips whitespace and an optional comma; returns the comma's offset.
    fn comma(&mut self) -> Result<Option<usize>, SyntaxFault> {
        self.skip_trivia()?;
        if self.peek() != Some(b',') {
            return Ok(None);
        }
        self.offset += 1;
        Ok(Some(self.offset - 1))
    }

    fn string(&mut self) -> Result<String, SyntaxFault> {
        let mut escaped = false;
        let inner = self.rest().bytes().skip(1);
        let length = inner.take_while(|byte| {
            let ends = (*byte == b'"' && !escaped) || *byte == b'\n';
            escaped = *byte == b'\\' && !escaped;
            !ends
        });
        let end = self.offset + 1 + length.count();
        let quoted = self.text.get(self.offset..=end).filter(|text| text.ends_with('"'));
        let Some(quoted) = quoted else { return Err(self.fault("a text has no closing quote")) };
        let read = serde_json::from_str(quoted);
        let text =
            read.map_err(|_| self.fault("this text has an escape that JSON does not know"))?;
        self.offset = end + 1;
        Ok(text)
    }

    fn literal(&mut self) -> Result<Value, SyntaxFault> {
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']' | '/' | ':' | '"');
        let length = self.rest().find(ends).unwrap_or(self.rest().len());
        let word = self.rest().get(..length).unwrap_or_default();
        let read = serde_json::from_str(word);
        let value = read.map_err(|_| self.fault("this is not a JSON value"))?;
        self.offset += length;
        Ok(value)
    }
}
