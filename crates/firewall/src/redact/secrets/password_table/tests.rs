use super::*;

#[test]
fn of_eight_columns_it_is_known_how_far_they_were_read() {
    let mut columns = PasswordColumns::default();
    for number in 0..8 {
        assert_eq!(columns.advance(b',', number, 10 + number), 0);
    }
    assert_eq!((columns.advance(b',', 0, 5), columns.advance(b',', 0, 30)), (10, 10));
    assert_eq!((columns.advance(b',', 0, 1), columns.advance(b'|', 7, 1)), (30, 0));
    // The oldest went for the ninth.
    assert_eq!((columns.0.len(), columns.advance(b',', 1, 1)), (8, 11));
    assert_eq!(columns.advance(b',', 0, 1), 0);
}

#[test]
fn a_heading_names_a_password_between_its_separators() {
    for (text, at, place) in [
        (",password\n", 0, Some(1..9)),
        ("a,password,b", 1, Some(2..10)),
        (";Passwort\r\n", 0, Some(1..9)),
        ("|password|", 0, Some(1..9)),
        ("|  password |", 0, Some(3..12)),
        ("|   password|", 0, Some(4..12)),
        ("|    password    |", 0, Some(5..17)),
        (", password\n", 0, Some(2..10)),
        (",\"password\",", 0, Some(2..10)),
        ("a\tpassword\n", 1, Some(2..10)),
        ("\tpassword\n", 0, None),
        ("\n\tpassword\n", 1, None),
        ("a\t\tpassword\n", 1, None),
        ("a\t\tpassword\n", 2, None),
        (",password", 0, None),
        (",passwords=1\n", 0, None),
        (",pass:word\n", 0, None),
        (",1password\n", 0, None),
        (",city\n", 0, None),
        (",api_key\n", 0, Some(1..8)),
        (",key\n", 0, None),
        (",token_count\n", 0, None),
        (",\n", 0, None),
        (",", 0, None),
    ] {
        let bytes = text.as_bytes();
        let found = secret_heading(bytes, at, byte_at(bytes, at)).map(|(place, _)| place);
        assert_eq!(found, place, "{text:?}");
    }
}

#[test]
fn a_cell_is_the_one_of_its_column_without_blanks_and_quotes() {
    for (line, column, value) in [
        ("ann,q8Vn2Lm9,x", 1, Some("q8Vn2Lm9")),
        ("ann, \"q8Vn2Lm9\" ,x", 1, Some("q8Vn2Lm9")),
        ("ann,`q8Vn2Lm9`,x", 1, Some("q8Vn2Lm9")),
        ("ann,`DB_PASS_FILE`,x", 1, None),
        ("q8Vn2Lm9,ann", 0, Some("q8Vn2Lm9")),
        ("ann,x,q8Vn2Lm9", 2, Some("q8Vn2Lm9")),
        ("ann,q8Vn2Lm9", 2, None),
        ("ann,q8Vn 2Lm9", 1, None),
        ("ann,,x", 1, None),
        ("ann, ,x", 1, None),
        ("ann,changeme,x", 1, None),
    ] {
        // The line stands behind another one.
        let text = format!("a,b,c\n{line}");
        let kind = SecretKind::Password;
        let cell = cell_of(text.as_bytes(), 6..text.len(), b',', column);
        let found = cell.and_then(|cell| secret_in_cell(text.as_bytes(), cell, b',', kind));
        let found = found.map(|hit| text.get(hit.range).unwrap());
        assert_eq!(found, value, "{line}");
    }
}

#[test]
fn twelve_lines_below_a_heading_are_read() {
    let found = |lines: usize| {
        let text = format!("user,password\n{}", "ann,q8Vn2Lm9\n".repeat(lines));
        let mut hits = Vec::new();
        scan_below_heading(text.as_bytes(), 4, &mut PasswordColumns::default(), &mut hits);
        let values = hits.iter().map(|hit| text.get(hit.range.clone()).unwrap());
        assert!(values.into_iter().all(|value| value == "q8Vn2Lm9"));
        hits.len()
    };
    assert_eq!([1, 2, 12, 13, 20].map(found), [1, 2, 12, 12, 12]);
    // A line is read once for a column, however many headings stand above it.
    for end in ["", "\n"] {
        let text = format!("a,password\nb,q8Vn2Lm9\nc,password\nd,q8Vn2Lm8{end}");
        assert_eq!(values(&text), ["q8Vn2Lm9", "q8Vn2Lm8"]);
    }
}

