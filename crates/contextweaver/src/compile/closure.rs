//! Closes the set of candidates: an item brings its parents, and a call brings its results.

use crate::compile::item_outcome::ItemOutcome;
use crate::compile::{ContextLog, ItemKind};

/// Adds what the candidates hang on, however far up, and every result of a call that is among them:
/// a call is shown with all its results or not at all. How many items that adds.
pub(super) fn close(log: &ContextLog, outcomes: &mut [ItemOutcome]) -> usize {
    let mut added = 0;
    for place in 0..outcomes.len() {
        if outcomes.get(place) == Some(&ItemOutcome::Kept) {
            let mut next = log.links().parent(place);
            while let Some(parent) = next {
                match outcomes.get_mut(parent) {
                    // What is added behind this place is met again by the loop.
                    Some(outcome @ ItemOutcome::Absent) => *outcome = ItemOutcome::Kept,
                    _ => break,
                }
                added += 1;
                next = log.links().parent(parent);
            }
        }
    }
    for place in 0..outcomes.len() {
        if outcomes.get(place) == Some(&ItemOutcome::Absent)
            && is_result_of_kept_call(log, outcomes, place)
        {
            if let Some(outcome) = outcomes.get_mut(place) {
                *outcome = ItemOutcome::Kept;
            }
            added += 1;
        }
    }
    added
}

/// Whether it is the result of a call that is a candidate.
pub(super) fn is_result_of_kept_call(
    log: &ContextLog,
    outcomes: &[ItemOutcome],
    place: usize,
) -> bool {
    let is = |place: usize, kind| log.analysis(place).is_some_and(|a| a.kind == kind);
    is(place, ItemKind::ToolResult)
        && log.links().parent(place).is_some_and(|call| {
            is(call, ItemKind::ToolCall)
                && outcomes.get(call).is_some_and(|f| *f != ItemOutcome::Absent)
        })
}
