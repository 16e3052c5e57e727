//! Items that are too long are made shorter before they are dropped.

use std::cell::Cell;

use weaver_text::token::TokenCounter;

use crate::compile::plan::Plan;
use crate::compile::request::Summariser;
use crate::compile::section::Block;
use crate::compile::section::Form;
use crate::compile::{ContextLog, Request, block};

/// An item is too long from this part of the budget on, and is made as short as that.
const PART: usize = 4;
/// What would have fewer tokens than this is dropped.
const LEAST: usize = 24;
/// Most items of one build that are made shorter.
const MAX_TRIES: u32 = 16;

/// Keeps the beginning and the end of a text, and says how much is missing between them.
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

/// Makes items shorter, a few in each build.
pub(super) struct Shortener<'a> {
    log: &'a ContextLog,
    summariser: Option<&'a dyn Summariser>,
    budget: usize,
    tries: Cell<u32>,
}

impl<'a> Shortener<'a> {
    pub(super) fn new(log: &'a ContextLog, request: &Request<'a>) -> Self {
        let (summariser, budget) = (request.summariser, request.phase.budget);
        Self { log, summariser, budget, tries: Cell::new(0) }
    }

    /// Whether a group of `tokens` tokens may have an item that is too long.
    pub(super) fn may_help(&self, tokens: u64) -> bool {
        self.summariser.is_some()
            && tokens > (self.budget / PART) as u64
            && self.tries.get() < MAX_TRIES
    }

    /// The group in so many tokens, by making its longest item shorter: the new blocks, and what
    /// the group then costs.
    pub(super) fn squeeze(
        &self,
        plan: &Plan,
        group: usize,
        room: usize,
    ) -> Option<(Vec<(usize, Block)>, usize)> {
        let summariser = self.summariser.filter(|_| self.tries.get() < MAX_TRIES)?;
        let tokens = |place: usize| match plan.blocks.get(&place) {
            Some(block) => block.tokens as usize,
            None => self.log.analysis(place).map_or(usize::MAX, |a| a.tokens as usize),
        };
        let longest = plan.groups.members(group).max_by_key(|place| tokens(*place))?;
        let part = self.budget / PART;
        if tokens(longest) <= part || plan.blocks.contains_key(&longest) {
            return None;
        }
        let others: usize =
            plan.groups.members(group).filter(|place| *place != longest).map(tokens).sum();
        let target = room.checked_sub(others)?.min(part);
        let item = self.log.at(longest)?;
        let counter = self.log.counter();
        let frame = counter.count(&block::block_of(item, "")).tokens()?;
        let inner = target.checked_sub(frame).filter(|inner| *inner >= LEAST)?;
        self.tries.set(self.tries.get() + 1);
        let short = summariser.summarise(item.text(), inner, counter)?;
        let text = block::block_of(item, &short);
        let count = counter.count_up_to(&text, target).tokens().filter(|n| *n <= target)?;
        let tokens = u32::try_from(count).ok()?;
        let block = Block { text: text.into(), tokens, form: Form::Shortened };
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
