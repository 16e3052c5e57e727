//! Which run each client entered last, and which runs are over.

use std::collections::HashMap;

use ahash::RandomState;
use serde::Deserialize;
use weaver_types::ledger::StoredEvent;
use weaver_types::{RunId, Tenant, Timestamp};

use super::EventHeader;

/// The entries of clients into runs, and the ends of runs, from the log.
#[derive(Debug, Default)]
pub(super) struct ClientEntries {
    /// The last entry by tenant and client: a ledger may have the clients of several tenants.
    by_client: HashMap<(Tenant, String), ClientEntry, RandomState>,
    /// The event number of the last end of each run.
    last_ends: HashMap<RunId, u64, RandomState>,
}

#[derive(Debug)]
struct ClientEntry {
    run: RunId,
    seq: u64,
    at: Timestamp,
}

/// The payload of an entry event.
#[derive(Deserialize)]
struct Payload {
    tenant: Tenant,
    client: String,
    entered: RunId,
}

impl ClientEntries {
    /// Adds the entry of a client into a run. A pruned entry is skipped.
    pub(super) fn add_entry(&mut self, event: &StoredEvent, at: Timestamp) {
        let payload = event.payload.as_deref();
        let read = payload.and_then(|bytes| serde_json::from_slice::<Payload>(bytes).ok());
        if let Some(Payload { tenant, client, entered: run }) = read {
            self.by_client.insert((tenant, client), ClientEntry { run, seq: event.seq, at });
        }
    }

    /// Adds the end of a run.
    pub(super) fn add_end(&mut self, event: &StoredEvent, header: &EventHeader<'_>) {
        let run = header.run.as_deref().and_then(|run| RunId::parse(run).ok());
        if let Some(run) = run {
            self.last_ends.insert(run, event.seq);
        }
    }

    /// The run that a client entered last and when, unless it has ended since.
    pub(super) fn current_run(&self, tenant: &Tenant, client: &str) -> Option<(RunId, Timestamp)> {
        let ClientEntry { run, seq, at } =
            self.by_client.get(&(tenant.clone(), client.to_owned()))?;
        let has_ended = self.last_ends.get(run).is_some_and(|end| end > seq);
        (!has_ended).then(|| (run.clone(), *at))
    }

    /// Drops everything before this event.
    pub(super) fn drop_before(&mut self, from: u64) {
        self.by_client.retain(|_, entry| entry.seq >= from);
        self.last_ends.retain(|_, seq| *seq >= from);
    }
}
