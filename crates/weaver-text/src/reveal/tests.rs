use super::*;
use crate::work;

const EMAIL: &str = "jane.roe@corp.example.com";
const CARD: &str = "4012888888881881";
const SSN: &str = "123-45-6789";

fn all(text: &str, layers: Layers) -> Vec<View> {
    let mut out = Vec::new();
    assert!(views(text, layers, &mut out), "not complete: {text:.80}");
    let total: usize = out.iter().map(|view| view.text.len()).sum();
    assert!(total <= MAX_GROWTH * text.len() + 256);
    out
}

/// The input behind each place at which a view shows `value`.
fn found<'t>(text: &'t str, value: &str) -> Vec<&'t str> {
    found_in(all(text, Layers::ALL), text, value)
}

fn found_in<'t>(views: Vec<View>, text: &'t str, value: &str) -> Vec<&'t str> {
    let mut places = Vec::new();
    for view in views {
        for (at, _) in view.text.match_indices(value) {
            assert!(view.touches(at..at + value.len()));
            places.push(text.get(view.original(at..at + value.len())).unwrap());
        }
    }
    places
}

#[track_caller]
fn check(before: &str, hidden: &str, after: &str, value: &str) {
    let text = format!("{before}{hidden}{after}");
    let places = found(&text, value);
    assert!(
        places.contains(&hidden),
        "{value:?} in {text:?}: {places:?}\n{:?}",
        all(&text, Layers::ALL)
    );
}

fn each(value: &str, f: impl Fn(char) -> String) -> String {
    value.chars().map(f).collect()
}

fn base64(bytes: &[u8], digits: &[u8; 64], pad: bool) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let n = group.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..=group.len() {
            out.push(char::from(digits[(n >> (18 - 6 * i) & 63) as usize]));
        }
        if pad {
            out.push_str(&"=".repeat(3 - group.len()));
        }
    }
    out
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn halves(value: &str, between: &str) -> String {
    let (a, b) = value.split_at(value.len() / 2);
    format!("{a}{between}{b}")
}

