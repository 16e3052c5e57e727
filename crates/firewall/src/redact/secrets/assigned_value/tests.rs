use super::*;

/// A value as it is read: the text, and how it is written.
fn read(text: &str, value: Option<AssignedValue>) -> Option<(&str, &'static str)> {
    let value = value?;
    let notes = match (value.quoted, value.is_adjacent, value.requires_token) {
        (true, true, false) => "quoted",
        (true, false, false) => "quoted, apart",
        (true, _, true) => "quoted, below",
        (false, true, false) => "",
        (false, false, false) => "apart",
        (false, true, true) => "below",
        (false, false, true) => "apart, below",
    };
    Some((text.get(value.range)?, notes))
}

#[test]
fn a_value_begins_behind_blanks_a_line_end_or_a_quote() {
    for (sign, text, value) in [
        (b'=', "v1", ("v1", "")),
        (b'=', " v1", ("v1", "apart")),
        (b'=', "\t= v1", ("v1", "apart")),
        (b'=', "\n  v1", ("v1", "below")),
        (b':', " \r\n  v1", ("v1", "apart, below")),
        (b'=', "\\\nv1", ("v1", "below")),
        (b'=', "\\\r\nv1", ("v1", "below")),
        (b'=', "\n\"v1\"", ("v1", "quoted, below")),
        // Only a sign carries on to the next line, and only a line end is one.
        (b' ', "\nv1", ("", "")),
        (b' ', "\\\nv1", ("", "")),
        (b'=', "\\nv1", ("", "")),
        (b'=', "\"v1\"", ("v1", "quoted")),
        (b'=', " 'v1'", ("v1", "quoted, apart")),
        (b'=', "`v1`", ("v1", "quoted")),
        (b'=', "b\"v1\"", ("v1", "quoted")),
        (b'=', "r'v1'", ("v1", "quoted")),
        (b'=', "f'v1'", ("v1", "quoted")),
        (b'=', "u'v1'", ("v1", "quoted")),
        (b'=', "L\"v1\"", ("v1", "quoted")),
        (b'=', "N'v1'", ("v1", "quoted")),
        (b'=', "@\"v1\"", ("v1", "quoted")),
        (b'=', "x\"v1\"", ("x", "")),
        (b'=', "bv1", ("bv1", "")),
    ] {
        let found = value_after(text.as_bytes(), 0, sign);
        assert_eq!(read(text, found), Some(value), "{text:?}");
    }
}

