//! Verifies runs against the log: the record of a run counts only if the run's events confirm it.
//!
//! Whoever can write to the store can edit a record and fix the checksum over the records. The
//! record of a run, its label above all, decides what its calls may do. Each update of a run
//! commits the record together with an event that contains the change under `run`, so the record
//! must be the fold over these changes. A record that was edited, planted, removed or rolled back
//! is not. Only a change of the log itself could hide it, and the log is chained. Where payloads
//! were pruned, the log restates what they had changed, in events that are part of the chain and
//! never pruned; a payload that is gone without that is not accepted. The same pass over the log finds which run each client entered last, and what was revoked; a record of these
//! alone could be removed.

mod entries;
mod run_events;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use serde::Deserialize;
use weaver_types::ledger::{Ledger, LedgerError, MAX_PAGE, Record, StoredEvent};
use weaver_types::{Digest, EventKind, RunId, Tenant, Timestamp};

use crate::error::KernelError;
use crate::log_tail::MAX_TAIL_EVENTS;
use crate::revocation::LoggedRevocation;
use crate::run_fault::RunFault;
use crate::run_state::{RunDelta, RunState, parse_state};
use entries::ClientEntries;
use run_events::RunEvents;
pub(crate) use run_events::{RestatedChanges, add_restated_changes};

/// An index of the end of the log: the events of each run, client entries and revocations. It is
/// built when the first run is read, and extended when another is.
#[derive(Debug, Default)]
pub(crate) struct RunLog {
    /// The indexed range of event numbers; the end is exclusive.
    indexed_from: u64,
    indexed_to: Option<u64>,
    event_seqs: HashMap<RunId, Vec<u64>, RandomState>,
    /// The events that restate what pruned events of a run had changed. They are no use of the run.
    restatement_seqs: HashMap<RunId, Vec<u64>, RandomState>,
    entries: ClientEntries,
    /// The revocations found, until they are taken.
    pending_revocations: Vec<LoggedRevocation>,
}

/// A run as its record says, and where its events are. Nothing is verified yet.
#[derive(Debug, Default)]
pub(crate) struct StoredRun {
    state: RunState,
    /// The version of its record, 0 if there is none.
    version: u64,
    event_seqs: Vec<u64>,
    restatement_seqs: Vec<u64>,
    /// How many of the events were in the log before the record was read.
    before: usize,
    indexed_from: u64,
}

impl StoredRun {
    /// Reads the run's events and verifies the record against them.
    pub(crate) fn verify(self, ledger: &dyn Ledger) -> Result<VerifiedRun, KernelError> {
        // Without a record and events, the run starts now.
        if self.version == 0 && self.before == 0 {
            return Ok(VerifiedRun::default());
        }
        let restated = run_events::read_restatements(&self.restatement_seqs, ledger)?;
        let events = RunEvents::read(&self.event_seqs, self.before, restated, ledger)?;
        match events.fault(&self.state, self.indexed_from) {
            None => Ok(VerifiedRun {
                state: self.state,
                version: self.version,
                provenance: events.provenance(),
            }),
            Some(fault) => Err(KernelError::UnprovenRun {
                fault,
                problem: format!(
                    "{fault}; begin another run, and look at the ledger with `weaver trace verify`"
                ),
            }),
        }
    }
}

/// A run whose record was verified against the log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct VerifiedRun {
    pub(crate) state: RunState,
    /// The version of its record, 0 if there is none.
    pub(crate) version: u64,
    /// The digests of its provenance records, from its events.
    pub(crate) provenance: HashSet<Digest>,
}

impl RunLog {
    /// Finds the events of a run and reads its record with `record`.
    pub(crate) fn find_run(
        &mut self,
        run: &RunId,
        ledger: &dyn Ledger,
        record: impl FnOnce() -> Result<Option<Record>, LedgerError>,
    ) -> Result<StoredRun, KernelError> {
        if self.indexed_to.is_none() {
            self.index_new_events(ledger)?;
        }
        // The log is read before the record, so that the record is never older than the events
        // counted here.
        let before = self.event_seqs.get(run).map_or(0, Vec::len);
        let stored = record()?;
        let (state, version) = match &stored {
            Some(record) => {
                let state =
                    parse_state(&record.value).map_err(|error| unreadable_run(run, error))?;
                (state, record.version)
            }
            None => (RunState::default(), 0),
        };
        if version == 0 && before == 0 {
            return Ok(StoredRun::default());
        }
        // Events since the last reading may be in the record, or list provenance records.
        self.index_new_events(ledger)?;
        let event_seqs = self.event_seqs.get(run).cloned().unwrap_or_default();
        let restatement_seqs = self.restatement_seqs.get(run).cloned().unwrap_or_default();
        let indexed_from = self.indexed_from;
        Ok(StoredRun { state, version, event_seqs, restatement_seqs, before, indexed_from })
    }

    /// Indexes the log the first time; returns the revocations found, once.
    pub(crate) fn index_and_take_revocations(
        &mut self,
        ledger: &dyn Ledger,
    ) -> Result<Vec<LoggedRevocation>, KernelError> {
        if self.indexed_to.is_none() {
            self.index_new_events(ledger)?;
        }
        Ok(std::mem::take(&mut self.pending_revocations))
    }

