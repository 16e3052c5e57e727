use super::*;

const ENGLISH: &str = "The quick brown fox jumps over the lazy dog, twice a day. ";

#[test]
fn known_counts() {
    assert_eq!(CharsPerFour.count("").tokens(), Some(0));
    assert_eq!(CharsPerFour.count("abc").tokens(), Some(1));
    assert_eq!(CharsPerFour.count("größe").tokens(), Some(2));
    assert_eq!(Tiktoken::CL100K.count("tiktoken is great!").tokens(), Some(6));
    assert_eq!(Tiktoken::O200K.count("hello world").tokens(), Some(2));
}

#[test]
fn special_tokens_are_plain_text() {
    assert!(Tiktoken::CL100K.count("<|endoftext|>").tokens().unwrap() > 1);
}

#[test]
fn pieces_of_prose_count_like_the_whole() {
    let text = ENGLISH.repeat(8000);
    assert!(text.len() > 3 * CHUNK);
    let one = Tiktoken::CL100K.count(&ENGLISH.repeat(80)).tokens().unwrap();
    let all = Tiktoken::CL100K.count(&text).tokens().unwrap();
    // The last blank of a text is a token of its own, inside it belongs to the next word.
    assert!(all.abs_diff((one - 1) * 100) <= 200, "{all} against {}", one * 100);
    let whole = Tiktoken::CL100K.tables().count(&text, &HashSet::new()).unwrap();
    assert_eq!(all, whole);
}

#[test]
fn pieces_are_bounded_and_lose_nothing() {
    for unit in [ENGLISH, "é", "日本 ", "\u{1f600}", " "] {
        let text = unit.repeat(3 * CHUNK / unit.len() + 7);
        let (mut rest, mut joined, mut pieces) = (text.as_str(), String::new(), 0);
        while !rest.is_empty() {
            let (piece, after) = cut(rest);
            assert!(!piece.is_empty() && piece.len() <= CHUNK);
            joined.push_str(piece);
            pieces += 1;
            rest = after;
        }
        assert_eq!(joined, text);
        assert_eq!(pieces, 4);
    }
}

#[test]
fn two_megabytes_of_one_character_do_not_panic() {
    for unit in [" ", "a", "\t", "\n"] {
        let text = unit.repeat(2_000_000);
        for counter in [Tiktoken::CL100K, Tiktoken::O200K] {
            assert!(!counter.within(&text, 100), "{unit:?}");
            match counter.count(&text) {
                Count::Tokens(n) => assert!(n > 1000 && n <= text.len()),
                Count::Over => assert!(!counter.within(&text, 1_999_999)),
            }
        }
    }
}

#[test]
fn what_cannot_be_counted_fits_nowhere() {
    assert!(!Count::Over.within(usize::MAX));
    assert_eq!(Count::Over.tokens(), None);
    assert!(Count::Tokens(3).within(3) && !Count::Tokens(4).within(3));
}

#[test]
fn names_lead_to_counters_and_back() {
    for name in ["chars4", "cl100k_base", "o200k_base"] {
        assert_eq!(counter(name).unwrap().name(), name);
    }
    let error = counter("cl100k\u{202e}").map(|c| c.name().to_owned()).unwrap_err();
    assert_eq!(error.code(), "text.unknown_encoding");
    assert!(error.to_string().contains("cl100k\\u{202e}"), "{error}");
    assert!(Tiktoken::named("chars4").is_err());
}
