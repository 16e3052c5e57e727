//! Decisions under a policy that observes, counted beside the verification of a log.

use serde_json::{Value, json};
use weaver_trace_store::query::Facts;
use weaver_types::ledger::StoredEvent;

/// How many decisions a policy that observes made, and how many of them were not enforced.
#[derive(Debug, Default)]
pub(super) struct ObservedDecisions {
    /// The event behind the last one that was counted: the log is read more than once.
    next: u64,
    decided: u64,
    not_enforced: u64,
}

impl ObservedDecisions {
    pub(super) fn take(&mut self, event: &StoredEvent) {
        if event.seq < self.next {
            return;
        }
        self.next = event.seq.saturating_add(1);
        let Some(payload) = event.payload.as_deref() else { return };
        // Most events say nothing of it, and are not read for it.
        if !payload.windows(KEY.len()).any(|bytes| bytes == KEY) {
            return;
        }
        let facts = Facts::of(event);
        if facts.at_path(&["would_have", "verdict"]).is_some() {
            self.decided += 1;
            self.not_enforced += u64::from(facts.not_enforced().is_some());
        }
    }

    /// What whoever verifies the log must know of it.
    pub(super) fn sentence(&self) -> Option<String> {
        (self.decided > 0).then(|| {
            format!(
                "a policy that observes made {} of the decisions, and {} of them were not enforced: \
                 `weaver trace list reason:not_enforced`",
                self.decided, self.not_enforced
            )
        })
    }

    pub(super) fn json(&self) -> Value {
        json!({ "decided": self.decided, "not_enforced": self.not_enforced })
    }
}

/// What a payload with such a decision holds.
const KEY: &[u8] = b"\"would_have\"";
