//! A thesaurus of synonyms, so that "cancel my booking" finds a tool that speaks of reservations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use weaver_text::stem;

use super::hashing::KeyMap;
use super::term_key::{self, TermKey};

const BUILT_IN: &str = include_str!("../../assets/thesaurus.txt");
/// The longest text that is read, in characters.
const MAX_TEXT: usize = 1024 * 1024;
/// The most words of one group that count.
const MAX_GROUP: usize = 64;
/// The most synonyms of one word.
const MAX_SYNONYMS: usize = 256;

/// Groups of synonyms, by stem.
///
/// A word of the query counts in full; an item that only has a synonym gets a part of that. See
/// [`Router::with_thesaurus`](super::Router::with_thesaurus).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thesaurus {
    others: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// The same groups as term keys, in the same order.
    keys: KeyMap<Box<[TermKey]>>,
}

impl Thesaurus {
    /// The built-in thesaurus: English words of requests and tools.
    pub fn built_in() -> Arc<Self> {
        static READ: OnceLock<Arc<Thesaurus>> = OnceLock::new();
        Arc::clone(READ.get_or_init(|| Arc::new(Self::parse(BUILT_IN))))
    }

    /// Reads groups: one per line, words separated by white space, in any case. Lines that begin with
    /// `#` are comments. Only the first 1,048,576 characters of a text and the first 64 words of a line count.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = weaver_text::escape::truncate(text, MAX_TEXT);
        let mut this = Self::default();
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            let lower = line.to_lowercase();
            let words = lower.split_whitespace().take(MAX_GROUP);
            let group: BTreeSet<Box<str>> = words.map(|word| stem::stem(word).into()).collect();
            for word in &group {
                let others = this.others.entry(word.clone()).or_default();
                let room = MAX_SYNONYMS.saturating_sub(others.len());
                others.extend(group.iter().filter(|other| *other != word).take(room).cloned());
            }
        }
        let keys = |others: &BTreeSet<Box<str>>| {
            others.iter().map(|other| term_key::of_term(other)).collect()
        };
        this.keys =
            this.others.iter().map(|(word, all)| (term_key::of_term(word), keys(all))).collect();
        this
    }

    /// The synonyms of a stem, in alphabetical order.
    pub fn synonyms(&self, stem: &str) -> impl Iterator<Item = &str> {
        self.others.get(stem).into_iter().flatten().map(AsRef::as_ref)
    }

    /// Whether any group contains the stem with this key.
    pub(super) fn contains(&self, key: TermKey) -> bool {
        self.keys.contains_key(&key)
    }

    /// The keys of the synonyms of a stem.
    pub(super) fn synonym_keys(&self, key: TermKey) -> &[TermKey] {
        self.keys.get(&key).map(AsRef::as_ref).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_by_stems() {
        let thesaurus =
            Thesaurus::parse("# a remark\nBooking reservations\n\nbook novel booking\n");
        let others = |stem: &str| thesaurus.synonyms(stem).collect::<Vec<_>>();
        assert_eq!(others("book"), ["novel", "reserv"]);
        assert_eq!(others("reserv"), ["book"]);
        assert!(others("remark").is_empty());
        assert_eq!(
            thesaurus.synonym_keys(term_key::of_term("book")),
            [term_key::of_term("novel"), term_key::of_term("reserv")]
        );
        assert!(thesaurus.synonym_keys(term_key::of_term("remark")).is_empty());
    }

    #[test]
    fn the_built_in_groups_are_of_two_words_at_least_and_none_is_there_twice() {
        let lines: Vec<_> = BUILT_IN.lines().filter(|line| !line.starts_with('#')).collect();
        let groups = lines.iter().map(|l| l.split_whitespace().collect::<BTreeSet<_>>());
        let groups: Vec<_> = groups.collect();
        assert!(groups.iter().all(|group| group.len() > 1));
        assert_eq!(groups.iter().collect::<BTreeSet<_>>().len(), groups.len());
        assert!(Thesaurus::built_in().synonyms("delet").any(|other| other == "remov"));
    }

    #[test]
    fn a_hostile_text_is_bounded() {
        let one = format!("{}\n", (0..10_000).map(|n| format!("w{n} ")).collect::<String>());
        let thesaurus = Thesaurus::parse(&one.repeat(3));
        assert_eq!(thesaurus.others.len(), MAX_GROUP);
        let many: String = (0..5_000).map(|n| format!("word other{n}\n")).collect();
        assert_eq!(Thesaurus::parse(&many).synonyms("word").count(), MAX_SYNONYMS);
    }
}
