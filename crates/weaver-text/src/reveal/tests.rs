use super::*;

const EMAIL: &str = "jane.roe@corp.example.com";
const CARD: &str = "4012888888881881";
const SSN: &str = "123-45-6789";

fn all(text: &str, layers: Layers) -> Vec<View> {
    let mut out = Vec::new();
    assert!(views(text, layers, &mut out), "not complete: {text:.80}");
    let total: usize = out.iter().map(|view| view.text.len()).sum();
    assert!(total <= GROWTH * text.len() + 256);
    out
}

/// The input behind each place at which a view shows `value`.
fn found<'t>(text: &'t str, value: &str) -> Vec<&'t str> {
    let mut places = Vec::new();
    for view in all(text, Layers::ALL) {
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
            "\u{200b}",
            "\u{ad}",
            "\u{2060}",
            "\u{200d}\u{202e}",
            "\u{fe0f}",
            "\0",
            "\u{1b}[0m",
            "\u{9b}31m",
            "\u{1b}]8;;x\u{7}",
            "\u{1b}(B",
            "\u{e0041}",
            "\\\n",
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
    "a",
    "7",
    " ",
    "\n",
    "a-",
    "1 ",
    "0x",
    "ab:",
    "a\n",
    "7\r\n",
    "%",
    "%4",
    "%41",
    "%u",
    "&",
    "&#",
    "&#0",
    "&amp",
    "\\",
    "\\u",
    "\\ud83d\\",
    "\\u{",
    "\\x",
    "\\\"",
    "\u{1b}",
    "\u{1b}]",
    "\u{1b}[",
    "\u{1b}(",
    "\u{9b}",
    ";",
    "\u{200b}",
    "\u{fe0f}",
    "\u{e0101}",
    "\u{e0041}",
    "４",
    "٤",
    "[",
    "[.]",
    " at ",
    " dot ",
    "amFuZS5y",
    "b2VAY29y",
    "QQ==",
    "34",
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
