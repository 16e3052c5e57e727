//! Compares the records of all runs with the whole log, to verify a ledger.

use std::collections::HashMap;

use ahash::RandomState;
use weaver_types::ledger::{LedgerError, MAX_PAGE, Record, StoredEvent};
use weaver_types::{EventKind, RunId};

use crate::error::KernelError;
use crate::run_fault::RunFault;
use crate::run_log::{
    RestatedChanges, RunChange, add_restated_changes, parse_header, run_change, unreadable_event,
};
use crate::run_state::{RunDelta, RunState, parse_state};

/// The result of comparing all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunComparison {
    /// The number of runs whose records match their events.
    pub proven: usize,
    /// The number of runs with pruned payloads that the log does not restate, which cannot be
    /// compared.
    pub pruned: usize,
    /// The first run, by id, whose record does not match the log.
    pub first_bad: Option<RunMismatch>,
}

/// A run whose record does not match the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run `{run}`: {fault}")]
pub struct RunMismatch {
    /// The run.
    pub run: RunId,
    /// What is wrong.
    pub fault: RunFault,
}

/// The comparison of one run, while the log is read.
#[derive(Debug, Default)]
struct ComparedRun {
    /// The last event of the run before the records were read, and whether it was changed by then.
    last_before: Option<u64>,
    is_changed: bool,
    /// What the log restates of pruned events.
    restated: RestatedChanges,
    /// Whether the log has events of the run, and the ledger a record.
    in_log: bool,
    has_record: bool,
    /// The state in the record; `None` if it cannot be read.
    stored: Option<RunState>,
    folded_state: RunState,
    /// Whether the record matched the folded state when it was read or later.
    matched: bool,
    payload_missing: bool,
}

type EventPages<'a> = dyn FnMut(u64, usize) -> Result<Vec<StoredEvent>, LedgerError> + 'a;
type RecordPages<'a> = dyn FnMut() -> Result<Vec<(String, Record)>, LedgerError> + 'a;

/// Compares the record of every run with the events of the log. `events` returns a page of events
/// from a number on, `records` the next page of the records of all runs, empty at the end. The log
/// is read twice, before and after the records: in a ledger that is being written, a record may
/// match any state between the two readings.
///
/// ```
/// use weaver_agent_kernel::compare_runs;
///
/// let empty = compare_runs(&mut |_, _| Ok(Vec::new()), &mut || Ok(Vec::new()))?;
/// assert_eq!((empty.proven, empty.first_bad), (0, None));
/// # Ok::<(), weaver_agent_kernel::KernelError>(())
/// ```
///
/// # Errors
/// [`KernelError`], when the ledger cannot be read.
pub fn compare_runs(
    events: &mut EventPages<'_>,
    records: &mut RecordPages<'_>,
) -> Result<RunComparison, KernelError> {
    let mut runs: HashMap<RunId, ComparedRun, RandomState> = HashMap::default();
    for_each_run_event(events, &mut |run, event, kind| {
        let compared = compared_run(&mut runs, run)?;
        compared.in_log = true;
        compared.last_before = Some(event.seq);
        if kind == Some(EventKind::RunRestated) {
            add_restated_changes(event, &mut compared.restated);
        }
        Some(())
    })?;
    loop {
        let page = records()?;
        if page.is_empty() {
            break;
        }
        for (id, record) in page {
            let Some(compared) = compared_run(&mut runs, &id) else { continue };
            compared.has_record = true;
            compared.stored = parse_state(&record.value).ok();
        }
    }
    for_each_run_event(events, &mut |run, event, kind| {
        let compared = compared_run(&mut runs, run)?;
        compared.in_log = true;
        if kind != Some(EventKind::RunRestated) {
            compared.fold(event);
        }
        Some(())
    })?;
    let mut done = RunComparison { proven: 0, pruned: 0, first_bad: None };
    for (run, mut compared) in runs {
        compared.update_match();
        match compared.fault() {
            None => done.proven += 1,
            Some(RunFault::Pruned) => done.pruned += 1,
            Some(fault) => {
                if done.first_bad.as_ref().is_none_or(|bad| run < bad.run) {
                    done.first_bad = Some(RunMismatch { run, fault });
                }
            }
        }
    }
    Ok(done)
}

impl ComparedRun {
    /// Folds the change of an event, or what the log restates of it.
    fn fold(&mut self, event: &StoredEvent) {
        let change = match run_change(event) {
            RunChange::Delta(delta) => Some(*delta),
            RunChange::Unchanged => None,
            RunChange::PayloadMissing => match self.restated.remove(&event.seq) {
                Some(change) => change,
                None => {
                    self.payload_missing = true;
                    None
                }
            },
        };
        if let Some(delta) = change {
            self.apply(event.seq, &delta);
        }
    }

    fn apply(&mut self, seq: u64, delta: &RunDelta) {
        // The record was read after the earlier events were in the log.
        match self.last_before {
            Some(last) if seq <= last => self.is_changed = true,
            _ => self.update_match(),
        }
        self.folded_state = std::mem::take(&mut self.folded_state).apply(delta);
    }

    fn update_match(&mut self) {
        self.matched |= self.stored.as_ref() == Some(&self.folded_state);
    }

    fn fault(&self) -> Option<RunFault> {
        match (self.in_log, self.has_record) {
            (false, _) => Some(RunFault::Planted),
            _ if self.payload_missing => Some(RunFault::Pruned),
            // An event may mention a run that was never updated.
            (true, false) if !self.is_changed => None,
            (true, true) if self.stored.is_none() => Some(RunFault::Unreadable),
            _ => (!self.matched).then_some(RunFault::Differs),
        }
    }
}

/// `None` for an invalid run id.
fn compared_run<'m>(
    runs: &'m mut HashMap<RunId, ComparedRun, RandomState>,
    id: &str,
) -> Option<&'m mut ComparedRun> {
    if !runs.contains_key(id) {
        runs.insert(RunId::parse(id).ok()?, ComparedRun::default());
    }
    runs.get_mut(id)
}

type EventVisitor<'a> = dyn FnMut(&str, &StoredEvent, Option<EventKind>) -> Option<()> + 'a;

/// Passes every event that names a run to `visit`.
fn for_each_run_event(
    events: &mut EventPages<'_>,
    visit: &mut EventVisitor<'_>,
) -> Result<(), KernelError> {
    let mut at = 0;
    loop {
        let page = events(at, MAX_PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        at = last.seq.saturating_add(1);
        for event in &page {
            let header = parse_header(event)?;
            if let Some(run) = header.run {
                let kind = EventKind::parse(&header.kind);
                visit(run.as_ref(), event, kind).ok_or_else(|| unreadable_event(event))?;
            }
        }
    }
}

#[cfg(test)]
mod tests;
