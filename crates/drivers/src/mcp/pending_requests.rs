//! Matches replies to pending requests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::error::McpError;
use super::message::RpcResult;

type Outcome = Result<RpcResult, McpError>;
/// Hears the answer to a request that nobody waits for any more.
pub(crate) type LateSink = Box<dyn FnOnce(Outcome) + Send + Sync>;

/// Most requests that were given up and may still be answered.
const MAX_LATE: usize = 256;

/// The open requests of one connection, by id.
#[derive(Default)]
pub(crate) struct PendingRequests {
    table: Mutex<Table>,
    last: AtomicU64,
}

#[derive(Default)]
struct Table {
    open: BTreeMap<u64, Entry>,
    closed: Option<McpError>,
    /// The requests that were given up and whose answer somebody wants to know of.
    late: BTreeMap<u64, LateSink>,
}

struct Entry {
    reply: oneshot::Sender<Outcome>,
    late: Option<LateSink>,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Its caller has it.
    InTime,
    /// Its caller had gone; that it came was told.
    Late,
    /// Nobody knows of such a request: a double answer, or one to nothing.
    Nowhere,
}

impl PendingRequests {
    /// A new id, unique on this connection.
    pub(crate) fn next_id(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// Opens a request. Fails with the reason when the connection has ended.
    pub(crate) fn open(
        &self,
        id: u64,
        late: Option<LateSink>,
    ) -> Result<oneshot::Receiver<Outcome>, McpError> {
        let mut table = self.lock();
        if let Some(reason) = &table.closed {
            return Err(reason.clone());
        }
        let (reply, receiver) = oneshot::channel();
        table.open.insert(id, Entry { reply, late });
        Ok(receiver)
    }

    /// Ends a request, or tells of the answer to one that was given up.
    pub(crate) fn complete(&self, id: u64, outcome: Outcome) -> Delivery {
        let (entry, late) = {
            let mut table = self.lock();
            (table.open.remove(&id), table.late.remove(&id))
        };
        let (outcome, late) = match entry {
            Some(entry) => match entry.reply.send(outcome) {
                Ok(()) => return Delivery::InTime,
                // Its caller goes in this very moment.
                Err(outcome) => (outcome, entry.late),
            },
            None => (outcome, late),
        };
        let Some(late) = late else { return Delivery::Nowhere };
        late(outcome);
        Delivery::Late
    }

    /// Ends the requests that a broken message names. One that names none could be the answer to
    /// any, so it ends all that are open. Returns how many.
    pub(crate) fn blame(&self, ids: &[u64], error: &McpError) -> usize {
        let entries: Vec<Entry> = {
            let mut table = self.lock();
            if ids.is_empty() {
                std::mem::take(&mut table.open).into_values().collect()
            } else {
                ids.iter().filter_map(|id| table.open.remove(id)).collect()
            }
        };
        let count = entries.len();
        for entry in entries {
            let _ = entry.reply.send(Err(error.clone()));
        }
        count
    }

    /// Gives up a request whose caller has gone; a late answer still goes to its sink, if it has one.
    /// False when it was ended already.
    pub(crate) fn give_up(&self, id: u64) -> bool {
        let mut table = self.lock();
        let Some(entry) = table.open.remove(&id) else { return false };
        if let Some(late) = entry.late {
            table.late.insert(id, late);
            if table.late.len() > MAX_LATE {
                table.late.pop_first();
            }
        }
        true
    }

    /// Ends everything, now and from now on. The first reason stays.
    pub(crate) fn close(&self, reason: &McpError) {
        let open = {
            let mut table = self.lock();
            table.closed.get_or_insert_with(|| reason.clone());
            table.late.clear();
            std::mem::take(&mut table.open)
        };
        for entry in open.into_values() {
            let _ = entry.reply.send(Err(reason.clone()));
        }
    }

    /// Takes no further requests; those that are open go on.
    pub(crate) fn retire(&self, reason: &McpError) {
        self.lock().closed.get_or_insert_with(|| reason.clone());
    }

    /// Why the connection has ended, if it has.
    pub(crate) fn closed(&self) -> Option<McpError> {
        self.lock().closed.clone()
    }

    /// The data stays consistent in every step, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> McpError {
        McpError::Config { upstream: "x".to_owned(), reason: "gone".to_owned() }
    }

    #[test]
    fn only_so_many_late_answers_are_waited_for_and_the_oldest_go_first() {
        let pending = PendingRequests::default();
        let last = MAX_LATE as u64 + 10;
        for id in 1..=last {
            drop(pending.open(id, Some(Box::new(drop))).unwrap());
            assert!(pending.give_up(id));
        }
        let gone = || Err(lost());
        assert_eq!(pending.complete(10, gone()), Delivery::Nowhere);
        assert_eq!(pending.complete(11, gone()), Delivery::Late);
        assert_eq!(pending.complete(11, gone()), Delivery::Nowhere, "it is told once");
        assert_eq!(pending.complete(last, gone()), Delivery::Late);
    }

    #[test]
    fn nothing_is_told_of_a_connection_that_has_ended() {
        let pending = PendingRequests::default();
        drop(pending.open(1, Some(Box::new(drop))).unwrap());
        pending.give_up(1);
        pending.close(&lost());
        assert_eq!(pending.complete(1, Err(lost())), Delivery::Nowhere);
    }
}
