//! Reads a large message without building a tree of its rows.
//!
//! The message is split into the rows of its structured value, read one by one, and a wrapper: the message with an
//! empty list in place of the rows. Each part is read as strictly as the whole message would be; of a row only its
//! text is kept.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use weaver_types::JsonRows;

use super::call::STRUCTURED_CONTENT;
use super::strict_json::{self, StrictValue};

/// Reads a large message whose structured value is a long list of rows. `None` for every other message and for every
/// malformed one: the caller then reads the message as a whole, which reports the fault.
pub(crate) fn read(text: &[u8], result: Option<&RawValue>) -> Option<(StrictValue, JsonRows)> {
    if text.len() < JsonRows::LARGE_BYTES {
        return None;
    }
    let text = str::from_utf8(text).ok()?;
    let list = JsonRows::find_list(structured_content_text(result?.get())?)?;
    if list.len() < JsonRows::LARGE_BYTES {
        return None;
    }
    let wrapper = replace_with_empty_list(text, list)?;
    match read_exact(&wrapper, list) {
        Ok(read) => Some(read),
        Err(PartError::Other) => None,
        // One number without an exact form makes all numbers read as rounded.
        Err(PartError::Inexact) => read_rounded(&wrapper, list),
    }
}

/// Why a part cannot be read exactly.
enum PartError {
    Inexact,
    Other,
}

fn read_exact(wrapper: &[u8], list: &str) -> Result<(StrictValue, JsonRows), PartError> {
    let value = strict_json::read_exact(wrapper).map_err(|fault| match fault {
        Some(_) => PartError::Other,
        None => PartError::Inexact,
    })?;
    let mut inexact = false;
    let rows = JsonRows::from_list_text(
        structured_content(&value).ok_or(PartError::Other)?,
        list,
        |row| {
            let read = strict_json::read_exact(row.as_bytes());
            inexact |= matches!(read, Err(None));
            read.ok()
        },
    );
    let rows = rows.ok_or(if inexact { PartError::Inexact } else { PartError::Other })?;
    Ok((StrictValue { value, rounded: false }, rows))
}

fn read_rounded(wrapper: &[u8], list: &str) -> Option<(StrictValue, JsonRows)> {
    let value = strict_json::read_rounded(wrapper).ok()?;
    let rows = JsonRows::from_list_text(structured_content(&value)?, list, |row| {
        strict_json::read_rounded(row.as_bytes()).ok()
    })?;
    Some((StrictValue { value, rounded: true }, rows))
}

/// The structured value of a message.
fn structured_content(message: &Value) -> Option<&Value> {
    message.get("result")?.get(STRUCTURED_CONTENT)
}

/// The text with an empty list in place of `list`, which must be a slice of it.
fn replace_with_empty_list(text: &str, list: &str) -> Option<Vec<u8>> {
    let start = (list.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let end = start.checked_add(list.len())?;
    let (before, after) = (text.get(..start)?, text.get(end..)?);
    let length = before.len().saturating_add(after.len()).saturating_add(2);
    let mut wrapper = Vec::with_capacity(length);
    wrapper.extend_from_slice(before.as_bytes());
    wrapper.extend_from_slice(b"[]");
    wrapper.extend_from_slice(after.as_bytes());
    Some(wrapper)
}

/// The text of the structured value in a result object.
fn structured_content_text(result: &str) -> Option<&str> {
    let mut reader = serde_json::Deserializer::from_str(result);
    serde::Deserializer::deserialize_map(&mut reader, StructuredContentVisitor).ok().flatten()
}

struct StructuredContentVisitor;

impl<'de> Visitor<'de> for StructuredContentVisitor {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = access.next_key::<String>()? {
            if key == STRUCTURED_CONTENT {
                found = Some(access.next_value::<&'de RawValue>()?.get());
            } else {
                access.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
