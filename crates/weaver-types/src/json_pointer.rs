//! JSON pointers (RFC 6901): positions inside the arguments of a call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest pointer, in bytes.
pub const MAX_POINTER_BYTES: usize = 512;

/// Why a text is not a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a JSON pointer: {problem}")]
pub struct JsonPointerError {
    /// The text, escaped and cut to 80 characters.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl JsonPointerError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "pointer.malformed"
    }
}

/// A JSON pointer: empty for the whole value, otherwise a sequence of `/` and a member name or
/// index, with `~1` for `/` and `~0` for `~` inside a name.
///
/// ```
/// use serde_json::json;
/// use weaver_types::JsonPointer;
///
/// let to = JsonPointer::parse("/to/0")?;
/// assert_eq!(to.find(&json!({ "to": ["ana@example.com"] })), Some(&json!("ana@example.com")));
/// assert!(JsonPointer::parse("to").is_err());
/// # Ok::<(), weaver_types::JsonPointerError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct JsonPointer(String);

impl JsonPointer {
    /// Parses a pointer.
    ///
    /// # Errors
    /// [`JsonPointerError`], when it is too long, does not begin with `/`, or contains a stray `~`.
    pub fn parse(text: &str) -> Result<Self, JsonPointerError> {
        let wrong = |problem| {
            Err(JsonPointerError { text: text.escape_debug().take(80).collect(), problem })
        };
        if text.len() > MAX_POINTER_BYTES {
            return wrong("it has more than 512 bytes");
        }
        if !text.is_empty() && !text.starts_with('/') {
            return wrong("it must be empty or begin with `/`");
        }
        if text.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
            return wrong("`~` must be followed by 0 or 1");
        }
        Ok(Self(text.to_owned()))
    }

    /// The pointer as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A member name as one step of a pointer: `~0` for `~`, `~1` for `/`.
    #[must_use]
    pub fn escape_step(name: &str) -> String {
        name.replace('~', "~0").replace('/', "~1")
    }

    /// The member name that a step of a pointer stands for.
    #[must_use]
    pub fn unescape_step(step: &str) -> String {
        step.replace("~1", "/").replace("~0", "~")
    }

    /// The value at this position; `None` when there is none.
    #[must_use]
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        if self.0.contains('~') {
            return value.pointer(&self.0);
        }
        // As `Value::pointer`, without unescaping each name.
        let mut names = self.0.split('/').skip(1);
        names.try_fold(value, |value, name| match value {
            Value::Object(members) => members.get(name),
            Value::Array(items) => index(name).and_then(|index| items.get(index)),
            _ => None,
        })
    }
}

/// An array index by RFC 6901: digits without a leading zero.
fn index(name: &str) -> Option<usize> {
    let plain = !name.starts_with('+') && (name == "0" || !name.starts_with('0'));
    plain.then(|| name.parse().ok()).flatten()
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for JsonPointer {
    type Error = JsonPointerError;
    fn try_from(text: String) -> Result<Self, JsonPointerError> {
        Self::parse(&text)
    }
}

impl From<JsonPointer> for String {
    fn from(pointer: JsonPointer) -> Self {
        pointer.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn escapes_are_those_of_the_standard() {
        let value = json!({ "a/b": { "m~n": [7] }, "": 1 });
        let find = |text: &str| JsonPointer::parse(text).unwrap().find(&value).cloned();
        assert_eq!(find("/a~1b/m~0n/0"), Some(json!(7)));
        assert_eq!(find("/"), Some(json!(1)));
        assert_eq!(find(""), Some(value.clone()));
        assert_eq!(find("/a~1b/m~0n/00"), None);
        assert_eq!(JsonPointer::escape_step("m~/n"), "m~0~1n");
        assert_eq!(JsonPointer::unescape_step("m~0~1n~01"), "m~/n~1");
    }

    #[test]
    fn a_place_without_escapes_is_found_as_one_with_them() {
        let value = json!({ "a": [7, { "b": null }], "": { "": 1 }, "0": 2, "00": 3 });
        for text in ["", "/", "//", "/a", "/a/0", "/a/1/b", "/a/1/b/c", "/a/00", "/a/+1", "/a/-"] {
            let pointer = JsonPointer::parse(text).unwrap();
            assert_eq!(pointer.find(&value), value.pointer(text), "{text}");
        }
        for text in ["/0", "/00", "/a/2", "/a/18446744073709551616", "/a/", "/a/0/0", "/b"] {
            let pointer = JsonPointer::parse(text).unwrap();
            assert_eq!(pointer.find(&value), value.pointer(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        for text in ["a", "/~", "/a~2", "~0", &format!("/{}", "x".repeat(MAX_POINTER_BYTES))] {
            assert!(JsonPointer::parse(text).is_err(), "{text}");
        }
    }
}
