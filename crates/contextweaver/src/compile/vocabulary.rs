//! The stems of all items as numbers.

use std::collections::HashMap;

use weaver_text::{escape, split};

use crate::stems::stems;

/// Characters of an item that are compared with a query.
const MAX_READ: usize = 4096;
/// Words of a query that are compared.
const MAX_QUERY: usize = 256;

/// The number of a stem.
pub(super) type Stem = u32;

/// The stems met so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Vocabulary {
    /// Words as they stand, with what they come to; stop words come to nothing.
    words: HashMap<Box<str>, Box<[Stem]>>,
    stems: HashMap<Box<str>, Stem>,
}

impl Vocabulary {
    /// The stems of a text, each once, in the order of their numbers.
    pub(super) fn read(&mut self, text: &str) -> Vec<Stem> {
        let mut found = Vec::new();
        for word in split::words(escape::truncate(text, MAX_READ)) {
            match self.words.get(word.as_str()) {
                Some(known) => found.extend_from_slice(known),
                None => found.extend_from_slice(&self.learn(word)),
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// How many stems there are.
    pub(super) fn len(&self) -> usize {
        self.stems.len()
    }

    /// The number of a stem that some item has.
    pub(super) fn number(&self, stem: &str) -> Option<Stem> {
        self.stems.get(stem).copied()
    }

    fn learn(&mut self, word: String) -> Box<[Stem]> {
        let mut found = Vec::new();
        for stem in stems(&word) {
            let next = Stem::try_from(self.stems.len()).unwrap_or(Stem::MAX);
            found.push(*self.stems.entry(stem.into()).or_insert(next));
        }
        let found: Box<[Stem]> = found.into();
        self.words.insert(word.into(), found.clone());
        found
    }
}

/// The stems of a query, each once.
pub(super) fn wanted(text: &str) -> Vec<String> {
    let mut wanted: Vec<String> =
        stems(escape::truncate(text, MAX_READ)).into_iter().take(MAX_QUERY).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_meets_the_forms_of_its_words() {
        let mut vocabulary = Vocabulary::default();
        let invoices = vocabulary.read("The invoices, the invoice");
        assert_eq!(invoices.len(), 1);
        assert_eq!(vocabulary.read("an invoice, the invoices"), invoices);
        let query = wanted("pay an invoice");
        let known = query.iter().filter_map(|stem| vocabulary.number(stem));
        assert_eq!((known.collect::<Vec<_>>(), query.len()), (invoices, 2));
        assert_eq!(vocabulary.number("holiday"), None);
    }
}
