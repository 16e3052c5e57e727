//! Serialises a value to canonical bytes in one pass.
//!
//! The pass handles the common case: integers within the profile, strings, and plain keys. For
//! anything else the caller falls back to JSON text and the strict reader, which decide and report
//! errors. What they certainly refuse stops the pass: an integer beyond the profile, a duplicate key,
//! deep nesting. What they may accept (a double, a key with an escape, a key that is not a string) is
//! only noted, and its bytes are dropped at the end: the pass goes on, because it alone sees a double
//! that is not finite, which JSON libraries silently write as `null`.

mod fast_serializer;
mod member_order;
mod object_builder;

use std::fmt;

use serde::ser::{self, Serialize};

use super::Profile;
use fast_serializer::{FastSerializer, OpenArray, OpenObject};

pub use object_builder::ObjectBuilder;

/// Why the single pass has no bytes to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SinglePassError {
    /// The fallback has to decide.
    Undecided,
    /// A double is not finite.
    NotFinite,
}

/// The canonical bytes of `value`.
pub(super) fn single_pass<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
) -> Result<Vec<u8>, SinglePassError> {
    // The output is larger than the value in memory, but rarely four times as large. Up to a
    // kilobyte an allocator answers from its small bins; beyond that it has to search.
    let capacity = match size_of_val(value) * 4 {
        capacity @ 0..2_048 => capacity.clamp(256, 1_024),
        _ => 2_048,
    };
    single_pass_with_capacity(value, profile, capacity)
}

/// As above, with an initial capacity in bytes.
pub(super) fn single_pass_with_capacity<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
    capacity: usize,
) -> Result<Vec<u8>, SinglePassError> {
    let mut out = FastSerializer::new(profile, capacity);
    out.write(value)?;
    Ok(out.bytes.into_vec())
}

/// The value is outside of the common case; the fallback refuses it.
#[derive(Debug)]
struct Uncommon;

impl fmt::Display for Uncommon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the common case")
    }
}

impl std::error::Error for Uncommon {}

impl ser::Error for Uncommon {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

macro_rules! numbers {
    ($($method:ident: $ty:ty => $by:ident,)*) => {
        $(fn $method(self, value: $ty) -> Result<(), Uncommon> {
            self.$by(value.into())
        })*
    };
}

macro_rules! uncommon {
    ($($method:ident: $ty:ty,)*) => {
        $(fn $method(self, _: $ty) -> Result<(), Uncommon> {
            self.is_uncommon = true;
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for &'a mut FastSerializer {
    type Ok = ();
    type Error = Uncommon;
    type SerializeSeq = OpenArray<'a>;
    type SerializeTuple = OpenArray<'a>;
    type SerializeTupleStruct = OpenArray<'a>;
    type SerializeTupleVariant = OpenArray<'a>;
    type SerializeMap = OpenObject<'a>;
    type SerializeStruct = OpenObject<'a>;
    type SerializeStructVariant = OpenObject<'a>;

    numbers! {
        serialize_i8: i8 => signed, serialize_i16: i16 => signed, serialize_i32: i32 => signed,
        serialize_i64: i64 => signed, serialize_u8: u8 => unsigned, serialize_u16: u16 => unsigned,
        serialize_u32: u32 => unsigned, serialize_u64: u64 => unsigned,
    }

    uncommon! {
        serialize_i128: i128, serialize_u128: u128, serialize_bytes: &[u8],
    }

    fn serialize_f32(self, value: f32) -> Result<(), Uncommon> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Uncommon> {
        self.is_uncommon = true;
        self.is_not_finite |= !value.is_finite();
        Ok(())
    }

    fn serialize_bool(self, value: bool) -> Result<(), Uncommon> {
        self.write_raw(if value { b"true" } else { b"false" })
    }

    fn serialize_char(self, value: char) -> Result<(), Uncommon> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline(never)]
    fn serialize_str(self, value: &str) -> Result<(), Uncommon> {
        self.bytes.write_string(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Uncommon> {
        self.write_raw(b"null")
    }

    fn serialize_unit(self) -> Result<(), Uncommon> {
        self.write_raw(b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Uncommon> {
        self.write_raw(b"null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Uncommon> {
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Uncommon> {
        self.bytes.write_string(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Uncommon> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Uncommon> {
        self.begin_variant(variant)?;
        value.serialize(&mut *self)?;
        self.depth -= 1;
        self.write_raw(b"}")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<OpenArray<'a>, Uncommon> {
        self.begin_array()
    }

    fn serialize_tuple(self, _: usize) -> Result<OpenArray<'a>, Uncommon> {
        self.begin_array()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<OpenArray<'a>, Uncommon> {
        self.begin_array()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<OpenArray<'a>, Uncommon> {
        self.begin_variant(variant)?;
        let list = self.begin_array()?;
        Ok(OpenArray { closing: b"]}", ..list })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<OpenObject<'a>, Uncommon> {
        self.begin_object()
    }

    /// `serde_json` marks raw values and arbitrary-precision numbers by private struct names that
    /// begin with `$`.
    #[inline(always)]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<OpenObject<'a>, Uncommon> {
        if name.starts_with('$') {
            self.is_uncommon = true;
        }
        self.begin_object()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<OpenObject<'a>, Uncommon> {
        self.begin_variant(variant)?;
        let object = self.begin_object()?;
        Ok(OpenObject { closing: b"}}", ..object })
    }
}

macro_rules! items {
    ($($compound:ident :: $method:ident,)*) => {
        $(impl ser::$compound for OpenArray<'_> {
            type Ok = ();
            type Error = Uncommon;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Uncommon> {
                self.write_item(value)
            }

            fn end(self) -> Result<(), Uncommon> {
                self.close()
            }
        })*
    };
}

macro_rules! fields {
    ($($compound:ident,)*) => {
        $(impl ser::$compound for OpenObject<'_> {
            type Ok = ();
            type Error = Uncommon;

            #[inline(always)]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Uncommon> {
                if self.out.write_name(&mut self.keys, key).is_err() {
                    self.out.is_uncommon = true;
                }
                value.serialize(&mut *self.out)
            }

            #[inline(always)]
            fn end(self) -> Result<(), Uncommon> {
                self.out.end_object(&self.keys, self.closing)
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

impl ser::SerializeMap for OpenObject<'_> {
    type Ok = ();
    type Error = Uncommon;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Uncommon> {
        self.out.write_key(&mut self.keys, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Uncommon> {
        value.serialize(&mut *self.out)
    }

    fn end(self) -> Result<(), Uncommon> {
        self.out.end_object(&self.keys, self.closing)
    }
}
