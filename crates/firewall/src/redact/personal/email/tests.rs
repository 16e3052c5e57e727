use super::*;

#[test]
fn a_version_has_three_labels_of_numbers() {
    for (domain, is_one) in [
        ("1.2.3-rc.next", true),
        ("v1.2.3", true),
        ("12.0.7", true),
        ("1.2", false),
        ("1.2.x", false),
        ("1.x.3", false),
        ("a.2.3", false),
        ("1a.2.3", false),
        (".2.3", false),
        ("vv1.2.3", false),
    ] {
        assert_eq!(is_version(domain.as_bytes()), is_one, "{domain}");
    }
}

#[test]
fn an_image_tells_how_far_it_is_enlarged() {
    for (text, is_one) in [
        ("@2x.min.png", true),
        ("@3x-min.jpeg", true),
        ("@ax.min.png", false),
        ("@2y.min.png", false),
        ("@2xx.mi.png", false),
        ("@2x.min.net", false),
        ("@2x.min-png", false),
        ("@2x.min.", false),
    ] {
        let end = text.len() - text.rsplit(['.', '-']).next().unwrap().len() - 1;
        assert_eq!(is_scaled_image(text.as_bytes(), 1..end), is_one, "{text}");
    }
}

#[test]
fn a_message_is_named_by_its_header() {
    for (text, is_one) in [
        ("Message-ID: <20260814091244.4F1C22@mx.corp.net>", true),
        ("message-id=<20260814@mx.corp.net>", true),
        ("X-Original-Message-ID:\r\n <CAF4abc12XYZ@mail.corp.net>", true),
        ("In-Reply-To: <CAF4abc12XYZ@mail.corp.net>", true),
        ("References:<CAF4abc12XYZ@mail.corp.net>", true),
        ("Content-ID: <1.a1b2c3@corp.net>", true),
        ("Message-ID: <1409845851-38950-3-git-send-email-jane@corp.net>", false),
        ("Message-ID: <20260814091244.38950-1-jane@corp.net>", false),
        ("Message-ID: <20260814091244.jane7@corp.net>", false),
        ("Message-ID: <20260814091244.J\u{fc}7@corp.net>", false),
        ("Message-ID: <jane.roe@corp.net>", false),
        ("Message-ID: <jane.roe1987@corp.net>", false),
        ("Message-ID: 20260814091244.4F1C22@mx.corp.net", false),
        ("Message-ID: <20260814091244.4F1C22@mx.corp.net", false),
        ("Message-ID <20260814091244.4F1C22@mx.corp.net>", false),
        ("Reply-To: <20260814091244.4F1C22@mx.corp.net>", false),
        ("<20260814091244.4F1C22@mx.corp.net>", false),
    ] {
        let at = text.find('@').unwrap();
        let start = text.get(..at).unwrap().rfind(['<', ' ']).unwrap() + 1;
        let end = text.len() - usize::from(text.ends_with('>'));
        assert_eq!(is_message_id(text.as_bytes(), start..end, at), is_one, "{text}");
    }
}

#[test]
fn a_top_level_name_is_of_letters_and_no_ending_of_a_file() {
    let (most, more) = ("a".repeat(24), "a".repeat(25));
    for (label, end) in [
        ("com", Some(3)),
        ("de", Some(2)),
        ("c", None),
        ("", None),
        (most.as_str(), Some(24)),
        (more.as_str(), None),
        ("xn--p1ai", Some(8)),
        ("XN--p1ai", Some(8)),
        ("xm--p1ai", Some(2)),
        ("com1", None),
        ("com-x", Some(3)),
        ("com\u{e9}", Some(3)),
        ("\u{e9}\u{e9}", Some(4)),
        ("\u{e9}a", None),
        ("png", None),
        ("PNG", None),
    ] {
        assert_eq!(top_level_end(label.as_bytes(), 0, label.len()), end, "{label}");
    }
}

#[test]
fn the_part_before_the_sign_begins_with_a_letter_or_a_digit() {
    for (text, start) in [
        ("jane@", Some(0)),
        ("1jane@", Some(0)),
        ("_jane@", Some(0)),
        ("+jane@", Some(0)),
        ("#jane@", Some(1)),
        (".-jane@", Some(2)),
        ("<jane@", Some(1)),
        ("a jane.roe@", Some(2)),
        ("jane.@", None),
        ("##@", None),
        ("@", None),
    ] {
        assert_eq!(local_part_start(text.as_bytes(), text.len() - 1), start, "{text}");
    }
}

