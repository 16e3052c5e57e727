//! Token runs: maximal sequences of bytes that keys, tokens and encoded data consist of.

/// True for a byte of a token run.
pub(crate) const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~' | b'%')
}

/// Where the run that begins at `from` ends; `from` itself if no run begins there.
pub(crate) fn run_end(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().position(|b| !is_token_byte(*b)).unwrap_or(rest.len())
}

/// The length of the run at the end of the text.
pub(crate) fn trailing_run_len(text: &str) -> usize {
    text.bytes().rev().take_while(|b| is_token_byte(*b)).count()
}
