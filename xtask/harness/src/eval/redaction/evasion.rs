//! Scores values that are hidden in their text: encoded, split, reversed.

use std::collections::BTreeMap;

use anyhow::Result;

use super::corpus::Evasion;
use super::score::HitCount;
use super::unowned_values::is_unowned;
use super::weaver::{Answer, Weaver};

/// How many values were caught, by the way they are hidden.
pub type Evasions = BTreeMap<String, HitCount>;

/// The ways of hiding that must always be caught completely.
pub const REQUIRED_KINDS: [&str; 10] = [
    "zero-width", "soft-hyphen", "word-joiner", "fullwidth", "base64", "percent-encoded",
    "html-entity", "json-unicode-escape", "unicode-tags", "ansi-split",
];

/// Runs the command and scores its answers.
pub fn score(weaver: &Weaver, evasions: &[Evasion]) -> Result<Evasions> {
    let answers = weaver.redact(evasions.iter().map(|evasion| evasion.text.as_str()), &[])?;
    let mut out = Evasions::new();
    for (evasion, answer) in evasions.iter().zip(&answers) {
        let kind = match is_unowned(&evasion.value_type, &evasion.value) {
            true => format!("nobody's {}", evasion.value_type),
            false => evasion.kind.clone(),
        };
        let part = out.entry(kind).or_default();
        part.all += 1;
        part.hits += usize::from(is_caught(evasion, answer));
    }
    Ok(out)
}

/// Whether every character of the value in its hidden form is masked.
fn is_caught(evasion: &Evasion, answer: &Answer) -> bool {
    let (start, end) = hidden_span(evasion);
    let mut at = start;
    for span in &answer.spans {
        if span.start <= at {
            at = at.max(span.end);
        }
    }
    at >= end
}

/// The span of the hidden value, in characters: the text without its known surroundings.
fn hidden_span(evasion: &Evasion) -> (usize, usize) {
    let text = evasion.text.as_str();
    let (before, value) = if let Some((before, _)) = text.split_once(evasion.value.as_str()) {
        (before, evasion.value.as_str())
    } else {
        let rest = ["value: ", "key ", "{\"v\":\"", "\u{1b}[31m"]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        let before = text.strip_suffix(rest).unwrap_or_default();
        (before, rest.strip_suffix("\"}").unwrap_or(rest))
    };
    let start = before.chars().count();
    (start, start + value.chars().count())
}

#[cfg(test)]
mod tests {
    use super::super::weaver::MaskedSpan;
    use super::*;

    #[test]
    fn a_hidden_value_is_caught_only_whole() {
        for (text, start, end) in [
            ("value: 123\u{200b}-45-6789", 7, 19),
            ("{\"v\":\"123\\u002d45\"}", 6, 17),
            ("\u{1b}[31m123-4\u{1b}[0m5-6789", 5, 20),
            ("{\"123-45-6789\": 1}", 2, 13),
            ("123-45\u{ad}-6789", 0, 12),
        ] {
            let evasion = Evasion {
                text: text.to_owned(),
                value: "123-45-6789".to_owned(),
                kind: "k".to_owned(),
                value_type: String::new(),
            };
            assert_eq!(hidden_span(&evasion), (start, end), "{text:?}");
            let masked = |places: &[(usize, usize)]| Answer {
                text: String::new(),
                spans: places
                    .iter()
                    .map(|(start, end)| MaskedSpan {
                        start: *start,
                        end: *end,
                        kind: String::new(),
                        rule: String::new(),
                    })
                    .collect(),
            };
            assert!(is_caught(&evasion, &masked(&[(start, end)])));
            assert!(is_caught(&evasion, &masked(&[(0, start + 3), (start + 3, end)])));
            assert!(!is_caught(&evasion, &masked(&[(start, end - 1)])));
            assert!(!is_caught(&evasion, &masked(&[(0, start + 3), (start + 4, end)])));
        }
    }
}
