//! How much of the budget each block of a large result gets.

use std::borrow::Cow;

use serde_json::Value;

use super::{RenderBudget, blocks};
use crate::spec::Limits;

/// Tokens kept for the lines that say what was masked or cut.
const NOTES: usize = 96;
/// The fewest tokens of a part of a result that is shown at all.
const LEAST: usize = 16;

/// How many tokens each block gets: the small ones all of theirs, the others an equal part of what
/// is left (max-min fairness).
/// Content that is shown apart takes part in it as `others` more blocks, the last.
pub(super) fn of(blocks: &[Cow<'_, Value>], others: usize, limits: &Limits) -> Vec<usize> {
    let space = RenderBudget::of(limits);
    let total = space.tokens.saturating_sub(NOTES).max(LEAST);
    let size = |block: &Cow<'_, Value>| {
        // What a text of the block takes; the rest of such a block is not shown.
        let text = block.get("text").and_then(Value::as_str);
        let texts = text.map_or_else(|| blocks::texts(block), |text| vec![Cow::Borrowed(text)]);
        texts.iter().map(|text| space.size(text, limits)).fold(0, usize::saturating_add)
    };
    let mut sizes: Vec<usize> = blocks.iter().map(size).collect();
    sizes.resize(sizes.len() + others, usize::MAX);
    fair(&sizes, total)
}

fn fair(sizes: &[usize], total: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| sizes.get(*at).copied().unwrap_or_default());
    let mut shares = vec![0; sizes.len()];
    let (mut left, mut waiting) = (total, order.len());
    for at in order {
        let own = sizes.get(at).copied().unwrap_or_default().min(left / waiting.max(1));
        if let Some(share) = shares.get_mut(at) {
            *share = own;
        }
        left = left.saturating_sub(own);
        waiting = waiting.saturating_sub(1);
    }
    shares
}
