//! Items as a graph is built of them.

use std::collections::HashMap;

use weaver_text::{escape, split, stop};

use crate::catalog::SelectableItem;

/// The most words of one item that count.
const MAX_WORDS: usize = 64;
/// The most characters of a name that it is sorted by.
const MAX_NAME: usize = 128;
/// How much of one text is read, in characters.
const MAX_TEXT: usize = 256;

/// A word as a number: its place in the list of all words.
pub(super) type Word = u32;

/// An item with what it is grouped by.
pub(super) struct Seed<'a> {
    pub(super) item: &'a SelectableItem,
    /// Its name in lower case.
    pub(super) name: String,
    /// The parts of its namespace.
    pub(super) segments: Vec<&'a str>,
    /// The words of name, tags and description, sorted.
    pub(super) words: Vec<Word>,
}

/// All seeds, and their words.
pub(super) struct Seeds<'a> {
    pub(super) all: Vec<Seed<'a>>,
    pub(super) words: Vec<String>,
}

impl<'a> Seeds<'a> {
    /// In the order of the items.
    pub(super) fn of(items: &[&'a SelectableItem]) -> Self {
        let mut known: HashMap<String, Word> = HashMap::new();
        let mut words = Vec::new();
        let mut number = |word: String| {
            *known.entry(word).or_insert_with_key(|word| {
                words.push(word.clone());
                Word::try_from(words.len() - 1).unwrap_or(Word::MAX)
            })
        };
        let seed = |item: &&'a SelectableItem| {
            let texts = [item.display_name(), &item.description];
            let texts = texts.into_iter().chain(item.tags.iter().map(String::as_str));
            let found = texts.flat_map(|text| split::words(escape::truncate(text, MAX_TEXT)));
            let found = found.filter(|word| word.len() > 1 && !stop::is_stop_word(word));
            let mut numbers: Vec<Word> = found.take(MAX_WORDS).map(&mut number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let name = escape::truncate(item.display_name(), MAX_NAME).to_lowercase();
            let segments = item.namespace.split(['.', '/']).filter(|part| !part.is_empty());
            Seed { item, name, segments: segments.collect(), words: numbers }
        };
        let all = items.iter().map(seed).collect();
        Self { all, words }
    }

    pub(super) fn get(&self, at: usize) -> Option<&Seed<'a>> {
        self.all.get(at)
    }

    pub(super) fn segment(&self, at: usize, level: usize) -> Option<&'a str> {
        self.get(at)?.segments.get(level).copied()
    }
}
