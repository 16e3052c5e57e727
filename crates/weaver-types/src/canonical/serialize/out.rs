//! Open arrays and objects.

use serde::ser::Serialize;

use super::Stop;
use super::order::arrange;
use crate::canonical::buffer::Buffer;
use crate::canonical::unescaped_text::{head, is_plain_name};
use crate::canonical::{MAX_DEPTH, Profile};

#[derive(Debug)]
pub(super) struct Out {
    pub(super) bytes: Buffer,
    /// The greatest magnitude of an integer.
    most: u64,
    pub(super) depth: usize,
}

impl Out {
    /// An output with a capacity in bytes.
    pub(super) fn new(profile: Profile, room: usize) -> Self {
        let most = if profile == Profile::Foreign { u64::MAX } else { 1 << 53 };
        Self { bytes: Buffer::with_room(room), most, depth: 0 }
    }

    #[inline(always)]
    pub(super) fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        self.bytes.word(word);
        Ok(())
    }

    pub(super) fn deeper(&mut self) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH { Ok(()) } else { Err(Stop) }
    }

    pub(super) fn signed(&mut self, value: i64) -> Result<(), Stop> {
        if value < 0 {
            self.bytes.push(b'-');
        }
        self.unsigned(value.unsigned_abs())
    }

    pub(super) fn unsigned(&mut self, value: u64) -> Result<(), Stop> {
        if value > self.most {
            return Err(Stop);
        }
        self.bytes.number(value);
        Ok(())
    }

    pub(super) fn list(&mut self) -> Result<List<'_>, Stop> {
        self.deeper()?;
        Ok(List { out: self, lead: b'[', tail: b"]" })
    }

    #[inline(always)]
    pub(super) fn object(&mut self) -> Result<Object<'_>, Stop> {
        self.deeper()?;
        let keys = Keys::at(self.bytes.len());
        Ok(Object { out: self, keys, tail: b"}" })
    }

    /// `{"name":`, to which the caller adds a value and the end of the object.
    pub(super) fn variant(&mut self, name: &'static str) -> Result<(), Stop> {
        self.deeper()?;
        self.bytes.push(b'{');
        self.bytes.text(name);
        self.word(b":")
    }
}

/// An open array.
pub(super) struct List<'a> {
    pub(super) out: &'a mut Out,
    /// What stands before the next item.
    pub(super) lead: u8,
    /// What stands after the last one.
    pub(super) tail: &'static [u8],
}

impl List<'_> {
    pub(super) fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        self.out.bytes.push(self.lead);
        self.lead = b',';
        value.serialize(&mut *self.out)
    }

    pub(super) fn close(self) -> Result<(), Stop> {
        if self.lead == b'[' {
            self.out.bytes.push(b'[');
        }
        self.out.depth -= self.tail.len();
        self.out.word(self.tail)
    }
}

/// What stands of an open object.
#[derive(Debug)]
pub(super) struct Keys {
    /// Where it begins.
    start: usize,
    /// What stands before the next key.
    lead: u8,
    /// Where the last member begins: with the brace or the comma before its key.
    last: usize,
    /// The head of its key.
    head: u64,
    /// Whether the keys surely came in order so far.
    in_order: bool,
}

impl Keys {
    #[inline(always)]
    pub(super) fn at(start: usize) -> Self {
        Self { start, lead: b'{', last: start, head: 0, in_order: true }
    }
}

impl Out {
    /// Writes a key that is a plain text. Inlined, a name that the compiler knows costs as much as
    /// storing its bytes.
    #[inline(always)]
    pub(super) fn name(&mut self, keys: &mut Keys, name: &str) -> Result<(), Stop> {
        let start = self.bytes.len();
        let head = match self.bytes.name(keys.lead, name.as_bytes()) {
            Some(head) => head,
            None => self.name_closely(start, keys.lead, name.as_bytes())?,
        };
        self.begin(keys, start, head);
        Ok(())
    }

    /// Takes down the member whose key was just written.
    #[inline(always)]
    fn begin(&mut self, keys: &mut Keys, start: usize, head: u64) {
        if head <= keys.head && keys.lead == b',' {
            keys.in_order &= self.is_after(start, keys.last);
        }
        (keys.last, keys.head, keys.lead) = (start, head, b',');
    }

    /// Whether the key that was just written, in the member that begins at `this`, surely stands
    /// after the one of `last`.
    #[cold]
    #[inline(never)]
    fn is_after(&self, this: usize, last: usize) -> bool {
        let keys = self.bytes.get(this + 2..self.bytes.len() - 2).zip(self.bytes.get(last + 2..));
        let (this, last) = keys.unwrap_or_default();
        // Of plain keys, the order by bytes is the one by UTF-16 units. A key that has ended goes on
        // with a quote, which is lower than most of what the other may go on with.
        this.iter()
            .zip(last)
            .find(|(this, last)| this != last)
            .is_some_and(|(this, last)| this > last)
    }

    /// The same where there is no room yet, or where the name has to be looked at more closely.
    #[cold]
    #[inline(never)]
    fn name_closely(&mut self, start: usize, lead: u8, name: &[u8]) -> Result<u64, Stop> {
        if !is_plain_name(name) {
            return Err(Stop);
        }
        self.bytes.truncate(start);
        self.bytes.word(&[lead, b'"']);
        self.bytes.word(name);
        self.bytes.word(b"\":");
        Ok(head(name))
    }

    /// Writes a key, which must come out as plain text in quotes.
    pub(super) fn key<T: Serialize + ?Sized>(
        &mut self,
        keys: &mut Keys,
        key: &T,
    ) -> Result<(), Stop> {
        let start = self.bytes.len();
        self.bytes.push(keys.lead);
        key.serialize(&mut *self)?;
        let Some([b'"', name @ .., b'"']) = self.bytes.get(start + 1..) else {
            return Err(Stop);
        };
        if !is_plain_name(name) {
            return Err(Stop);
        }
        let head = head(name);
        self.bytes.push(b':');
        self.begin(keys, start, head);
        Ok(())
    }

    /// Writes the end of an object, with its members in order.
    #[inline(always)]
    pub(super) fn end(&mut self, keys: &Keys, tail: &[u8]) -> Result<(), Stop> {
        if !keys.in_order {
            arrange(&mut self.bytes, keys.start)?;
        }
        if keys.lead == b'{' {
            self.bytes.push(b'{');
        }
        self.depth -= tail.len();
        self.word(tail)
    }
}

/// An open object.
pub(super) struct Object<'a> {
    pub(super) out: &'a mut Out,
    pub(super) keys: Keys,
    /// What stands after the last member.
    pub(super) tail: &'static [u8],
}
