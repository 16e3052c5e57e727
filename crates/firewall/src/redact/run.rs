//! Token runs: stretches of the bytes of which keys, tokens and encoded data are made.

use super::work;

/// True for a byte of a token run.
pub(crate) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~' | b'%')
}

/// Where the run that begins at `from` ends; `from` itself when no run begins there.
pub(crate) fn end(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().position(|b| !is_token(*b)).unwrap_or(rest.len())
}

/// How long the run is that ends at the end of the text.
pub(crate) fn tail(text: &str) -> usize {
    text.bytes().rev().take_while(|b| is_token(*b)).count()
}

/// Remembers the run looked at last, so that many questions about one run cost one look at it.
#[derive(Debug, Default)]
pub(crate) struct RunEndCache {
    start: usize,
    end: usize,
}

impl RunEndCache {
    /// Where the run around `at` ends.
    pub(crate) fn end(&mut self, text: &str, at: usize) -> usize {
        if !(self.start..self.end).contains(&at) {
            *self = Self { start: at, end: end(text, at) };
            work::add(self.end - at);
        }
        self.end
    }
}
