//! Words that stand for each other, so that "cancel my booking" finds what calls it a reservation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use weaver_text::stem;

use super::hashing::KeyMap;
use super::key::{self, Key};

const BUILT_IN: &str = include_str!("../../assets/thesaurus.txt");
/// Longest text that is read, in bytes.
const MAX_TEXT: usize = 1024 * 1024;
/// Most words of one group that count.
const MAX_GROUP: usize = 64;
/// Most words that stand for one word.
const MAX_OTHERS: usize = 256;

/// Groups of words that stand for each other, by their stems.
///
/// A word that is asked for counts in full; an item that only has another word of its group gains
/// a part of that. See [`Router::with_thesaurus`](super::Router::with_thesaurus).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thesaurus {
    others: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// The same as keys, in the same order.
    keys: KeyMap<Box<[Key]>>,
}

impl Thesaurus {
    /// The built-in one: English words of requests and of tools.
    pub fn built_in() -> Arc<Self> {
        static READ: OnceLock<Arc<Thesaurus>> = OnceLock::new();
        Arc::clone(READ.get_or_init(|| Arc::new(Self::parse(BUILT_IN))))
    }

    /// Reads groups: one a line, words between blanks, in any case. Lines that begin with `#` are
    /// remarks. Of a text, the first mebibyte counts; of a line, the first 64 words.
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
                let room = MAX_OTHERS.saturating_sub(others.len());
                others.extend(group.iter().filter(|other| *other != word).take(room).cloned());
            }
        }
        let keys =
            |others: &BTreeSet<Box<str>>| others.iter().map(|other| key::of(other)).collect();
        this.keys = this.others.iter().map(|(word, all)| (key::of(word), keys(all))).collect();
        this
    }

    /// The stems that stand for this one, in alphabetical order.
    pub fn others(&self, stem: &str) -> impl Iterator<Item = &str> {
        self.others.get(stem).into_iter().flatten().map(AsRef::as_ref)
    }

    /// Whether it has the stem of this key in any group.
    pub(super) fn knows(&self, key: Key) -> bool {
        self.keys.contains_key(&key)
    }

    /// The keys of those that stand for the stem of this one.
    pub(super) fn keys(&self, key: Key) -> &[Key] {
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
        let others = |stem: &str| thesaurus.others(stem).collect::<Vec<_>>();
        assert_eq!(others("book"), ["novel", "reserv"]);
        assert_eq!(others("reserv"), ["book"]);
        assert!(others("remark").is_empty());
        assert_eq!(thesaurus.keys(key::of("book")), [key::of("novel"), key::of("reserv")]);
        assert!(thesaurus.keys(key::of("remark")).is_empty());
    }

    #[test]
    fn the_built_in_groups_are_of_two_words_at_least_and_none_is_there_twice() {
        let lines: Vec<_> = BUILT_IN.lines().filter(|line| !line.starts_with('#')).collect();
        let groups = lines.iter().map(|l| l.split_whitespace().collect::<BTreeSet<_>>());
        let groups: Vec<_> = groups.collect();
        assert!(groups.iter().all(|group| group.len() > 1));
        assert_eq!(groups.iter().collect::<BTreeSet<_>>().len(), groups.len());
        assert!(Thesaurus::built_in().others("delet").any(|other| other == "remov"));
    }

    #[test]
    fn a_hostile_text_is_bounded() {
        let one = format!("{}\n", (0..10_000).map(|n| format!("w{n} ")).collect::<String>());
        let thesaurus = Thesaurus::parse(&one.repeat(3));
        assert_eq!(thesaurus.others.len(), MAX_GROUP);
        let many: String = (0..5_000).map(|n| format!("word other{n}\n")).collect();
        assert_eq!(Thesaurus::parse(&many).others("word").count(), MAX_OTHERS);
    }
}
