//! Locates the list of rows in a text, and its items.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{JsonRows, RowsProblem, Wrapper};

/// The object around the list, and the text of the list.
pub(super) fn located(text: &str) -> Result<(Option<Wrapper>, &str), RowsProblem> {
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'[') => Ok((None, text)),
        Some(b'{') => {
            let mut found = LocatedRows::default();
            let mut reader = serde_json::Deserializer::from_str(text);
            let read = Members(&mut found).deserialize(&mut reader);
            match (read.and_then(|()| reader.end()), found.list) {
                _ if found.twice => Err(RowsProblem::Twice),
                (Ok(()), Some((key, list))) => {
                    Ok((Some(Wrapper { key, around: found.around }), list))
                }
                _ => Err(RowsProblem::Form),
            }
        }
        _ => Err(RowsProblem::Form),
    }
}

#[derive(Default)]
struct LocatedRows<'a> {
    list: Option<(String, &'a str)>,
    around: Map<String, Value>,
    twice: bool,
}

/// Reads the members of an object, of which one is a list.
struct Members<'f, 'a>(&'f mut LocatedRows<'a>);

impl<'de> DeserializeSeed<'de> for Members<'_, 'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object around one list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let found = self.0;
        while let Some(key) = access.next_key::<String>()? {
            let is_known = found.list.as_ref().is_some_and(|(list, _)| *list == key);
            found.twice |= is_known || found.around.contains_key(&key);
            let raw = access.next_value::<&'de RawValue>()?.get();
            if raw.starts_with('[') && found.list.is_none() {
                found.list = Some((key, raw));
            } else if raw.starts_with(['[', '{']) || found.around.len() >= JsonRows::MAX_AROUND {
                return Err(A::Error::custom("of another form"));
            } else {
                found.around.insert(key, serde_json::from_str(raw).map_err(A::Error::custom)?);
            }
        }
        Ok(())
    }
}

/// Hands out the text of each item of a list, as long as it is wanted; true where all were.
pub(super) fn each<'a>(list: &'a str, take: impl FnMut(&'a str) -> bool) -> bool {
    let mut reader = serde_json::Deserializer::from_str(list);
    reader.deserialize_seq(Items(take)).and_then(|()| reader.end()).is_ok()
}

struct Items<F>(F);

impl<'de, F: FnMut(&'de str) -> bool> Visitor<'de> for Items<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<(), A::Error> {
        while let Some(item) = access.next_element::<&'de RawValue>()? {
            if !(self.0)(item.get()) {
                return Err(A::Error::custom("no row"));
            }
        }
        Ok(())
    }
}
