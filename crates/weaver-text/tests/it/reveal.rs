use proptest::prelude::*;
use weaver_text::reveal::{self, Layers, MAX_DEPTH, MAX_GROWTH, View};

/// Text made of plain words and of the beginnings, middles and ends of encodings.
fn hidden() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "a",
        "key: ",
        "4012",
        "jane@example.com",
        "\n",
        " ",
        "\r\n",
        "%34",
        "%C3%A9",
        "%e2%82",
        "%",
        "%u0041",
        "&#52;",
        "&#x34",
        "&amp;",
        "&commat;",
        "&",
        ";",
        "\\",
        "\\\\",
        "\\u0034",
        "\\ud83d",
        "\\ude00",
        "\\n",
        "\\\"",
        "\\x4",
        "\\u{1f600}",
        "u{",
        "}",
        "\u{200b}",
        "\u{ad}",
        "\u{e0041}",
        "\u{e0034}",
        "\u{fe0f}",
        "\u{e0120}\u{e0120}\u{e0120}\u{e0121}",
        "\u{1b}",
        "[31m",
        "\u{1b}]0;",
        "\u{7}",
        "\u{9b}1m",
        "４",
        "①",
        "𝟜",
        "٤",
        "é",
        "日本",
        "\u{a0}",
        "‑",
        "amFuZS5yb2VAY29ycC5leGFtcGxlLmNvbQ",
        "=",
        "==",
        "NDAxMjg4ODg4ODg4",
        "RG9uJ3Qg4oKs",
        "YQBtAEYAdQBaAFMANQA",
        "34303132383838383838",
        "0x",
        "[.]",
        "(at)",
        " at ",
        " dot ",
        "1 2 3 4 5 6 7 8 9",
        "3 4 ",
        "-",
        "_",
        "/",
        "9876-54-321",
        "moc.elpmaxe@enaj",
        "JTM0JTMwJTMxJTMyJTM4",
        "e2&#",
    ]);
    prop_oneof![
        1 => any::<String>(),
        8 => prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat()),
    ]
}

/// Ways to wrap a text so that all of it is hidden.
const WRAPS: [fn(&str) -> String; 9] = [
    |text| text.bytes().map(|b| format!("%{b:02X}")).collect(),
    |text| text.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
    |text| text.chars().map(|c| format!("&#x{:x};", u32::from(c))).collect(),
    |text| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
    |text| text.bytes().map(|b| format!("{b:02x}")).collect(),
    |text| text.bytes().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":"),
    |text| base64(text.as_bytes()),
    |text| text.chars().map(wide).collect(),
    |text| text.chars().map(tagged).collect(),
];

fn wide(c: char) -> char {
    match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap(),
        _ => c,
    }
}

fn tagged(c: char) -> char {
    match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xe0000).unwrap(),
        _ => c,
    }
}

fn base64(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let n = group.iter().fold(0, |n, b| (n << 8) | usize::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let digit = char::from(digits[(n >> (18 - 6 * i)) & 63]);
            out.push(if i <= group.len() { digit } else { '=' });
        }
    }
    out
}

fn all(text: &str) -> Vec<View> {
    let mut views = Vec::new();
    reveal::views(text, Layers::ALL, &mut views);
    views
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_place_in_a_view_leads_to_whole_characters_of_the_input(text in hidden()) {
        for view in all(&text) {
            let span = view.span();
            prop_assert!(text.get(span.clone()).is_some());
            let places: Vec<_> = view.text.char_indices().map(|(i, c)| i..i + c.len_utf8()).collect();
            for place in &places {
                let range = view.original(place.clone());
                prop_assert!(!range.is_empty() && text.get(range.clone()).is_some(), "{range:?}");
                prop_assert!(span.start <= range.start && range.end <= span.end);
                let halved = view.original(place.start..place.start + 1);
                prop_assert_eq!(halved, range);
            }
            for pair in places.windows(3) {
                let whole = view.original(pair[0].start..pair[2].end);
                for part in pair {
                    let part = view.original(part.clone());
                    prop_assert!(whole.start <= part.start && part.end <= whole.end);
                }
            }
            prop_assert!(view.original(0..0).is_empty() && view.original(9999..99999).is_empty());
            let _ = (view.touches(0..usize::MAX), view.original(7..7));
        }
    }

    #[test]
    fn readings_go_forward_unless_turned_around(text in hidden()) {
        let mut views = Vec::new();
        reveal::views(&text, Layers::ENCODED, &mut views);
        for view in views {
            let mut last = 0..0;
            for (at, c) in view.text.char_indices() {
                let range = view.original(at..at + c.len_utf8());
                prop_assert!(last.start <= range.start && last.end <= range.end, "{last:?} {range:?}");
                last = range;
            }
        }
    }

    #[test]
    fn views_together_stay_within_their_room(text in hidden()) {
        let total: usize = all(&text).iter().map(|view| view.text.len()).sum();
        prop_assert!(total <= MAX_GROWTH * text.len() + 256);
    }

    #[test]
    fn what_a_view_did_not_touch_stands_in_the_input(text in hidden()) {
        for view in all(&text) {
            for (at, c) in view.text.char_indices() {
                let place = at..at + c.len_utf8();
                if !view.touches(place.clone()) {
                    prop_assert_eq!(text.get(view.original(place.clone())), view.text.get(place));
                }
            }
        }
    }

    #[test]
    fn a_value_wrapped_up_to_three_times_is_found_whole(
        value in "[a-z]{5}[a-z0-9.]{9,20}@[a-z]{3,9}",
        wraps in prop::collection::vec(0usize..WRAPS.len(), 1..=MAX_DEPTH),
        before in "(key: |\\{\"v\":\"|a b\n|)",
        after in "(|\"\\}| end|\n)",
    ) {
        let hidden = wraps.iter().fold(value.clone(), |text, wrap| WRAPS[*wrap](&text));
        let text = format!("{before}{hidden}{after}");
        let mut views = Vec::new();
        reveal::views(&text, Layers::ENCODED, &mut views);
        let places: Vec<_> = views
            .iter()
            .flat_map(|view| {
                view.text.match_indices(&value).map(|(i, m)| view.original(i..i + m.len()))
            })
            .collect();
        let whole = before.len()..before.len() + hidden.len();
        prop_assert!(places.contains(&whole), "{text:?}: {places:?} {views:#?}");
    }

    #[test]
    fn plain_text_has_no_views(text in "([a-z]{1,9}[ ,.]){0,40}") {
        let mut views = Vec::new();
        prop_assert!(reveal::views(&text, Layers::ENCODED, &mut views) && views.is_empty());
    }
}
