//! Canonical bytes of what serialises, written in one pass.
//!
//! It knows the common case: integers within the profile, text, plain keys. Anything else (a
//! double, a key with an escape, a key that is no text, a duplicate) stops it, and the caller takes
//! the long way over text and reader, which decides and names what is wrong.

use std::fmt;

use serde::ser::{self, Serialize};

use super::{CanonicalError, CanonicalFault, MAX_DEPTH, Profile, closely, write};

/// The canonical bytes of `value`; `None` where the long way has to decide.
pub(super) fn quickly<T: Serialize + ?Sized>(value: &T, profile: Profile) -> Option<Vec<u8>> {
    let mut out = Out::new(profile);
    value.serialize(&mut out).ok()?;
    Some(out.bytes)
}

/// A canonical object that is written member by member, in any order.
///
/// ```
/// use weaver_types::canonical::{Members, Profile};
///
/// let mut object = Members::new(Profile::Record);
/// object.add("type", "call").add("at", &7);
/// assert_eq!(object.finish()?, br#"{"at":7,"type":"call"}"#);
/// # Ok::<(), weaver_types::canonical::CanonicalError>(())
/// ```
#[derive(Debug)]
pub struct Members {
    out: Out,
    profile: Profile,
    failed: Option<CanonicalError>,
}

impl Members {
    /// An object without members.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        let mut out = Out::new(profile);
        out.bytes.push(b'{');
        out.depth = 1;
        Self { out, profile, failed: None }
    }

    /// Adds a member. What cannot be written is said by [`Members::finish`].
    pub fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> &mut Self {
        let before = self.out.members.len();
        let mut object = Object { start: 1, base: 0, ..Object::of(&mut self.out) };
        let Ok(()) = object.key(key) else { return self.fail(CanonicalFault::Serialize.nowhere()) };
        let (member, key_end) = (object.member, object.key_end);
        let begin = object.out.bytes.len();
        if value.serialize(&mut *object.out).is_err() {
            self.out.bytes.truncate(begin);
            self.out.members.truncate(before);
            self.out.depth = 1;
            match closely(value, self.profile) {
                Ok(bytes) => self.out.bytes.extend_from_slice(&bytes),
                Err(error) => return self.fail(error.inside_key(key)),
            }
        }
        let end = self.out.bytes.len();
        self.out.members.push(Member { start: member, key_end, end });
        self
    }

    fn fail(&mut self, error: CanonicalError) -> &mut Self {
        self.failed.get_or_insert(error);
        self
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`CanonicalError`]: a value that the profile refuses or that does not serialise, a key that
    /// stands twice or is no plain text.
    pub fn finish(mut self) -> Result<Vec<u8>, CanonicalError> {
        match self.failed {
            Some(error) => return Err(error),
            None if self.out.arrange(1, 0).is_err() => {
                return Err(CanonicalFault::DuplicateKey.nowhere());
            }
            None => {}
        }
        self.out.bytes.push(b'}');
        Ok(self.out.bytes)
    }
}

/// Not the common case.
#[derive(Debug)]
struct Stop;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the common case")
    }
}

impl std::error::Error for Stop {}

impl ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// A member of an open object: where it begins, where its key ends, where it ends.
#[derive(Debug, Clone, Copy)]
struct Member {
    start: usize,
    key_end: usize,
    end: usize,
}

#[derive(Debug)]
struct Out {
    bytes: Vec<u8>,
    /// The members of all open objects, those of the innermost last.
    members: Vec<Member>,
    spare: Vec<u8>,
    /// The greatest magnitude of an integer.
    most: u64,
    depth: usize,
}

impl Out {
    fn new(profile: Profile) -> Self {
        let most = if profile == Profile::Foreign { u64::MAX } else { 1 << 53 };
        let bytes = Vec::with_capacity(512);
        Self { bytes, members: Vec::with_capacity(16), spare: Vec::new(), most, depth: 0 }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Stop> {
        self.bytes.extend_from_slice(word);
        Ok(())
    }

    fn deeper(&mut self) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH { Ok(()) } else { Err(Stop) }
    }

    fn signed(&mut self, value: i64) -> Result<(), Stop> {
        if value < 0 {
            self.bytes.push(b'-');
        }
        self.unsigned(value.unsigned_abs())
    }

    fn unsigned(&mut self, mut value: u64) -> Result<(), Stop> {
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

    fn list(&mut self) -> Result<List<'_>, Stop> {
        self.deeper()?;
        self.bytes.push(b'[');
        Ok(List { out: self, first: true, tail: b"]" })
    }

