//! The features of items by which they are grouped.

use std::collections::HashMap;

use weaver_text::{escape, split, stop};

use crate::catalog::SelectableItem;

/// The most words of one item that are used.
const MAX_WORDS: usize = 64;
/// The most characters of a name that are compared.
const MAX_NAME: usize = 128;
/// The most characters of one text that are read.
const MAX_TEXT: usize = 256;

/// The index of a word in the list of all words.
pub(super) type WordId = u32;

/// An item with the features by which it is grouped.
pub(super) struct ItemFeatures<'a> {
    pub(super) item: &'a SelectableItem,
    /// The name in lower case.
    pub(super) name: String,
    /// The segments of the namespace.
    pub(super) segments: Vec<&'a str>,
    /// The words of name, tags and description, sorted and distinct.
    pub(super) words: Vec<WordId>,
}

/// The features of all items, and the words that occur in them.
pub(super) struct FeatureTable<'a> {
    pub(super) all: Vec<ItemFeatures<'a>>,
    pub(super) words: Vec<String>,
}

impl<'a> FeatureTable<'a> {
    /// The features of these items, in their order.
    pub(super) fn of(items: &[&'a SelectableItem]) -> Self {
        let mut ids: HashMap<String, WordId> = HashMap::new();
        let mut words = Vec::new();
        let mut word_id = |word: String| {
            *ids.entry(word).or_insert_with_key(|word| {
                words.push(word.clone());
                WordId::try_from(words.len() - 1).unwrap_or(WordId::MAX)
            })
        };
        let features = |item: &&'a SelectableItem| {
            let texts = [item.display_name(), &item.description];
            let texts = texts.into_iter().chain(item.tags.iter().map(String::as_str));
            let found = texts.flat_map(|text| split::words(escape::truncate(text, MAX_TEXT)));
            let found = found.filter(|word| word.len() > 1 && !stop::is_stop_word(word));
            let mut word_ids: Vec<WordId> = found.take(MAX_WORDS).map(&mut word_id).collect();
            word_ids.sort_unstable();
            word_ids.dedup();
            let name = escape::truncate(item.display_name(), MAX_NAME).to_lowercase();
            let segments = item.namespace.split(['.', '/']).filter(|part| !part.is_empty());
            ItemFeatures { item, name, segments: segments.collect(), words: word_ids }
        };
        let all = items.iter().map(features).collect();
        Self { all, words }
    }

    pub(super) fn get(&self, at: usize) -> Option<&ItemFeatures<'a>> {
        self.all.get(at)
    }

    pub(super) fn segment(&self, at: usize, level: usize) -> Option<&'a str> {
        self.get(at)?.segments.get(level).copied()
    }
}
