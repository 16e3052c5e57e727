//! Recognises short texts of plain words in one pass. Most cells and field names are such texts and
//! contain no value.

use super::anchor_matcher::AnchorMatcher;

/// The longest text that qualifies, in bytes.
const MAX_TEXT_BYTES: usize = 64;
/// The longest word, in letters. Longer ones may be base64.
const MAX_WORD_LETTERS: usize = 10;
/// The most digits of a trailing number. Three could be a card's security code.
const MAX_TRAILING_DIGITS: usize = 2;
/// The fewest letters of the word before that number. A shorter word may be part of a value with
/// it.
const MIN_LETTERS_BEFORE_NUMBER: usize = 5;

/// Recognises texts of plain words.
#[derive(Debug)]
pub(crate) struct PlainWordFilter {
    /// The anchors of redaction rules and of injection patterns.
    all_anchors: AnchorMatcher,
    /// The anchors of redaction rules.
    rule_anchors: AnchorMatcher,
}

/// A short text of plain words in printable ASCII that contains no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainWords {
    /// Whether some of the words may address a model.
    pub(crate) may_address_model: bool,
}

impl PlainWordFilter {
    /// A filter for these rule anchors and injection anchors.
    pub(super) fn new(mut rules: Vec<&str>, mut speech: Vec<&str>) -> Self {
        rules.retain(|anchor| is_wordlike(anchor));
        speech.retain(|anchor| is_wordlike(anchor));
        let all_anchors = AnchorMatcher::new(rules.iter().chain(&speech).copied());
        Self { all_anchors, rule_anchors: AnchorMatcher::new(rules.into_iter()) }
    }

    /// `Some` only for a text in which no rule can match: a few words of ASCII letters without a
    /// rule's anchor, possibly followed by a small number or a full stop or question mark. Such a
    /// text has no sign that could assign a value to a name, be part of an address or begin an
    /// encoding; no word that could be a token; and too few digits for a personal number such as a
    /// passport or number plate.
    pub(super) fn plain_words(&self, text: &str) -> Option<PlainWords> {
        let text = text.as_bytes();
        if !is_few_words(text) {
            return None;
        }
        let may_address_model = self.all_anchors.has_match(text);
        (!may_address_model || !self.rule_anchors.has_match(text))
            .then_some(PlainWords { may_address_model })
    }
}

/// True for an anchor that can occur among plain words, which have no other characters.
fn is_wordlike(anchor: &str) -> bool {
    anchor.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'.' | b'?'))
}

