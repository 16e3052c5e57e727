use proptest::prelude::*;

use super::*;

fn names(cell: &[u8]) -> bool {
    cell.contains(&b'p')
}

/// The same for one cell, by the lines above it and nothing else.
fn named(bytes: &[u8], cell: &Range<usize>) -> bool {
    let Some(separator) = separator(bytes, cell) else { return false };
    let floor = cell.start.saturating_sub(MAX_BYTES_ABOVE);
    let seen = bytes.get(floor..cell.start).unwrap();
    let mut lines: Vec<_> = seen.split(|byte| *byte == b'\n').collect();
    let column = cells(lines.pop().unwrap(), separator).count() - 1;
    let whole = lines.get(usize::from(floor > 0)..).unwrap_or_default();
    let above =
        whole.iter().rev().take(MAX_LINES_BELOW).map(|line| cells(line, separator).nth(column));
    above.map_while(|cell| cell).any(|cell| is_heading(trim_cell(cell), names))
}

fn table() -> impl Strategy<Value = String> {
    let cell =
        prop_oneof![4 => "[0-9]{7}", 1 => "[ap]{1,3}", 1 => "\"[ap,;]{0,3}\"", 1 => "[x ]{0,90}"];
    let row = (prop::collection::vec(cell, 0..12), prop::sample::select(vec![",", ";", "|"]));
    let line = row.prop_map(|(cells, separator)| cells.join(separator) + "\n");
    prop::collection::vec(line, 0..40).prop_map(|lines| lines.concat())
}

#[test]
fn a_heading_is_a_short_cell_with_letters_and_a_digit_at_most() {
    let longest = "p".repeat(MAX_HEADING_BYTES);
    for (cell, expected) in [
        ("p", true),
        ("p1", true),
        ("1", false),
        ("p12", false),
        ("\u{e9}", true),
        ("#", false),
        ("", false),
        (&longest, true),
        (&format!("{longest}p"), false),
    ] {
        assert_eq!(is_heading(cell.as_bytes(), |_| true), expected, "{cell}");
    }
    assert!(!is_heading(b"p", |_| false));
}

#[test]
fn a_cell_stands_between_two_separators_or_one_and_an_end() {
    for (text, expected) in [
        (",[1],", Some(b',')),
        (";[1]\n", Some(b';')),
        ("|[1]\r\n", Some(b'|')),
        ("\t[1]", Some(b'\t')),
        ("[1];", Some(b';')),
        ("a\n[1];b", Some(b';')),
        ("1,\" +[1]\" ),2", None),
        ("1, \"+[1]\" (,2", Some(b',')),
        ("| [1]            | 2", Some(b'|')),
        (",[1];", None),
        ("x[1],", None),
        (",[1]x", None),
        ("\n[1]\n", None),
        ("[1]", None),
    ] {
        let start = text.find('[').unwrap();
        let text = text.replacen('[', "", 1);
        let end = text.find(']').unwrap();
        let text = text.replacen(']', "", 1);
        assert_eq!(separator(text.as_bytes(), &(start..end)), expected, "{text:?}");
    }
}

#[test]
fn cells_are_split_outside_of_quotes_and_unquoted() {
    let line = b" a ,\"b,c\",,\"\"";
    let all: Vec<&[u8]> = cells(line, b',').map(trim_cell).collect();
    let expected: [&[u8]; 4] = [b"a", b"b,c", b"", b""];
    assert_eq!(all, expected);
}

proptest! {
    #[test]
    fn headings_read_on_are_headings_looked_up(text in table(), back in any::<u8>()) {
        let bytes = text.as_bytes();
        let mut headings = Headings::default();
        let mut place = 0;
        for cell in text.split([',', ';', '|', '\n']) {
            let range = place..place + cell.len();
            place = range.end + 1;
            if cell.len() == 7 && !cell.contains('"') {
                let told = headings.has_heading(bytes, &range, names);
                prop_assert_eq!(told, named(bytes, &range), "{:?}", range);
                // Now and then one looks back.
                let again = range.start.saturating_sub(usize::from(back))..range.end;
                if text.is_char_boundary(again.start) {
                    prop_assert_eq!(headings.has_heading(bytes, &again, names), named(bytes, &again));
                }
            }
        }
    }
}
