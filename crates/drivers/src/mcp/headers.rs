//! Header values for the HTTP transport.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::config::HttpConfig;

/// Longest session id that is kept.
const LONGEST_SESSION: usize = 1024;

/// Headers that the transport sets itself.
const RESERVED: [&str; 9] = [
    "accept", "content-type", "content-length", "host", "mcp-protocol-version", "mcp-session-id",
    "mcp-method", "mcp-name", "last-event-id",
];

/// Why a configured header cannot be sent. It names the header, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderError {
    /// The name is none.
    #[error("header name `{}` is not valid", crate::escape::escape(name))]
    Name {
        /// The name as configured.
        name: String,
    },
    /// The transport sets it.
    #[error("header `{name}` is set by the transport; remove it")]
    Reserved {
        /// Its name.
        name: HeaderName,
    },
    /// The value does not fit one line.
    #[error("the value of header `{name}` holds a line break or control")]
    Value {
        /// Its name.
        name: HeaderName,
    },
}

/// Reads the configured headers.
pub(crate) fn configured(config: &HttpConfig) -> Result<HeaderMap, HeaderError> {
    let mut map = HeaderMap::new();
    for (name, value) in &config.headers {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| HeaderError::Name { name: name.clone() })?;
        if RESERVED.contains(&key.as_str()) {
            return Err(HeaderError::Reserved { name: key });
        }
        let mut value =
            HeaderValue::from_str(value).map_err(|_| HeaderError::Value { name: key.clone() })?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// A text as a header value: itself where it can travel so, else wrapped in base64.
pub(crate) fn text_value(text: &str) -> Option<HeaderValue> {
    let printable = text.chars().all(|c| matches!(c, ' '..='~'));
    let padded = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let marked = text.starts_with("=?base64?") && text.ends_with("?=");
    if printable && !padded && !marked {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).ok()
}

/// The text that a header value carries, which may be wrapped in base64; `None` for one that is wrapped
/// badly, or that has what no such value can hold.
#[must_use]
pub fn text_of_value(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?.trim();
    let wrapped = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match wrapped {
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// A session id as the server gave it, if it is visible ASCII of bounded length.
pub(crate) fn session_id(value: &HeaderValue) -> Option<HeaderValue> {
    let bytes = value.as_bytes();
    let fine =
        (1..=LONGEST_SESSION).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    fine.then(|| {
        let mut value = value.clone();
        value.set_sensitive(true);
        value
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_travel_plain_or_wrapped() {
        assert_eq!(text_value("get_user").unwrap(), "get_user");
        assert_eq!(text_value("größe").unwrap(), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(text_value(" x").unwrap(), "=?base64?IHg=?=");
        assert_eq!(text_value("=?base64?x?=").unwrap(), "=?base64?PT9iYXNlNjQ/eD89?=");
        assert!(text_value("a\r\nb: c").unwrap().to_str().unwrap().starts_with("=?base64?"));
        for text in ["get_user", "größe", " x", "=?base64?x?=", "a\r\nb: c", ""] {
            assert_eq!(text_of_value(&text_value(text).unwrap()).as_deref(), Some(text));
        }
        for broken in ["=?base64?!?=", "=?base64?/w==?=", "a\u{e9}"] {
            assert_eq!(text_of_value(&HeaderValue::from_bytes(broken.as_bytes()).unwrap()), None);
        }
    }

    #[test]
    fn reserved_and_broken_headers_are_refused_without_their_value() {
        for (name, value) in [("Mcp-Session-Id", "hunter2"), ("X\n", "hunter2"), ("X", "hunter2\n")]
        {
            let mut config = HttpConfig::default();
            config.headers.insert(name.to_owned(), value.to_owned());
            let error = configured(&config).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn session_ids_are_visible_ascii() {
        assert!(session_id(&HeaderValue::from_static("abc-123")).is_some());
        assert!(session_id(&HeaderValue::from_static("a b")).is_none());
        assert!(session_id(&HeaderValue::from_str(&"x".repeat(2000)).unwrap()).is_none());
    }
}