#[test]
fn a_quoted_value_ends_at_its_quote() {
    for (sign, text, value) in [
        (b'=', r#""a\"b"c"#, Some((r#"a\"b"#, "quoted"))),
        (b'=', r#""a\\"b"#, Some((r"a\\", "quoted"))),
        (b'=', r#""a'b"c"#, Some(("a'b", "quoted"))),
        (b'=', r#"\"a b\""#, Some(("a b", "quoted"))),
        (b'=', r#"\"a"b\""#, Some((r#"a"#, "quoted"))),
        (b'=', r#"\\\"a b\\\""#, Some(("a b", "quoted"))),
        (b'=', r#"\\\\\\\"ab\""#, Some(("ab", "quoted"))),
        (b'=', r#"\\\\\\\\"ab""#, Some(("", ""))),
        // Without its quote it is no quoted text, unless it stands in a list.
        (b'=', "\"a b", Some(("a", ""))),
        (b'=', "\"ab\nc\"", Some(("ab", ""))),
        (b',', "\"a b\nc\"", Some(("a b", "quoted"))),
        (b',', "\"a b", None),
    ] {
        let found = value_after(text.as_bytes(), 0, sign);
        assert_eq!(read(text, found), value, "{text:?}");
    }
}

#[test]
fn a_bare_value_ends_at_a_blank_or_a_sign_and_without_its_points() {
    for end in " \t\n\"'`<>,;&)]}\\".chars() {
        let text = format!("v1{end}x");
        let found = value_after(text.as_bytes(), 0, b'=');
        assert_eq!(read(&text, found), Some(("v1", "")), "{text:?}");
    }
    for (text, value) in [("v1", "v1"), ("v1...", "v1"), ("v.1.", "v.1"), ("v1.,", "v1")] {
        let found = value_after(text.as_bytes(), 0, b'=');
        assert_eq!(read(text, found), Some((value, "")), "{text:?}");
    }
}

#[test]
fn blanks_before_a_value_and_the_value_itself_are_read_to_their_bounds() {
    let blanks = |count: usize| {
        let text = format!("{}v1", " ".repeat(count));
        value_after(text.as_bytes(), 0, b'=').map(|value| value.range)
    };
    assert_eq!((blanks(23), blanks(24), blanks(25)), (Some(23..25), Some(24..26), Some(24..24)));
    let quoted = |length: usize| {
        let text = format!("\"{}\" end", "x".repeat(length));
        let value = value_after(text.as_bytes(), 0, b'=').unwrap();
        (value.quoted, value.range)
    };
    assert_eq!(quoted(MAX_VALUE_BYTES - 1), (true, 1..MAX_VALUE_BYTES));
    assert_eq!(quoted(MAX_VALUE_BYTES), (false, 1..1 + MAX_VALUE_BYTES));
    let bare = |length: usize| {
        let text = "x".repeat(length);
        value_after(text.as_bytes(), 0, b'=').unwrap().range.len()
    };
    assert_eq!((bare(320), bare(321)), (320, 320));
    let indented = |count: usize| next_line(" ".repeat(count).as_bytes(), 0);
    assert_eq!((indented(47), indented(48), indented(49)), (47, 48, 48));
    let text = "a \r\n\t\\ b";
    assert_eq!(next_line(text.as_bytes(), 1), text.len() - 1);
}

#[test]
fn the_text_of_an_element_is_read_without_blanks_to_its_end() {
    let text_of = |text: &str| {
        let value = value_in_element(text.as_bytes(), 1);
        value.map(|value| {
            assert!(value.quoted && value.is_adjacent && !value.requires_token);
            text.get(value.range).unwrap().to_owned()
        })
    };
    for (text, value) in [
        (">v1</a>", Some("v1")),
        (">  v 1 \t</a>", Some("v 1")),
        (">\n v1\n</a>", Some("v1")),
        (">v1\r\n</a>", Some("v1")),
        ("><![CDATA[v1]]></a>", Some("v1")),
        (">\n<![CDATA[v1]]></a>", Some("v1")),
        ("></a>", Some("")),
        (">v1", None),
    ] {
        assert_eq!(text_of(text).as_deref(), value, "{text:?}");
    }
    let blank = |count: usize| text_of(&format!(">{}v1</a>", " ".repeat(count)));
    assert_eq!((blank(64).unwrap().as_str(), blank(65).unwrap().as_str()), ("v1", " v1"));
    let long = |length: usize| text_of(&format!(">{}</a>", "x".repeat(length)));
    assert_eq!(long(MAX_VALUE_BYTES - 1).map(|text| text.len()), Some(MAX_VALUE_BYTES - 1));
    assert_eq!(long(MAX_VALUE_BYTES), None);
}

#[test]
fn a_value_between_semicolons_holds_what_ends_others() {
    for (text, end) in [
        ("a&b;c", 3),
        ("a&b", 1),
        ("a&b c;", 1),
        ("a&b\"c;", 1),
        ("a&b<c;", 1),
        ("a&b,c;", 5),
        ("a;", 1),
    ] {
        assert_eq!(semicolon_end(text.as_bytes(), 1), end, "{text}");
    }
    let far = |length: usize| semicolon_end(format!("{};", "x".repeat(length)).as_bytes(), 0);
    assert_eq!((far(MAX_VALUE_BYTES - 1), far(MAX_VALUE_BYTES)), (MAX_VALUE_BYTES - 1, 0));
}
