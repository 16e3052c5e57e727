//! Closes the set of candidates under dependency: an item brings its ancestors, a call its results.

use crate::compile::item_outcome::ItemOutcome;
use crate::compile::{ContextItemKind, ContextLog};

/// Adds the ancestors of all candidates and every result of a call among them, because a call is
/// shown with all its results or not at all. Returns how many items were added.
pub(super) fn add_dependencies(log: &ContextLog, outcomes: &mut [ItemOutcome]) -> usize {
    let mut added = 0;
    for index in 0..outcomes.len() {
        if outcomes.get(index) == Some(&ItemOutcome::Kept) {
            let mut next = log.forest().parent(index);
            while let Some(parent) = next {
                match outcomes.get_mut(parent) {
                    // Stop at an item that is a candidate already: its ancestors are added at its own
                    // turn, or were added with it.
                    Some(outcome @ ItemOutcome::Absent) => *outcome = ItemOutcome::Kept,
                    _ => break,
                }
                added += 1;
                next = log.forest().parent(parent);
            }
        }
    }
    for index in 0..outcomes.len() {
        if outcomes.get(index) == Some(&ItemOutcome::Absent)
            && is_result_of_kept_call(log, outcomes, index)
        {
            if let Some(outcome) = outcomes.get_mut(index) {
                *outcome = ItemOutcome::Kept;
            }
            added += 1;
        }
    }
    added
}

/// Whether the item is the result of a call that is a candidate.
pub(super) fn is_result_of_kept_call(
    log: &ContextLog,
    outcomes: &[ItemOutcome],
    index: usize,
) -> bool {
    let has_kind = |index: usize, kind| log.analysis(index).is_some_and(|a| a.kind == kind);
    has_kind(index, ContextItemKind::ToolResult)
        && log.forest().parent(index).is_some_and(|call| {
            has_kind(call, ContextItemKind::ToolCall)
                && outcomes.get(call).is_some_and(|f| *f != ItemOutcome::Absent)
        })
}
