//! Cards and other groups of digits, and where they begin and end.

use super::super::card;
use super::super::checksum::is_luhn_valid;
use super::check;

#[test]
fn a_card_has_a_brand_its_length_and_borders() {
    check(&[
        ("3472-481902 55718", ""),
        ("4539  1488  0343  6467", "card=4539  1488  0343  6467"),
        ("-4539 1488 0343 6467", "card=4539 1488 0343 6467"),
        ("4539 1488 0343 6467 1225/x", "card=4539 1488 0343 6467"),
        ("4539 1488 0343 6467 1225x", "card=4539 1488 0343 6467"),
        (
            "4539 1488 0343 6467 5215 4821 7603 5921",
            "card=4539 1488 0343 6467 | card=5215 4821 7603 5921",
        ),
        ("4539 1488 0343 6467 5215-4821-7603-5921", "card=5215-4821-7603-5921"),
        ("4539 1488 0343 6467-5215 4821 7603 5921", "card=4539 1488 0343 6467"),
        ("4539 148803436467", ""),
        ("4539.1488-0343.6467", ""),
        (".4539148803436467", "card=4539148803436467"),
        ("4539148803436467- x", "card=4539148803436467"),
        ("4539148803436467.0,1", "card=4539148803436467"),
        ("4539148803436467.0.", "card=4539148803436467"),
        ("4539148803436467.0.1", ""),
        ("4539148803436467_1", ""),
        ("504821760353 x", "card=504821760353"),
        ("504821760353-1", ""),
        ("card 060448217608", "card=060448217608"),
        ("card 06044821764", ""),
        ("card 213148217603596", "card=213148217603596"),
        ("card 213248217603594", ""),
        ("card 30148217603597", "card=30148217603597"),
        ("card 30648217603596", ""),
        ("card 36482176035929", "card=36482176035929"),
        ("card 4539 1488 0343 6 467", ""),
        ("card 6013 2240 77140 7715 80", "card=6013 2240 77140 7715 80"),
        ("card 6248217603592717", "card=6248217603592717"),
        ("card 8148217603592714", "card=8148217603592714"),
        ("card 8204821760359279", "card=8204821760359279"),
        ("card 820482176035929", ""),
        ("card 9792482176035924", "card=9792482176035924"),
        ("card 979248217603598", ""),
        ("order for a phone 4539148803436467", "card=4539148803436467"),
        ("phone 4539 1488-0343 6467", "card=4539 1488-0343 6467 | phone=1488-0343"),
        ("secret 12345/67801234567890", "card=67801234567890"),
    ]);
}

#[test]
fn an_account_begins_with_its_country_and_is_whole() {
    check(&[
        ("A312 ABCD 0151 40882193", "phone=0151 40882193"),
        ("AB12 ABCD 0151 40882193", ""),
        ("GB50  NWBK 6013 2240 7715 80", ""),
        ("_GB50 NWBK 6013 2240 7715 80", ""),
        ("NO9386011117947", "iban=NO9386011117947"),
    ]);
}

#[test]
fn groups_hang_together_by_what_stands_between() {
    check(&[
        ("call 12345678-1234-1234-1234-123456789012 or 030 1234567", "phone=030 1234567"),
        (
            "driving licence b556136 .........................................",
            "driver-license=b556136",
        ),
        ("got vlshq4798c", ""),
        ("it is 65 530513 K 177 Ké", "de-social-security=65 530513 K 177"),
        ("phone (+49) 30 1234567", "phone=(+49) 30 1234567 | phone=1234567"),
        ("phone (0351) / 86 22 714", "phone=86 22 714"),
        ("phone +0 123 456 789", ""),
        ("phone 035123 / 86 22 71", "phone=86 22 71"),
        ("phone 12345678-1234-1234-1234-1 2345789012", "phone=2345789012"),
        ("phone 1980-03-12 10:11:12,5551234", ""),
        ("phone 1980-03-12T10:11:12,5551234567 x", "phone=5551234567"),
        ("phone x1980-03-12T10:11:12,5551234 x", "phone=5551234"),
        ("tax id 282--258-823 given", ""),
    ]);
}

#[test]
fn short_words_and_hashes_are_read_by_their_case_and_the_length_of_the_text() {
    check(&[
        ("1bcd.efab.cdef", ""),
        ("@1bcd.efab.cdef", ""),
        ("1HRB 0766", ""),
        (
            "it is KS 53 43 82 B .............................................",
            "uk-nino=KS 53 43 82 B",
        ),
        ("ks 53 43 82 b", "uk-nino=ks 53 43 82 b"),
        ("national id 05501137c ..........................................", "es-nif=05501137c"),
        ("national id 05501137c ...........................................", ""),
        (
            "national insurance ks 53 43 82 b ...............................",
            "uk-nino=ks 53 43 82 b",
        ),
        ("phone +41 0 96 471 07 95", "phone=+41 0 96 471 07 95"),
        ("phone 235.97.57-.12", "phone=235.97.57-.12"),
        ("plate IH08OY given", "other-plate=IH08OY"),
        ("Visa order 4485127701935", "card=4485127701935"),
    ]);
}

/// A number that begins so, is so long, and has its sum.
fn with_sum(prefix: &str, length: usize) -> String {
    let filled: String = prefix.chars().chain("12".chars().cycle()).take(length - 1).collect();
    let with = |digit: char| format!("{filled}{digit}");
    ('0'..='9').map(with).find(|number| is_luhn_valid(number.as_bytes())).unwrap()
}

#[test]
fn a_brand_has_its_lengths() {
    let all: Vec<usize> = (12..=19).collect();
    for (prefixes, lengths) in [
        (&["34", "37", "2131", "10", "19"][..], &[15][..]),
        (&["300", "305", "309", "36", "38", "39"], &[14, 16]),
        (&["40", "49"], &[13, 16, 19]),
        (&["51", "55", "2200", "2204", "2221", "2720", "35", "81", "820", "829", "9792"], &[16]),
        (&["60", "64", "65"], &[16, 19]),
        (&["62"], &[16, 17, 18, 19]),
        (&["50", "56", "59", "61", "63", "66", "69"], &all),
        (&["33", "306", "308", "310", "2132", "2130", "20", "2199", "2205", "2220", "2721"], &[]),
        (&["28", "70", "80", "83", "9791", "9793", "90", "09", "0603", "0605"], &[]),
    ] {
        for prefix in prefixes {
            for length in 11..=19 {
                let number = with_sum(prefix, length);
                let is_card = card::is_valid_card(number.as_bytes());
                assert_eq!(is_card, lengths.contains(&length), "{number} has {length} digits");
            }
        }
    }
    assert!(!card::is_valid_card(with_sum("0604", 11).as_bytes()));
    assert!(card::is_valid_card(with_sum("0604", 12).as_bytes()));
}
