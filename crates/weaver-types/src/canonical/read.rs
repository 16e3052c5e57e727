//! The strict reader: RFC 8259 JSON and nothing else.

use serde_json::{Map, Value};

use super::{CanonicalError, CanonicalFault, MAX_DEPTH, Profile, number};

/// A recursive-descent parser over one JSON text. [`MAX_DEPTH`] bounds its recursion.
pub(super) struct Reader<'a> {
    text: &'a str,
    offset: usize,
    profile: Profile,
}

type ReadResult<T> = Result<T, CanonicalError>;

impl<'a> Reader<'a> {
    /// Checks the encoding of the whole text.
    pub(super) fn new(bytes: &'a [u8], profile: Profile) -> ReadResult<Self> {
        let text = str::from_utf8(bytes).map_err(|e| CanonicalFault::Utf8.at(e.valid_up_to()))?;
        if text.starts_with('\u{feff}') {
            return Err(CanonicalFault::ByteOrderMark.at(0));
        }
        Ok(Self { text, offset: 0, profile })
    }

    /// Parses the one value of the text, with white space around it.
    pub(super) fn read_document(mut self) -> ReadResult<Value> {
        let value = self.value(0)?;
        self.skip_whitespace();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.fault(CanonicalFault::Trailing)),
        }
    }

    fn value(&mut self, depth: usize) -> ReadResult<Value> {
        self.skip_whitespace();
        match self.peek() {
            Some(b'{') => self.object(self.next_depth(depth)?),
            Some(b'[') => self.array(self.next_depth(depth)?),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => Err(self.fault(CanonicalFault::Syntax)),
        }
    }

    fn next_depth(&self, depth: usize) -> ReadResult<usize> {
        if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(self.fault(CanonicalFault::Depth)) }
    }

    fn object(&mut self, depth: usize) -> ReadResult<Value> {
        self.offset += 1;
        let mut map = Map::new();
        self.skip_whitespace();
        if self.take_byte(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.skip_whitespace();
            let start = self.offset;
            if self.peek() != Some(b'"') {
                return Err(self.fault(CanonicalFault::Syntax));
            }
            let key = self.string()?;
            if map.contains_key(&key) {
                return Err(CanonicalFault::DuplicateKey.at(start).inside_key(&key));
            }
            self.skip_whitespace();
            self.require_byte(b':')?;
            let value = self.value(depth).map_err(|e| e.inside_key(&key))?;
            map.insert(key, value);
            self.skip_whitespace();
            if self.take_byte(b'}') {
                return Ok(Value::Object(map));
            }
            self.require_byte(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> ReadResult<Value> {
        self.offset += 1;
        let mut items = Vec::new();
        self.skip_whitespace();
        if self.take_byte(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            let item = self.value(depth).map_err(|e| e.inside_index(items.len()))?;
            items.push(item);
            self.skip_whitespace();
            if self.take_byte(b']') {
                return Ok(Value::Array(items));
            }
            self.require_byte(b',')?;
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> ReadResult<Value> {
        if self.rest().starts_with(word) {
            self.offset += word.len();
            Ok(value)
        } else {
            Err(self.fault(CanonicalFault::Syntax))
        }
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    fn number(&mut self) -> ReadResult<Value> {
        let start = self.offset;
        self.take_byte(b'-');
        if !self.take_byte(b'0') {
            self.digits()?;
        }
        if self.take_byte(b'.') {
            self.digits()?;
        }
        if self.take_byte(b'e') || self.take_byte(b'E') {
            let _ = self.take_byte(b'+') || self.take_byte(b'-');
            self.digits()?;
        }
        let text = self.text.get(start..self.offset).unwrap_or_default();
        number::read(text, self.profile).map(Value::Number).map_err(|fault| fault.at(start))
    }

    fn digits(&mut self) -> ReadResult<()> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return Err(self.fault(CanonicalFault::Syntax));
        }
        self.offset += count;
        Ok(())
    }

    fn string(&mut self) -> ReadResult<String> {
        self.offset += 1;
        let mut out = String::new();
        loop {
            let plain =
                self.rest().bytes().take_while(|b| !matches!(b, b'"' | b'\\' | 0..=0x1f)).count();
            out.push_str(self.rest().get(..plain).unwrap_or_default());
            self.offset += plain;
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.fault(CanonicalFault::Syntax)),
            }
        }
    }

    fn escape(&mut self) -> ReadResult<char> {
        let start = self.offset;
        self.offset += 1;
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => return Err(self.fault(CanonicalFault::Syntax)),
        };
        self.offset += 1;
        Ok(c)
    }

    fn unicode_escape(&mut self, start: usize) -> ReadResult<char> {
        let first = self.four_hex()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        let lone = CanonicalFault::Surrogate.at(start);
        if !(0xd800..0xdc00).contains(&first) || !self.rest().starts_with("\\u") {
            return Err(lone);
        }
        self.offset += 1;
        let second = self.four_hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(lone);
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or(lone)
    }

    /// Reads `uXXXX`, the `u` included.
    fn four_hex(&mut self) -> ReadResult<u32> {
        self.offset += 1;
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let unit = unit.ok_or_else(|| self.fault(CanonicalFault::Syntax))?;
        self.offset += 4;
        Ok(unit)
    }

    fn skip_whitespace(&mut self) {
        let count =
            self.rest().bytes().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.offset += count;
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn take_byte(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.offset += usize::from(found);
        found
    }

    fn require_byte(&mut self, byte: u8) -> ReadResult<()> {
        if self.take_byte(byte) { Ok(()) } else { Err(self.fault(CanonicalFault::Syntax)) }
    }

    fn fault(&self, fault: CanonicalFault) -> CanonicalError {
        fault.at(self.offset)
    }
}
