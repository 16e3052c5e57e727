use super::*;

#[test]
fn an_ipv4_address_has_four_numbers_of_one_byte() {
    for (text, start, found) in [
        ("81.12.44.3 x", 0, Some(([81, 12, 44, 3], 10))),
        ("x81.12.44.3", 1, Some(([81, 12, 44, 3], 11))),
        ("255.255.255.255", 0, Some(([255; 4], 15))),
        ("001.2.3.4", 0, Some(([1, 2, 3, 4], 9))),
        ("256.2.3.4", 0, None),
        ("1.2.3.256", 0, None),
        ("1.2.3.0004", 0, None),
        ("1.2.3", 0, None),
        ("1.2.3.", 0, None),
        ("1..3.4", 0, None),
        ("1-2.3.4", 0, None),
    ] {
        assert_eq!(parse_octets(text.as_bytes(), start), found, "{text}");
    }
    assert_eq!(address([1, 2, 3, 4]), Ipv4Addr::new(1, 2, 3, 4));
}

#[test]
fn a_prefix_is_no_longer_than_an_address() {
    for (text, most, end) in [
        ("/24", 32, 3),
        ("/32", 32, 3),
        ("/33", 32, 0),
        ("/0", 32, 2),
        ("/032", 32, 4),
        ("/0324", 32, 0),
        ("/128", 128, 4),
        ("/129", 128, 0),
        ("/24.", 32, 3),
        ("/24a", 32, 0),
        ("/24_", 32, 0),
        ("/", 32, 0),
        ("/x", 32, 0),
        ("24", 32, 0),
        ("", 32, 0),
    ] {
        assert_eq!(prefix_end(text.as_bytes(), 0, most), end, "{text}");
    }
}

#[test]
fn a_zone_is_a_word_behind_a_percent_sign() {
    let long = format!("%{}", "a".repeat(20));
    for (text, end) in
        [("%eth0 ", 5), ("%e", 2), ("%", 0), ("% a", 0), ("eth0", 0), (long.as_str(), 17)]
    {
        assert_eq!(zone_end(text.as_bytes(), 0), end, "{text}");
    }
}

#[test]
fn a_hardware_address_has_six_pairs_that_are_not_all_zeros_or_ones() {
    for (text, sign, is_one) in [
        ("00:1b:63:84:45:e6", b':', true),
        ("00-1B-63-84-45-E6", b'-', true),
        ("00:1b:63:84:45:e6", b'-', false),
        ("00:1b:63:84:45-e6", b':', false),
        ("00:00:00:00:00:00", b':', false),
        ("00:00:00:00:00:01", b':', true),
        ("ff:FF:ff:FF:ff:FF", b':', false),
        ("ff:ff:ff:ff:ff:f0", b':', true),
        ("00:1b:63:84:45:e", b':', false),
        ("00:1b:63:84:45:e61", b':', false),
        ("00:1b:63:84:45:g6", b':', false),
    ] {
        assert_eq!(is_mac(text.as_bytes(), sign), is_one, "{text}");
    }
    assert!(is_hex_pairs(b"00:1b:63") && !is_hex_pairs(b"00:1b:6") && !is_hex_pairs(b"001:b6"));
}

#[test]
fn an_address_with_the_signs_of_a_version_is_one() {
    for (text, start, end, is_one) in [
        ("v. 10.0.0.5", 3, 11, true),
        ("v 10.0.0.5", 2, 10, true),
        ("V.10.0.0.5", 2, 10, true),
        ("a v 10.0.0.5", 4, 12, true),
        ("v10.0.0.5", 1, 9, false),
        ("xv 10.0.0.5", 3, 11, false),
        ("x 10.0.0.5", 2, 10, false),
        (" 10.0.0.5", 1, 9, false),
        ("10.0.0.5", 0, 8, false),
        ("10.0.0.5+build7", 0, 8, true),
        ("10.0.0.5+git", 0, 8, true),
        ("10.0.0.5+beta", 0, 8, false),
        ("10.0.0.5-build7", 0, 8, false),
    ] {
        assert_eq!(is_numbered(text.as_bytes(), start, end), is_one, "{text}");
    }
}

#[test]
fn a_colon_alone_ends_no_address() {
    for (text, is_alone) in [("a:", true), ("a::", false), ("a", false), (":", true)] {
        assert_eq!(lone_colon(text.as_bytes(), text.len()), is_alone, "{text}");
    }
    for byte in *b"09afAF:." {
        assert!(in_run(byte));
    }
    for byte in *b"gG-%/ " {
        assert!(!in_run(byte));
    }
}

#[test]
fn a_reserved_address_is_nobodys() {
    for (text, end) in [
        ("192.0.2.17 x", Some(10)),
        ("192.0.2.17", Some(10)),
        ("192.0.2.17/24", Some(10)),
        ("255.255.255.0", Some(13)),
        ("255.255.255.0/24", None),
        ("81.12.44.3", None),
        ("192.0.2.17.5", None),
        ("192.0.2.17-5", None),
        ("192.0.2.17.", Some(10)),
        ("192.0.2.17a", None),
        ("192.0.2.17_", None),
        ("1920.0.2.17", None),
        ("192-0.2.17", None),
    ] {
        let (token, _) = Token::around(text.as_bytes(), 0);
        assert_eq!(reserved_v4_end(text.as_bytes(), token), end, "{text}");
    }
    for (text, start, end) in [
        ("7.192.0.2.17", 2, None),
        ("7-192.0.2.17", 2, None),
        ("a.192.0.2.17", 2, Some(12)),
        ("2001:db8::81.12.44.3", 10, Some(20)),
        ("2a01:4f8::81.12.44.3", 10, None),
        ("x2001:db8::81.12.44.3", 11, None),
    ] {
        let token = Token::around(text.as_bytes(), start).0;
        assert_eq!(reserved_v4_end(text.as_bytes(), token), end, "{text}");
    }
    assert!(is_reserved_v6(b"2001:db8::1") && !is_reserved_v6(b"2a01:4f8::1"));
    assert!(!is_reserved_v6(b"2001:db8") && !is_reserved_v6(b"\xff"));
}
