//! How much of the budget each block of a large result gets.

use std::borrow::Cow;

use serde_json::Value;

use super::{RenderBudget, blocks};
use crate::spec::Limits;

/// Tokens kept for the lines that say what was masked or cut.
const NOTES: usize = 96;
/// The fewest tokens of a part of a result that is shown at all.
const LEAST: usize = 16;

/// How many tokens and characters each block gets. Content that is shown apart takes part in it as
/// `others` more blocks, the last.
pub(super) fn of(blocks: &[Cow<'_, Value>], others: usize, limits: &Limits) -> Vec<RenderBudget> {
    let space = RenderBudget::of(limits);
    let total = space.tokens.saturating_sub(NOTES).max(LEAST);
    let sizes = |size: &dyn Fn(&str) -> usize| {
        let sizes = blocks.iter().map(|block| {
            let texts = texts(block);
            texts.iter().map(|text| size(text)).fold(0, usize::saturating_add)
        });
        sizes.chain(std::iter::repeat_n(usize::MAX, others)).collect::<Vec<_>>()
    };
    let tokens = fair(&sizes(&|text| space.size(text, limits)), total);
    let chars = match space.chars {
        usize::MAX => vec![usize::MAX; tokens.len()],
        total => fair(&sizes(&|text| text.chars().count()), total),
    };
    let shares = tokens.into_iter().zip(chars);
    shares.map(|(tokens, chars)| RenderBudget { tokens, chars }).collect()
}

/// What may be shown of a block: of one with a text, that alone.
fn texts<'b>(block: &'b Value) -> Vec<Cow<'b, str>> {
    match block.get("text").and_then(Value::as_str) {
        Some(text) => vec![Cow::Borrowed(text)],
        None => blocks::texts(block),
    }
}

/// How much each gets: the small ones all that they need, the others an equal part of what is left
/// (max-min fairness).
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
