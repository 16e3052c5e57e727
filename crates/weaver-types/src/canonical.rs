//! Canonical bytes: RFC 8785 (JCS) with a strict reader and writer of our own.
//!
//! Everything that is hashed or signed passes through this module, so that two builds on two
//! machines produce the same bytes, now and in later releases. The reader accepts RFC 8259 JSON and
//! nothing else. The writer sorts keys by UTF-16 code units and formats numbers as ECMAScript does.
//! Input on which JSON libraries disagree (duplicate keys, integers above 2^53, lone surrogates,
//! numbers that overflow) is refused with an error code and a position. A [`Profile`] chooses how
//! strict both are about numbers.
//!
//! ```
//! use weaver_types::canonical::{self, Profile};
//!
//! let value = canonical::parse(br#"{ "b": 1.50, "a": 2e0 }"#, Profile::Document)?;
//! assert_eq!(canonical::to_bytes(&value, Profile::Document)?, br#"{"a":2,"b":1.5}"#);
//! assert!(canonical::parse(br#"{"a":1,"\u0061":2}"#, Profile::Document).is_err());
//! # Ok::<(), canonical::CanonicalError>(())
//! ```

mod error;
mod json_buffer;
mod number;
mod read;
mod record_bytes;
mod serialize;
mod unescaped_text;
mod write;

use serde::Serialize;
use serde_json::Value;

use serialize::SinglePassError;

pub use error::{CanonicalError, CanonicalFault};
pub use json_buffer::JsonBuffer;
pub use record_bytes::RecordBytes;
pub use serialize::ObjectBuilder;

/// The deepest nesting of arrays and objects that is read or written.
pub const MAX_DEPTH: usize = 128;

/// How strict the reader and the writer are about numbers. Every profile refuses duplicate keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Our records and events: integers within ±2^53 only. The texts `1.0` and `1e3` are refused.
    Record,
    /// Our signed documents: as [`Profile::Record`], plus finite doubles in RFC 8785 form. A double
    /// that would be written as an integer beyond ±2^53 is refused, like the integer itself.
    Document,
    /// Values from third parties (arguments, tool contracts): 64-bit integers are kept exactly,
    /// larger integers are refused, and other numbers follow ECMAScript. A number that overflows to
    /// infinity or underflows to zero is refused.
    Foreign,
}

/// Reads one JSON text strictly.
///
/// Each number in the result has the value that its canonical text denotes: `1.0` and `1e0` become
/// the integer `1`, `-0` becomes `0`. Two texts give equal values exactly when their canonical
/// bytes are equal.
///
/// # Errors
///
/// [`CanonicalError`] with the byte offset: bytes that are not UTF-8, a byte order mark, a syntax
/// outside RFC 8259, a lone surrogate, a duplicate key however it is escaped, nesting beyond
/// [`MAX_DEPTH`], or a number that the profile refuses.
pub fn parse(bytes: &[u8], profile: Profile) -> Result<Value, CanonicalError> {
    read::Reader::new(bytes, profile)?.read_document()
}

/// Writes the canonical bytes of a value.
///
/// [`parse`] reads the output back under the same profile and writes the same bytes again.
///
/// # Errors
///
/// [`CanonicalError`] with the place: nesting beyond [`MAX_DEPTH`], or a number that the profile
/// refuses.
pub fn to_bytes(value: &Value, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    write::canonical_bytes(value, profile)
}

/// True when `bytes` are canonical under `profile`: they parse as JSON, and writing the value again
/// gives the same bytes.
///
/// ```
/// use weaver_types::canonical::{self, Profile};
///
/// assert!(canonical::is_canonical(br#"{"a":1,"b":"x"}"#, Profile::Record));
/// assert!(!canonical::is_canonical(br#"{"b":"x","a":1}"#, Profile::Record));
/// assert!(!canonical::is_canonical(br#"{"a": 1}"#, Profile::Record));
/// ```
#[must_use]
pub fn is_canonical(bytes: &[u8], profile: Profile) -> bool {
    parse(bytes, profile)
        .and_then(|value| to_bytes(&value, profile))
        .is_ok_and(|written| written == bytes)
}

/// Writes the canonical bytes of anything that serialises to JSON.
///
/// # Errors
///
/// As [`to_bytes`]. Also fails when serialisation fails, when a map or a flattened struct yields a
/// key twice, and for a double that is not finite.
pub fn serialize<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
) -> Result<Vec<u8>, CanonicalError> {
    serialize::single_pass(value, profile).or_else(|error| fall_back(value, profile, error))
}

/// As [`serialize()`], with an estimate of the output size so that the buffer is allocated once.
///
/// # Errors
///
/// As [`serialize()`].
pub fn serialize_with_capacity<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
    bytes: usize,
) -> Result<Vec<u8>, CanonicalError> {
    serialize::single_pass_with_capacity(value, profile, bytes)
        .or_else(|error| fall_back(value, profile, error))
}

/// Writes a record: the bytes of [`serialize()`] under [`Profile::Record`], marked as known to be
/// canonical.
///
/// # Errors
///
/// As [`serialize()`].
pub fn record<T: Serialize + ?Sized>(value: &T) -> Result<RecordBytes, CanonicalError> {
    Ok(RecordBytes::from_writer(serialize(value, Profile::Record)?, Profile::Record))
}

/// The slow path of [`serialize()`], taken when the single pass gives up.
fn fall_back<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
    error: SinglePassError,
) -> Result<Vec<u8>, CanonicalError> {
    match error {
        SinglePassError::NotFinite => Err(CanonicalFault::Precision.without_place()),
        SinglePassError::Undecided => serialize_via_text(value, profile),
    }
}

/// Goes through JSON text and the strict reader, which name what is wrong.
fn serialize_via_text<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
) -> Result<Vec<u8>, CanonicalError> {
    let text = serde_json::to_vec(value).map_err(|_| CanonicalFault::Serialize.without_place())?;
    to_bytes(&parse(&text, profile)?, profile)
}

#[cfg(test)]
mod tests;