fn is_few_words(text: &[u8]) -> bool {
    if text.len() > MAX_TEXT_BYTES {
        return false;
    }
    let sentence = match text {
        [said @ .., b'.' | b'?'] if said.last().is_some_and(u8::is_ascii_alphabetic) => said,
        said => said,
    };
    let number = sentence.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (words, _) = sentence.split_at_checked(sentence.len() - number).unwrap_or_default();
    // Letters of the current word and of the one before it.
    let (mut word, mut before) = (0, 0);
    for byte in words {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' if word < MAX_WORD_LETTERS => word += 1,
            b' ' => before = std::mem::take(&mut word),
            _ => return false,
        }
    }
    // A number is separate if it stands alone or follows a long enough word and a blank.
    let is_separate = words.is_empty() || word == 0 && before >= MIN_LETTERS_BEFORE_NUMBER;
    number == 0 || number <= MAX_TRAILING_DIGITS && is_separate
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::engine::DetectionEngine;
    use super::super::{BUILTIN_ENGINE, fixpoint};
    use super::{MAX_TEXT_BYTES, PlainWordFilter, PlainWords, is_few_words, is_wordlike};
    use crate::content::findings::Findings;
    use crate::injection;

    fn engine() -> &'static DetectionEngine {
        BUILTIN_ENGINE.as_ref().unwrap()
    }

    /// Words of the rules and of requests for values, and short mixtures of letters and digits.
    fn words() -> impl Strategy<Value = String> {
        let known = "password|pass|secret|token|key|api|cvv|cvc|pin|ssn|iban|card|visa|passport|tax|id\
                     |no|phone|tel|born|dob|bearer|basic|user|login|at|dot|com|mail|plate|licence\
                     |driver|vehicle|nhs|voter|member|account|number|code|ext|is|my|the|was|to|a|und|ist\
                     |von|Mr|St|Dr|www|http|example|org|net|de|io|Jan|March|AG|GmbH|street|road|zip\
                     |name|Hunter|Secret|Token|Bearer|Key|PIN|CVV|IBAN|SSN|BIC|VIN|DE|GB|US";
        let made = "[a-zA-Z]{0,10}|[a-f]{1,2}|[A-Z]{1,4}|[a-z]{2,9}[0-9]";
        let words = prop::collection::vec(prop_oneof![3 => known, 2 => made], 0..9);
        let end = "|[0-9]{1,3}| [0-9]{1,3}| [a-z]{4,9} [0-9]{1,3}|[.?]| [A-Za-z]{0,9}[.?]";
        (words, end).prop_map(|(words, end)| format!("{}{end}", words.join(" ")))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn nothing_is_found_in_brief_texts(text in words()) {
            if engine().plain_words(&text).is_some() {
                prop_assert_eq!(fixpoint::find_values(engine().all_rules(), &text, &[]), []);
            }
        }

        #[test]
        fn brief_texts_that_may_speak_to_a_model_are_told(
            (before, after) in (words(), words()),
            anchor: prop::sample::Index,
        ) {
            let anchors = injection::anchors();
            let spoken = format!("{before} {} {after}", anchor.get(&anchors)).to_uppercase();
            for text in [before, spoken] {
                let lower = text.to_lowercase();
                if let Some(PlainWords { may_address_model }) = engine().plain_words(&text) {
                    prop_assert_eq!(may_address_model, anchors.iter().any(|anchor| lower.contains(anchor)));
                    prop_assert!(may_address_model || !Findings::default().scan(&text));
                }
            }
        }
    }

    #[test]
    fn brief_texts_have_few_letters_and_a_small_number() {
        let words = |length: usize| "word ".chars().cycle().take(length).collect::<String>();
        let (long, longer) = (words(MAX_TEXT_BYTES), words(MAX_TEXT_BYTES + 1));
        for (text, is_brief) in [
            (long.as_str(), true),
            (longer.as_str(), false),
            ("abcdefghij", true),
            ("abcdefghijk", false),
            ("words 12", true),
            ("words 123", false),
            ("word 12", false),
            ("words12", false),
            ("12", true),
            ("words.", true),
            ("words 1.", false),
            ("a-b", false),
            ("", true),
        ] {
            assert_eq!(is_few_words(text.as_bytes()), is_brief, "{text}");
        }
        assert!(is_wordlike("ab c") && is_wordlike("v2") && !is_wordlike("a-b"));
        // Words that address a model are told, also where they begin no value.
        let spoken = PlainWordFilter::new(vec!["secret"], vec!["ignore"]);
        let found = |text: &str| spoken.plain_words(text).map(|found| found.may_address_model);
        assert_eq!(found("please ignore it"), Some(true));
        assert_eq!((found("a secret"), found("plain words")), (None, Some(false)));
        assert!(injection::anchors().len() > 10);
    }

    #[test]
    fn examples_of_rules_are_not_brief() {
        for rule in 0..engine().identities().len() {
            for (text, value) in engine().examples(rule) {
                assert!(engine().plain_words(&text).is_none(), "{text}: {value}");
            }
        }
    }

    #[test]
    fn cells_and_names_are_brief() {
        for text in ["", "id", "north", "Person 1", "in progress", "order 42", "7", "who is there?"]
        {
            assert!(engine().plain_words(text).is_some(), "{text}");
        }
        for text in [
            "a@b", "order 42.", "so?.", ". ?", "is.it", "x-1", "cvv 12", "IH08ORY",
            "aAAbaaaBA0 passport", "order 123", "order 7 of", "a 1", "[A]", "a%20", "é", "a:b",
        ] {
            assert!(engine().plain_words(text).is_none(), "{text}");
        }
    }
}
