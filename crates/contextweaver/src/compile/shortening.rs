//! Shortens items that are too long before they are dropped.

use std::cell::Cell;

use weaver_text::token::TokenCounter;

use crate::compile::ranked_candidates::RankedCandidates;
use crate::compile::rendered_item::Rendition;
use crate::compile::rendered_item::ReplacementBlock;
use crate::compile::request::Summariser;
use crate::compile::{CompileRequest, ContextLog, item_block};

/// An item is too long if it exceeds the budget divided by this, and is shortened to that size.
const BUDGET_SHARE: usize = 4;
/// An item that would have fewer tokens than this is dropped instead.
const MIN_TOKENS: usize = 24;
/// The most items that one build tries to shorten.
const MAX_ATTEMPTS: u32 = 16;

/// Keeps the beginning and the end of a text, and states how much is missing between them.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadAndTail;

impl Summariser for HeadAndTail {
    fn summarise(&self, text: &str, tokens: usize, counter: &dyn TokenCounter) -> Option<String> {
        let mut bytes = tokens.saturating_mul(4).min(text.len());
        while bytes > 16 {
            let head = text.get(..text.floor_char_boundary(bytes * 2 / 3))?;
            let tail = text.get(text.ceil_char_boundary(text.len() - bytes / 3)..)?;
            let missing = text.len() - head.len() - tail.len();
            let (head, tail) = (head.trim_end(), tail.trim_start());
            let short = format!("{head}\n(… {missing} bytes left out …)\n{tail}");
            if short.len() < text.len() && counter.within(&short, tokens) {
                return Some(short);
            }
            bytes = bytes / 4 * 3;
        }
        None
    }
}

/// Shortens a bounded number of items in each build.
pub(super) struct Shortener<'a> {
    log: &'a ContextLog,
    summariser: Option<&'a dyn Summariser>,
    budget: usize,
    attempts: Cell<u32>,
}

impl<'a> Shortener<'a> {
    pub(super) fn new(log: &'a ContextLog, request: &CompileRequest<'a>) -> Self {
        let (summariser, budget) = (request.summariser, request.phase.budget);
        Self { log, summariser, budget, attempts: Cell::new(0) }
    }

    /// Whether a group of `tokens` tokens may have an item that can be shortened.
    pub(super) fn may_shorten(&self, tokens: u64) -> bool {
        self.summariser.is_some()
            && tokens > (self.budget / BUDGET_SHARE) as u64
            && self.attempts.get() < MAX_ATTEMPTS
    }

    /// Fits a group into the room by shortening its longest item. Returns the new blocks and the
    /// tokens of the group.
    pub(super) fn shorten_longest(
        &self,
        ranked: &RankedCandidates,
        group: usize,
        room: usize,
    ) -> Option<(Vec<(usize, ReplacementBlock)>, usize)> {
        let summariser = self.summariser.filter(|_| self.attempts.get() < MAX_ATTEMPTS)?;
        let tokens = |index: usize| match ranked.blocks.get(&index) {
            Some(block) => block.tokens as usize,
            None => self.log.analysis(index).map_or(usize::MAX, |a| a.tokens as usize),
        };
        let longest = ranked.groups.members(group).max_by_key(|index| tokens(*index))?;
        let max_tokens = self.budget / BUDGET_SHARE;
        if tokens(longest) <= max_tokens || ranked.blocks.contains_key(&longest) {
            return None;
        }
        let others: usize =
            ranked.groups.members(group).filter(|index| *index != longest).map(tokens).sum();
        let target = room.checked_sub(others)?.min(max_tokens);
        let item = self.log.item_at(longest)?;
        let counter = self.log.counter();
        let heading_tokens =
            counter.count(&item_block::render_block_with_text(item, "")).tokens()?;
        let inner = target.checked_sub(heading_tokens).filter(|inner| *inner >= MIN_TOKENS)?;
        self.attempts.set(self.attempts.get() + 1);
        let short = summariser.summarise(item.text(), inner, counter)?;
        let text = item_block::render_block_with_text(item, &short);
        let count = counter.count_up_to(&text, target).tokens().filter(|n| *n <= target)?;
        let tokens = u32::try_from(count).ok()?;
        let block = ReplacementBlock { text: text.into(), tokens, rendition: Rendition::Shortened };
        Some((vec![(longest, block)], others + count))
    }
}

#[cfg(test)]
mod tests {
    use weaver_text::token::Tiktoken;

    use super::*;

    #[test]
    fn both_ends_stay() {
        let text = format!("first\n{}last 日本", "word ".repeat(5000));
        let short = HeadAndTail.summarise(&text, 100, &Tiktoken::CL100K).unwrap();
        assert!(short.starts_with("first\n") && short.ends_with("last 日本"), "{short}");
        assert!(short.contains("bytes left out") && Tiktoken::CL100K.within(&short, 100));
        assert_eq!(HeadAndTail.summarise("short", 100, &Tiktoken::CL100K), None);
        assert_eq!(HeadAndTail.summarise(&text, 0, &Tiktoken::CL100K), None);
    }
}
