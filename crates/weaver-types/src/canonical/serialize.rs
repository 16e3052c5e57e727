//! Canonical bytes of what serialises, written in one pass.
//!
//! It knows the common case: integers within the profile, text, plain keys. Anything else (a
//! double, a key with an escape, a key that is no text, a duplicate) stops it, and the caller takes
//! the long way over text and reader, which decides and names what is wrong.

mod members;
mod order;
mod out;

use std::fmt;

use serde::ser::{self, Serialize};

use super::Profile;
use out::{List, Object, Out};

pub use members::Members;

/// The canonical bytes of `value`; `None` where the long way has to decide.
pub(super) fn quickly<T: Serialize + ?Sized>(value: &T, profile: Profile) -> Option<Vec<u8>> {
    // What is written is larger than what it is written of, but seldom so much. An allocator has a
    // kilobyte at hand, and has to look for more.
    let room = match size_of_val(value) * 4 {
        room @ 0..2_048 => room.clamp(256, 1_024),
        _ => 2_048,
    };
    into_room(value, profile, room)
}

/// The same with an initial capacity in bytes.
pub(super) fn into_room<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
    room: usize,
) -> Option<Vec<u8>> {
    let mut out = Out::new(profile, room);
    value.serialize(&mut out).ok()?;
    Some(out.bytes.into_vec())
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

    #[inline(never)]
    fn serialize_str(self, value: &str) -> Result<(), Stop> {
        self.bytes.text(value);
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

    #[inline(always)]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Stop> {
        self.bytes.text(variant);
        Ok(())
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
    #[inline(always)]
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

            #[inline(always)]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Stop> {
                self.out.name(&mut self.keys, key)?;
                value.serialize(&mut *self.out)
            }

            #[inline(always)]
            fn end(self) -> Result<(), Stop> {
                self.out.end(&self.keys, self.tail)
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
        self.out.key(&mut self.keys, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        value.serialize(&mut *self.out)
    }

    fn end(self) -> Result<(), Stop> {
        self.out.end(&self.keys, self.tail)
    }
}
