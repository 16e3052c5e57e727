//! The reader: RFC 8259 and nothing else.

use serde_json::{Map, Value};

use super::{CanonicalError, CanonicalFault, MAX_DEPTH, Profile, number};

/// A walk over one JSON text. Its recursion is bounded by [`MAX_DEPTH`].
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
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
        Ok(Self { text, at: 0, profile })
    }

    /// Reads the one value and the blanks around it.
    pub(super) fn document(mut self) -> ReadResult<Value> {
        let value = self.value(0)?;
        self.blanks();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.fault(CanonicalFault::Trailing)),
        }
    }

    fn value(&mut self, depth: usize) -> ReadResult<Value> {
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'[') => self.array(self.deeper(depth)?),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.fault(CanonicalFault::Syntax)),
        }
    }

    fn deeper(&self, depth: usize) -> ReadResult<usize> {
        if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(self.fault(CanonicalFault::Depth)) }
    }

    fn object(&mut self, depth: usize) -> ReadResult<Value> {
        self.at += 1;
        let mut map = Map::new();
        self.blanks();
        if self.take(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.blanks();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.fault(CanonicalFault::Syntax));
            }
            let key = self.string()?;
            if map.contains_key(&key) {
                return Err(CanonicalFault::DuplicateKey.at(start).inside_key(&key));
            }
            self.blanks();
            self.need(b':')?;
            let value = self.value(depth).map_err(|e| e.inside_key(&key))?;
            map.insert(key, value);
            self.blanks();
            if self.take(b'}') {
                return Ok(Value::Object(map));
            }
            self.need(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> ReadResult<Value> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            let item = self.value(depth).map_err(|e| e.inside_index(items.len()))?;
            items.push(item);
            self.blanks();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            self.need(b',')?;
        }
    }

    fn word(&mut self, word: &str, value: Value) -> ReadResult<Value> {
        if self.rest().starts_with(word) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.fault(CanonicalFault::Syntax))
        }
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    fn number(&mut self) -> ReadResult<Value> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        number::read(text, self.profile).map(Value::Number).map_err(|fault| fault.at(start))
    }

    fn digits(&mut self) -> ReadResult<()> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return Err(self.fault(CanonicalFault::Syntax));
        }
        self.at += count;
        Ok(())
    }

    fn string(&mut self) -> ReadResult<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain =
                self.rest().bytes().take_while(|b| !matches!(b, b'"' | b'\\' | 0..=0x1f)).count();
            out.push_str(self.rest().get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.fault(CanonicalFault::Syntax)),
            }
        }
    }

    fn escape(&mut self) -> ReadResult<char> {
        let start = self.at;
        self.at += 1;
        let c = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(self.fault(CanonicalFault::Syntax)),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode(&mut self, start: usize) -> ReadResult<char> {
        let first = self.four_hex()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        let lone = CanonicalFault::Surrogate.at(start);
        if !(0xd800..0xdc00).contains(&first) || !self.rest().starts_with("\\u") {
            return Err(lone);
        }
        self.at += 1;
        let second = self.four_hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(lone);
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or(lone)
    }

    /// Reads `uXXXX`, the `u` included.
    fn four_hex(&mut self) -> ReadResult<u32> {
        self.at += 1;
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let unit = unit.ok_or_else(|| self.fault(CanonicalFault::Syntax))?;
        self.at += 4;
        Ok(unit)
    }

    fn blanks(&mut self) {
        let count =
            self.rest().bytes().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at += count;
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, byte: u8) -> ReadResult<()> {
        if self.take(byte) { Ok(()) } else { Err(self.fault(CanonicalFault::Syntax)) }
    }

    fn fault(&self, fault: CanonicalFault) -> CanonicalError {
        fault.at(self.at)
    }
}
