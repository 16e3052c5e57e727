//! Placeholders for arguments of a call, in URLs and command lines.

use serde_json::Value;

/// What is wrong with an argument that is put into a text but has none.
pub(crate) const NO_SCALAR: &str = "is neither text nor a number, true or false";

/// A placeholder for an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placeholder {
    pub(crate) name: String,
    pub(crate) kind: PlaceholderKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceholderKind {
    /// `{name}`.
    Required,
    /// `{name?}`: omitted if the argument is absent.
    Optional,
    /// `{name...}`: as many as a list has entries.
    Spread,
}

impl Placeholder {
    /// Parses what follows the opening brace.
    pub(crate) fn parse(rest: &str) -> Option<Self> {
        let inner = rest.strip_suffix('}')?;
        let (name, kind) = match (inner.strip_suffix("..."), inner.strip_suffix('?')) {
            (Some(name), _) => (name, PlaceholderKind::Spread),
            (None, Some(name)) => (name, PlaceholderKind::Optional),
            (None, None) => (inner, PlaceholderKind::Required),
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let legal = !name.is_empty() && name.bytes().all(plain);
        legal.then(|| Self { name: name.to_owned(), kind })
    }
}

/// A scalar value as text; `None` for any other.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
