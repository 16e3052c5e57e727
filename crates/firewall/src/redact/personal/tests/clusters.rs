//! Groups of letters and digits: where they begin and end, and what joins them.

use super::super::candidate::{
    self, BLANK, BRACKET, Candidate, GroupJoin, HYPHEN, POINT, SLASH, Token,
};

#[test]
fn a_token_is_the_run_around_its_first_digit() {
    let long = |letters: usize| format!("{}1", "g".repeat(letters));
    let (most, more, far) = (long(63), long(64), long(70));
    for (text, at, place, digits, hash, fits) in [
        ("12", 0, 0..2, true, false, true),
        ("x-1", 2, 2..3, true, false, true),
        ("ab12c d", 2, 0..5, false, false, true),
        ("é1é", 2, 2..3, true, false, true),
        ("dead1bee", 4, 0..8, false, true, true),
        ("dead1be", 4, 0..7, false, false, true),
        ("Dead1bee", 4, 0..8, false, false, true),
        ("dead1beg", 4, 0..8, false, false, true),
        ("gead1bee", 4, 0..8, false, false, true),
        ("dead1be dead1be", 12, 8..15, false, false, true),
        ("12345678", 0, 0..8, true, false, true),
        (most.as_str(), 63, 0..64, false, false, true),
        (more.as_str(), 64, 0..65, false, false, false),
        (far.as_str(), 70, 6..71, false, false, false),
    ] {
        let (token, is_short) = Token::around(text.as_bytes(), at);
        let expected =
            Token { start: place.start, end: place.end, is_numeric: digits, looks_like_hash: hash };
        assert_eq!((token, is_short), (expected, fits), "{text}");
    }
}

#[test]
fn a_date_with_a_time_of_day_ends_behind_its_fraction() {
    for (text, at, end) in [
        ("2026-11-21T10:20:30", 0, Some(19)),
        ("2026-11-21 10:20:30", 0, Some(19)),
        ("2026-11-21T10:20:30.123Z", 0, Some(23)),
        ("2026-11-21T10:20:30,5", 0, Some(21)),
        ("2026-11-21T10:20:30.", 0, Some(20)),
        ("2026-11-21T10:20:30.123456789", 0, Some(29)),
        ("2026-11-21T10:20:30.1234567890", 0, None),
        ("2026-11-21T10:20:301", 0, None),
        ("2026-11-21t10:20:30", 0, None),
        ("2026-11-21T10:20:3x", 0, None),
        ("2026-11-21T10:20", 0, None),
        ("20261-11-21T10:20:30", 0, None),
        ("x2026-11-21T10:20:30", 1, None),
        ("/2026-11-21T10:20:30", 1, Some(20)),
    ] {
        assert_eq!(candidate::timestamp_end(text.as_bytes(), at), end, "{text}");
    }
}

fn gathered(text: &str, hold: GroupJoin) -> Option<Candidate> {
    Candidate::parse(text.as_bytes(), 0, hold)
}

/// A text and how its groups hang together; their lengths, where they end, what separates them, and
/// whether that is always one byte.
type Joined = (&'static str, GroupJoin, &'static [u8], usize, u8, bool);

#[test]
fn groups_are_joined_by_what_may_stand_between_them() {
    use GroupJoin::{Loose, Tight};
    let every = BLANK | HYPHEN | POINT | SLASH;
    let cases: [Joined; 25] = [
        ("030 1234-56.7/8", Loose, &[3, 4, 2, 1, 1], 15, every, true),
        ("030 1234", Tight, &[3], 3, 0, true),
        ("030-1234.5/6 7", Tight, &[3, 4, 1, 1], 12, HYPHEN | POINT | SLASH, true),
        ("030--1234", Tight, &[3], 3, 0, true),
        ("030-1234", GroupJoin::Token, &[3], 3, 0, true),
        ("0(351) 12", Loose, &[1, 3, 2], 9, BLANK | BRACKET, false),
        ("0(351", Tight, &[1], 1, 0, true),
        ("12  34", Loose, &[2], 2, 0, true),
        ("12. 34", Loose, &[2], 2, 0, true),
        ("12- 34", Loose, &[2, 2], 6, BLANK | HYPHEN, false),
        ("12 - 34", Loose, &[2, 2], 7, BLANK | HYPHEN, false),
        ("12 -- 34", Loose, &[2], 2, 0, true),
        ("0351 / 862", Loose, &[4, 3], 10, BLANK | SLASH, false),
        ("1351 / 862", Loose, &[4], 4, 0, true),
        ("035 / 862", Loose, &[3, 3], 9, BLANK | SLASH, false),
        ("03 / 862", Loose, &[2], 2, 0, true),
        ("03512 / 862", Loose, &[5, 3], 11, BLANK | SLASH, false),
        ("035123 / 862", Loose, &[6], 6, 0, true),
        ("12 a 34", Loose, &[2, 1, 2], 7, BLANK, true),
        ("12 ab", Loose, &[2], 2, 0, true),
        ("12 ab1", Loose, &[2, 3], 6, BLANK, true),
        ("12 aé", Loose, &[2], 2, 0, true),
        ("12 é", Loose, &[2], 2, 0, true),
        ("12.", Loose, &[2], 2, 0, true),
        ("12 ", Loose, &[2], 2, 0, true),
    ];
    for (text, hold, sizes, end, separators, simple) in cases {
        let candidate = gathered(text, hold).unwrap();
        assert_eq!((candidate.group_sizes(), candidate.end), (sizes, end), "{text}");
        assert_eq!(
            (candidate.separators, candidate.has_single_separators),
            (separators, simple),
            "{text}"
        );
        assert_eq!(candidate.is_single_group(), sizes.len() == 1, "{text}");
        assert_eq!(
            candidate.len(),
            sizes.iter().map(|size| usize::from(*size)).sum::<usize>(),
            "{text}"
        );
    }
}

