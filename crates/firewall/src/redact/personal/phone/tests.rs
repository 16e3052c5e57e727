use super::*;
use crate::redact::personal::candidate::{BLANK, HYPHEN};
use crate::redact::personal::phone_layout::all_groups_start_with_zero;

fn number<'a>(digits: &'a str, sizes: &'a [u8], separators: u8) -> DigitGroups<'a> {
    DigitGroups { digits: digits.as_bytes(), sizes, separators, opened: false }
}

#[test]
fn groups_of_a_date_are_a_day_a_month_and_a_year_of_these_centuries() {
    let cases: [(&str, &[u8], bool); 18] = [
        ("19800312", &[4, 2, 2], true),
        ("20261231", &[4, 2, 2], true),
        ("19801312", &[4, 2, 2], false),
        ("21800312", &[4, 2, 2], false),
        ("1980312", &[4, 1, 2], true),
        ("198031", &[4, 1, 1], true),
        ("12031980", &[2, 2, 4], true),
        ("31121980", &[2, 2, 4], true),
        ("12311980", &[2, 2, 4], true),
        ("31131980", &[2, 2, 4], false),
        ("00121980", &[2, 2, 4], false),
        ("12032180", &[2, 2, 4], false),
        ("1031980", &[1, 2, 4], true),
        ("1401980", &[1, 2, 4], false),
        ("1231980", &[2, 1, 4], true),
        ("3341980", &[2, 1, 4], false),
        ("1231980", &[3, 4], false),
        ("19800312", &[8], false),
    ];
    for (digits, sizes, is_one) in cases {
        assert_eq!(is_date(digits.as_bytes(), sizes), is_one, "{digits} {sizes:?}");
    }
}

#[test]
fn a_mobile_number_is_dialled_without_separators() {
    for (digits, is_one) in [
        ("01512345678", true),
        ("03512345678", true),
        ("05512345678", true),
        ("07512345678", true),
        ("08512345678", true),
        ("09512345678", true),
        ("02512345678", false),
        ("04512345678", false),
        ("01000012345", false),
        ("01000112345", true),
        ("015123456789", false),
        ("0412345678", true),
        ("0712345678", true),
        ("0312345678", false),
        ("0812345678", false),
        ("0400012345", false),
        ("0400112345", true),
        ("11512345678", false),
    ] {
        let sizes = [u8::try_from(digits.len()).unwrap()];
        assert_eq!(is_regional_mobile(&number(digits, &sizes, 0)), is_one, "{digits}");
    }
    assert!(!is_regional_mobile(&number("01512345678", &[4, 7], BLANK)));
}

#[test]
fn groups_that_count_and_groups_of_thousands_are_no_phone() {
    assert!(
        all_groups_start_with_zero(b"010203", &[2, 2, 2])
            && all_groups_start_with_zero(b"0123", &[4])
    );
    assert!(
        !all_groups_start_with_zero(b"011203", &[2, 2, 2])
            && !all_groups_start_with_zero(b"110203", &[2, 2, 2])
    );
    let cases: [(&str, &[u8], u8, bool); 8] = [
        ("449000", &[3, 3], BLANK, true),
        ("449000", &[3, 3], POINT, true),
        ("449000", &[3, 3], HYPHEN, false),
        ("1449000", &[1, 3, 3], BLANK, true),
        ("44449000", &[2, 3, 3], BLANK, true),
        ("444449000", &[3, 3, 3], BLANK, false),
        ("4490000", &[3, 4], BLANK, false),
        ("449", &[3], BLANK, false),
    ];
    for (digits, sizes, separators, is_one) in cases {
        assert_eq!(is_count(&number(digits, sizes, separators)), is_one, "{digits} {sizes:?}");
    }
}

#[test]
fn a_heading_may_speak_about_a_phone() {
    for (heading, is_one) in [
        ("phone type", true),
        ("phone_views", true),
        ("phone-ID", true),
        ("phone", false),
        ("phoneviews", false),
        ("mobile number", false),
    ] {
        assert_eq!(is_phone_attribute(heading.as_bytes()), is_one, "{heading}");
    }
    for (text, is_one) in [
        ("\"phone_views\": ", true),
        ("phone_views=", true),
        ("'phone-os': \"", true),
        ("phone_views ", false),
        ("\"phone\": ", false),
        ("views, phone: ", false),
        (": ", false),
        ("", false),
    ] {
        assert_eq!(is_value_of_phone_attribute(text.as_bytes(), text.len()), is_one, "{text}");
    }
}

#[test]
fn an_extension_follows_its_word() {
    for (text, end) in [
        ("555 x12", 7),
        ("555x12", 6),
        ("555#12", 6),
        ("555, ext. 12", 12),
        ("555 EXT: 9", 10),
        ("555 extension 123456", 20),
        ("555 ext12", 9),
        ("555 ext. : 12", 3),
        ("555 x: 12", 9),
        ("555 x : 12", 3),
        ("555 extension 1234567", 3),
        ("555 x", 3),
        ("555 x12a", 3),
        ("555   x1", 3),
        ("555 y12", 3),
        ("555", 3),
    ] {
        assert_eq!(with_extension(text.as_bytes(), 3), end, "{text}");
    }
}

#[test]
fn a_number_of_a_plan_may_have_a_nought_that_is_not_dialled() {
    let cases: [(&str, &[u8], bool); 6] = [
        ("0420601123456", &[1, 3, 3, 3, 3], false),
        ("41964710795", &[2, 2, 3, 2, 2], true),
        ("410964710795", &[2, 1, 2, 3, 2, 2], true),
        ("411964710795", &[2, 1, 2, 3, 2, 2], false),
        ("410964710795", &[2, 3, 3, 2, 2], false),
        ("999123456", &[3, 3, 3], false),
    ];
    for (digits, sizes, is_one) in cases {
        assert_eq!(is_planned(&number(digits, sizes, BLANK)), is_one, "{digits} {sizes:?}");
    }
}
