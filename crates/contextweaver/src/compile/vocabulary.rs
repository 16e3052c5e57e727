//! The vocabulary of a log: each distinct stem has an id.

use std::collections::HashMap;

use weaver_text::{escape, split};

use crate::stems::stems;

/// How many characters of a text are compared with a query.
const MAX_TEXT_CHARS: usize = 4096;
/// How many stems of a query are compared.
const MAX_QUERY_WORDS: usize = 256;

/// The id of a stem.
pub(super) type StemId = u32;

/// The stems of all texts so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Vocabulary {
    /// A cache of the stem ids of words as written; stop words have none.
    ids_by_word: HashMap<Box<str>, Box<[StemId]>>,
    ids_by_stem: HashMap<Box<str>, StemId>,
}

impl Vocabulary {
    /// The ids of the stems of a text, sorted and distinct. New stems are added.
    pub(super) fn stem_ids(&mut self, text: &str) -> Vec<StemId> {
        let mut ids = Vec::new();
        for word in split::words(escape::truncate(text, MAX_TEXT_CHARS)) {
            match self.ids_by_word.get(word.as_str()) {
                Some(known) => ids.extend_from_slice(known),
                None => ids.extend_from_slice(&self.add_word(word)),
            }
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The number of stems.
    pub(super) fn len(&self) -> usize {
        self.ids_by_stem.len()
    }

    /// The id of a stem, if some text has it.
    pub(super) fn id(&self, stem: &str) -> Option<StemId> {
        self.ids_by_stem.get(stem).copied()
    }

    fn add_word(&mut self, word: String) -> Box<[StemId]> {
        let mut ids = Vec::new();
        for stem in stems(&word) {
            let next = StemId::try_from(self.ids_by_stem.len()).unwrap_or(StemId::MAX);
            ids.push(*self.ids_by_stem.entry(stem.into()).or_insert(next));
        }
        let ids: Box<[StemId]> = ids.into();
        self.ids_by_word.insert(word.into(), ids.clone());
        ids
    }
}

/// The stems of a query, sorted and distinct.
pub(super) fn query_stems(text: &str) -> Vec<String> {
    let mut wanted: Vec<String> =
        stems(escape::truncate(text, MAX_TEXT_CHARS)).into_iter().take(MAX_QUERY_WORDS).collect();
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
        let invoices = vocabulary.stem_ids("The invoices, the invoice");
        assert_eq!(invoices.len(), 1);
        assert_eq!(vocabulary.stem_ids("an invoice, the invoices"), invoices);
        let query = query_stems("pay an invoice");
        let known = query.iter().filter_map(|stem| vocabulary.id(stem));
        assert_eq!((known.collect::<Vec<_>>(), query.len()), (invoices, 2));
        assert_eq!(vocabulary.id("holiday"), None);
    }
}
