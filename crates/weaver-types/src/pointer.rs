//! JSON pointers (RFC 6901): a place inside the arguments of a call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest pointer, in bytes.
pub const MAX_POINTER: usize = 512;

/// Why a text is no JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no JSON pointer: {problem}")]
pub struct PointerError {
    /// The text, escaped and cut to 80 characters.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl PointerError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "pointer.malformed"
    }
}

/// A JSON pointer: empty for the whole value, otherwise `/` and a member name or an index, again
/// and again, with `~1` for `/` and `~0` for `~` inside a name.
///
/// ```
/// use serde_json::json;
/// use weaver_types::Pointer;
///
/// let to = Pointer::parse("/to/0")?;
/// assert_eq!(to.find(&json!({ "to": ["ana@example.com"] })), Some(&json!("ana@example.com")));
/// assert!(Pointer::parse("to").is_err());
/// # Ok::<(), weaver_types::PointerError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Pointer(String);

impl Pointer {
    /// Reads a pointer.
    ///
    /// # Errors
    /// [`PointerError`], when it is too long, does not begin with `/`, or holds a stray `~`.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let wrong =
            |problem| Err(PointerError { text: text.escape_debug().take(80).collect(), problem });
        if text.len() > MAX_POINTER {
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

    /// The value at this place; `None` where there is none.
    #[must_use]
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        if self.0.contains('~') {
            return value.pointer(&self.0);
        }
        // The same without a copy of each name, which only escapes need.
        let mut names = self.0.split('/').skip(1);
        names.try_fold(value, |value, name| match value {
            Value::Object(members) => members.get(name),
            Value::Array(items) => index(name).and_then(|index| items.get(index)),
            _ => None,
        })
    }
}

/// An index as the standard writes it: digits without a leading zero.
fn index(name: &str) -> Option<usize> {
    let plain = !name.starts_with('+') && (name == "0" || !name.starts_with('0'));
    plain.then(|| name.parse().ok()).flatten()
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;
    fn try_from(text: String) -> Result<Self, PointerError> {
        Self::parse(&text)
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
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
        let find = |text: &str| Pointer::parse(text).unwrap().find(&value).cloned();
        assert_eq!(find("/a~1b/m~0n/0"), Some(json!(7)));
        assert_eq!(find("/"), Some(json!(1)));
        assert_eq!(find(""), Some(value.clone()));
        assert_eq!(find("/a~1b/m~0n/00"), None);
    }

    #[test]
    fn a_place_without_escapes_is_found_as_one_with_them() {
        let value = json!({ "a": [7, { "b": null }], "": { "": 1 }, "0": 2, "00": 3 });
        for text in ["", "/", "//", "/a", "/a/0", "/a/1/b", "/a/1/b/c", "/a/00", "/a/+1", "/a/-"] {
            let pointer = Pointer::parse(text).unwrap();
            assert_eq!(pointer.find(&value), value.pointer(text), "{text}");
        }
        for text in ["/0", "/00", "/a/2", "/a/18446744073709551616", "/a/", "/a/0/0", "/b"] {
            let pointer = Pointer::parse(text).unwrap();
            assert_eq!(pointer.find(&value), value.pointer(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        for text in ["a", "/~", "/a~2", "~0", &format!("/{}", "x".repeat(MAX_POINTER))] {
            assert!(Pointer::parse(text).is_err(), "{text}");
        }
    }
}
