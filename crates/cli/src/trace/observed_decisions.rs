//! Counts the decisions of a policy that only observes, while a log is verified.

use serde_json::{Value, json};
use weaver_trace_store::query::EventFacts;
use weaver_types::ledger::StoredEvent;

/// How many decisions were made under a policy that only observes, and how many were not enforced.
#[derive(Debug, Default)]
pub(super) struct ObservedDecisions {
    /// The event after the last one counted, because the log is read more than once.
    next: u64,
    decided: u64,
    not_enforced: u64,
}

impl ObservedDecisions {
    pub(super) fn count(&mut self, event: &StoredEvent) {
        if event.seq < self.next {
            return;
        }
        self.next = event.seq.saturating_add(1);
        let Some(payload) = event.payload.as_deref() else { return };
        // A byte search avoids parsing most events.
        if !payload.windows(WOULD_HAVE_KEY.len()).any(|bytes| bytes == WOULD_HAVE_KEY) {
            return;
        }
        let facts = EventFacts::from_event(event);
        if facts.at_path(&["would_have", "verdict"]).is_some() {
            self.decided += 1;
            self.not_enforced += u64::from(facts.not_enforced().is_some());
        }
    }

    /// What a person who verifies the log must know.
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

/// Every payload of such a decision contains this key.
const WOULD_HAVE_KEY: &[u8] = b"\"would_have\"";