    /// Indexes the events since the last reading.
    fn index_new_events(&mut self, ledger: &dyn Ledger) -> Result<(), KernelError> {
        let size = ledger.head()?.size;
        let first = self.indexed_to.is_none();
        let mut at = self.indexed_to.unwrap_or_else(|| size.saturating_sub(MAX_TAIL_EVENTS));
        if first {
            self.indexed_from = at;
        }
        while at < size {
            let count = usize::try_from(size - at).unwrap_or(MAX_PAGE).min(MAX_PAGE);
            let page = ledger.events(at, count)?;
            if page.is_empty() {
                break;
            }
            for event in &page {
                let header = parse_header(event)?;
                match EventKind::parse(&header.kind) {
                    Some(EventKind::RunEntered) => self.entries.add_entry(event, header.at),
                    Some(EventKind::RunFinished) => self.entries.add_end(event, &header),
                    // Later revocations were made by this process, which knows them.
                    Some(EventKind::Revoked) if first => {
                        self.pending_revocations.push(LoggedRevocation::read(event, header.at));
                    }
                    _ => {}
                }
                if let Some(run) = header.run {
                    let seqs = if header.kind == EventKind::RunRestated.as_str() {
                        &mut self.restatement_seqs
                    } else {
                        &mut self.event_seqs
                    };
                    match seqs.get_mut(run.as_ref()) {
                        Some(places) => places.push(event.seq),
                        None => {
                            let run =
                                RunId::parse(run.as_ref()).map_err(|_| unreadable_event(event))?;
                            seqs.insert(run, vec![event.seq]);
                        }
                    }
                }
                at = event.seq.saturating_add(1);
            }
        }
        self.indexed_to = Some(at);
        self.drop_old_events(at);
        Ok(())
    }

    /// Bounds the index: at least the last [`MAX_TAIL_EVENTS`] events, at most twice as many.
    fn drop_old_events(&mut self, size: u64) {
        if size.saturating_sub(self.indexed_from) < MAX_TAIL_EVENTS.saturating_mul(2) {
            return;
        }
        self.indexed_from = size.saturating_sub(MAX_TAIL_EVENTS);
        for seqs in [&mut self.event_seqs, &mut self.restatement_seqs] {
            seqs.retain(|_, places| {
                places.retain(|seq| *seq >= self.indexed_from);
                !places.is_empty()
            });
        }
        self.entries.drop_before(self.indexed_from);
    }

    /// The run that a client entered last, with the time of its last event; `None` when that run is
    /// over.
    pub(crate) fn entered_run(
        &mut self,
        tenant: &Tenant,
        client: &str,
        ledger: &dyn Ledger,
    ) -> Result<Option<(RunId, Timestamp)>, KernelError> {
        self.index_new_events(ledger)?;
        let Some((run, mut at)) = self.entries.current_run(tenant, client) else { return Ok(None) };
        if let Some(seq) = self.event_seqs.get(&run).and_then(|places| places.last()) {
            let last = ledger.events(*seq, 1)?;
            at = last.first().map(parse_header).transpose()?.map_or(at, |header| header.at.max(at));
        }
        Ok(Some((run, at)))
    }
}

/// The record of a run that cannot be read: the run is denied, and no other.
fn unreadable_run(run: &RunId, error: KernelError) -> KernelError {
    match error {
        KernelError::StoredRecord { problem, .. } => KernelError::UnprovenRun {
            fault: RunFault::Unreadable,
            problem: format!(
                "the record of `{run}`: {problem}; begin another run (`weaver approve end-run \
                 {run}` ends this one), and look at the ledger with `weaver trace verify`"
            ),
        },
        other => other,
    }
}

/// What an event changes in its run.
pub(crate) enum RunChange {
    Unchanged,
    Delta(Box<RunDelta>),
    PayloadMissing,
}

/// Reads the change under the key `run` without the rest of the payload. A text under that key, as
/// in events of approvals, is no change.
pub(crate) fn run_change(event: &StoredEvent) -> RunChange {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Run {
        Delta(Box<RunDelta>),
        Other(serde::de::IgnoredAny),
    }
    #[derive(Deserialize)]
    struct Payload {
        run: Option<Run>,
    }
    let Some(payload) = &event.payload else { return RunChange::PayloadMissing };
    match serde_json::from_slice::<Payload>(payload) {
        Ok(Payload { run: Some(Run::Delta(delta)) }) => RunChange::Delta(delta),
        Ok(_) => RunChange::Unchanged,
        Err(_) => RunChange::PayloadMissing,
    }
}

/// The fields of an event header that are used here.
#[derive(Deserialize)]
pub(crate) struct EventHeader<'a> {
    #[serde(borrow, default)]
    pub(crate) run: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) call: Option<Cow<'a, str>>,
    pub(crate) at: Timestamp,
}

pub(crate) fn parse_header(event: &StoredEvent) -> Result<EventHeader<'_>, KernelError> {
    serde_json::from_slice(&event.header).map_err(|_| unreadable_event(event))
}

pub(crate) fn unreadable_event(event: &StoredEvent) -> KernelError {
    let problem = format!("number {} has no readable header", event.seq);
    KernelError::StoredRecord { what: "an event", problem }
}

#[cfg(test)]
mod tests;
