//! Matches replies to pending requests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::error::McpError;
use super::message::RpcResult;

type Outcome = Result<RpcResult, McpError>;
/// Receives the answer to a request that nobody waits for any more.
pub(crate) type LateSink = Box<dyn FnOnce(Outcome) + Send + Sync>;

/// Most abandoned requests that may still be answered.
const MAX_LATE_SINKS: usize = 256;

/// The open requests of one connection, by id.
#[derive(Default)]
pub(crate) struct PendingRequests {
    table: Mutex<RequestTable>,
    last_id: AtomicU64,
}

#[derive(Default)]
struct RequestTable {
    open: BTreeMap<u64, OpenRequest>,
    close_reason: Option<McpError>,
    /// Receivers of late answers, by abandoned request.
    late_sinks: BTreeMap<u64, LateSink>,
}

struct OpenRequest {
    reply: oneshot::Sender<Outcome>,
    late_sink: Option<LateSink>,
}

/// Where an answer went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// To its caller.
    Delivered,
    /// To the late-answer sink of an abandoned request.
    DeliveredLate,
    /// Nowhere: it is a duplicate or matches no request.
    Unmatched,
}

impl PendingRequests {
    /// A new id, unique on this connection.
    pub(crate) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// Registers a request. Fails with the close reason if the connection has ended.
    pub(crate) fn open(
        &self,
        id: u64,
        late_sink: Option<LateSink>,
    ) -> Result<oneshot::Receiver<Outcome>, McpError> {
        let mut table = self.lock();
        if let Some(reason) = &table.close_reason {
            return Err(reason.clone());
        }
        let (reply, receiver) = oneshot::channel();
        table.open.insert(id, OpenRequest { reply, late_sink });
        Ok(receiver)
    }

    /// How many requests are open.
    pub(crate) fn open_count(&self) -> usize {
        self.lock().open.len()
    }

    /// Completes a request, or hands the answer of an abandoned one to its late-answer sink.
    pub(crate) fn complete(&self, id: u64, outcome: Outcome) -> Delivery {
        let (entry, late_sink) = {
            let mut table = self.lock();
            (table.open.remove(&id), table.late_sinks.remove(&id))
        };
        let (outcome, late_sink) = match entry {
            Some(entry) => match entry.reply.send(outcome) {
                Ok(()) => return Delivery::Delivered,
                // The caller dropped its receiver at this moment.
                Err(outcome) => (outcome, entry.late_sink),
            },
            None => (outcome, late_sink),
        };
        let Some(late_sink) = late_sink else { return Delivery::Unmatched };
        late_sink(outcome);
        Delivery::DeliveredLate
    }

    /// Fails the requests that a malformed message names. A message that names none could be the answer to any, so it
    /// fails all open requests. Returns how many it failed.
    pub(crate) fn fail(&self, ids: &[u64], error: &McpError) -> usize {
        let entries: Vec<OpenRequest> = {
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

    /// Abandons a request whose caller has gone; its late-answer sink, if any, still gets an answer. False if the
    /// request was no longer open.
    pub(crate) fn abandon(&self, id: u64) -> bool {
        let mut table = self.lock();
        let Some(entry) = table.open.remove(&id) else { return false };
        if let Some(late_sink) = entry.late_sink {
            table.late_sinks.insert(id, late_sink);
            if table.late_sinks.len() > MAX_LATE_SINKS {
                table.late_sinks.pop_first();
            }
        }
        true
    }

    /// Closes the table, for requests that are open and later ones alike. The first reason is kept.
    pub(crate) fn close(&self, reason: &McpError) {
        let open = {
            let mut table = self.lock();
            table.close_reason.get_or_insert_with(|| reason.clone());
            table.late_sinks.clear();
            std::mem::take(&mut table.open)
        };
        for entry in open.into_values() {
            let _ = entry.reply.send(Err(reason.clone()));
        }
    }

    /// Accepts no further requests; open ones continue.
    pub(crate) fn retire(&self, reason: &McpError) {
        self.lock().close_reason.get_or_insert_with(|| reason.clone());
    }

    /// Why the connection has ended, if it has.
    pub(crate) fn close_reason(&self) -> Option<McpError> {
        self.lock().close_reason.clone()
    }

    /// The data stays consistent in every step, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, RequestTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::McpErrorKind;
    use super::*;

    fn lost() -> McpError {
        McpErrorKind::Config { reason: "gone".to_owned() }.at("x")
    }

    #[test]
    fn only_so_many_late_answers_are_waited_for_and_the_oldest_go_first() {
        let pending = PendingRequests::default();
        let last = MAX_LATE_SINKS as u64 + 10;
        for id in 1..=last {
            drop(pending.open(id, Some(Box::new(drop))).unwrap());
            assert!(pending.abandon(id));
        }
        let gone = || Err(lost());
        assert_eq!(pending.complete(10, gone()), Delivery::Unmatched);
        assert_eq!(pending.complete(11, gone()), Delivery::DeliveredLate);
        assert_eq!(pending.complete(11, gone()), Delivery::Unmatched, "it is told once");
        assert_eq!(pending.complete(last, gone()), Delivery::DeliveredLate);
    }

    #[test]
    fn nothing_is_told_of_a_connection_that_has_ended() {
        let pending = PendingRequests::default();
        drop(pending.open(1, Some(Box::new(drop))).unwrap());
        pending.abandon(1);
        pending.close(&lost());
        assert_eq!(pending.complete(1, Err(lost())), Delivery::Unmatched);
    }
}
