//! Short plain words, told apart in one pass: most cells and names are, and hold no value.

use super::engine::Engine;

/// The longest text that is looked at, in bytes.
const LONGEST: usize = 64;
/// The longest word. Longer ones may be base64 or a token.
const WORD: usize = 10;
/// The most digits of all words. More may be a number of a person: a number plate has as few as two.
const DIGITS: usize = 1;

/// True only for a text in which nothing can be found: a few words of ASCII letters with hardly a
/// digit, and no anchor of a rule among them. There is no sign that could assign a value to a name,
/// stand in an address or begin an encoding, no word that could be a token, and too few digits for
/// a number.
pub(super) fn is_brief(engine: &Engine, text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let (mut word, mut digits) = (0, 0);
    for byte in text.bytes() {
        word += 1;
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' => digits += 1,
            b' ' => word = 0,
            _ => return false,
        }
        if word > WORD {
            return false;
        }
    }
    digits <= DIGITS && !engine.is_anchored(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{BUILTIN, settle};
    use super::*;

    fn engine() -> &'static Engine {
        BUILTIN.as_ref().unwrap()
    }

    /// Words of the rules and of requests for values, and short mixtures of letters and digits.
    fn words() -> impl Strategy<Value = String> {
        let known = "password|pass|secret|token|key|api|cvv|cvc|pin|ssn|iban|card|visa|passport|tax|id\
                     |no|phone|tel|born|dob|bearer|basic|user|login|at|dot|com|mail|plate|licence\
                     |driver|vehicle|nhs|voter|member|account|number|code|ext";
        let made =
            "[a-zA-Z]{0,9}[0-9]?[a-zA-Z]{0,9}|[0-9a-f]{1,2}|[0-9]|[A-Z]{1,4}[0-9]{0,2}[A-Z]{0,4}";
        prop::collection::vec(prop_oneof![known, made], 0..12).prop_map(|words| words.join(" "))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn nothing_is_found_in_brief_texts(text in words()) {
            if is_brief(engine(), &text) {
                prop_assert_eq!(settle::masks(engine(), &text, &[]), []);
            }
        }
    }

    #[test]
    fn examples_of_rules_are_not_brief() {
        for rule in 0..engine().names().len() {
            for (text, value) in engine().examples(rule) {
                assert!(!is_brief(engine(), &text), "{text}: {value}");
            }
        }
    }

    #[test]
    fn cells_and_names_are_brief() {
        for text in ["", "id", "north", "Person 1", "in progress", "Q3 review", "order 7 of Ann"] {
            assert!(is_brief(engine(), text), "{text}");
        }
        for text in
            ["a@b", "x-1", "cvv 123", "IH08ORY", "abcdefghijk", "1 2 3", "[A]", "a%20", "é", "a:b"]
        {
            assert!(!is_brief(engine(), text), "{text}");
        }
    }
}
