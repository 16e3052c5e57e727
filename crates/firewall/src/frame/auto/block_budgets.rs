//! Divides the budget of a large result among its blocks.

use std::borrow::Cow;

use serde_json::Value;

use super::block_continuation::MAX_CALLS;
use super::{RenderBudget, blocks};
use crate::spec::EffectiveLimits;

/// Tokens reserved for the notes on what was masked or cut, with the call for the rest of one block.
const NOTE_TOKENS: usize = 96;
/// Tokens reserved for the call for the rest of each other block.
const CALL_TOKENS: usize = 64;
/// These calls take at most this fraction of the budget.
const CALLS_DIVISOR: usize = 4;
/// The fewest tokens with which a part is shown at all.
const MIN_BLOCK_TOKENS: usize = 16;
/// The fewest tokens of a block that is cut, if there are several: the call for the rest of one takes
/// about as many, so smaller ones are shown whole or not at all.
const MIN_CUT_TOKENS: usize = 96;

/// The tokens and characters of each block. Content that is shown separately takes part as
/// `extra_blocks` more blocks at the end, each of unlimited size.
pub(super) fn allocate(
    blocks: &[Cow<'_, Value>],
    extra_blocks: usize,
    limits: &EffectiveLimits,
) -> Vec<RenderBudget> {
    let budget = RenderBudget::from_limits(limits);
    let total = budget.tokens.saturating_sub(NOTE_TOKENS).max(MIN_BLOCK_TOKENS);
    let sizes = |size: &dyn Fn(&str) -> usize| {
        let sizes = blocks.iter().map(|block| {
            let texts = texts(block);
            texts.iter().map(|text| size(text)).fold(0, usize::saturating_add)
        });
        sizes.chain(std::iter::repeat_n(usize::MAX, extra_blocks)).collect::<Vec<_>>()
    };
    let needed = sizes(&|text| budget.token_count(text, limits));
    let mut tokens = token_shares(&needed, total);
    let cut = tokens.iter().zip(&needed).filter(|(share, needed)| (1..**needed).contains(*share));
    let other_calls = cut.count().saturating_sub(1).min(MAX_CALLS - 1);
    if other_calls > 0 {
        let calls = (other_calls * CALL_TOKENS).min(total / CALLS_DIVISOR);
        tokens = token_shares(&needed, total - calls);
    }
    let chars = match budget.chars {
        usize::MAX => vec![usize::MAX; tokens.len()],
        total => max_min_shares(&sizes(&|text| text.chars().count()), total),
    };
    let shares = tokens.into_iter().zip(chars);
    shares.map(|(tokens, chars)| RenderBudget { tokens, chars }).collect()
}

/// The tokens of each block where so many are there in total.
fn token_shares(needed: &[usize], total: usize) -> Vec<usize> {
    let mut shares = max_min_shares(needed, total);
    drop_small_shares(&mut shares, needed);
    shares
}

/// Gives the tokens of blocks that would be cut to next to nothing to the first of them, so that
/// their marks do not exceed the budget. The others get none.
fn drop_small_shares(shares: &mut [usize], needed: &[usize]) {
    let is_small = |share: usize, needed: usize| share < needed && share < MIN_CUT_TOKENS;
    let small = || shares.iter().zip(needed).filter(|(share, needed)| is_small(**share, **needed));
    if small().count() < 2 {
        return;
    }
    let mut left: usize = small().map(|(share, _)| *share).sum();
    for (share, needed) in shares.iter_mut().zip(needed) {
        if is_small(*share, *needed) {
            let wanted = MIN_CUT_TOKENS.min(*needed);
            *share = if wanted <= left { wanted } else { 0 };
            left -= *share;
        }
    }
}

/// The texts of a block that may be shown; for a block with a text, only that.
fn texts<'b>(block: &'b Value) -> Vec<Cow<'b, str>> {
    match block.get("text").and_then(Value::as_str) {
        Some(text) => vec![Cow::Borrowed(text)],
        None => blocks::readable_texts(block),
    }
}

/// Max-min fair shares: small blocks get all they need, the others equal parts of what is left.
fn max_min_shares(sizes: &[usize], total: usize) -> Vec<usize> {
    // Serving the sizes in ascending order gives each block at most an equal part of what is left;
    // what a small block does not need raises the share of all that follow.
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| sizes.get(*at).copied().unwrap_or_default());
    let mut shares = vec![0; sizes.len()];
    let (mut left, mut waiting) = (total, order.len());
    for at in order {
        let granted = sizes.get(at).copied().unwrap_or_default().min(left / waiting.max(1));
        if let Some(share) = shares.get_mut(at) {
            *share = granted;
        }
        left = left.saturating_sub(granted);
        waiting = waiting.saturating_sub(1);
    }
    shares
}
