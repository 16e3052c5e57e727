//! Open arrays and objects, and the order of members.

use std::ops::Range;

use serde::ser::Serialize;

use super::Stop;
use crate::canonical::buffer::Buffer;
use crate::canonical::plain::{head, is_plain_name};
use crate::canonical::{MAX_DEPTH, Profile};

/// A member of an open object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    /// The first eight bytes of its key as a number, so that keys are seldom compared as texts. No
    /// key has a byte of zero, so a short one stands before those that it begins.
    head: u64,
    /// Where it begins: with the brace or the comma before its key.
    start: u32,
    /// Where it ends, which is only looked up where members have to move.
    end: u32,
}

impl Member {
    /// Where its key and its value stand.
    fn range(self) -> Range<usize> {
        self.start as usize + 1..self.end as usize
    }
}

#[derive(Debug)]
pub(super) struct Out {
    pub(super) bytes: Buffer,
    /// The members of all open objects, those of the innermost last.
    pub(super) members: Vec<Member>,
    /// The greatest magnitude of an integer.
    most: u64,
    pub(super) depth: usize,
}

impl Out {
    /// An output with room for so many bytes.
    pub(super) fn new(profile: Profile, room: usize) -> Self {
        let most = if profile == Profile::Foreign { u64::MAX } else { 1 << 53 };
        let bytes = Buffer::with_room(room);
        Self { bytes, members: Vec::with_capacity(32), most, depth: 0 }
    }

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

    pub(super) fn object(&mut self) -> Result<Object<'_>, Stop> {
        self.deeper()?;
        Ok(Object::of(self))
    }

    /// `{"name":`, to which the caller adds a value and the end of the object.
    pub(super) fn variant(&mut self, name: &'static str) -> Result<(), Stop> {
        self.deeper()?;
        self.bytes.push(b'{');
        self.bytes.text(name);
        self.word(b":")
    }

    /// Sorts the members from `base` on, which end with what is written, by their keys.
    fn sort(&mut self, base: usize) -> Result<(), Stop> {
        let Self { bytes, members, .. } = self;
        let own = members.get_mut(base..).ok_or(Stop)?;
        let end = u32::try_from(bytes.len()).map_err(|_| Stop)?;
        own.iter_mut().rfold(end, |end, member| {
            member.end = end;
            member.start
        });
        own.sort_unstable_by_key(|member| member.head);
        if own.windows(2).any(|pair| matches!(pair, [a, b] if a.head == b.head)) {
            settle(own, bytes)
        } else {
            Ok(())
        }
    }

    /// Brings the members from `base` on into the order of their keys.
    fn arrange(&mut self, base: usize) -> Result<(), Stop> {
        let Some(first) = self.members.get(base) else { return Ok(()) };
        let start = first.start as usize;
        self.sort(base)?;
        let parts = self.members.iter().skip(base).map(|member| member.range());
        self.bytes.reorder(start, parts).ok_or(Stop)
    }

    /// The object that all members make, in the order of their keys.
    pub(super) fn into_object(mut self) -> Result<Vec<u8>, Stop> {
        self.sort(0)?;
        let mut object = Vec::with_capacity(self.bytes.len().max(1) + 1);
        for member in &self.members {
            object.push(if object.is_empty() { b'{' } else { b',' });
            object.extend_from_slice(self.bytes.get(member.range()).ok_or(Stop)?);
        }
        object.extend_from_slice(if object.is_empty() { b"{}" } else { b"}" });
        Ok(object)
    }
}

/// Sorts members of the same head by the whole of their keys.
#[cold]
fn settle(members: &mut [Member], bytes: &Buffer) -> Result<(), Stop> {
    let key = |member: &Member| {
        let key = bytes.get(member.start as usize + 2..)?;
        key.get(..key.iter().position(|byte| *byte == b'"')?)
    };
    for alike in members.chunk_by_mut(|a, b| a.head == b.head).filter(|alike| alike.len() > 1) {
        let mut keyed: Vec<_> = alike.iter().map(|member| (key(member), *member)).collect();
        // Of plain keys, the order by bytes is the one by UTF-16 units.
        keyed.sort_unstable_by_key(|(key, _)| *key);
        if keyed.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
            return Err(Stop);
        }
        alike.iter_mut().zip(keyed).for_each(|(place, (_, member))| *place = member);
    }
    Ok(())
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

/// An open object.
pub(super) struct Object<'a> {
    pub(super) out: &'a mut Out,
    /// The number of members that were open before.
    pub(super) base: usize,
    /// What stands before the next key.
    pub(super) lead: u8,
    /// The head of the last key.
    pub(super) last: u64,
    /// Whether the keys surely came in order so far.
    pub(super) in_order: bool,
    /// What stands after the last member.
    pub(super) tail: &'static [u8],
}

impl<'a> Object<'a> {
    pub(super) fn of(out: &'a mut Out) -> Self {
        let base = out.members.len();
        Self { out, base, lead: b'{', last: 0, in_order: true, tail: b"}" }
    }

    /// The object whose members are all of those so far.
    pub(super) fn outermost(out: &'a mut Out) -> Self {
        let lead = if out.members.is_empty() { b'{' } else { b',' };
        Self { base: 0, lead, ..Self::of(out) }
    }

    /// Writes a key that is a plain text.
    pub(super) fn name(&mut self, name: &str) -> Result<(), Stop> {
        let start = self.out.bytes.len();
        match self.out.bytes.name(self.lead, name.as_bytes()) {
            Some(head) => self.begin(start, head),
            None => self.name_closely(start, name.as_bytes()),
        }
    }

    /// The same where there is no room yet, or where the name has to be looked at more closely.
    #[cold]
    #[inline(never)]
    fn name_closely(&mut self, start: usize, name: &[u8]) -> Result<(), Stop> {
        if !is_plain_name(name) {
            return Err(Stop);
        }
        let bytes = &mut self.out.bytes;
        bytes.truncate(start);
        bytes.word(&[self.lead, b'"']);
        bytes.word(name);
        bytes.word(b"\":");
        self.begin(start, head(name))
    }

    /// Writes a key, which must come out as plain text in quotes.
    pub(super) fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        let start = self.out.bytes.len();
        self.out.bytes.push(self.lead);
        key.serialize(&mut *self.out)?;
        let Some([b'"', name @ .., b'"']) = self.out.bytes.get(start + 1..) else {
            return Err(Stop);
        };
        if !is_plain_name(name) {
            return Err(Stop);
        }
        let head = head(name);
        self.out.bytes.push(b':');
        self.begin(start, head)
    }

    /// Takes down the member whose key was just written.
    fn begin(&mut self, start: usize, head: u64) -> Result<(), Stop> {
        let start = u32::try_from(start).map_err(|_| Stop)?;
        self.in_order &= head > self.last || self.lead == b'{';
        self.last = head;
        self.lead = b',';
        self.out.members.push(Member { head, start, end: 0 });
        Ok(())
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        value.serialize(&mut *self.out)
    }

    pub(super) fn close(self) -> Result<(), Stop> {
        if !self.in_order {
            self.out.arrange(self.base)?;
        }
        self.out.members.truncate(self.base);
        if self.lead == b'{' {
            self.out.bytes.push(b'{');
        }
        self.out.depth -= self.tail.len();
        self.out.word(self.tail)
    }
}
