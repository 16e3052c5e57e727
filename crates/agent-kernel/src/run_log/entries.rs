//! Which run each client entered last, and which runs are over.

use std::collections::HashMap;

use ahash::RandomState;
use serde::Deserialize;
use weaver_types::ledger::StoredEvent;
use weaver_types::{RunId, Tenant, Timestamp};

use super::Header;

/// What the events tell of clients and their runs.
#[derive(Debug, Default)]
pub(super) struct RunEntries {
    /// By tenant and client: a ledger may have the clients of several tenants.
    entered: HashMap<(Tenant, String), RunEntry, RandomState>,
    /// The last end of each run, by the number of its event.
    finished: HashMap<RunId, u64, RandomState>,
}

#[derive(Debug)]
struct RunEntry {
    run: RunId,
    seq: u64,
    at: Timestamp,
}

/// The payload of an entry.
#[derive(Deserialize)]
struct Payload {
    tenant: Tenant,
    client: String,
    entered: RunId,
}

impl RunEntries {
    /// A client entered a run. Where the payload is pruned nothing is known of it.
    pub(super) fn enter(&mut self, event: &StoredEvent, at: Timestamp) {
        let payload = event.payload.as_deref();
        let read = payload.and_then(|bytes| serde_json::from_slice::<Payload>(bytes).ok());
        if let Some(Payload { tenant, client, entered: run }) = read {
            self.entered.insert((tenant, client), RunEntry { run, seq: event.seq, at });
        }
    }

    /// A run is over.
    pub(super) fn finish(&mut self, event: &StoredEvent, header: &Header<'_>) {
        let run = header.run.as_deref().and_then(|run| RunId::parse(run).ok());
        if let Some(run) = run {
            self.finished.insert(run, event.seq);
        }
    }

    /// The run that a client entered last and when, unless it ended since.
    pub(super) fn current(&self, tenant: &Tenant, client: &str) -> Option<(RunId, Timestamp)> {
        let RunEntry { run, seq, at } = self.entered.get(&(tenant.clone(), client.to_owned()))?;
        let over = self.finished.get(run).is_some_and(|end| end > seq);
        (!over).then(|| (run.clone(), *at))
    }

    /// Drops what was told before this event.
    pub(super) fn forget(&mut self, from: u64) {
        self.entered.retain(|_, entry| entry.seq >= from);
        self.finished.retain(|_, seq| *seq >= from);
    }
}
