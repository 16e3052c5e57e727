//! Bytes in the making: open arrays and objects, and the order of members.

use serde::ser::Serialize;

use super::Stop;
use crate::canonical::plain::is_plain_name;
use crate::canonical::{MAX_DEPTH, Profile, write};

/// A member of an open object: where it begins, where its key ends, where it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) start: usize,
    pub(super) key_end: usize,
    pub(super) end: usize,
    /// The first eight bytes of its key as a number, so that keys are seldom compared as texts. No
    /// key has a byte of zero, so a short one stands before those that it begins.
    pub(super) head: u64,
}

/// The first eight bytes of a key as a number.
fn head(name: &[u8]) -> u64 {
    match name.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => (0..8).fold(0, |sum, at| sum << 8 | name.get(at).copied().map_or(0, u64::from)),
    }
}

#[derive(Debug)]
pub(super) struct Out {
    pub(super) bytes: Vec<u8>,
    /// The members of all open objects, those of the innermost last.
    pub(super) members: Vec<Member>,
    pub(super) spare: Vec<u8>,
    /// The greatest magnitude of an integer.
    pub(super) most: u64,
    pub(super) depth: usize,
}

impl Out {
    pub(super) fn new(profile: Profile) -> Self {
        Self::with_room(profile, 512)
    }

    /// The same with room for so many bytes.
    pub(super) fn with_room(profile: Profile, room: usize) -> Self {
        let most = if profile == Profile::Foreign { u64::MAX } else { 1 << 53 };
        let bytes = Vec::with_capacity(room);
        Self { bytes, members: Vec::with_capacity(16), spare: Vec::new(), most, depth: 0 }
    }

    pub(super) fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        self.bytes.extend_from_slice(word);
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

    pub(super) fn unsigned(&mut self, mut value: u64) -> Result<(), Stop> {
        if value > self.most {
            return Err(Stop);
        }
        let mut digits = [b'0'; 20];
        let mut length = 0;
        for digit in digits.iter_mut().rev() {
            *digit += u8::try_from(value % 10).unwrap_or(0);
            length += 1;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.word(digits.get(digits.len() - length..).unwrap_or_default())
    }

    pub(super) fn list(&mut self) -> Result<List<'_>, Stop> {
        self.deeper()?;
        self.bytes.push(b'[');
        Ok(List { out: self, first: true, tail: b"]" })
    }

    pub(super) fn object(&mut self) -> Result<Object<'_>, Stop> {
        self.deeper()?;
        self.bytes.push(b'{');
        Ok(Object::of(self))
    }

    /// `{"name":`, to which the caller adds a value and the end of the object.
    pub(super) fn variant(&mut self, name: &'static str) -> Result<(), Stop> {
        self.deeper()?;
        self.bytes.push(b'{');
        write::string(&mut self.bytes, name);
        self.word(b":")
    }

    /// Brings the members from `base` on, which begin at `start`, into the order of their keys.
    pub(super) fn arrange(&mut self, start: usize, base: usize) -> Result<(), Stop> {
        let Self { bytes, members, spare, .. } = self;
        let own = members.get_mut(base..).ok_or(Stop)?;
        // Of plain keys, the order by bytes is the one by UTF-16 units.
        let name = |member: &Member| match bytes.get(member.start..member.key_end) {
            Some([b'"', name @ .., b'"']) => name,
            _ => &[],
        };
        let order = |a: &Member, b: &Member| a.head.cmp(&b.head).then_with(|| name(a).cmp(name(b)));
        let less = |pair: &[Member]| matches!(pair, [a, b] if order(a, b).is_lt());
        if own.windows(2).all(less) {
            return Ok(());
        }
        own.sort_unstable_by(order);
        if !own.windows(2).all(less) {
            return Err(Stop);
        }
        spare.clear();
        spare.extend_from_slice(bytes.get(start..).ok_or(Stop)?);
        bytes.truncate(start);
        for (index, member) in own.iter().enumerate() {
            if index > 0 {
                bytes.push(b',');
            }
            let range = member.start - start..member.end - start;
            bytes.extend_from_slice(spare.get(range).ok_or(Stop)?);
        }
        Ok(())
    }
}

/// An open array, and what stands after its last item.
pub(super) struct List<'a> {
    pub(super) out: &'a mut Out,
    pub(super) first: bool,
    pub(super) tail: &'static [u8],
}

impl List<'_> {
    pub(super) fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        if !std::mem::take(&mut self.first) {
            self.out.bytes.push(b',');
        }
        value.serialize(&mut *self.out)
    }

    pub(super) fn close(self) -> Result<(), Stop> {
        self.out.depth -= self.tail.len();
        self.out.word(self.tail)
    }
}

/// An open object, and what stands after its last member.
pub(super) struct Object<'a> {
    pub(super) out: &'a mut Out,
    pub(super) start: usize,
    /// The number of members that were open before.
    pub(super) base: usize,
    pub(super) member: usize,
    pub(super) key_end: usize,
    pub(super) head: u64,
    pub(super) tail: &'static [u8],
}

impl<'a> Object<'a> {
    pub(super) fn of(out: &'a mut Out) -> Self {
        let (start, base) = (out.bytes.len(), out.members.len());
        Self { out, start, base, member: 0, key_end: 0, head: 0, tail: b"}" }
    }

    /// Writes a key that is a plain text.
    pub(super) fn name(&mut self, name: &str) -> Result<(), Stop> {
        let name = name.as_bytes();
        if !is_plain_name(name) {
            return Err(Stop);
        }
        let bytes = &mut self.out.bytes;
        let first = bytes.len() <= self.start;
        self.member = bytes.len() + usize::from(!first);
        if first {
            bytes.push(b'"');
        } else {
            bytes.extend_from_slice(b",\"");
        }
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(b"\":");
        self.key_end = bytes.len() - 1;
        self.head = head(name);
        Ok(())
    }

    /// Writes a key, which must come out as plain text in quotes.
    pub(super) fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        if self.out.bytes.len() > self.start {
            self.out.bytes.push(b',');
        }
        self.member = self.out.bytes.len();
        key.serialize(&mut *self.out)?;
        self.key_end = self.out.bytes.len();
        let written = self.out.bytes.get(self.member..).unwrap_or_default();
        let [b'"', name @ .., b'"'] = written else { return Err(Stop) };
        if !is_plain_name(name) {
            return Err(Stop);
        }
        self.head = head(name);
        self.out.bytes.push(b':');
        Ok(())
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        value.serialize(&mut *self.out)?;
        self.member_ends();
        Ok(())
    }

    /// Takes down the member whose value was just written.
    pub(super) fn member_ends(&mut self) {
        let (start, key_end, end) = (self.member, self.key_end, self.out.bytes.len());
        self.out.members.push(Member { start, key_end, end, head: self.head });
    }

    pub(super) fn close(self) -> Result<(), Stop> {
        self.out.arrange(self.start, self.base)?;
        self.out.members.truncate(self.base);
        self.out.depth -= self.tail.len();
        self.out.word(self.tail)
    }
}
