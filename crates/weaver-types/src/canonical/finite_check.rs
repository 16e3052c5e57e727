//! A serializer that rejects doubles that are not finite, because JSON serializers silently write
//! them as `null`.

use std::fmt;

use serde::ser::{self, Serialize, Serializer};

/// Visits a value and stops at the first double that is not finite.
pub(super) struct FiniteCheck;

/// Why the visit stopped: a double that is not finite, or a value that does not serialise.
#[derive(Debug)]
pub(super) enum FiniteCheckError {
    NotFinite,
    Serialize,
}

impl fmt::Display for FiniteCheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not finite, or not serialisable")
    }
}

impl std::error::Error for FiniteCheckError {}

impl ser::Error for FiniteCheckError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Serialize
    }
}

macro_rules! accept {
    ($($method:ident: $ty:ty,)*) => {
        $(fn $method(self, _: $ty) -> Result<(), FiniteCheckError> {
            Ok(())
        })*
    };
}

impl Serializer for FiniteCheck {
    type Ok = ();
    type Error = FiniteCheckError;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    accept! {
        serialize_bool: bool, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_unit_struct: &'static str,
    }

    fn serialize_f32(self, v: f32) -> Result<(), FiniteCheckError> {
        if v.is_finite() { Ok(()) } else { Err(FiniteCheckError::NotFinite) }
    }

    fn serialize_f64(self, v: f64) -> Result<(), FiniteCheckError> {
        if v.is_finite() { Ok(()) } else { Err(FiniteCheckError::NotFinite) }
    }

    fn serialize_none(self) -> Result<(), FiniteCheckError> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), FiniteCheckError> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), FiniteCheckError> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), FiniteCheckError> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), FiniteCheckError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), FiniteCheckError> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, FiniteCheckError> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, FiniteCheckError> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, FiniteCheckError> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, FiniteCheckError> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, FiniteCheckError> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, FiniteCheckError> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, FiniteCheckError> {
        Ok(self)
    }
}

macro_rules! items {
    ($($compound:ident :: $method:ident,)*) => {
        $(impl ser::$compound for FiniteCheck {
            type Ok = ();
            type Error = FiniteCheckError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FiniteCheckError> {
                value.serialize(Self)
            }

            fn end(self) -> Result<(), FiniteCheckError> {
                Ok(())
            }
        })*
    };
}

macro_rules! fields {
    ($($compound:ident,)*) => {
        $(impl ser::$compound for FiniteCheck {
            type Ok = ();
            type Error = FiniteCheckError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), FiniteCheckError> {
                value.serialize(Self)
            }

            fn end(self) -> Result<(), FiniteCheckError> {
                Ok(())
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

impl ser::SerializeMap for FiniteCheck {
    type Ok = ();
    type Error = FiniteCheckError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FiniteCheckError> {
        key.serialize(Self)
    }

    fn serialize_value<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), FiniteCheckError> {
        value.serialize(Self)
    }

    fn end(self) -> Result<(), FiniteCheckError> {
        Ok(())
    }
}
