//! What is too confidential is left out or redacted, and so is what hangs on it.

use std::collections::BTreeMap;

use weaver_types::Confidentiality;

use crate::compile::item_outcome::ItemOutcome;
use crate::compile::section::{Block, Form};
use crate::compile::stats::DropReason;
use crate::compile::{ContextItem, ContextLog, Request, SensitivityAction, block};

/// How confidential each candidate is, with all it hangs on.
pub(super) fn levels(log: &ContextLog, outcomes: &[ItemOutcome]) -> Vec<Option<Confidentiality>> {
    let mut levels: Vec<Option<Confidentiality>> = vec![None; outcomes.len()];
    let mut chain = Vec::new();
    for place in 0..outcomes.len() {
        if outcomes.get(place) == Some(&ItemOutcome::Absent) {
            continue;
        }
        let mut next = Some(place);
        let mut level = Confidentiality::Public;
        while let Some(at) = next {
            if let Some(known) = levels.get(at).copied().flatten() {
                level = known;
                break;
            }
            chain.push(at);
            next = log.links().parent(at);
        }
        while let Some(at) = chain.pop() {
            level = log.analysis(at).map_or(level, |analysis| analysis.level.max(level));
            if let Some(entry) = levels.get_mut(at) {
                *entry = Some(level);
            }
        }
    }
    levels
}

/// What becomes of one item of this level.
pub(super) fn judge(
    log: &ContextLog,
    place: usize,
    level: Confidentiality,
    request: &Request<'_>,
) -> (ItemOutcome, Option<Block>) {
    if level < request.floor {
        return (ItemOutcome::Kept, None);
    }
    match request.action {
        SensitivityAction::Drop => (ItemOutcome::Dropped(DropReason::Sensitivity), None),
        SensitivityAction::Redact(hook) => {
            let Some(item) = log.at(place) else { return (ItemOutcome::Absent, None) };
            (ItemOutcome::Kept, Some(block(log, item, &hook.redact(item, level))))
        }
    }
}

/// The block of an item with another text, without its handle.
fn block(log: &ContextLog, item: &ContextItem, text: &str) -> Block {
    let bare = item.clone().with_handle(None);
    let text = block::block_of(&bare, text);
    let tokens = log.counter().count(&text).tokens().and_then(|n| u32::try_from(n).ok());
    Block { tokens: tokens.unwrap_or(u32::MAX), text: text.into(), form: Form::Redacted }
}

/// Drops or redacts the candidates at or above the floor; what stands in place of the latter.
pub(super) fn apply(
    log: &ContextLog,
    outcomes: &mut [ItemOutcome],
    levels: &[Option<Confidentiality>],
    request: &Request<'_>,
) -> BTreeMap<usize, Block> {
    let mut blocks = BTreeMap::new();
    for (place, (outcome, level)) in outcomes.iter_mut().zip(levels).enumerate() {
        let (ItemOutcome::Kept, Some(level)) = (*outcome, level) else { continue };
        let (judged, block) = judge(log, place, *level, request);
        *outcome = judged;
        blocks.extend(block.map(|block| (place, block)));
    }
    blocks
}
