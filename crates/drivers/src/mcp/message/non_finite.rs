//! Numbers that JSON does not have. Python's `json.dumps` writes `NaN` and `Infinity`, unless it is told not
//! to, and reads them too, so servers of statistics send them without noticing.

/// The text with `null` for `NaN`, `Infinity` and `-Infinity` outside of strings; `None` if there are none.
/// Linear time.
pub(super) fn as_null(text: &[u8]) -> Option<Vec<u8>> {
    const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    let mut out = Vec::new();
    let (mut rest, mut in_string, mut has_any) = (text, false, false);
    while let Some((&byte, tail)) = rest.split_first() {
        let word = WORDS.iter().find(|word| !in_string && rest.starts_with(word));
        if let Some(word) = word {
            out.extend_from_slice(b"null");
            has_any = true;
            rest = rest.get(word.len()..).unwrap_or_default();
            continue;
        }
        out.push(byte);
        rest = tail;
        if byte == b'"' {
            in_string = !in_string;
        } else if byte == b'\\'
            && in_string
            && let Some((&escaped, tail)) = rest.split_first()
        {
            out.push(escaped);
            rest = tail;
        }
    }
    has_any.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::as_null;

    fn text_of(text: &str) -> Option<String> {
        as_null(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn only_numbers_become_null() {
        let found = text_of(r#"{"a":NaN,"b":[-Infinity,Infinity],"NaN":"NaN \" Infinity"}"#);
        let wanted = r#"{"a":null,"b":[null,null],"NaN":"NaN \" Infinity"}"#;
        assert_eq!(found.as_deref(), Some(wanted));
        assert_eq!(text_of(r#"{"a":"NaN\\"}"#), None);
        assert_eq!(text_of("\"\\"), None);
    }
}
