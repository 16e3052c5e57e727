//! Escapes untrusted text for one line of a terminal or log.

use weaver_text::escape;

/// Longest text in characters, without the truncation mark.
const MAX_CHARS: usize = 16 * 1024;

/// Escapes control characters, line breaks, and invisible or direction-changing characters, and
/// truncates after 16,384 characters.
pub(crate) fn escape(text: &str) -> String {
    escape::line(&escape::shorten(text, MAX_CHARS)).into_owned()
}