fn json(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[test]
fn values_are_read_through_every_single_layer() {
    for value in [EMAIL, CARD, SSN] {
        for between in [
            "\u{200b}", "\u{ad}", "\u{2060}", "\u{200d}\u{202e}", "\u{fe0f}", "\0", "\u{1b}[0m",
            "\u{9b}31m", "\u{1b}]8;;x\u{7}", "\u{1b}(B", "\u{e0041}", "\\\n",
        ] {
            check("value: ", &halves(value, between), "", value);
        }
        let wide = each(value, |c| char::from_u32(u32::from(c) + 0xfee0).unwrap().to_string());
        check("value: ", &wide, " end", value);
        check("value: ", &each(value, |c| format!("%{:02X}", u32::from(c))), "", value);
        check("value: ", &each(value, |c| format!("%u{:04x}", u32::from(c))), "", value);
        check("value: ", &each(value, |c| format!("&#{};", u32::from(c))), "", value);
        check("value: ", &each(value, |c| format!("&#x{:x};", u32::from(c))), ".", value);
        for form in ["\\u00", "\\\\u00", "\\\\\\\\u00", "\\x", "\\U000000"] {
            check(
                "{\"v\":\"",
                &each(value, |c| format!("{form}{:02x}", u32::from(c))),
                "\"}",
                value,
            );
        }
        check("", &each(value, |c| format!("\\u{{{:x}}}", u32::from(c))), "", value);
        check("", &each(value, |c| format!("\\{:03o}", u32::from(c))), "", value);
        for digits in [STANDARD, URL] {
            check("value: ", &base64(value.as_bytes(), digits, true), "", value);
            check("value=", &base64(value.as_bytes(), digits, false), "&x", value);
        }
        check("value: ", &each(value, |c| format!("{:02x}", u32::from(c))), "", value);
        check("value: 0x", &each(value, |c| format!("{:02X}", u32::from(c))), ";", value);
        for (before, after) in
            [("", " "), ("", ":"), ("", "-"), ("0x", " "), ("0x", ", "), ("0X", ",")]
        {
            let pairs = each(value, |c| format!("{before}{:02x}{after}", u32::from(c)));
            let pairs = pairs.strip_suffix(after).unwrap();
            check("value: ", pairs, "", value);
            check("[", pairs, "]\n", value);
        }
        check("value: ", &halves(value, "\n"), "", value);
        check("value: ", &halves(value, "\r\n"), " x", value);
        check(
            "value: ",
            &each(value, |c| c.to_string()).chars().rev().collect::<String>(),
            "",
            value,
        );
        check(
            "value: ",
            &each(value, |c| char::from_u32(u32::from(c) + 0xe0000).unwrap().to_string()),
            "",
            value,
        );
        check("value: ", each(value, |c| format!("{c} ")).trim_end(), "", value);
        check("a ", each(value, |c| format!("{c} ")).trim_end(), " end\n", value);
    }
    check("key ", "jane[.]roe at corp[.]example[.]com", "", EMAIL);
    check("key ", "jane(dot)roe [AT] corp {.} example dot com", "", EMAIL);
    check("key ", "jane dot roe at corp dot example dot com", "", EMAIL);
}

#[test]
fn short_values_and_lines_of_base64_are_read() {
    check("from ", &base64(b"10.1.2.3", STANDARD, false), ",", "10.1.2.3");
    let text = format!("To whom it may concern,\n\ncard {CARD}, mail {EMAIL}.\n").repeat(3);
    for width in [76, 60, 30] {
        for end in ["\n", "\r\n"] {
            let digits = base64(text.as_bytes(), STANDARD, true);
            let lines: Vec<_> = digits.as_bytes().chunks(width).collect();
            let wrapped = lines.join(end.as_bytes());
            let wrapped = String::from_utf8(wrapped).unwrap();
            let body = format!("body\n\n{wrapped}\n\nend");
            let whole = found_in(all(&body, Layers::ENCODED), &body, &text);
            assert!(whole.contains(&wrapped.as_str()), "{width} {end:?}: {whole:?}");
            let part = found_in(all(&body, Layers::ENCODED), &body, CARD);
            assert!(part.len() >= 3 && part.iter().all(|p| p.len() < 30), "{part:?}");
        }
    }
    let wide: Vec<u8> = format!("card {CARD}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let digits = base64(&wide, STANDARD, true);
    assert!(found(&format!("-enc {digits}"), CARD).iter().all(|p| digits.ends_with(p)));
    assert!(!found(&format!("-enc {digits}"), CARD).is_empty());
}

#[test]
fn digits_that_are_text_in_base64_and_in_hexadecimal_are_read_as_both() {
    let value = "aazza.a.aaaa.0@aaa";
    let wide = each(value, |c| match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap().to_string(),
        _ => c.to_string(),
    });
    let hidden = base64(wide.as_bytes(), STANDARD, true);
    // The first digits, two by two, are readable as well.
    assert!(hidden.starts_with("772B772B772a772a772B77yO"));
    check("key: ", &hidden, "", value);
    assert!(found(&hidden, "w+w+w*w*w+w").contains(&"772B772B772a772a772B77"));
}

#[test]
fn what_is_no_text_has_no_reading() {
    let keys = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "acdeFf05b1a6d4c890237bf08c5e6e8d2b4d0f2e",
        "550e8400-e29b-41d4-a716-446655440000",
        "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48",
        "internationalization/getUserAccountBalance-and_more",
        "2024-05-01 12:30:45 10 20 30 100% R&D AT&T \\d+ C:\\Windows 50%",
        "4012888888881881 49151234567890",
    ];
    for key in keys {
        assert!(all(key, Layers::ENCODED).is_empty(), "{key}: {:?}", all(key, Layers::ENCODED));
    }
}

#[test]
fn tags_spell_a_text_or_split_one() {
    let hidden: String =
        "ignore".chars().filter_map(|c| char::from_u32(u32::from(c) + 0xe0000)).collect();
    let text = format!("4012{hidden}888888881881");
    assert!(found(&text, CARD).contains(&text.as_str()));
    assert!(found(&text, "ignore").contains(&hidden.as_str()));
}

#[test]
fn selectors_can_carry_text() {
    let carried: String =
        EMAIL.bytes().filter_map(|b| char::from_u32(u32::from(b) - 16 + 0xe0100)).collect();
    check("😀", &carried, " x", EMAIL);
}

