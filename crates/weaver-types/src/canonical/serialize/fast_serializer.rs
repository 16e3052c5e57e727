//! The single-pass serializer, with the arrays and objects that are open while it runs.

use serde::ser::Serialize;

use super::member_order::sort_members;
use super::{SinglePassError, Uncommon};
use crate::canonical::json_buffer::JsonBuffer;
use crate::canonical::unescaped_text::{is_plain_name, sort_prefix};
use crate::canonical::{MAX_DEPTH, Profile};

#[derive(Debug)]
pub(super) struct FastSerializer {
    pub(super) bytes: JsonBuffer,
    /// The largest magnitude of an integer that the profile allows.
    max_integer: u64,
    pub(super) depth: usize,
    /// Something was left out that the fallback has to write, so the bytes are of no use.
    pub(super) is_uncommon: bool,
    /// A double is not finite.
    pub(super) is_not_finite: bool,
}

impl FastSerializer {
    /// A serializer with an initial capacity in bytes.
    pub(super) fn new(profile: Profile, capacity: usize) -> Self {
        let max_integer = if profile == Profile::Foreign { u64::MAX } else { 1 << 53 };
        let bytes = JsonBuffer::with_capacity(capacity);
        Self { bytes, max_integer, depth: 0, is_uncommon: false, is_not_finite: false }
    }

    /// Writes a whole value. After an error, what was written of it is of no use.
    pub(super) fn write<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), SinglePassError> {
        let ended = value.serialize(&mut *self);
        if self.is_not_finite {
            return Err(SinglePassError::NotFinite);
        }
        if ended.is_err() || self.is_uncommon { Err(SinglePassError::Undecided) } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn write_raw(&mut self, word: &[u8]) -> Result<(), Uncommon> {
        self.bytes.write_raw(word);
        Ok(())
    }

    pub(super) fn enter(&mut self) -> Result<(), Uncommon> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH { Ok(()) } else { Err(Uncommon) }
    }

    pub(super) fn signed(&mut self, value: i64) -> Result<(), Uncommon> {
        if value < 0 {
            self.bytes.push(b'-');
        }
        self.unsigned(value.unsigned_abs())
    }

    pub(super) fn unsigned(&mut self, value: u64) -> Result<(), Uncommon> {
        if value > self.max_integer {
            return Err(Uncommon);
        }
        self.bytes.write_integer(value);
        Ok(())
    }

    pub(super) fn begin_array(&mut self) -> Result<OpenArray<'_>, Uncommon> {
        self.enter()?;
        Ok(OpenArray { out: self, separator: b'[', closing: b"]" })
    }

    #[inline(always)]
    pub(super) fn begin_object(&mut self) -> Result<OpenObject<'_>, Uncommon> {
        self.enter()?;
        let keys = OpenObjectState::at(self.bytes.len());
        Ok(OpenObject { out: self, keys, closing: b"}" })
    }

    /// Writes `{"name":`; the caller adds the value and the closing brace.
    pub(super) fn begin_variant(&mut self, name: &'static str) -> Result<(), Uncommon> {
        self.enter()?;
        self.bytes.push(b'{');
        self.bytes.write_string(name);
        self.write_raw(b":")
    }
}

/// An open array.
pub(super) struct OpenArray<'a> {
    pub(super) out: &'a mut FastSerializer,
    /// The byte before the next item: `[` at first, then a comma.
    pub(super) separator: u8,
    /// The bytes after the last item.
    pub(super) closing: &'static [u8],
}

impl OpenArray<'_> {
    pub(super) fn write_item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Uncommon> {
        self.out.bytes.push(self.separator);
        self.separator = b',';
        value.serialize(&mut *self.out)
    }

    pub(super) fn close(self) -> Result<(), Uncommon> {
        if self.separator == b'[' {
            self.out.bytes.push(b'[');
        }
        self.out.depth -= self.closing.len();
        self.out.write_raw(self.closing)
    }
}

/// The state of an object that is being written.
#[derive(Debug)]
pub(super) struct OpenObjectState {
    /// Where the object begins in the output.
    start: usize,
    /// The byte before the next key: `{` at first, then a comma.
    separator: u8,
    /// Where the last member begins: at the brace or comma before its key.
    last: usize,
    /// The sort prefix of the last key.
    sort_prefix: u64,
    /// True while the keys are known to be in canonical order.
    in_order: bool,
}

