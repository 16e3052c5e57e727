//! Measures how relevant a text is to the caller's goal, by the stems of the goal's words.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use serde_json::Value;
use weaver_text::{escape, split, stem, stop};

/// How much of a goal is read, in characters.
const MAX_GOAL_CHARS: usize = 2_000;
/// The most stems of a goal that are used.
const MAX_STEMS: usize = 64;
/// The longest rest of a word after its stem, in bytes.
const MAX_WORD_BYTES: usize = 64;

/// The stems of a goal's words, and an automaton that finds them.
#[derive(Debug, Clone)]
pub(crate) struct Goal {
    stems: Vec<String>,
    stem_finder: AhoCorasick,
}

impl Goal {
    /// Parses a goal; `None` if it has no meaningful word.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut stems = BTreeSet::new();
        split::each_word(escape::truncate(text, MAX_GOAL_CHARS), |word| {
            if word.chars().nth(1).is_some() && !stop::is_stop_word(word) {
                stems.insert(stem::stem(word).into_owned());
            }
        });
        if stems.is_empty() {
            return None;
        }
        let stems: Vec<String> = stems.into_iter().take(MAX_STEMS).collect();
        // `queries` and `query` share the stem `queri`, which is a prefix of only one of them.
        let starts = stems.iter().map(|stem| stem.strip_suffix('i').unwrap_or(stem));
        let stem_finder =
            AhoCorasickBuilder::new().ascii_case_insensitive(true).build(starts).ok()?;
        Some(Self { stems, stem_finder })
    }

    /// How many different stems of the goal occur in the text.
    pub(crate) fn match_count(&self, text: &str) -> usize {
        let mut found = BTreeSet::new();
        self.collect_matches(text, &mut found);
        found.len()
    }

    fn collect_matches(&self, text: &str, found: &mut BTreeSet<usize>) {
        for hit in self.stem_finder.find_overlapping_iter(text) {
            let at = hit.pattern().as_usize();
            if !found.contains(&at) && self.is_whole_word_match(text, hit.start(), hit.end(), at) {
                found.insert(at);
            }
        }
    }

    /// True if the stem found is the stem of the whole word around it.
    fn is_whole_word_match(&self, text: &str, start: usize, end: usize, at: usize) -> bool {
        let before = text.get(..start).and_then(|head| head.chars().next_back());
        let first = text.get(start..).and_then(|tail| tail.chars().next());
        let inside = before.is_some_and(char::is_alphanumeric)
            && !(first.is_some_and(char::is_uppercase) && before.is_some_and(char::is_lowercase));
        if inside {
            return false;
        }
        let rest = text.get(end..).unwrap_or_default();
        let mut last = text.get(start..end).and_then(|word| word.chars().next_back());
        let is_word_end = |(_, c): &(usize, char)| {
            let before = last.replace(*c);
            !c.is_alphanumeric() || c.is_uppercase() && before.is_some_and(char::is_lowercase)
        };
        let tail = rest.char_indices().find(is_word_end).map_or(rest.len(), |(at, _)| at);
        if tail > MAX_WORD_BYTES {
            return false;
        }
        let word = text.get(start..end + tail).unwrap_or_default().to_lowercase();
        self.stems.get(at).is_some_and(|stem| stem::stem(&word) == *stem || word == *stem)
    }

    /// How many different stems of the goal occur in the values, not counting keys.
    pub(crate) fn match_count_in_values<'v>(
        &self,
        values: impl Iterator<Item = &'v Value>,
    ) -> usize {
        let mut found = BTreeSet::new();
        let mut left: Vec<&Value> = values.collect();
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) => self.collect_matches(text, &mut found),
                Value::Number(number) => self.collect_matches(&number.to_string(), &mut found),
                Value::Array(items) => left.extend(items),
                Value::Object(map) => left.extend(map.values()),
                Value::Null | Value::Bool(_) => {}
            }
        }
        found.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_matched_by_their_stem() {
        let goal = Goal::parse("Please find the unpaid invoices of Müller AG").unwrap();
        for (text, weight) in [
            ("invoice 12", 1),
            ("Invoicing", 1),
            ("unpaidInvoice for Müller", 3),
            ("UNPAID INVOICES", 2),
            ("invoic-e", 1),
            ("reinvoice", 0),
            ("an-invoice", 1),
            ("anInvoice", 1),
            ("aninvoice", 0),
            ("ANINVOICE", 0),
            ("invoiceNumber", 1),
            ("invoicenumber", 0),
            ("INVOICEs", 1),
            ("AG", 1),
            ("AGenda", 0),
            ("find invoice müller ag unpaid", 5),
            ("the of find please", 1),
            ("", 0),
        ] {
            assert_eq!(goal.match_count(text), weight, "{text}");
        }
        let row = json!({"unpaid": 1, "to": ["müller"], "x": {"y": "an invoice"}});
        assert_eq!(goal.match_count_in_values(row.as_object().unwrap().values()), 2);
        let query = Goal::parse("queries").unwrap();
        assert!(query.match_count("a query") == 1 && query.match_count("QUERY") == 1);
        assert!(Goal::parse("please do it for me").is_none() && Goal::parse("").is_none());
    }
}
