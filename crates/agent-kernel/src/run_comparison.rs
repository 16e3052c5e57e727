//! All records of runs against the whole log, for whoever verifies a ledger.

use std::collections::HashMap;

use ahash::RandomState;
use weaver_types::RunId;
use weaver_types::ledger::{LedgerError, MAX_PAGE, Record, StoredEvent};

use crate::error::KernelError;
use crate::run_log::{Change, RunFault, change, run_of, unreadable};
use crate::run_state::{RunState, read};

/// What a comparison of all runs came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunComparison {
    /// Runs whose records are what their events come to.
    pub proven: usize,
    /// Runs of which payloads were pruned: they cannot be compared.
    pub pruned: usize,
    /// The first run, by its id, whose record is not what the log tells.
    pub bad: Option<BadRun>,
}

/// A run whose record does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run `{run}`: {fault}")]
pub struct BadRun {
    /// The run.
    pub run: RunId,
    /// What is wrong.
    pub fault: RunFault,
}

/// What is known of a run while the log is read.
#[derive(Debug, Default)]
struct ComparedRun {
    /// Changes that the log told of before the records were read.
    at_least: u64,
    /// Whether there are events of it, and a record.
    in_log: bool,
    recorded: bool,
    /// What the record says; nothing where it cannot be read.
    stored: Option<RunState>,
    changes: u64,
    folded: RunState,
    /// Whether the record was what the changes came to, when it was read or later.
    matched: bool,
    gone: bool,
}

type Events<'a> = dyn FnMut(u64, usize) -> Result<Vec<StoredEvent>, LedgerError> + 'a;
type Records<'a> = dyn FnMut() -> Result<Vec<(String, Record)>, LedgerError> + 'a;

/// Compares the record of every run with the events of the log. `events` gives a page of events
/// from a number on, `records` the next page of the records of all runs, an empty one at the end. The
/// log is read twice, before the records and after them, so that a ledger that is being written is
/// judged fairly; what is known of each run is kept meanwhile.
///
/// ```
/// use weaver_agent_kernel::compare_runs;
///
/// let empty = compare_runs(&mut |_, _| Ok(Vec::new()), &mut || Ok(Vec::new()))?;
/// assert_eq!((empty.proven, empty.bad), (0, None));
/// # Ok::<(), weaver_agent_kernel::KernelError>(())
/// ```
///
/// # Errors
/// [`KernelError`], when the ledger cannot be read.
pub fn compare_runs(
    events: &mut Events<'_>,
    records: &mut Records<'_>,
) -> Result<RunComparison, KernelError> {
    let mut runs: HashMap<RunId, ComparedRun, RandomState> = HashMap::default();
    each(events, &mut |run, change| {
        let known = entry(&mut runs, run)?;
        known.in_log = true;
        known.at_least += u64::from(matches!(change, Change::Of(_)));
        Some(())
    })?;
    loop {
        let page = records()?;
        if page.is_empty() {
            break;
        }
        for (id, record) in page {
            let Some(known) = entry(&mut runs, &id) else { continue };
            known.recorded = true;
            known.stored = read(&record.value).ok();
        }
    }
    each(events, &mut |run, change| {
        let known = entry(&mut runs, run)?;
        match change {
            Change::Of(delta) => {
                known.compare();
                known.folded = std::mem::take(&mut known.folded).after(&delta);
                known.changes += 1;
            }
            Change::Gone => known.gone = true,
            Change::None => {}
        }
        known.in_log = true;
        Some(())
    })?;
    let mut done = RunComparison { proven: 0, pruned: 0, bad: None };
    for (run, mut known) in runs {
        known.compare();
        match known.judge() {
            None => done.proven += 1,
            Some(RunFault::Pruned) => done.pruned += 1,
            Some(fault) => {
                if done.bad.as_ref().is_none_or(|bad| run < bad.run) {
                    done.bad = Some(BadRun { run, fault });
                }
            }
        }
    }
    Ok(done)
}

impl ComparedRun {
    fn compare(&mut self) {
        self.matched |= self.changes >= self.at_least && self.stored.as_ref() == Some(&self.folded);
    }

    fn judge(&self) -> Option<RunFault> {
        match (self.in_log, self.recorded) {
            (false, _) => Some(RunFault::Planted),
            _ if self.gone => Some(RunFault::Pruned),
            // Others may note something of a run that never took a step.
            (true, false) if self.at_least == 0 => None,
            _ => (!self.matched).then_some(RunFault::Differs),
        }
    }
}

/// `None` for an id that is none: no run of the kernel has it.
fn entry<'m>(
    runs: &'m mut HashMap<RunId, ComparedRun, RandomState>,
    id: &str,
) -> Option<&'m mut ComparedRun> {
    if !runs.contains_key(id) {
        runs.insert(RunId::parse(id).ok()?, ComparedRun::default());
    }
    runs.get_mut(id)
}

/// Shows every event that names a run.
fn each(
    events: &mut Events<'_>,
    see: &mut dyn FnMut(&str, Change) -> Option<()>,
) -> Result<(), KernelError> {
    let mut at = 0;
    loop {
        let page = events(at, MAX_PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        at = last.seq.saturating_add(1);
        for event in &page {
            if let Some(run) = run_of(event)? {
                see(run.as_ref(), change(event)).ok_or_else(|| unreadable(event))?;
            }
        }
    }
}

#[cfg(test)]
mod tests;
