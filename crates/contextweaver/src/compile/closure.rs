//! What the candidates hang on comes with them, and what a call brought with the call.

use crate::compile::candidate::Fate;
use crate::compile::{ContextLog, ItemKind};

/// Adds what the candidates hang on, however far up, and every result of a call that is among them:
/// a call is shown with all its results or not at all. How many items that adds.
pub(super) fn close(log: &ContextLog, fates: &mut [Fate]) -> usize {
    let mut added = 0;
    for place in 0..fates.len() {
        if fates.get(place) == Some(&Fate::Kept) {
            let mut next = log.links().parent(place);
            while let Some(parent) = next {
                match fates.get_mut(parent) {
                    // What is added behind this place is met again by the loop.
                    Some(fate @ Fate::Absent) => *fate = Fate::Kept,
                    _ => break,
                }
                added += 1;
                next = log.links().parent(parent);
            }
        }
    }
    for place in 0..fates.len() {
        if fates.get(place) == Some(&Fate::Absent) && is_answer(log, fates, place) {
            if let Some(fate) = fates.get_mut(place) {
                *fate = Fate::Kept;
            }
            added += 1;
        }
    }
    added
}

/// Whether it is the result of a call that is a candidate.
pub(super) fn is_answer(log: &ContextLog, fates: &[Fate], place: usize) -> bool {
    let is = |place: usize, kind| log.analysis(place).is_some_and(|a| a.kind == kind);
    is(place, ItemKind::ToolResult)
        && log.links().parent(place).is_some_and(|call| {
            is(call, ItemKind::ToolCall) && fates.get(call).is_some_and(|f| *f != Fate::Absent)
        })
}
