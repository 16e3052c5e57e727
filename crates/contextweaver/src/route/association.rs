//! Word associations: the words of tools that a word of a request is near to.
//!
//! The file is computed from the token table, so that requests profit from it where no table is given.
//! This is query expansion by a translation lexicon (Berger and Lafferty 1999, "Information retrieval as
//! statistical translation").

use std::sync::LazyLock;

use weaver_text::stem;

use super::hashing::KeyMap;
use super::term_key::{self, TermKey};
use crate::fixed_point::{self, ONE};

const BUILT_IN: &str = include_str!("../../assets/associations.txt");
/// The most associations of one word.
const MAX_ASSOCIATIONS: usize = 8;

/// A word of tools that a word of a request is near to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Association {
    pub(super) key: TermKey,
    /// The similarity of the two words, at most one.
    pub(super) strength: u64,
}

/// A table of word associations, by the stem of the word of the request.
#[derive(Debug, Default)]
pub(super) struct Associations(KeyMap<Box<[Association]>>);

impl Associations {
    /// The built-in table.
    pub(super) fn built_in() -> &'static Self {
        static READ: LazyLock<Associations> = LazyLock::new(|| Associations::parse(BUILT_IN));
        &READ
    }

    fn parse(text: &str) -> Self {
        let mut this = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split_whitespace();
            let Some(word) = fields.next() else { continue };
            let word = term_key::of_term(&stem::stem(word));
            let found = fields.filter_map(Association::parse).filter(|other| other.key != word);
            let found: Box<[Association]> = found.take(MAX_ASSOCIATIONS).collect();
            if !found.is_empty() {
                // Of several words with one stem, the first counts.
                this.0.entry(word).or_insert(found);
            }
        }
        this
    }

    /// The associations of a stem, nearest first.
    pub(super) fn of_stem(&self, key: TermKey) -> &[Association] {
        self.0.get(&key).map(AsRef::as_ref).unwrap_or_default()
    }
}

impl Association {
    /// Reads `word:percent`.
    fn parse(field: &str) -> Option<Self> {
        let (word, percent) = field.split_once(':')?;
        let strength = fixed_point::ratio(percent.parse().ok()?, 100).min(ONE);
        Some(Self { key: term_key::of_term(&stem::stem(word)), strength })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(word: &str) -> TermKey {
        term_key::of_term(&stem::stem(word))
    }

    #[test]
    fn associations_are_read_by_stems() {
        let read = Associations::parse(
            "# a remark\nparcels shipment:50 parcel:99 odd tracking:25\nparcel x:9\n",
        );
        let found = read.of_stem(key("parcel"));
        let expected = [("shipment", ONE / 2), ("tracking", ONE / 4)];
        assert_eq!(found.len(), expected.len());
        for (found, (word, strength)) in found.iter().zip(expected) {
            assert_eq!((found.key, found.strength), (key(word), strength));
        }
        assert!(read.of_stem(key("remark")).is_empty());
    }

    #[test]
    fn a_hostile_line_is_bounded() {
        let line: String = (0..1_000).map(|n| format!(" w{n}:999999")).collect();
        let read = Associations::parse(&format!("word{line}"));
        assert_eq!(read.of_stem(key("word")).len(), MAX_ASSOCIATIONS);
        assert!(read.of_stem(key("word")).iter().all(|found| found.strength == ONE));
    }

    #[test]
    fn the_built_in_table_is_well_formed_and_nearest_first() {
        for line in BUILT_IN.lines().filter(|line| !line.starts_with('#')) {
            let found: Vec<_> = line.split_whitespace().skip(1).map(Association::parse).collect();
            assert!(!found.is_empty() && found.len() <= MAX_ASSOCIATIONS, "{line}");
            let strengths: Vec<_> = found.iter().map(|found| found.unwrap().strength).collect();
            assert!(strengths.iter().all(|strength| (1..=ONE).contains(strength)), "{line}");
        }
        assert!(Associations::built_in().0.len() > 10_000);
    }
}
