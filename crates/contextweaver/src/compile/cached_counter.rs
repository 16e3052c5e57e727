//! A token counter with a cache of word counts.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use weaver_text::token::TokenCounter;

/// The most pieces whose count is cached.
const MAX_CACHED: usize = 1 << 16;
/// The longest piece whose count is cached, in bytes.
const MAX_CACHED_BYTES: usize = 48;

/// Counts tokens with the target tokenizer. If the tokenizer is additive over words, each distinct
/// word is counted once and cached.
#[derive(Clone)]
pub(super) struct CachedCounter {
    counter: Arc<dyn TokenCounter>,
    cache: HashMap<Box<str>, u32>,
}

impl fmt::Debug for CachedCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CachedCounter({})", self.counter.name())
    }
}

impl CachedCounter {
    pub(super) fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, cache: HashMap::new() }
    }

    pub(super) fn counter(&self) -> &dyn TokenCounter {
        &*self.counter
    }

    /// The tokens of a text; `u32::MAX` if it cannot be counted.
    pub(super) fn count(&mut self, text: &str) -> u32 {
        if !self.counter.is_additive() {
            return self.count_uncached(text);
        }
        if self.cache.len() >= MAX_CACHED {
            self.cache.clear();
        }
        pieces(text).fold(0, |sum: u32, piece| sum.saturating_add(self.count_piece(piece)))
    }

    fn count_piece(&mut self, piece: &str) -> u32 {
        if let Some(count) = self.cache.get(piece) {
            return *count;
        }
        let count = self.count_uncached(piece);
        if piece.len() <= MAX_CACHED_BYTES {
            self.cache.insert(piece.into(), count);
        }
        count
    }

    fn count_uncached(&self, text: &str) -> u32 {
        let tokens = self.counter.count(text).tokens();
        tokens.and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX)
    }
}

/// The text, split before each space that follows a non-blank character. These are boundaries that
/// additive tokenizers never merge across.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.match_indices(' ').map(|(at, _)| at).find(|at| is_behind_word(rest, *at));
        let (piece, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn is_behind_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|head| head.chars().next_back());
    before.is_some_and(|c| !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use weaver_text::token;

    use super::*;

    #[test]
    fn pieces_lose_nothing() {
        for text in ["", " ", "a", " a b", "a  b\n c", "\u{3000} x y", "日本 語"] {
            assert_eq!(pieces(text).collect::<String>(), text);
        }
        assert_eq!(pieces("ab  c d\n e").collect::<Vec<_>>(), ["ab", "  c", " d\n e"]);
    }

    #[test]
    fn words_count_like_the_whole() {
        let text =
            "[USER]\nWho's  there? 12 500 €, \"x\" 日本 \n  \tif (a == b) { c += 1; } 👋🏽 ok\n\n";
        for name in token::NAMES {
            let counter = token::counter(name).unwrap();
            let mut meter = CachedCounter::new(Arc::clone(&counter));
            for _ in 0..2 {
                let text = text.repeat(3);
                let whole = counter.count(&text).tokens().unwrap();
                assert_eq!(meter.count(&text) as usize, whole, "{name}");
            }
        }
    }
}