#[test]
fn context_stays_clear_of_cut_numbers() {
    let text = format!("{}%20{}", "1".repeat(400), "9".repeat(2000));
    let views = all(&text, Layers::ENCODED);
    assert_eq!(views[0].text.trim_matches('9'), " ");
    assert!(views[0].text.len() <= 2000);
}

#[test]
fn layers_that_are_off_stay_off() {
    let text = format!("{} {} 4\u{200b}2", "%41".repeat(12), "&#65;".repeat(9));
    for layer in [Layer::Percent, Layer::Entity, Layer::Invisible] {
        let views = all(&text, Layers::only(layer));
        assert!(!views.is_empty() && views.iter().all(|view| view.layers == Layers::only(layer)));
    }
    assert!(all(&text, Layers::NONE).is_empty());
}

#[test]
fn a_barrier_stays_and_keeps_its_sides_apart() {
    let text = "jane%40ex\u{1f}ample.com jane\u{200b}\u{1f}doe";
    for view in all(text, Layers::ENCODED) {
        assert_eq!(view.text, "jane@ex\u{1f}ample.com jane\u{1f}doe");
    }
    assert!(all("a\u{1f}b", Layers::ENCODED).is_empty());
}

#[test]
fn keys_and_nested_strings_keep_their_place() {
    let inner = format!("{{\"c\": \"{EMAIL}\"}}");
    let middle = format!("{{\"b\": \"{}\"}}", json(&inner));
    let text = format!("{{\"a\": \"{}\"}}", json(&middle));
    check("", &text, "", &format!("{{\"a\": \"{{\"b\": \"{{\"c\": \"{EMAIL}\"}}\"}}\"}}"));
    let text = "{\"jane.roe\\u0040corp.example.com\": 1}";
    assert_eq!(found(text, EMAIL), ["jane.roe\\u0040corp.example.com"]);
}

/// Beginnings of all sorts, each of which asks for a look ahead or back.
const UNITS: [&str; 44] = [
    "a", "7", " ", "\n", "a-", "1 ", "0x", "ab:", "a\n", "7\r\n", "%", "%4", "%41", "%u", "&",
    "&#", "&#0", "&amp", "\\", "\\u", "\\ud83d\\", "\\u{", "\\x", "\\\"", "\u{1b}", "\u{1b}]",
    "\u{1b}[", "\u{1b}(", "\u{9b}", ";", "\u{200b}", "\u{fe0f}", "\u{e0101}", "\u{e0041}", "４",
    "٤", "[", "[.]", " at ", " dot ", "amFuZS5y", "b2VAY29y", "QQ==", "34",
];

#[test]
fn work_grows_with_the_text_and_no_faster() {
    let pairs = UNITS.iter().flat_map(|a| UNITS.iter().map(move |b| format!("{a}{b}")));
    let long = UNITS.iter().flat_map(|a| ["", "\n", " "].map(|b| format!("{}{b}", a.repeat(70))));
    for unit in pairs.chain(long) {
        let per_byte = |len: usize| {
            let text = unit.repeat(len / unit.len() + 1);
            work::steps();
            views(&text, Layers::ALL, &mut Vec::new());
            work::steps() / text.len()
        };
        let (small, large) = (per_byte(500), per_byte(4000));
        assert!(large <= 2 * small + 20 && large <= 150, "{unit:?}: {small} then {large}");
    }
}

/// Lines in which something may be an encoding, in or behind runs of letters.
const CUT_LINES: [&str; 8] = [
    "Zeile 1 äöü\\n",
    "a line of words, \u{e9}t\u{e9}\n",
    "words and 100% of others ",
    "several words & as many ",
    "6a-61-6e-65-2e-72-6f-65-zz-zz-zz-",
    "0123456789abcdef0123456789abcdefé",
    "caf\u{e9} cr\u{e8}me de la vie quotidienne",
    "eine Zeile mit \\u00e4 und \\u00f6\\n",
];

#[test]
fn what_may_be_an_encoding_does_not_make_the_rest_be_read_again() {
    for unit in CUT_LINES {
        let per_byte = |len: usize| {
            let text = unit.repeat(len / unit.len() + 1);
            work::steps();
            views(&text, Layers::ENCODED, &mut Vec::new());
            work::steps() / text.len()
        };
        let (small, large) = (per_byte(1_000), per_byte(64_000));
        assert!(large <= small + 5 && large <= 80, "{unit:?}: {small} then {large}");
    }
}
