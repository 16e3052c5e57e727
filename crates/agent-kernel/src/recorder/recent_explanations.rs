//! The explanations of the last calls, in memory.

use std::collections::VecDeque;
use std::sync::Mutex;

use weaver_types::CallId;

use crate::invocation::Explanation;

/// How many calls can be explained from memory.
const MAX_REMEMBERED_CALLS: usize = 1_024;

/// The explanations of the last calls of this process, the oldest first.
#[derive(Default)]
pub(crate) struct RecentExplanations(Mutex<VecDeque<Explanation>>);

impl RecentExplanations {
    pub(crate) fn of(&self, call: &CallId) -> Option<Explanation> {
        self.0.lock().ok()?.iter().rev().find(|one| one.call == *call).cloned()
    }

    pub(crate) fn add(&self, explanation: Explanation) {
        if let Ok(mut explained) = self.0.lock() {
            if explained.len() >= MAX_REMEMBERED_CALLS {
                explained.pop_front();
            }
            explained.push_back(explanation);
        }
    }
}
