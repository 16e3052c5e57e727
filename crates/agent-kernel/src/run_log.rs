//! Runs against the log: the record of a run counts only as the run's events tell of it.
//!
//! Whoever can write the store can edit a record and correct the sum over the records. What the
//! record says of a run, its label above all, decides what its calls may do. Each step that changes a
//! run commits its record with one event, which says under `run` what was changed; so the record is
//! the fold over these changes, of all that stood in the log when it was read. A record that is
//! edited, planted, removed or put back is another. Only a change of the log itself could hide it,
//! and the log is chained. The same look finds which run each client entered last and what was
//! revoked, of which a record alone could be removed.

mod entries;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use serde::Deserialize;
use weaver_types::ledger::{Ledger, LedgerError, MAX_PAGE, Record, StoredEvent};
use weaver_types::{Digest, EventKind, RunId, Tenant, Timestamp};

use crate::error::KernelError;
use crate::log_tail::MAX_TAIL;
use crate::revocation::LoggedRevocation;
use crate::run_state::{RunDelta, RunState, read};
use entries::RunEntries;

/// Where the events of each run stand, at the end of the log, and what else the log alone can prove.
/// It is built when the first run is read, and goes on when another is.
#[derive(Debug, Default)]
pub(crate) struct RunLog {
    /// The first event that was looked at, and the one behind the last.
    from: u64,
    upto: Option<u64>,
    places: HashMap<RunId, Vec<u64>, RandomState>,
    entries: RunEntries,
    /// What was revoked, until it is asked for.
    revoked: Vec<LoggedRevocation>,
}

/// What the log and the record say of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProvenRun {
    pub(crate) state: RunState,
    /// The version of its record, 0 where there is none.
    pub(crate) version: u64,
    /// Digests of the records of where its values come from, as its events tell them.
    pub(crate) provenance: HashSet<Digest>,
}

impl RunLog {
    /// What is known of a run, after its record was compared with the log. `record` reads the
    /// record.
    pub(crate) fn proven(
        &mut self,
        run: &RunId,
        ledger: &dyn Ledger,
        record: impl FnOnce() -> Result<Option<Record>, LedgerError>,
    ) -> Result<ProvenRun, KernelError> {
        if self.upto.is_none() {
            self.look_on(ledger)?;
        }
        // First the log, then the record: a record that was read later is never behind it.
        let before = self.places.get(run).map_or(0, Vec::len);
        let stored = record()?;
        let (state, version) = match &stored {
            Some(record) => (read(&record.value)?, record.version),
            None => (RunState::default(), 0),
        };
        // Without a record and without events, it begins here.
        if version == 0 && before == 0 {
            return Ok(ProvenRun::default());
        }
        // What came after the last look is in the record, or told of records beside it.
        self.look_on(ledger)?;
        let events = self.run_events(run, ledger, before)?;
        match events.judge(&state, self.from) {
            None => Ok(ProvenRun { state, version, provenance: events.provenance() }),
            Some(fault) => Err(KernelError::Stored {
                what: "a run",
                problem: format!(
                    "{fault}; begin another run, and look at the ledger with `weaver trace verify`"
                ),
            }),
        }
    }

    /// Looks at the log for the first time; gives what it told of as revoked, once.
    pub(crate) fn begin(
        &mut self,
        ledger: &dyn Ledger,
    ) -> Result<Vec<LoggedRevocation>, KernelError> {
        if self.upto.is_none() {
            self.look_on(ledger)?;
        }
        Ok(std::mem::take(&mut self.revoked))
    }

    /// What the events of a run say; `before` of them were known before its record was read.
    fn run_events(
        &self,
        run: &RunId,
        ledger: &dyn Ledger,
        before: usize,
    ) -> Result<RunEvents, KernelError> {
        let mut run_events = RunEvents::default();
        let places = self.places.get(run).map(Vec::as_slice).unwrap_or_default();
        let mut page: Vec<StoredEvent> = Vec::new();
        for (number, seq) in places.iter().enumerate() {
            if page.last().is_none_or(|last| last.seq < *seq) {
                // Events of one run stand close together.
                let ahead = places.get(number..).unwrap_or_default();
                let close = ahead.iter().take_while(|next| **next < seq.saturating_add(NEAR));
                let last = close.last().copied().unwrap_or(*seq);
                let count = usize::try_from(last.saturating_sub(*seq)).unwrap_or(0) + 1;
                page = ledger.events(*seq, count)?;
            }
            let event = page.iter().find(|event| event.seq == *seq);
            let Some(event) = event else { continue };
            run_events.take(event)?;
            if number < before {
                run_events.at_least = run_events.changes.len();
            }
        }
        Ok(run_events)
    }

    /// Looks at the events that came since.
    fn look_on(&mut self, ledger: &dyn Ledger) -> Result<(), KernelError> {
        let size = ledger.head()?.size;
        let first = self.upto.is_none();
        let mut at = self.upto.unwrap_or_else(|| size.saturating_sub(MAX_TAIL));
        if first {
            self.from = at;
        }
        while at < size {
            let count = usize::try_from(size - at).unwrap_or(MAX_PAGE).min(MAX_PAGE);
            let page = ledger.events(at, count)?;
            if page.is_empty() {
                break;
            }
            for event in &page {
                let header = header(event)?;
                match EventKind::parse(&header.kind) {
                    Some(EventKind::RunEntered) => self.entries.enter(event, header.at),
                    Some(EventKind::RunFinished) => self.entries.finish(event, &header),
                    // Later ones were made by this process, which knows them.
                    Some(EventKind::Revoked) if first => {
                        self.revoked.push(LoggedRevocation::read(event, header.at));
                    }
                    _ => {}
                }
                if let Some(run) = header.run {
                    match self.places.get_mut(run.as_ref()) {
                        Some(places) => places.push(event.seq),
                        None => {
                            let run = RunId::parse(run.as_ref()).map_err(|_| unreadable(event))?;
                            self.places.insert(run, vec![event.seq]);
                        }
                    }
                }
                at = event.seq.saturating_add(1);
            }
        }
        self.upto = Some(at);
        self.forget(at);
        Ok(())
    }

