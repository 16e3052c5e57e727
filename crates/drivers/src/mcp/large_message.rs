//! Reads a large message without a tree of its rows.
//!
//! The message is taken apart: the rows of its structured value one by one, and the message with an
//! empty list in their place. Each part is read as strictly as the whole would be, and of a row only
//! its text is kept.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use weaver_types::JsonRows;

use super::call::STRUCTURED;
use super::strict_json::{self, StrictValue};

/// Reads a large message whose structured value is many rows, apart from these. `None` for every
/// other message, and for one in which anything is wrong: reading it as a whole says what.
pub(crate) fn read(text: &[u8], result: Option<&RawValue>) -> Option<(StrictValue, JsonRows)> {
    if text.len() < JsonRows::LARGE {
        return None;
    }
    let text = str::from_utf8(text).ok()?;
    let list = JsonRows::locate(structured(result?.get())?)?;
    if list.len() < JsonRows::LARGE {
        return None;
    }
    let frame = without(text, list)?;
    match exactly(&frame, list) {
        Ok(read) => Some(read),
        Err(InexactPart::Other) => None,
        // One number without an exact form changes how all are read.
        Err(InexactPart::Inexact) => rounded(&frame, list),
    }
}

/// Why a part cannot be read exactly.
enum InexactPart {
    Inexact,
    Other,
}

fn exactly(frame: &[u8], list: &str) -> Result<(StrictValue, JsonRows), InexactPart> {
    let value = strict_json::exact(frame).map_err(|fault| match fault {
        Some(_) => InexactPart::Other,
        None => InexactPart::Inexact,
    })?;
    let mut inexact = false;
    let rows = JsonRows::read(list_in(&value).ok_or(InexactPart::Other)?, list, |row| {
        let read = strict_json::exact(row.as_bytes());
        inexact |= matches!(read, Err(None));
        read.ok()
    });
    let rows = rows.ok_or(if inexact { InexactPart::Inexact } else { InexactPart::Other })?;
    Ok((StrictValue { value, rounded: false }, rows))
}

fn rounded(frame: &[u8], list: &str) -> Option<(StrictValue, JsonRows)> {
    let value = strict_json::rounded(frame).ok()?;
    let rows =
        JsonRows::read(list_in(&value)?, list, |row| strict_json::rounded(row.as_bytes()).ok())?;
    Some((StrictValue { value, rounded: true }, rows))
}

/// The structured value of a message.
fn list_in(message: &Value) -> Option<&Value> {
    message.get("result")?.get(STRUCTURED)
}

/// The text with an empty list in place of this one, which is a part of it.
fn without(text: &str, list: &str) -> Option<Vec<u8>> {
    let start = (list.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let end = start.checked_add(list.len())?;
    let (before, after) = (text.get(..start)?, text.get(end..)?);
    let length = before.len().saturating_add(after.len()).saturating_add(2);
    let mut frame = Vec::with_capacity(length);
    frame.extend_from_slice(before.as_bytes());
    frame.extend_from_slice(b"[]");
    frame.extend_from_slice(after.as_bytes());
    Some(frame)
}

/// The text of the structured value of a result object.
fn structured(result: &str) -> Option<&str> {
    let mut reader = serde_json::Deserializer::from_str(result);
    serde::Deserializer::deserialize_map(&mut reader, Fields).ok().flatten()
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = access.next_key::<String>()? {
            if key == STRUCTURED {
                found = Some(access.next_value::<&'de RawValue>()?.get());
            } else {
                access.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
