//! Reads untrusted JSON: no duplicate keys, bounded nesting, valid UTF-8.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use weaver_types::canonical::{self, CanonicalFault, Profile};

use super::fault::MessageFault;

/// A value, and whether its numbers were rounded.
#[derive(Debug)]
pub(crate) struct StrictValue {
    pub(crate) value: Value,
    /// A number outside the 64-bit or double range was rounded.
    pub(crate) rounded: bool,
}

/// Reads one JSON value that fills `bytes`.
///
/// The value is read like canonical bytes. Only if a number has no exact form is it read a second time, with that
/// number rounded.
pub(crate) fn read(bytes: &[u8]) -> Result<StrictValue, MessageFault> {
    match read_exact(bytes) {
        Ok(value) => Ok(StrictValue { value, rounded: false }),
        Err(Some(fault)) => Err(fault),
        Err(None) => read_rounded(bytes).map(|value| StrictValue { value, rounded: true }),
    }
}

/// Reads like canonical bytes; `Err(None)` means that a number has no exact form.
pub(crate) fn read_exact(bytes: &[u8]) -> Result<Value, Option<MessageFault>> {
    canonical::parse(bytes, Profile::Foreign).map_err(|error| match error.fault() {
        CanonicalFault::DuplicateKey => Some(MessageFault::DuplicateKey),
        CanonicalFault::Depth => Some(MessageFault::TooDeep),
        CanonicalFault::Surrogate => Some(MessageFault::InvalidValue),
        CanonicalFault::IntegerRange | CanonicalFault::Precision => None,
        _ => Some(MessageFault::InvalidJson),
    })
}

/// Reads with 64-bit integers and doubles only, and still rejects duplicate keys.
pub(crate) fn read_rounded(bytes: &[u8]) -> Result<Value, MessageFault> {
    let duplicate = Cell::new(false);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = StrictValueSeed(&duplicate).deserialize(&mut reader).map_err(|_| {
        if duplicate.get() { MessageFault::DuplicateKey } else { MessageFault::InvalidValue }
    })?;
    reader.end().map_err(|_| MessageFault::InvalidJson)?;
    Ok(value)
}

struct StrictValueSeed<'a>(&'a Cell<bool>);

impl<'de> DeserializeSeed<'de> for StrictValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a json value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(StrictValueSeed(self.0))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if map.contains_key(&key) {
                self.0.set(true);
                return Err(A::Error::custom("duplicate key"));
            }
            let value = access.next_value_seed(StrictValueSeed(self.0))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_duplicate_key_is_refused_at_any_depth_and_spelling() {
        assert_eq!(read(br#"{"a":1,"a":2}"#).unwrap_err(), MessageFault::DuplicateKey);
        assert_eq!(read(br#"{"x":[{"a":1,"\u0061":2}]}"#).unwrap_err(), MessageFault::DuplicateKey);
        assert!(read(br#"{"a":{"a":1}}"#).is_ok());
    }

    #[test]
    fn nesting_is_bounded() {
        let nest = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(read(nest(128).as_bytes()).is_ok());
        assert_eq!(read(nest(129).as_bytes()).unwrap_err(), MessageFault::TooDeep);
        assert_eq!(read(nest(1_000_000).as_bytes()).unwrap_err(), MessageFault::TooDeep);
        assert!(read(format!("\"{}\"", "[".repeat(1000)).as_bytes()).is_ok());
    }

    #[test]
    fn integers_past_64_bits_are_rounded_and_noticed() {
        for (text, rounded) in [
            ("18446744073709551615", false),
            ("18446744073709551616", true),
            ("-9223372036854775808", false),
            ("[-9223372036854775809]", true),
            ("1e30", false),
            ("\"18446744073709551616\"", false),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap().rounded, rounded, "{text}");
        }
    }

    #[test]
    fn rounding_does_not_open_a_way_around_the_rules() {
        let twice = br#"{"n":99999999999999999999,"a":1,"a":2}"#;
        assert_eq!(read(twice).unwrap_err(), MessageFault::DuplicateKey);
        let deep = format!("[99999999999999999999,{}{}]", "[".repeat(200), "]".repeat(200));
        assert!(read(deep.as_bytes()).is_err());
    }

    #[test]
    fn values_that_cannot_be_represented_are_refused() {
        assert_eq!(read(b"1e999").unwrap_err(), MessageFault::InvalidValue);
        assert_eq!(read(b"\"\\ud800\"").unwrap_err(), MessageFault::InvalidValue);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn what_is_accepted_is_json(text in r#"[\[\]{}:,0-9a-z"\\ .e-]{0,40}"#) {
            if read(text.as_bytes()).is_ok() {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
            }
        }
    }
}
