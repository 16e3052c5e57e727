//! The changes in the events of one run.

use std::collections::{BTreeMap, HashSet};

use weaver_trace_store::prune::RunRestatement;
use weaver_types::ledger::{Ledger, StoredEvent};
use weaver_types::{Digest, EventKind};

use super::{RunChange, RunFault, parse_header, run_change};
use crate::error::KernelError;
use crate::run_state::{RunDelta, RunState};

/// The largest distance between events of a run that are read together.
const MAX_SEQ_DISTANCE: u64 = 64;

/// What pruned events of a run had changed, by event number; `None` where that was nothing.
pub(crate) type RestatedChanges = BTreeMap<u64, Option<RunDelta>>;

/// Reads the events with these numbers, which restate what pruned events of a run had changed.
pub(super) fn read_restatements(
    seqs: &[u64],
    ledger: &dyn Ledger,
) -> Result<RestatedChanges, KernelError> {
    let mut restated = RestatedChanges::new();
    for seq in seqs {
        for event in ledger.events(*seq, 1)?.iter().filter(|event| event.seq == *seq) {
            add_restated_changes(event, &mut restated);
        }
    }
    Ok(restated)
}

/// Adds what an event restates. One that cannot be read, or that restates later events, tells
/// nothing of these: they then count as pruned.
pub(crate) fn add_restated_changes(event: &StoredEvent, restated: &mut RestatedChanges) {
    let read = event.payload.as_deref().and_then(RunRestatement::parse);
    for (seq, change) in read.map(RunRestatement::into_changes).unwrap_or_default() {
        let change = change.map(serde_json::from_value::<RunDelta>).transpose();
        if let Ok(change) = change
            && seq < event.seq
        {
            restated.insert(seq, change);
        }
    }
}

/// The changes in the events of one run.
#[derive(Debug, Default)]
pub(super) struct RunEvents {
    /// The changes, in order.
    pub(super) changes: Vec<RunDelta>,
    /// How many of the changes were in the log before the record was read.
    pub(super) min_changes: usize,
    /// Whether there are events at all, and whether the start event is among them.
    pub(super) has_events: bool,
    pub(super) has_start: bool,
    /// What is known of the events whose payload is gone.
    pub(super) restated: RestatedChanges,
    /// Whether the payload of an event is unreadable, or gone and not restated: then the record
    /// cannot be verified.
    pub(super) payload_missing: bool,
}

impl RunEvents {
    /// Reads the events with these numbers; the first `before` of them were indexed before the
    /// record of their run was read.
    pub(super) fn read(
        event_seqs: &[u64],
        before: usize,
        restated: RestatedChanges,
        ledger: &dyn Ledger,
    ) -> Result<Self, KernelError> {
        let mut run_events = Self { restated, ..Self::default() };
        let mut page: Vec<StoredEvent> = Vec::new();
        for (number, seq) in event_seqs.iter().enumerate() {
            if page.last().is_none_or(|last| last.seq < *seq) {
                // Events of one run are close together, so one page often has several of them.
                let ahead = event_seqs.get(number..).unwrap_or_default();
                let close =
                    ahead.iter().take_while(|next| **next < seq.saturating_add(MAX_SEQ_DISTANCE));
                let last = close.last().copied().unwrap_or(*seq);
                let count = usize::try_from(last.saturating_sub(*seq)).unwrap_or(0) + 1;
                page = ledger.events(*seq, count)?;
            }
            let event = page.iter().find(|event| event.seq == *seq);
            let Some(event) = event else { continue };
            run_events.add(event)?;
            if number < before {
                run_events.min_changes = run_events.changes.len();
            }
        }
        Ok(run_events)
    }

    pub(super) fn add(&mut self, event: &StoredEvent) -> Result<(), KernelError> {
        self.has_events = true;
        self.has_start |= parse_header(event)?.kind == EventKind::RunStarted.as_str();
        match run_change(event) {
            RunChange::Unchanged => {}
            RunChange::Delta(delta) => self.changes.push(*delta),
            RunChange::PayloadMissing => match self.restated.remove(&event.seq) {
                Some(change) => self.changes.extend(change),
                None => self.payload_missing = true,
            },
        }
        Ok(())
    }

    /// The digests of the run's provenance records.
    pub(super) fn provenance(&self) -> HashSet<Digest> {
        self.changes.iter().flat_map(|delta| delta.provenance.iter().copied()).collect()
    }

    /// What is wrong with a record, if anything; events before `from` were not read.
    ///
    /// The record was read after `min_changes` changes, and more may have been committed since: it
    /// must equal the fold over that many changes or more.
    pub(super) fn fault(&self, state: &RunState, from: u64) -> Option<RunFault> {
        let cut = from > 0;
        match (self.has_events, self.payload_missing) {
            (false, _) if !cut => return Some(RunFault::Planted),
            (_, true) => return Some(RunFault::Pruned),
            _ if cut && !self.has_start => return Some(RunFault::TooOld),
            _ => {}
        }
        let Some((certain, later)) = self.changes.split_at_checked(self.min_changes) else {
            return Some(RunFault::Differs);
        };
        let mut folded = certain.iter().fold(RunState::default(), RunState::apply);
        for delta in later {
            if folded == *state {
                return None;
            }
            folded = folded.apply(delta);
        }
        (folded != *state).then_some(RunFault::Differs)
    }
}
