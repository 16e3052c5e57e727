//! Finds the list of rows in a JSON text, and the texts of its items.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{JsonRows, LocateFault, Wrapper};

/// The object around the list, and the text of the list.
pub(super) fn locate_list(text: &str) -> Result<(Option<Wrapper>, &str), LocateFault> {
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'[') => Ok((None, text)),
        Some(b'{') => {
            let mut found = LocatedRows::default();
            let mut reader = serde_json::Deserializer::from_str(text);
            let read = ListMembers(&mut found).deserialize(&mut reader);
            match (read.and_then(|()| reader.end()), found.list) {
                _ if found.has_duplicate_key => Err(LocateFault::DuplicateKey),
                (Ok(()), Some((key, list))) => {
                    Ok((Some(Wrapper { key, siblings: found.siblings }), list))
                }
                _ => Err(LocateFault::Form),
            }
        }
        _ => Err(LocateFault::Form),
    }
}

#[derive(Default)]
struct LocatedRows<'a> {
    list: Option<(String, &'a str)>,
    siblings: Map<String, Value>,
    has_duplicate_key: bool,
}

/// Parses the members of an object, one of which is a list.
struct ListMembers<'f, 'a>(&'f mut LocatedRows<'a>);

impl<'de> DeserializeSeed<'de> for ListMembers<'_, 'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ListMembers<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object around one list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let found = self.0;
        while let Some(key) = access.next_key::<String>()? {
            let is_known = found.list.as_ref().is_some_and(|(list, _)| *list == key);
            found.has_duplicate_key |= is_known || found.siblings.contains_key(&key);
            let raw = access.next_value::<&'de RawValue>()?.get();
            if raw.starts_with('[') && found.list.is_none() {
                found.list = Some((key, raw));
            } else if raw.starts_with(['[', '{']) || found.siblings.len() >= JsonRows::MAX_SIBLINGS
            {
                return Err(A::Error::custom("of another form"));
            } else {
                found.siblings.insert(key, serde_json::from_str(raw).map_err(A::Error::custom)?);
            }
        }
        Ok(())
    }
}

/// Passes the text of each item to `take`, until it returns false; true when all were taken.
pub(super) fn for_each_item<'a>(list: &'a str, take: impl FnMut(&'a str) -> bool) -> bool {
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