impl OpenObjectState {
    #[inline(always)]
    pub(super) fn at(start: usize) -> Self {
        Self { start, separator: b'{', last: start, sort_prefix: 0, in_order: true }
    }
}

impl FastSerializer {
    /// Writes a plain key. Inlined, so that a key known at compile time costs no more than storing
    /// its bytes.
    #[inline(always)]
    pub(super) fn write_name(
        &mut self,
        keys: &mut OpenObjectState,
        name: &str,
    ) -> Result<(), Uncommon> {
        let start = self.bytes.len();
        let sort_prefix = match self.bytes.write_plain_member_name(keys.separator, name.as_bytes())
        {
            Some(sort_prefix) => sort_prefix,
            None => self.write_unusual_name(start, keys.separator, name.as_bytes())?,
        };
        self.note_member(keys, start, sort_prefix);
        Ok(())
    }

    /// Records the member whose key was just written, and whether it is in order.
    #[inline(always)]
    fn note_member(&mut self, keys: &mut OpenObjectState, start: usize, sort_prefix: u64) {
        if sort_prefix <= keys.sort_prefix && keys.separator == b',' {
            keys.in_order &= self.is_ordered_after(start, keys.last);
        }
        (keys.last, keys.sort_prefix, keys.separator) = (start, sort_prefix, b',');
    }

    /// True when the key of the member at `this`, just written, is certain to sort after the key of
    /// the member at `last`. Called only when the eight-byte prefixes do not decide.
    #[cold]
    #[inline(never)]
    fn is_ordered_after(&self, this: usize, last: usize) -> bool {
        let keys = self.bytes.get(this + 2..self.bytes.len() - 2).zip(self.bytes.get(last + 2..));
        let (this, last) = keys.unwrap_or_default();
        // For plain keys, byte order equals UTF-16 order. A key that has ended continues with a
        // quote, which is lower than most bytes of the longer key.
        this.iter()
            .zip(last)
            .find(|(this, last)| this != last)
            .is_some_and(|(this, last)| this > last)
    }

    /// The slow path of `write_name`: the buffer must grow, or the name needs a closer check.
    #[cold]
    #[inline(never)]
    fn write_unusual_name(
        &mut self,
        start: usize,
        separator: u8,
        name: &[u8],
    ) -> Result<u64, Uncommon> {
        if !is_plain_name(name) {
            return Err(Uncommon);
        }
        self.bytes.truncate(start);
        self.bytes.write_raw(&[separator, b'"']);
        self.bytes.write_raw(name);
        self.bytes.write_raw(b"\":");
        Ok(sort_prefix(name))
    }

    /// Writes a map key, which must serialise to a plain string.
    pub(super) fn write_key<T: Serialize + ?Sized>(
        &mut self,
        keys: &mut OpenObjectState,
        key: &T,
    ) -> Result<(), Uncommon> {
        let start = self.bytes.len();
        self.bytes.push(keys.separator);
        // Also a number that the profile refuses as a value may be a key.
        self.is_uncommon |= key.serialize(&mut *self).is_err();
        let name = match self.bytes.get(start + 1..) {
            Some([b'"', name @ .., b'"']) if is_plain_name(name) => name,
            _ => {
                self.is_uncommon = true;
                return Ok(());
            }
        };
        let sort_prefix = sort_prefix(name);
        self.bytes.push(b':');
        self.note_member(keys, start, sort_prefix);
        Ok(())
    }

    /// Closes an object, after sorting its members when needed.
    #[inline(always)]
    pub(super) fn end_object(
        &mut self,
        keys: &OpenObjectState,
        closing: &[u8],
    ) -> Result<(), Uncommon> {
        if !keys.in_order && !self.is_uncommon {
            sort_members(&mut self.bytes, keys.start)?;
        }
        if keys.separator == b'{' {
            self.bytes.push(b'{');
        }
        self.depth -= closing.len();
        self.write_raw(closing)
    }
}

/// An open object.
pub(super) struct OpenObject<'a> {
    pub(super) out: &'a mut FastSerializer,
    pub(super) keys: OpenObjectState,
    /// The bytes after the last member.
    pub(super) closing: &'static [u8],
}