    fn object(&mut self) -> Result<Object<'_>, Stop> {
        self.deeper()?;
        self.bytes.push(b'{');
        Ok(Object::of(self))
    }

    /// `{"name":`, to which the caller adds a value and the end of the object.
    fn variant(&mut self, name: &'static str) -> Result<(), Stop> {
        self.deeper()?;
        self.bytes.push(b'{');
        write::string(&mut self.bytes, name);
        self.word(b":")
    }

    /// Brings the members from `base` on, which begin at `start`, into the order of their keys.
    fn arrange(&mut self, start: usize, base: usize) -> Result<(), Stop> {
        let Self { bytes, members, spare, .. } = self;
        let own = members.get_mut(base..).ok_or(Stop)?;
        // Of plain keys, the order by bytes is the one by UTF-16 units.
        let name = |member: &Member| match bytes.get(member.start..member.key_end) {
            Some([b'"', name @ .., b'"']) => name,
            _ => &[],
        };
        if own.windows(2).all(|pair| matches!(pair, [a, b] if name(a) < name(b))) {
            return Ok(());
        }
        own.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        if own.windows(2).any(|pair| matches!(pair, [a, b] if name(a) == name(b))) {
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
struct List<'a> {
    out: &'a mut Out,
    first: bool,
    tail: &'static [u8],
}

impl List<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        if !std::mem::take(&mut self.first) {
            self.out.bytes.push(b',');
        }
        value.serialize(&mut *self.out)
    }

    fn close(self) -> Result<(), Stop> {
        self.out.depth -= self.tail.len();
        self.out.word(self.tail)
    }
}

/// An open object, and what stands after its last member.
struct Object<'a> {
    out: &'a mut Out,
    start: usize,
    /// The number of members that were open before.
    base: usize,
    member: usize,
    key_end: usize,
    tail: &'static [u8],
}

impl<'a> Object<'a> {
    fn of(out: &'a mut Out) -> Self {
        let (start, base) = (out.bytes.len(), out.members.len());
        Self { out, start, base, member: 0, key_end: 0, tail: b"}" }
    }

    /// Writes a key, which must come out as plain text in quotes.
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        if self.out.bytes.len() > self.start {
            self.out.bytes.push(b',');
        }
        self.member = self.out.bytes.len();
        key.serialize(&mut *self.out)?;
        self.key_end = self.out.bytes.len();
        let written = self.out.bytes.get(self.member..).unwrap_or_default();
        let text = matches!(written, [b'"', name @ .., b'"'] if name.iter().all(|byte| *byte < 0xf0 && *byte != b'\\'));
        self.out.bytes.push(b':');
        if text { Ok(()) } else { Err(Stop) }
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        value.serialize(&mut *self.out)?;
        let (start, key_end, end) = (self.member, self.key_end, self.out.bytes.len());
        self.out.members.push(Member { start, key_end, end });
        Ok(())
    }

    fn close(self) -> Result<(), Stop> {
        self.out.arrange(self.start, self.base)?;
        self.out.members.truncate(self.base);
        self.out.depth -= self.tail.len();
        self.out.word(self.tail)
    }
}

macro_rules! numbers {
    ($($method:ident: $ty:ty => $by:ident,)*) => {
        $(fn $method(self, value: $ty) -> Result<(), Stop> {
            self.$by(value.into())
        })*
    };
}

macro_rules! uncommon {
    ($($method:ident: $ty:ty,)*) => {
        $(fn $method(self, _: $ty) -> Result<(), Stop> {
            Err(Stop)
        })*
    };
}

impl<'a> ser::Serializer for &'a mut Out {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    numbers! {
        serialize_i8: i8 => signed, serialize_i16: i16 => signed, serialize_i32: i32 => signed,
        serialize_i64: i64 => signed, serialize_u8: u8 => unsigned, serialize_u16: u16 => unsigned,
        serialize_u32: u32 => unsigned, serialize_u64: u64 => unsigned,
    }

    uncommon! {
        serialize_i128: i128, serialize_u128: u128, serialize_f32: f32, serialize_f64: f64,
        serialize_bytes: &[u8],
    }

    fn serialize_bool(self, value: bool) -> Result<(), Stop> {
        self.word(if value { b"true" } else { b"false" })
    }

    fn serialize_char(self, value: char) -> Result<(), Stop> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Stop> {
        write::string(&mut self.bytes, value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Stop> {
        self.word(b"null")
    }

    fn serialize_unit(self) -> Result<(), Stop> {
        self.word(b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Stop> {
        self.word(b"null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Stop> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.depth -= 1;
        self.word(b"}")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>, Stop> {
        self.list()
    }

    fn serialize_tuple(self, _: usize) -> Result<List<'a>, Stop> {
        self.list()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'a>, Stop> {
        self.list()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List<'a>, Stop> {
        self.variant(variant)?;
        let list = self.list()?;
        Ok(List { tail: b"]}", ..list })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>, Stop> {
        self.object()
    }

    /// The private structs of `serde_json` stand for bytes or numbers that are written as they are.
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Object<'a>, Stop> {
        if name.starts_with('$') { Err(Stop) } else { self.object() }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'a>, Stop> {
        self.variant(variant)?;
        let object = self.object()?;
        Ok(Object { tail: b"}}", ..object })
    }
}

macro_rules! items {
    ($($compound:ident :: $method:ident,)*) => {
        $(impl ser::$compound for List<'_> {
            type Ok = ();
            type Error = Stop;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
                self.item(value)
            }

            fn end(self) -> Result<(), Stop> {
                self.close()
            }
        })*
    };
}

macro_rules! fields {
    ($($compound:ident,)*) => {
        $(impl ser::$compound for Object<'_> {
            type Ok = ();
            type Error = Stop;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Stop> {
                self.key(key)?;
                self.value(value)
            }

            fn end(self) -> Result<(), Stop> {
                self.close()
            }
        })*
    };
}

items! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

fields! { SerializeStruct, SerializeStructVariant, }

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        self.value(value)
    }

    fn end(self) -> Result<(), Stop> {
        self.close()
    }
}