#[test]
fn headings_are_short_and_no_program_text() {
    for (line, are_headings) in [
        ("user,password", true),
        ("Full name (latin),\"password\",x", true),
        ("a b c d,password", true),
        ("a b c d e,password", false),
        ("open(user, password", false),
        ("if user, password:", false),
        ("user, password;", false),
        ("user, password,", false),
        ("x = user, password", false),
        ("{user, password}", false),
        ("import user, password", false),
        ("user, password)", false),
    ] {
        assert_eq!(is_row_of_headings(line.as_bytes(), b','), are_headings, "{line}");
    }
    assert!(is_row_of_headings(b"user;password;", b';'));
    assert_eq!(count_cells(b"a,\"b,c\",d", b','), 3);
    assert_eq!(values("user,password,x\nann,q8Vn2Lm9\nbob,q8Vn2Lm8,y"), ["q8Vn2Lm8"]);
}

/// The values below a heading, with this text around them.
fn values(text: &str) -> Vec<&str> {
    let mut hits = Vec::new();
    let (mut columns, bytes) = (PasswordColumns::default(), text.as_bytes());
    for at in text.match_indices(',').map(|(at, _)| at) {
        scan_below_heading(bytes, at, &mut columns, &mut hits);
    }
    hits.iter().map(|hit| text.get(hit.range.clone()).unwrap()).collect()
}

#[test]
fn a_heading_counts_its_column_from_the_beginning_of_its_line() {
    assert_eq!(values("a,b,password,d\n1,2,q8Vn2Lm9,4"), ["q8Vn2Lm9"]);
    assert_eq!(values("x,y,z\na,password\n1,q8Vn2Lm9"), ["q8Vn2Lm9"]);
    assert_eq!(values("a,password\nq8Vn2Lm9,b"), Vec::<&str>::new());
    // Of a long line 256 bytes before the heading are read, and its separator.
    let far = |letters: usize| format!("a{},password\nb,q8Vn2Lm9", "x".repeat(letters - 1));
    assert_eq!((values(&far(256)).len(), values(&far(300)).len()), (1, 1));
    let two = |letters: usize| format!("a,{},password\nb,c,q8Vn2Lm9", "x".repeat(letters));
    assert_eq!((values(&two(255)).len(), values(&two(256)).len()), (1, 0));
}

#[test]
fn lines_below_a_heading_are_read_up_to_440_bytes() {
    // The cell ends so many bytes below the heading.
    let text = |bytes: usize, after: &str| {
        format!("a,password\n{},y\nb,q8Vn2Lm9{after}", "x".repeat(bytes - 14))
    };
    assert_eq!(values(&text(439, "\n")), ["q8Vn2Lm9"]);
    assert_eq!(values(&text(440, "")), ["q8Vn2Lm9"]);
    assert_eq!(values(&text(440, "\n")), Vec::<&str>::new());
    assert_eq!(values(&text(441, "")), Vec::<&str>::new());
}

#[test]
fn a_heading_is_no_longer_than_33_bytes_behind_64_blanks() {
    let found = |name: &str, before: &str| {
        let text = format!("|{before}{name}|");
        secret_heading(text.as_bytes(), 0, b'|').map(|(place, _)| place)
    };
    let long = |length: usize| format!("{}password", "x_".repeat(30).split_off(68 - length));
    assert_eq!(long(33).len(), 33);
    assert_eq!(found(&long(33), ""), Some(1..34));
    assert_eq!(found(&long(34), ""), None);
    assert_eq!(found(&long(33), "  "), Some(3..36));
    assert_eq!(found(&long(34), "  "), None);
    assert_eq!(found("password", &" ".repeat(64)), Some(65..73));
    assert_eq!(found("password", &" ".repeat(65)), None);
}
