//! Short plain words, told apart in one pass: most cells and names are, and hold no value.

use super::anchor_matcher::AnchorMatcher;

/// The longest text that is looked at, in bytes.
const LONGEST: usize = 64;
/// The longest word. Longer ones may be base64.
const WORD: usize = 10;
/// The most digits of the number at the end. Three may be a security code.
const DIGITS: usize = 2;
/// The fewest letters of the word before that number. Shorter ones may be a part of it.
const BEFORE: usize = 5;

/// Tells brief texts.
#[derive(Debug)]
pub(crate) struct PlainWordFilter {
    /// The anchors of rules, and of words that speak to a model.
    all: AnchorMatcher,
    /// The anchors of rules.
    rules: AnchorMatcher,
}

/// A text of a few plain words, printable ASCII, with no value in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainWords {
    /// Whether there may be words among them that speak to a model.
    pub(crate) speaks: bool,
}

impl PlainWordFilter {
    /// Texts without one of these anchors, and what may speak to a model.
    pub(super) fn without(mut rules: Vec<&str>, mut speech: Vec<&str>) -> Self {
        rules.retain(|anchor| is_of_words(anchor));
        speech.retain(|anchor| is_of_words(anchor));
        let all = AnchorMatcher::new(rules.iter().chain(&speech).copied());
        Self { all, rules: AnchorMatcher::new(rules.into_iter()) }
    }

    /// Something only for a text in which no value can be found: a few words of ASCII letters,
    /// perhaps with a small number or the mark of a sentence at their end, and no anchor of a rule
    /// among them. That mark stands behind the last word and before nothing. There is no other sign
    /// that could assign a value to a name, stand in an address or begin an encoding, no word that
    /// could be a token, and no digit that could be one of a person's number: a passport or a number
    /// plate has few of them.
    pub(super) fn plain_words(&self, text: &str) -> Option<PlainWords> {
        let text = text.as_bytes();
        if !is_few_words(text) {
            return None;
        }
        let speaks = self.all.any(text);
        (!speaks || !self.rules.any(text)).then_some(PlainWords { speaks })
    }
}

/// True for an anchor that can stand among plain words, which have no other signs.
fn is_of_words(anchor: &str) -> bool {
    anchor.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'.' | b'?'))
}

fn is_few_words(text: &[u8]) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let said = match text {
        [said @ .., b'.' | b'?'] if said.last().is_some_and(u8::is_ascii_alphabetic) => said,
        said => said,
    };
    let number = said.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (words, _) = said.split_at_checked(said.len() - number).unwrap_or_default();
    // Letters of the word that is read, and of the one before it.
    let (mut word, mut before) = (0, 0);
    for byte in words {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' if word < WORD => word += 1,
            b' ' => before = std::mem::take(&mut word),
            _ => return false,
        }
    }
    // A number belongs to none of the words when it is alone, or when a blank parts it from one.
    let apart = words.is_empty() || word == 0 && before >= BEFORE;
    number == 0 || number <= DIGITS && apart
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::engine::Engine;
    use super::super::{BUILTIN, fixpoint};
    use super::PlainWords;
    use crate::content::finding::Findings;
    use crate::injection;

    fn engine() -> &'static Engine {
        BUILTIN.as_ref().unwrap()
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
                prop_assert_eq!(fixpoint::find_values(engine().all(), &text, &[]), []);
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
                if let Some(PlainWords { speaks }) = engine().plain_words(&text) {
                    prop_assert_eq!(speaks, anchors.iter().any(|anchor| lower.contains(anchor)));
                    prop_assert!(speaks || !Findings::default().look(&text));
                }
            }
        }
    }

    #[test]
    fn examples_of_rules_are_not_brief() {
        for rule in 0..engine().names().len() {
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
