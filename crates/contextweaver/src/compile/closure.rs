//! What the candidates hang on comes with them.

use crate::compile::ContextLog;
use crate::compile::candidate::Fate;

/// Adds what the candidates hang on, however far up; how many items that adds.
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
    added
}