#[test]
fn letters_and_breaks_are_known_by_their_places() {
    let candidate = gathered("a1B-c 23", GroupJoin::Loose).unwrap();
    assert_eq!(candidate.chars(), b"A1BC23");
    assert_eq!(
        (candidate.letter_mask, candidate.break_mask, candidate.has_lowercase),
        (0b1101, 0b1_1000, true)
    );
    let candidate = gathered("A1", GroupJoin::Loose).unwrap();
    assert_eq!(
        (candidate.letter_mask, candidate.break_mask, candidate.has_lowercase),
        (1, 0, false)
    );
}

#[test]
fn a_value_has_forty_characters_and_sixteen_groups_at_most() {
    let is_some = |text: &str| gathered(text, GroupJoin::Loose).is_some();
    assert!(is_some(&"1".repeat(40)) && !is_some(&"1".repeat(41)));
    assert!(is_some(&["1"; 16].join(" ")) && !is_some(&["1"; 17].join(" ")));
}

#[test]
fn a_group_continues_what_a_digit_before_it_began() {
    use GroupJoin::{Loose, Tight};
    for (text, start, loose, tight) in [
        ("12 34", 3, true, false),
        ("12-34", 3, true, true),
        ("a 34", 2, false, false),
        ("a-34", 2, false, false),
        ("12  34", 4, false, false),
        ("12- 34", 4, true, false),
        ("-34", 1, false, false),
        (" 34", 1, false, false),
        ("34", 0, false, false),
        ("1--2", 3, true, false),
        ("1---2", 4, true, false),
        ("1----2", 5, false, false),
        ("0351 / 86", 7, true, false),
        ("1351 / 86", 7, false, false),
        ("12x34", 3, false, false),
    ] {
        let continues = |hold| candidate::continues_number(text.as_bytes(), start, hold);
        assert_eq!((continues(Loose), continues(Tight)), (loose, tight), "{text}");
        assert!(!continues(GroupJoin::Token), "{text}");
    }
}

#[test]
fn it_is_quickly_told_whether_something_may_go_on() {
    for (text, joined) in [
        ("12-3", true),
        ("12 x", true),
        ("12 xy", false),
        ("12 xy1", true),
        ("12x", false),
        ("12--", true),
        ("12-\u{e9}", false),
        // What is behind the end counts as a blank.
        ("12-", true),
        ("12", true),
    ] {
        assert_eq!(candidate::may_continue(text.as_bytes(), 2), joined, "{text}");
    }
}

#[test]
fn the_first_group_of_a_uuid_leads_to_its_end() {
    for (text, length, end) in [
        ("123e4567-e89b-12d3-a456-426614174000", 8, Some(36)),
        ("123e4567-e89b-12d3-a456-426614174000.", 8, Some(36)),
        ("123e4567-e89b-12d3-a456-4266141740001", 8, None),
        ("123e4567-e89b-12d3-a456-42661417400", 8, None),
        ("123e4567-e89b-12d3-a456_426614174000", 8, None),
        ("123e4567-e89b-12d3-a456-42661417400g", 8, None),
        ("123e456-e89b-12d3-a456-4266141740001", 7, None),
        ("123e4567.e89b-12d3-a456-426614174000", 8, None),
    ] {
        let token = Token { start: 0, end: length, is_numeric: false, looks_like_hash: false };
        assert_eq!(candidate::uuid_end(text.as_bytes(), token), end, "{text}");
    }
}
