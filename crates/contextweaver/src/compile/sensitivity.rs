//! Drops or redacts items that are too confidential, and their dependents.

use std::collections::BTreeMap;

use weaver_types::Confidentiality;

use crate::compile::item_outcome::ItemOutcome;
use crate::compile::rendered_item::{Rendition, ReplacementBlock};
use crate::compile::stats::DropReason;
use crate::compile::{CompileRequest, ContextItem, ContextLog, SensitivityAction, item_block};

/// For each candidate, the highest confidentiality of the item and its ancestors: a child may quote
/// its parent. Each tree is walked once, because known levels end the walk.
pub(super) fn effective_confidentiality(
    log: &ContextLog,
    outcomes: &[ItemOutcome],
) -> Vec<Option<Confidentiality>> {
    let mut levels: Vec<Option<Confidentiality>> = vec![None; outcomes.len()];
    let mut chain = Vec::new();
    for index in 0..outcomes.len() {
        if outcomes.get(index) == Some(&ItemOutcome::Absent) {
            continue;
        }
        let mut next = Some(index);
        let mut level = Confidentiality::Public;
        while let Some(at) = next {
            if let Some(known) = levels.get(at).copied().flatten() {
                level = known;
                break;
            }
            chain.push(at);
            next = log.forest().parent(at);
        }
        while let Some(at) = chain.pop() {
            level = log.analysis(at).map_or(level, |analysis| analysis.confidentiality.max(level));
            if let Some(entry) = levels.get_mut(at) {
                *entry = Some(level);
            }
        }
    }
    levels
}

/// Decides what happens to one item with this effective confidentiality.
pub(super) fn evaluate(
    log: &ContextLog,
    index: usize,
    level: Confidentiality,
    request: &CompileRequest<'_>,
) -> (ItemOutcome, Option<ReplacementBlock>) {
    if level < request.sensitivity_floor {
        return (ItemOutcome::Kept, None);
    }
    match request.sensitivity_action {
        SensitivityAction::Drop => (ItemOutcome::Dropped(DropReason::Sensitivity), None),
        SensitivityAction::Redact(hook) => {
            let Some(item) = log.item_at(index) else { return (ItemOutcome::Absent, None) };
            (ItemOutcome::Kept, Some(redacted_block(log, item, &hook.redact(item, level))))
        }
    }
}

/// The block of an item with another text and without its handle, which would lead to the original.
fn redacted_block(log: &ContextLog, item: &ContextItem, text: &str) -> ReplacementBlock {
    let without_handle = item.clone().with_handle(None);
    let text = item_block::render_block_with_text(&without_handle, text);
    let tokens = log.counter().count(&text).tokens().and_then(|n| u32::try_from(n).ok());
    ReplacementBlock {
        tokens: tokens.unwrap_or(u32::MAX),
        text: text.into(),
        rendition: Rendition::Redacted,
    }
}

/// Drops or redacts the candidates at or above the floor. Returns the replacement blocks.
pub(super) fn apply_floor(
    log: &ContextLog,
    outcomes: &mut [ItemOutcome],
    levels: &[Option<Confidentiality>],
    request: &CompileRequest<'_>,
) -> BTreeMap<usize, ReplacementBlock> {
    let mut blocks = BTreeMap::new();
    for (index, (outcome, level)) in outcomes.iter_mut().zip(levels).enumerate() {
        let (ItemOutcome::Kept, Some(level)) = (*outcome, level) else { continue };
        let (new_outcome, block) = evaluate(log, index, *level, request);
        *outcome = new_outcome;
        blocks.extend(block.map(|block| (index, block)));
    }
    blocks
}