#[test]
fn a_domain_has_labels_and_ends_with_a_top_level_name() {
    for (text, end) in [
        ("corp.net", Some(8)),
        ("a.b.com/x", Some(7)),
        ("corp.net.", Some(8)),
        ("corp.net.x1", Some(8)),
        ("corp.net.org", Some(12)),
        ("a-b.net", Some(7)),
        ("corp", None),
        ("net.", None),
        ("-a.net", None),
        ("corp.-a.net", None),
        ("corp..net", None),
        (".net", None),
        ("", None),
    ] {
        assert_eq!(domain_end(text.as_bytes(), 0), end, "{text}");
    }
}

#[test]
fn a_sign_in_brackets_is_a_point_or_the_at() {
    for (text, sign) in [
        ("[.]", Some((3, true))),
        ("(.)", Some((3, true))),
        ("[dot]", Some((5, true))),
        ("(DOT)", Some((5, true))),
        ("[at]", Some((4, false))),
        ("(At)", Some((4, false))),
        ("[@]", Some((3, false))),
        ("[dot)", None),
        ("[dots]", None),
        ("[x]", None),
        ("[]", None),
        ("{.}", None),
        ("[", None),
    ] {
        let found = bracketed_sign(text.as_bytes(), 0).map(|sign| (sign.end, sign.is_point));
        assert_eq!(found, sign, "{text}");
    }
}

#[test]
fn the_at_of_a_written_address_is_known_in_ten_forms() {
    for form in [" at ", " AT ", "@", " [at] ", " (at) ", " [AT] ", "[at]", "(at)", "[@]", "(@)"] {
        let text = format!("jane{form}");
        assert_eq!(at_sign_before(text.as_bytes(), text.len()), Some((4, text.len())), "{form}");
    }
    for other in ["jane At ", "jane at", "jane{at}", ""] {
        assert_eq!(at_sign_before(other.as_bytes(), other.len()), None, "{other}");
    }
    let run = "a".repeat(70);
    assert_eq!(
        (run_start(run.as_bytes(), 70, is_local_byte), run_start(b"a bc", 4, is_local_byte)),
        (6, 2)
    );
}

#[test]
fn a_written_name_has_its_points_in_brackets() {
    for (text, start) in [
        ("jane", Some(0)),
        ("jane[.]roe", Some(0)),
        ("jane(dot)roe", Some(0)),
        ("to jane[.]roe", Some(3)),
        ("jane[at]roe", Some(8)),
        ("#jane", Some(1)),
        ("x'jane", Some(2)),
        ("[.]roe", None),
        ("##", None),
        ("", None),
    ] {
        assert_eq!(local_with_signs(text.as_bytes(), text.len()), start, "{text}");
    }
}

#[test]
fn a_written_domain_has_its_points_in_brackets_or_in_words() {
    for (text, labels, end) in [
        ("corp[.]com x", vec![0..4, 7..10], 10),
        ("corp.com", vec![0..4, 5..8], 8),
        ("corp dot com", vec![0..4, 9..12], 12),
        ("corp (dot) com", vec![0..4, 11..14], 14),
        ("corp [.]com", vec![0..4, 8..11], 11),
        ("a[.]corp[.]com", vec![0..1, 4..8, 11..14], 14),
        ("corp[.]com[.]x1", vec![0..4, 7..10], 10),
        ("corp[.]com-x", vec![0..4, 7..10], 10),
    ] {
        let written = domain_with_signs(text.as_bytes(), 0).unwrap();
        assert_eq!((written.labels, written.end), (labels, end), "{text}");
    }
    let long = format!("{}[.]com", "a".repeat(64));
    for other in ["corp", "corp[.] com", "corp[at]com", "[.]com", "corp dots com", "", &long] {
        assert!(domain_with_signs(other.as_bytes(), 0).is_none(), "{other}");
    }
    let long = format!("{}[.]com", "a".repeat(63));
    assert!(domain_with_signs(long.as_bytes(), 0).is_some());
}
