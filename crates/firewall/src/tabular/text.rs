//! Bytes that are text, and texts that look like a table.

/// Bytes and lines that are looked at to tell what a text is.
pub(crate) const HEAD: usize = 4_096;
const HEAD_LINES: usize = 20;

/// Bytes that are text: UTF-8, without control characters that no text has.
pub(crate) fn text_of(bytes: &[u8]) -> Option<&str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let head = bytes.get(..bytes.len().min(HEAD))?;
    let control = |b: &u8| *b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    if head.iter().any(control) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

/// What stands between the cells, where the first lines look like a table: the same number of the
/// same separator in each of at least two lines, and names in the first.
pub(crate) fn delimiter(text: &str) -> Option<u8> {
    let head = text.get(..text.len().min(HEAD)).or_else(|| {
        let end = (0..4).find_map(|back| text.get(..HEAD.checked_sub(back)?));
        end.or(Some(text))
    })?;
    let whole = head.len() == text.len();
    let mut lines: Vec<&str> = head.lines().take(HEAD_LINES).collect();
    // The last line of a longer text may be cut.
    if !whole && lines.len() < HEAD_LINES {
        lines.pop();
    }
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
    let (first, others) = lines.split_first()?;
    b"\t,;|".iter().copied().find(|delimiter| {
        let cells = cells(first, *delimiter);
        cells >= 2
            && !others.is_empty()
            && others.iter().all(|line| self::cells(line, *delimiter) == cells)
            && named(first, *delimiter)
    })
}

/// How many cells a line has; a separator in quotes does not count.
fn cells(line: &str, delimiter: u8) -> usize {
    let mut quoted = false;
    let mut count = 1;
    for byte in line.bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b if b == delimiter && !quoted => count += 1,
            _ => {}
        }
    }
    count
}

/// True for a line of short words, as the first line of a table has them.
fn named(line: &str, delimiter: u8) -> bool {
    line.split(char::from(delimiter)).all(|name| {
        let name = name.trim().trim_matches('"');
        !name.is_empty()
            && name.len() <= 64
            && name.chars().any(char::is_alphabetic)
            && name.split_whitespace().count() <= 4
            && !name.ends_with(['.', '!', '?', ':'])
    })
}
