//! Header values for the HTTP transport.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::config::HttpConfig;

/// Longest session id that is kept.
const MAX_SESSION_ID_BYTES: usize = 1024;

/// Headers that the transport sets itself.
const RESERVED: [&str; 9] = [
    "accept", "content-type", "content-length", "host", "mcp-protocol-version", "mcp-session-id",
    "mcp-method", "mcp-name", "last-event-id",
];

/// Why a configured header cannot be sent. It names the header, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderError {
    /// The name is not valid.
    #[error("header name `{}` is not valid", crate::escape::escape(name))]
    Name {
        /// The name as configured.
        name: String,
    },
    /// The transport sets this header itself.
    #[error("header `{name}` is set by the transport; remove it")]
    Reserved {
        /// Its name.
        name: HeaderName,
    },
    /// The value contains a control character.
    #[error("the value of header `{name}` holds a line break or control")]
    Value {
        /// Its name.
        name: HeaderName,
    },
}

/// Parses the configured headers.
pub(crate) fn parse_configured(config: &HttpConfig) -> Result<HeaderMap, HeaderError> {
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

/// Encodes text as a header value: as it is if possible, otherwise wrapped in base64.
pub(crate) fn encode_header_text(text: &str) -> Option<HeaderValue> {
    let printable = text.chars().all(|c| matches!(c, ' '..='~'));
    let padded = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if printable && !padded && !looks_encoded {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).ok()
}

/// Decodes a header value that may be wrapped in base64; `None` if it is not valid.
#[must_use]
pub fn decode_header_text(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?.trim();
    let wrapped = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match wrapped {
        Some(wrapped) => String::from_utf8(STANDARD.decode(wrapped).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// A session id from the server, if it is visible ASCII of bounded length.
pub(crate) fn parse_session_id(value: &HeaderValue) -> Option<HeaderValue> {
    let bytes = value.as_bytes();
    let is_valid =
        (1..=MAX_SESSION_ID_BYTES).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    is_valid.then(|| {
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
        assert_eq!(encode_header_text("get_user").unwrap(), "get_user");
        assert_eq!(encode_header_text("größe").unwrap(), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(encode_header_text(" x").unwrap(), "=?base64?IHg=?=");
        assert_eq!(encode_header_text("=?base64?x?=").unwrap(), "=?base64?PT9iYXNlNjQ/eD89?=");
        assert!(
            encode_header_text("a\r\nb: c").unwrap().to_str().unwrap().starts_with("=?base64?")
        );
        for text in ["get_user", "größe", " x", "=?base64?x?=", "a\r\nb: c", ""] {
            assert_eq!(
                decode_header_text(&encode_header_text(text).unwrap()).as_deref(),
                Some(text)
            );
        }
        for broken in ["=?base64?!?=", "=?base64?/w==?=", "a\u{e9}"] {
            assert_eq!(
                decode_header_text(&HeaderValue::from_bytes(broken.as_bytes()).unwrap()),
                None
            );
        }
    }

    #[test]
    fn reserved_and_broken_headers_are_refused_without_their_value() {
        for (name, value) in [("Mcp-Session-Id", "hunter2"), ("X\n", "hunter2"), ("X", "hunter2\n")]
        {
            let mut config = HttpConfig::default();
            config.headers.insert(name.to_owned(), value.to_owned());
            let error = parse_configured(&config).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn session_ids_are_visible_ascii() {
        assert!(parse_session_id(&HeaderValue::from_static("abc-123")).is_some());
        assert!(parse_session_id(&HeaderValue::from_static("a b")).is_none());
        assert!(parse_session_id(&HeaderValue::from_str(&"x".repeat(2000)).unwrap()).is_none());
    }
}
