//! Recognises bytes that are text, and text that looks like a table.

/// How many bytes and lines are inspected.
pub(crate) const HEAD_BYTES: usize = 4_096;
const HEAD_LINES: usize = 20;

/// Bytes that are text: UTF-8 without unusual control characters.
pub(crate) fn printable_text(bytes: &[u8]) -> Option<&str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let head = bytes.get(..bytes.len().min(HEAD_BYTES))?;
    let control = |b: &u8| *b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    if head.iter().any(control) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

/// The cell delimiter, if the first lines look like a table: at least two lines with equally many
/// of the same delimiter, and names in the first.
pub(crate) fn detect_delimiter(text: &str) -> Option<u8> {
    let head = text.get(..text.len().min(HEAD_BYTES)).or_else(|| {
        let end = (0..4).find_map(|back| text.get(..HEAD_BYTES.checked_sub(back)?));
        end.or(Some(text))
    })?;
    let whole = head.len() == text.len();
    let mut lines: Vec<&str> = head.lines().take(HEAD_LINES).collect();
    // The last line of a truncated head may be incomplete.
    if !whole && lines.len() < HEAD_LINES {
        lines.pop();
    }
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
    let (first, others) = lines.split_first()?;
    b"\t,;|".iter().copied().find(|delimiter| {
        let cells = cell_count(first, *delimiter);
        cells >= 2
            && !others.is_empty()
            && others.iter().all(|line| self::cell_count(line, *delimiter) == cells)
            && looks_like_header(first, *delimiter)
    })
}

/// How many cells a line has; delimiters within quotes do not count.
fn cell_count(line: &str, delimiter: u8) -> usize {
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

/// True for a line of short words, as in a table header.
fn looks_like_header(line: &str, delimiter: u8) -> bool {
    line.split(char::from(delimiter)).all(|name| {
        let name = name.trim().trim_matches('"');
        !name.is_empty()
            && name.len() <= 64
            && name.chars().any(char::is_alphabetic)
            && name.split_whitespace().count() <= 4
            && !name.ends_with(['.', '!', '?', ':'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_without_control_characters_near_the_beginning() {
        assert_eq!(printable_text(b"\xef\xbb\xbfa"), Some("a"));
        assert_eq!(printable_text(b"a\tb\r\n\x0c\x1b[0m"), Some("a\tb\r\n\x0c\x1b[0m"));
        assert_eq!(printable_text(b""), Some(""));
        for other in [&b"a\0b"[..], b"\x01", b"a\x1f", b"\xff", b"a\xc3"] {
            assert_eq!(printable_text(other), None, "{other:?}");
        }
        let late = |letters: usize| [&vec![b'a'; letters][..], b"\0"].concat();
        assert!(printable_text(&late(4_095)).is_none() && printable_text(&late(4_096)).is_some());
    }

    #[test]
    fn a_table_has_the_same_cells_in_each_line_and_names_in_the_first() {
        for (text, separator) in [
            ("a,b\n1,2", Some(b',')),
            ("a;b\n1;2\n\n3;4\n", Some(b';')),
            ("a\tb,c\n1\t2,3", Some(b'\t')),
            ("a|b\n1|2", Some(b'|')),
            ("a,\"b\"\n1,\"2,3\"", Some(b',')),
            ("a,b", None),
            ("a,b\n1", None),
            ("a,b\n1,2\n1,2,3", None),
            ("a\n1", None),
            ("1,2\n3,4", None),
            ("a,\n1,2", None),
            ("a,b.\n1,2", None),
            ("a,b:\n1,2", None),
            ("a,one two three four\n1,2", Some(b',')),
            ("a,one two three four five\n1,2", None),
            ("", None),
            ("\n\n", None),
        ] {
            assert_eq!(detect_delimiter(text), separator, "{text:?}");
        }
        for (length, is_name) in [(64, true), (65, false)] {
            let text = format!("a,{}\n1,2", "b".repeat(length));
            assert_eq!(detect_delimiter(&text).is_some(), is_name, "{length}");
        }
    }

    #[test]
    fn the_last_line_of_what_is_seen_may_be_cut() {
        let long = format!("a,b\n1,2\n{},2", "3".repeat(5_000));
        assert_eq!(detect_delimiter(&long), Some(b','));
        assert_eq!(detect_delimiter(&format!("a,b\n{},2", "3".repeat(5_000))), None);
        let odd = format!("a,b\n{}x", "1,2\n".repeat(19));
        assert_eq!(detect_delimiter(&odd), Some(b','));
        assert_eq!(detect_delimiter(&format!("a,b\n{}x", "1,2\n".repeat(18))), None);
        assert_eq!(
            (cell_count("a,b", b','), cell_count("a,\"b,c\",d", b','), cell_count("", b',')),
            (2, 3, 1)
        );
    }
}
