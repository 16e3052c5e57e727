use std::collections::HashSet;

use super::tiktoken::{MAX_PIECE_BYTES, split_piece};
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

fn whole(counter: Tiktoken, text: &str) -> usize {
    counter.tables().count(text, &HashSet::new()).unwrap()
}

#[test]
fn pieces_count_like_the_whole() {
    let code = "    if (user.name == \"jane\") {\n        total += 12.5 * rate;\n    }\n\n";
    let json = "{\"id\":4711,\"name\":\"Jane\",\"tags\":[\"a\",\"b\"]},";
    let chinese = "昨天晚上政府公布了一份报告，市民们表示欢迎。";
    let russian = "Вчера вечером правительство опубликовало отчёт. ";
    for unit in [ENGLISH, code, json, chinese, russian, "it's we'll don't (yes) a=b&c\r\n"] {
        let text = unit.repeat(60_000 / unit.len());
        for counter in [Tiktoken::CL100K, Tiktoken::O200K] {
            let pieces = counter.count(&text).tokens().unwrap();
            assert_eq!(pieces, whole(counter, &text), "{unit:?}");
        }
    }
}

#[test]
fn pieces_are_bounded_and_lose_nothing() {
    for unit in [ENGLISH, "é", "日本 ", "\u{1f600}", " ", "日本", "0123456789abcdef"] {
        let text = unit.repeat(3 * MAX_PIECE_BYTES / unit.len() + 7);
        let (mut rest, mut joined) = (text.as_str(), String::new());
        while !rest.is_empty() {
            let (piece, after) = split_piece(rest);
            assert!(!piece.is_empty() && piece.len() <= MAX_PIECE_BYTES);
            joined.push_str(piece);
            rest = after;
        }
        assert_eq!(joined, text);
    }
}

#[test]
fn no_token_is_longer_than_the_bound_that_saves_a_count() {
    for (counter, size) in [(Tiktoken::CL100K, 100_256u32), (Tiktoken::O200K, 199_998)] {
        let longest = (0..size).filter_map(|id| counter.tables().decode_bytes(&[id]).ok());
        assert_eq!(longest.map(|bytes| bytes.len()).max(), Some(MAX_TOKEN_BYTES), "{counter:?}");
    }
}

#[test]
fn a_limit_bounds_the_work() {
    // A counter that reads on would need minutes for this.
    let text = ENGLISH.repeat(1_000_000);
    for name in NAMES {
        let counter = counter(name).unwrap();
        for limit in [0, 1, 10, 1000] {
            let counted = counter.count_up_to(&text, limit).tokens().unwrap();
            assert!(counted > limit && counted < limit + 4096, "{name} {limit} {counted}");
            assert!(!counter.within(&text, limit));
        }
    }
}

#[test]
fn what_is_written_out_is_counted() {
    let value = r#"{"a":[1,2,3],"b":"text"}"#;
    for name in NAMES {
        let counter = counter(name).unwrap();
        let all = counter.count(value);
        assert_eq!(count_displayed(counter.as_ref(), &value, 100), all);
        assert!(!count_displayed(counter.as_ref(), &value, 3).within(3));
    }
    let endless = " ".repeat(1_000_000);
    assert_eq!(count_displayed(&Tiktoken::O200K, &endless, 10), Count::Over);
}

#[test]
fn megabytes_of_one_character_do_not_panic() {
    for unit in [" ", "a", "\t", "\n"] {
        let text = unit.repeat(1_000_000);
        for counter in [Tiktoken::CL100K, Tiktoken::O200K] {
            assert!(!counter.within(&text, 100), "{unit:?}");
            match counter.count(&text) {
                Count::Tokens(n) => assert!(n > 1000 && n <= text.len()),
                Count::Over => assert!(!counter.within(&text, 999_999)),
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
    for name in NAMES {
        assert_eq!(counter(name).unwrap().name(), *name);
    }
    let error = counter("cl100k\u{202e}").map(|c| c.name().to_owned()).unwrap_err();
    assert_eq!(error.code(), "text.unknown_encoding");
    assert!(error.to_string().contains("cl100k\\u{202e}"), "{error}");
    assert!(NAMES.iter().all(|name| error.to_string().contains(name)), "{error}");
    assert!(Tiktoken::from_name("chars4").is_err());
}
