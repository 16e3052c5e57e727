//! Which reply belongs to which request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;

use super::call::{Progress, ProgressSink};
use super::error::McpError;
use super::message::Answer;

type Outcome = Result<Answer, McpError>;

/// The open requests of one connection, by id.
#[derive(Default)]
pub(crate) struct Pending {
    table: Mutex<Table>,
    last: AtomicU64,
}

#[derive(Default)]
struct Table {
    open: BTreeMap<u64, Entry>,
    closed: Option<McpError>,
}

struct Entry {
    reply: oneshot::Sender<Outcome>,
    progress: Option<ProgressSink>,
}

impl Pending {
    /// A new id, unique on this connection.
    pub(crate) fn next_id(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// Opens a request. Fails with the reason when the connection has ended.
    pub(crate) fn open(
        &self,
        id: u64,
        progress: Option<ProgressSink>,
    ) -> Result<oneshot::Receiver<Outcome>, McpError> {
        let mut table = self.lock();
        if let Some(reason) = &table.closed {
            return Err(reason.clone());
        }
        let (reply, receiver) = oneshot::channel();
        table.open.insert(id, Entry { reply, progress });
        Ok(receiver)
    }

    /// Ends a request. False when no such request is open: late, double or made up.
    pub(crate) fn complete(&self, id: u64, outcome: Outcome) -> bool {
        let entry = self.lock().open.remove(&id);
        entry.is_some_and(|entry| entry.reply.send(outcome).is_ok())
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

    /// Forgets a request whose caller has gone. False when it was ended already.
    pub(crate) fn forget(&self, id: u64) -> bool {
        self.lock().open.remove(&id).is_some()
    }

    /// Ends everything, now and from now on. The first reason stays.
    pub(crate) fn close(&self, reason: &McpError) {
        let open = {
            let mut table = self.lock();
            table.closed.get_or_insert_with(|| reason.clone());
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

    /// Hands progress to the call that its token names. False when there is none.
    pub(crate) fn progress(&self, params: &Value) -> bool {
        let Some(token) = params.get("progressToken").and_then(token) else { return false };
        let sink = self.lock().open.get(&token).and_then(|entry| entry.progress.clone());
        let (Some(sink), Some(progress)) = (sink, read_progress(params)) else { return false };
        sink(progress);
        true
    }

    /// The data stays consistent in every step, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn token(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The content of a progress notification; none when `progress` is no number.
pub(crate) fn read_progress(params: &Value) -> Option<Progress> {
    Some(Progress {
        progress: params.get("progress")?.as_f64()?,
        total: params.get("total").and_then(Value::as_f64),
        message: params.get("message").and_then(Value::as_str).map(str::to_owned),
    })
}
