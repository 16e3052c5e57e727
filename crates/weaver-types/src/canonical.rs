//! Canonical bytes: RFC 8785 (JCS) in one place, with our own strict reader and writer.
//!
//! Everything that is hashed or signed passes through this module, so that two builds, two
//! machines and two years agree on the bytes. The reader accepts RFC 8259 and nothing else; the
//! writer sorts keys by UTF-16 code units and writes numbers as ECMAScript does. What the two
//! disagree on in other JSON libraries (duplicate keys, integers above 2^53, lone surrogates,
//! numbers that overflow) is refused here with a code and a place. A [`Profile`] says how strict.
//!
//! ```
//! use weaver_types::canonical::{self, Profile};
//!
//! let value = canonical::parse(br#"{ "b": 1.50, "a": 2e0 }"#, Profile::Document)?;
//! assert_eq!(canonical::to_bytes(&value, Profile::Document)?, br#"{"a":2,"b":1.5}"#);
//! assert!(canonical::parse(br#"{"a":1,"\u0061":2}"#, Profile::Document).is_err());
//! # Ok::<(), canonical::CanonicalError>(())
//! ```

mod buffer;
mod check;
mod error;
mod finite_check;
mod number;
mod read;
mod record_bytes;
mod serialize;
mod unescaped_text;
mod write;

use serde::Serialize;
use serde_json::Value;

use finite_check::{FiniteCheck, Stop};

pub use buffer::Buffer;
pub use error::{CanonicalError, CanonicalFault};
pub use record_bytes::RecordBytes;
pub use serialize::Members;

/// The deepest nesting of arrays and objects that is read or written.
pub const MAX_DEPTH: usize = 128;

/// How strict the reader and the writer are about numbers. All profiles refuse duplicate keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Our records and events: integers within ±2^53 only. `1.0` and `1e3` are refused as text.
    Record,
    /// Our signed documents: as [`Profile::Record`], and finite doubles as RFC 8785 writes them. A
    /// double that would be written as an integer beyond ±2^53 is refused like the integer itself.
    Document,
    /// Values from elsewhere (arguments, tool contracts): 64-bit integers are kept and written
    /// exactly, larger integers refused, other numbers follow ECMAScript. A number that overflows
    /// to infinity, or underflows to zero, is refused.
    Foreign,
}

/// Reads one JSON text strictly.
///
/// The result holds each number as its canonical text would read: `1.0` and `1e0` are the integer
/// `1`, `-0` is `0`. Two texts that are equal here have equal canonical bytes, and the reverse.
///
/// # Errors
///
/// [`CanonicalError`] with the byte offset: bytes that are not UTF-8, a byte order mark, a syntax
/// outside RFC 8259, a lone surrogate, a duplicate key however it is escaped, nesting beyond
/// [`MAX_DEPTH`], or a number that the profile refuses.
pub fn parse(bytes: &[u8], profile: Profile) -> Result<Value, CanonicalError> {
    read::Reader::new(bytes, profile)?.document()
}

/// Writes the canonical bytes of a value.
///
/// What this writes, [`parse`] reads back under the same profile to the same bytes.
///
/// # Errors
///
/// [`CanonicalError`] with the place: nesting beyond [`MAX_DEPTH`], or a number that the profile
/// refuses.
pub fn to_bytes(value: &Value, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    write::value(value, profile)
}

/// True when `bytes` are what [`to_bytes`] writes of some value under `profile`: they read as JSON,
/// and written again they are the same bytes.
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
    (profile == Profile::Record && check::surely_record(bytes))
        || parse(bytes, profile)
            .and_then(|value| to_bytes(&value, profile))
            .is_ok_and(|written| written == bytes)
}

/// Writes the canonical bytes of anything that serialises to JSON.
///
/// # Errors
///
/// As [`to_bytes`]; also when serialisation fails, when a map or a flattened struct yields the same
/// key twice, and for a double that is not finite.
pub fn of<T: Serialize + ?Sized>(value: &T, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    match serialize::quickly(value, profile) {
        Some(bytes) => Ok(bytes),
        None => closely(value, profile),
    }
}

/// The same where the caller knows about how many bytes it will be.
///
/// # Errors
///
/// As [`of`].
pub fn of_about<T: Serialize + ?Sized>(
    value: &T,
    profile: Profile,
    bytes: usize,
) -> Result<Vec<u8>, CanonicalError> {
    serialize::into_room(value, profile, bytes).map_or_else(|| closely(value, profile), Ok)
}

/// Writes a record: what [`of`] writes under [`Profile::Record`], as bytes that are known to be so.
///
/// # Errors
///
/// As [`of`].
pub fn record<T: Serialize + ?Sized>(value: &T) -> Result<RecordBytes, CanonicalError> {
    Ok(RecordBytes::written(of(value, Profile::Record)?, Profile::Record))
}

/// What [`of`] does where the quick way is not sure: it names what is wrong.
fn closely<T: Serialize + ?Sized>(value: &T, profile: Profile) -> Result<Vec<u8>, CanonicalError> {
    value.serialize(FiniteCheck).map_err(|stop| match stop {
        Stop::NotFinite => CanonicalFault::Precision.nowhere(),
        Stop::Custom => CanonicalFault::Serialize.nowhere(),
    })?;
    let text = serde_json::to_vec(value).map_err(|_| CanonicalFault::Serialize.nowhere())?;
    to_bytes(&parse(&text, profile)?, profile)
}

#[cfg(test)]
mod tests;
