//! Pairs the event that begins a call with the event that ends it.

use std::collections::BTreeMap;

use weaver_types::EventKind;

use crate::query::EventFacts;

/// The most calls that are kept open; beyond that, the oldest one counts as not ended.
pub const MAX_OPEN_CALLS: usize = 10_000;

/// The events of a call, or an event outside of calls.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEvents {
    /// An executed call. One of the two events may lie outside of the queried range; a call without
    /// an outcome is still open, or its outcome is unknown.
    Executed {
        /// How it began.
        intent: Option<Box<EventFacts>>,
        /// How it ended.
        outcome: Option<Box<EventFacts>>,
    },
    /// A call was asked, held or denied.
    Refused(Box<EventFacts>),
    /// A later view of a stored result.
    Viewed(Box<EventFacts>),
    /// Anything else.
    Other(Box<EventFacts>),
}

/// Pairs intents with outcomes, in log order.
#[derive(Debug, Default)]
pub struct CallPairing {
    open: BTreeMap<String, Box<EventFacts>>,
    order: BTreeMap<u64, String>,
}

impl CallPairing {
    /// Adds the next event; returns what it completes.
    pub fn push(&mut self, facts: EventFacts) -> Option<CallEvents> {
        let facts = Box::new(facts);
        match facts.kind() {
            Some(EventKind::Intent) => {
                let call = facts.call().unwrap_or_default().to_owned();
                self.order.insert(facts.seq, call.clone());
                self.open.insert(call, facts);
                (self.open.len() > MAX_OPEN_CALLS).then(|| self.pop_oldest()).flatten()
            }
            Some(EventKind::Outcome | EventKind::OutcomeUnknown) => {
                let intent = facts.call().and_then(|call| self.open.remove(call));
                if let Some(intent) = &intent {
                    self.order.remove(&intent.seq);
                }
                Some(CallEvents::Executed { intent, outcome: Some(facts) })
            }
            Some(EventKind::Refused) => Some(CallEvents::Refused(facts)),
            Some(EventKind::HandleResolved) => Some(CallEvents::Viewed(facts)),
            _ => Some(CallEvents::Other(facts)),
        }
    }

    /// The calls that have not ended, in the order in which they began.
    pub fn into_open_calls(mut self) -> impl Iterator<Item = CallEvents> {
        std::iter::from_fn(move || self.pop_oldest())
    }

    fn pop_oldest(&mut self) -> Option<CallEvents> {
        loop {
            let (_, call) = self.order.pop_first()?;
            if let Some(intent) = self.open.remove(&call) {
                return Some(CallEvents::Executed { intent: Some(intent), outcome: None });
            }
        }
    }
}