    /// Keeps what is known bounded: at least the last [`MAX_TAIL`] events, at most twice as many.
    fn forget(&mut self, size: u64) {
        if size.saturating_sub(self.from) < MAX_TAIL.saturating_mul(2) {
            return;
        }
        self.from = size.saturating_sub(MAX_TAIL);
        self.places.retain(|_, places| {
            places.retain(|seq| *seq >= self.from);
            !places.is_empty()
        });
        self.entries.forget(self.from);
    }

    /// The run that a client entered last, unless it is over, and the time of its last event.
    pub(crate) fn entered(
        &mut self,
        tenant: &Tenant,
        client: &str,
        ledger: &dyn Ledger,
    ) -> Result<Option<(RunId, Timestamp)>, KernelError> {
        self.look_on(ledger)?;
        let Some((run, mut at)) = self.entries.current(tenant, client) else { return Ok(None) };
        if let Some(seq) = self.places.get(&run).and_then(|places| places.last()) {
            let last = ledger.events(*seq, 1)?;
            at = last.first().map(header).transpose()?.map_or(at, |header| header.at.max(at));
        }
        Ok(Some((run, at)))
    }
}

/// Events that are read together at most.
const NEAR: u64 = 64;

/// What the events of one run say.
#[derive(Debug, Default)]
struct RunEvents {
    /// What each step changed, in their order.
    changes: Vec<RunDelta>,
    /// How many of them stood in the log before the record was read.
    at_least: usize,
    /// Whether there are events at all, and whether the first of the run is among them.
    some: bool,
    begun: bool,
    /// Whether the payload of an event is gone, or cannot be read: then nothing can be proven.
    gone: bool,
}

impl RunEvents {
    fn take(&mut self, event: &StoredEvent) -> Result<(), KernelError> {
        self.some = true;
        self.begun |= header(event)?.kind == EventKind::RunStarted.as_str();
        match change(event) {
            Change::None => {}
            Change::Of(delta) => self.changes.push(*delta),
            Change::Gone => self.gone = true,
        }
        Ok(())
    }

    /// Digests of the records of where the values of the run come from.
    fn provenance(&self) -> HashSet<Digest> {
        self.changes.iter().flat_map(|delta| delta.provenance.iter().copied()).collect()
    }

    /// What is wrong with a record, if anything is; events before `from` were not looked at.
    /// The record was read after `at_least` changes, and some more may have come since.
    fn judge(&self, state: &RunState, from: u64) -> Option<RunFault> {
        let cut = from > 0;
        match (self.some, self.gone) {
            (false, _) if !cut => return Some(RunFault::Planted),
            (_, true) => return Some(RunFault::Pruned),
            _ if cut && !self.begun => return Some(RunFault::TooOld),
            _ => {}
        }
        let Some((sure, later)) = self.changes.split_at_checked(self.at_least) else {
            return Some(RunFault::Differs);
        };
        let mut folded = sure.iter().fold(RunState::default(), RunState::after);
        for delta in later {
            if folded == *state {
                return None;
            }
            folded = folded.after(delta);
        }
        (folded != *state).then_some(RunFault::Differs)
    }
}

/// Why the record of a run does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// It says something else than the run's events, less than they do, or is gone.
    #[error(
        "its record is not what its events in the log come to: somebody changed it, removed it or \
         put an older one back"
    )]
    Differs,
    /// The log has no event of it.
    #[error("the log tells of no such run: somebody planted its record")]
    Planted,
    /// Payloads of its events were pruned.
    #[error("payloads of its events were pruned, so its record cannot be compared with the log")]
    Pruned,
    /// It began before the part of the log that is looked at.
    #[error(
        "it began before the last {MAX_TAIL} events, so its record cannot be compared with them"
    )]
    TooOld,
}

/// What an event says of its run.
pub(crate) enum Change {
    None,
    Of(Box<RunDelta>),
    Gone,
}

/// The change under the key `run`, without the rest of the payload. A text there, as in events of
/// approvals, is none.
pub(crate) fn change(event: &StoredEvent) -> Change {
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
    let Some(payload) = &event.payload else { return Change::Gone };
    match serde_json::from_slice::<Payload>(payload) {
        Ok(Payload { run: Some(Run::Delta(delta)) }) => Change::Of(delta),
        Ok(_) => Change::None,
        Err(_) => Change::Gone,
    }
}

/// What is read of a header.
#[derive(Deserialize)]
pub(crate) struct Header<'a> {
    #[serde(borrow, default)]
    pub(crate) run: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    at: Timestamp,
}

fn header(event: &StoredEvent) -> Result<Header<'_>, KernelError> {
    serde_json::from_slice(&event.header).map_err(|_| unreadable(event))
}

/// The run that an event names.
pub(crate) fn run_of(event: &StoredEvent) -> Result<Option<Cow<'_, str>>, KernelError> {
    header(event).map(|header| header.run)
}

pub(crate) fn unreadable(event: &StoredEvent) -> KernelError {
    let problem = format!("number {} has no readable header", event.seq);
    KernelError::Stored { what: "an event", problem }
}

#[cfg(test)]
mod tests;
