//! Sums over digits, by the examples of their standards, and plans of numbers.

use super::super::checksum::{
    all_same, char_value, is_day, is_luhn_valid, is_mod_11_10_valid, is_verhoeff_valid,
    parse_digits, remainder, value_at, weighted_sum,
};
use super::super::dialing_plan;

#[test]
fn a_character_has_its_value_and_a_place_outside_has_none() {
    for (byte, expected) in
        [(b'0', 0), (b'9', 9), (b'A', 10), (b'Z', 35), (b'a', 0), (b'-', 0), (b'/', 0), (b':', 0)]
    {
        assert_eq!(char_value(byte), expected);
    }
    assert_eq!((value_at(b"7B", 0), value_at(b"7B", 1), value_at(b"7B", 2)), (7, 11, 0));
    assert_eq!(
        (parse_digits(b"1234", 0, 4), parse_digits(b"1234", 1, 3), parse_digits(b"12", 1, 3)),
        (1_234, 23, 0)
    );
    assert_eq!(weighted_sum(b"123", &[1, 2, 3]), 14);
    assert_eq!((weighted_sum(b"123", &[5]), weighted_sum(b"12", &[1, 1, 9])), (5, 3));
    assert!(all_same(b"111") && all_same(b"") && !all_same(b"112") && !all_same(b"011"));
}

/// A check, and numbers that it takes.
type Sum = (fn(&[u8]) -> bool, &'static [&'static str]);

#[test]
fn a_sum_takes_a_number_and_none_with_another_last_digit() {
    let checks: [Sum; 3] = [
        (is_luhn_valid, &["79927398713", "4539148803436467", "18", "59", "0000000018"]),
        (is_mod_11_10_valid, &["07945", "86095742719", "94577403194"]),
        (is_verhoeff_valid, &["2363", "123451", "1428570", "84736430954837284567892"]),
    ];
    for (check, numbers) in checks {
        for number in numbers {
            assert!(check(number.as_bytes()), "{number}");
            let (head, last) = number.split_at(number.len() - 1);
            for digit in ('0'..='9').filter(|digit| !last.starts_with(*digit)) {
                assert!(!check(format!("{head}{digit}").as_bytes()), "{head}{digit}");
            }
        }
    }
    assert!(!is_luhn_valid(b"0000000000") && !is_mod_11_10_valid(b""));
}

#[test]
fn the_sum_of_verhoeff_sees_every_wrong_digit_and_every_swap() {
    let number = b"84736430954837284567892".to_vec();
    for place in 0..number.len() {
        for digit in (b'0'..=b'9').filter(|digit| *digit != number[place]) {
            let mut wrong = number.clone();
            wrong[place] = digit;
            assert!(!is_verhoeff_valid(&wrong), "{digit} at {place}");
        }
        let mut swapped = number.clone();
        if place > 0 && swapped[place] != swapped[place - 1] {
            swapped.swap(place, place - 1);
            assert!(!is_verhoeff_valid(&swapped), "{place} swapped");
        }
    }
}

#[test]
fn a_letter_counts_two_digits_in_a_remainder() {
    let rest = |text: &str, modulus| remainder(text.bytes(), modulus);
    assert_eq!(
        (rest("12", 97), rest("97", 97), rest("A1", 97), rest("1A", 1_000)),
        (12, 0, 4, 110)
    );
    // The example of the standard for account numbers.
    assert_eq!(rest("WEST12345698765432GB82", 97), 1);
}

#[test]
fn a_month_has_its_days() {
    let longest = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    for (month, days) in (1..).zip(longest) {
        assert!(is_day(month, 1) && is_day(month, days), "{month}");
        assert!(!is_day(month, 0) && !is_day(month, days + 1), "{month}");
    }
    assert!(!is_day(0, 1) && !is_day(13, 1));
}

#[test]
fn a_country_code_is_followed_by_as_many_digits_as_its_plan_has() {
    for (digits, width, is_one) in [
        ("14155552671", 1, true),
        ("1415555267", 1, false),
        ("141555526711", 1, false),
        ("11155552671", 1, false),
        ("12155552671", 1, true),
        ("4930123456", 2, true),
        ("49301", 2, false),
        ("49301234", 2, true),
        ("4930123456789012", 2, false),
        ("35312345678", 3, true),
        ("3531234", 3, false),
        ("99912345678", 3, false),
        ("1", 2, false),
    ] {
        assert_eq!(dialing_plan::has_country_code(digits.as_bytes(), width), is_one, "{digits}");
    }
    assert!(
        dialing_plan::is_international(b"14155552671")
            && dialing_plan::is_international(b"35312345678")
    );
    assert!(
        !dialing_plan::is_international(b"99912345678") && !dialing_plan::is_international(b"")
    );
}

#[test]
fn area_and_exchange_of_an_american_number_begin_with_two_to_nine() {
    for (digits, is_one) in [
        ("4155552671", true),
        ("14155552671", true),
        ("2002002000", true),
        ("24155552671", false),
        ("415555267", false),
        ("41555526711", false),
        ("1155552671", false),
        ("4151552671", false),
        ("4115552671", false),
        ("4159112671", false),
        ("4955552671", false),
        ("4195552671", true),
        ("4155192671", true),
        ("4125552671", true),
        ("41555", false),
    ] {
        assert_eq!(dialing_plan::is_north_american(digits.as_bytes()), is_one, "{digits}");
    }
}
