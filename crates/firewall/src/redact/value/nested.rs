//! JSON inside of a string.

use serde_json::Value;
use weaver_types::canonical::{self, Profile};

use super::{Bounds, ELIDED, Finish, TOO_DEEP, Walk, Whole, join};

/// The longest string that is tried as JSON, in bytes; longer ones are scanned as text only.
const MAX_JSON: usize = 1024 * 1024;
/// The most levels of JSON inside of strings of JSON.
const MAX_LEVEL: usize = 4;

impl<F: Finish> Walk<'_, F> {
    /// A string that is itself JSON, written anew if a field of it was masked. What remains is
    /// still to be scanned as text.
    pub(super) fn unpacked(&mut self, text: &str, depth: usize) -> Option<String> {
        let value = packed(text)?;
        if self.level >= MAX_LEVEL || self.left == 0 {
            self.omit(ELIDED, 1);
            return Some(TOO_DEEP.to_owned());
        }
        let names = std::mem::take(&mut self.names);
        let mut walk = Walk::new(self.redactor, names, Bounds::WHOLE, Whole);
        walk.left = self.left;
        walk.level = self.level + 1;
        let shown = walk.value(&value, None, depth.saturating_add(1));
        self.left = walk.left.saturating_sub(1);
        self.names = walk.names;
        // What the reader dropped, one of two equal keys, was not seen by the walk.
        if shown == value && canonical::parse(text.as_bytes(), Profile::Foreign).is_ok() {
            return None;
        }
        join(&mut self.masked, walk.masked);
        for (kind, n) in walk.omitted {
            *self.omitted.entry(kind).or_default() += n;
        }
        Some(shown.to_string())
    }
}

/// The value in a string that holds an object, a list, or one of them in quotes.
fn packed(text: &str) -> Option<Value> {
    // Most strings begin with a letter or a digit.
    if text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric()) {
        return None;
    }
    let inner = text.trim();
    let opens = matches!(
        (inner.bytes().next(), inner.bytes().next_back()),
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) | (Some(b'"'), Some(b'"'))
    );
    if !opens || inner.len() < 2 || inner.len() > MAX_JSON {
        return None;
    }
    match serde_json::from_str(inner).ok()? {
        Value::String(text) if packed(&text).is_none() => None,
        value => Some(value),
    }
}
