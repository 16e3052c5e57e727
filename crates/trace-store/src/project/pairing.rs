//! Calls as one: the event that begins a call, and the one that ends it.

use std::collections::BTreeMap;

use weaver_types::EventKind;

use crate::query::Facts;

/// The most calls that are kept open; the one that was begun first then counts as not ended.
pub const MAX_OPEN: usize = 10_000;

/// What events say of calls.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEvents {
    /// A call was executed. One of the two may lie outside of what was asked for; a call without an
    /// end is open, or its end is unknown.
    Executed {
        /// How it began.
        intent: Option<Box<Facts>>,
        /// How it ended.
        outcome: Option<Box<Facts>>,
    },
    /// A call was asked, held or denied.
    Refused(Box<Facts>),
    /// A look at a stored result.
    Viewed(Box<Facts>),
    /// Anything else.
    Other(Box<Facts>),
}

/// Joins intents with outcomes, in the order of the log.
#[derive(Debug, Default)]
pub struct Pairing {
    open: BTreeMap<String, Box<Facts>>,
    order: BTreeMap<u64, String>,
}

impl Pairing {
    /// Takes the next event; gives what is complete with it.
    pub fn take(&mut self, facts: Facts) -> Option<CallEvents> {
        let facts = Box::new(facts);
        match facts.kind() {
            Some(EventKind::Intent) => {
                let call = facts.call().unwrap_or_default().to_owned();
                self.order.insert(facts.seq, call.clone());
                self.open.insert(call, facts);
                (self.open.len() > MAX_OPEN).then(|| self.oldest()).flatten()
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

    /// What is left: calls without an end, in the order in which they began.
    pub fn rest(mut self) -> impl Iterator<Item = CallEvents> {
        std::iter::from_fn(move || self.oldest())
    }

    fn oldest(&mut self) -> Option<CallEvents> {
        loop {
            let (_, call) = self.order.pop_first()?;
            if let Some(intent) = self.open.remove(&call) {
                return Some(CallEvents::Executed { intent: Some(intent), outcome: None });
            }
        }
    }
}
