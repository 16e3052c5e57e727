//! One pass over the log.

use std::collections::BTreeMap;
use std::time::Duration;

use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{
    Batch, Durability, Ledger, LedgerError, MAX_BATCH_PRUNE, NewEvent, RecordKey, StoredEvent,
};
use weaver_types::{EventKind, Tenant, Timestamp};

use super::pruned_runs::{PrunedRuns, run_change};
use super::rule::age;
use super::{Retention, RetentionError, position};
use crate::entry::EventHeader;
use crate::prune::{
    MAX_RESTATED_CHANGE, PruneReason, PruningNote, PruningNoteError, protecting_records,
    size_of_change,
};

/// Events read at once: at most 16 MiB of payloads.
const PAGE: usize = 64;
/// The most events that one step examines.
const MAX_STEP_EVENTS: u64 = 8_192;
/// The most bytes of payloads that one step removes, not counting its last event.
const MAX_STEP_BYTES: u64 = 16 * 1024 * 1024;
/// The most runs of which one step prunes, not counting those of its last page. Each takes an event
/// of its own, or more where its changes are long, and a batch has a limit of events.
const MAX_STEP_RUNS: usize = 640;

/// A pass over the log under a [`Retention`], as of one point in time.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use weaver_trace_store::MemoryLedger;
/// # use weaver_types::{LogId, OsRandom, Tenant, Timestamp};
/// use weaver_trace_store::retention::{MIN_AGE, Retention, RetentionRule, RetentionSweep, SweepTally};
///
/// # let ledger = MemoryLedger::new(LogId::parse("log_example")?, Arc::new(OsRandom));
/// let year = Duration::from_secs(365 * 24 * 60 * 60);
/// let retention = Retention::new(vec![RetentionRule::older_than(year)], MIN_AGE)?;
/// let now = Timestamp::from_micros(1_700_000_000_000_000);
/// let mut sweep = RetentionSweep::resume(&ledger, retention, "operator", now)?;
/// let mut tally = SweepTally::default();
/// while let Some(step) = sweep.step(&ledger, &[Tenant::default()])? {
///     tally.add(&sweep.commit(&ledger, step)?); // leave this out for a dry run
/// }
/// assert_eq!(tally.total(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RetentionSweep {
    retention: Retention,
    by: String,
    now: Timestamp,
    /// One pass for each age, the highest first; those before `current` have ended.
    passes: Vec<AgePass>,
    current: usize,
    at: u64,
    end: u64,
}

/// The part of a sweep over the events of at least one age of the retention.
///
/// An event has to be examined when it reaches an age at which a rule may apply, and at no other
/// time. Each age has its position in the log, and none has to return over it: an event that is too
/// young for another rule is examined in the pass of a higher age, when it has that age.
#[derive(Debug)]
struct AgePass {
    age: Duration,
    key: RecordKey,
    stored: u64,
    /// The first event that a later sweep must examine again, because a record protects it.
    first_pending: Option<u64>,
    /// The beginning of the first step with pruning that was made but not committed.
    first_uncommitted: Option<u64>,
}

impl AgePass {
    fn revisit_from(&mut self, seq: u64) {
        self.first_pending = Some(self.first_pending.map_or(seq, |first| first.min(seq)));
    }
}

/// What one step of a sweep prunes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SweepStep {
    examined: u64,
    pruned: BTreeMap<u64, PruneReason>,
    bytes: u64,
    kept: BTreeMap<u64, String>,
    runs: PrunedRuns,
    first: u64,
    next: u64,
    /// The place of its pass in the sweep.
    pass: usize,
}

impl SweepStep {
    /// How many events it examined.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// The events whose payloads it prunes, and why.
    #[must_use]
    pub fn pruned(&self) -> &BTreeMap<u64, PruneReason> {
        &self.pruned
    }

    /// The size of these payloads in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The events whose payloads should go, and why they are kept for now.
    #[must_use]
    pub fn kept(&self) -> &BTreeMap<u64, String> {
        &self.kept
    }

    /// The first event after those that it examined.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    fn batch(&self, sweep: &RetentionSweep) -> Result<Batch, RetentionError> {
        let mut batch = Batch::new(Durability::Disk);
        let mut reasons: BTreeMap<PruneReason, Vec<u64>> = BTreeMap::new();
        for (seq, reason) in &self.pruned {
            reasons.entry(*reason).or_default().push(*seq);
        }
        for (reason, seqs) in reasons {
            batch.prune.extend(&seqs);
            let payload = PruningNote::new(seqs, reason, sweep.by.as_str())?.to_bytes()?.into();
            let (kind, at) = (EventKind::Pruned, sweep.now);
            batch = batch.with_event(NewEvent { kind, at, run: None, call: None, payload });
        }
        for (run, restatement) in self.runs.restatements() {
            let (kind, at, run) = (EventKind::RunRestated, sweep.now, Some(run.clone()));
            let bytes = restatement.to_bytes();
            let payload = bytes.ok_or(PruningNoteError::Form)?.into();
            batch = batch.with_event(NewEvent { kind, at, run, call: None, payload });
        }
        Ok(batch)
    }
}

impl RetentionSweep {
    /// Continues where the last sweep under the same retention stopped. `by` is who prunes; it is
    /// recorded and never pruned.
    ///
    /// # Errors
    /// [`RetentionError`], when the ledger cannot be read or `by` cannot be recorded.
    pub fn resume(
        ledger: &dyn Ledger,
        retention: Retention,
        by: &str,
        now: Timestamp,
    ) -> Result<Self, RetentionError> {
        PruningNote::new(vec![0], PruneReason::Age, by)?;
        let mut passes = Vec::new();
        for age in retention.ages() {
            let key = position::key(&retention, Some(age).filter(|_| !passes.is_empty()))?;
            let stored = position::read(ledger, &key)?;
            passes.push(AgePass { age, key, stored, first_pending: None, first_uncommitted: None });
        }
        let (at, end) = (passes.first().map_or(0, |pass| pass.stored), ledger.head()?.size);
        Ok(Self { retention, by: by.to_owned(), now, passes, current: 0, at, end })
    }

    /// The progress: events done, and the size of the log when the sweep began.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.at.min(self.end), self.end)
    }

    /// Examines the next events; `None` at the end. `tenants` are those whose open calls and
    /// approval requests are checked here, so that the step can report them; the ledger checks all
    /// tenants.
    ///
    /// # Errors
    /// [`RetentionError`], when the ledger cannot be read.
    pub fn step(
        &mut self,
        ledger: &dyn Ledger,
        tenants: &[Tenant],
    ) -> Result<Option<SweepStep>, RetentionError> {
        while let Some(age) = self.passes.get(self.current).map(|pass| pass.age) {
            let step = self.step_of_pass(ledger, tenants, age)?;
            if step.examined > 0 {
                return Ok(Some(step));
            }
            self.current += 1;
            // What was examined in this pass is done for lower ages too.
            let next = self.passes.get(self.current).map_or(0, |pass| pass.stored);
            self.at = self.at.max(next);
        }
        Ok(None)
    }

    /// Examines the next events of at least this age.
    fn step_of_pass(
        &mut self,
        ledger: &dyn Ledger,
        tenants: &[Tenant],
        least: Duration,
    ) -> Result<SweepStep, RetentionError> {
        let mut step = SweepStep { first: self.at, pass: self.current, ..SweepStep::default() };
        let mut pass_ended = false;
        while !pass_ended
            && self.at < self.end
            && step.examined < MAX_STEP_EVENTS
            && step.bytes < MAX_STEP_BYTES
            && step.runs.len() < MAX_STEP_RUNS
        {
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let left_in_batch = MAX_BATCH_PRUNE - step.pruned.len();
            let page = ledger.events(self.at, PAGE.min(left).min(left_in_batch))?;
            if page.is_empty() {
                break;
            }
            for event in page {
                let header = parse_header(&event)?;
                if age(header.at, self.now) < least {
                    // Times never decrease, so everything after this event is younger still.
                    pass_ended = true;
                    break;
                }
                self.examine(ledger, tenants, &event, &header, &mut step)?;
                self.at += 1;
                step.examined += 1;
            }
        }
        step.next = self.at;
        if pass_ended && self.current.saturating_add(1) == self.passes.len() {
            self.end = self.at;
        }
        if !step.pruned.is_empty()
            && let Some(pass) = self.passes.get_mut(self.current)
        {
            pass.first_uncommitted.get_or_insert(step.first);
        }
        Ok(step)
    }

    fn examine(
        &mut self,
        ledger: &dyn Ledger,
        tenants: &[Tenant],
        event: &StoredEvent,
        header: &EventHeader,
        step: &mut SweepStep,
    ) -> Result<(), RetentionError> {
        step.runs.note_event(header);
        let Some(bytes) = &event.payload else { return Ok(()) };
        let payload = canonical::parse(bytes, Profile::Record)
            .map_err(|_| damaged(event.seq, "its payload is not JSON"))?;
        let Some(reason) = self.retention.due_reason(header, &payload, self.now) else {
            return Ok(());
        };
        let change = run_change(&payload);
        let is_too_long =
            change.as_ref().is_some_and(|change| size_of_change(change) > MAX_RESTATED_CHANGE);
        match protecting_record(ledger, tenants, header, &payload)? {
            Some(key) => self.keep(step, event.seq, format!("the record {key} stands")),
            None if is_too_long => {
                step.kept.insert(event.seq, "its run cannot be compared without it".to_owned());
            }
            None => {
                if let Some(run) = &header.run {
                    step.runs.add(run, event.seq, change);
                }
                step.pruned.insert(event.seq, reason);
                step.bytes = step.bytes.saturating_add(bytes.len().try_into().unwrap_or(0));
            }
        }
        Ok(())
    }

    fn keep(&mut self, step: &mut SweepStep, seq: u64, why: String) {
        step.pruned.remove(&seq);
        step.runs.remove(seq);
        step.kept.insert(seq, why);
        if let Some(pass) = self.passes.get_mut(step.pass) {
            pass.revisit_from(seq);
        }
    }

    /// Prunes the events of a step and stores the position, in one commit. Events that the ledger
    /// protects are taken out; the returned step contains what was pruned.
    ///
    /// # Errors
    /// [`RetentionError`], when the ledger refuses the batch for another reason.
    pub fn commit(
        &mut self,
        ledger: &dyn Ledger,
        mut step: SweepStep,
    ) -> Result<SweepStep, RetentionError> {
        loop {
            let mut batch = step.batch(self)?;
            let Some(pass) = self.passes.get_mut(step.pass) else { return Ok(step) };
            let first_uncommitted = pass.first_uncommitted.filter(|first| *first != step.first);
            let next = [pass.first_pending, first_uncommitted]
                .into_iter()
                .flatten()
                .fold(step.next, u64::min);
            if next > pass.stored {
                batch.put.push(position::put(&pass.key, next)?);
            }
            match ledger.commit(batch).wait() {
                Ok(_) => {
                    pass.stored = pass.stored.max(next);
                    pass.first_uncommitted = first_uncommitted;
                    return Ok(step);
                }
                Err(LedgerError::Kept { seq, why }) if step.pruned.contains_key(&seq) => {
                    self.keep(&mut step, seq, why);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn parse_header(event: &StoredEvent) -> Result<EventHeader, RetentionError> {
    EventHeader::parse(&event.header).map_err(|error| damaged(event.seq, &error.to_string()))
}

fn damaged(seq: u64, what: &str) -> RetentionError {
    LedgerError::Damaged(format!("event {seq}: {what}")).into()
}

/// The first record that protects an event, if any.
fn protecting_record(
    ledger: &dyn Ledger,
    tenants: &[Tenant],
    header: &EventHeader,
    payload: &serde_json::Value,
) -> Result<Option<RecordKey>, LedgerError> {
    for (namespace, id) in protecting_records(header, payload) {
        for tenant in tenants {
            let key = RecordKey::new(tenant.clone(), namespace, id);
            if id.len() <= crate::limits::MAX_KEY && ledger.read(&key)?.is_some() {
                return Ok(Some(key));
            }
        }
    }
    Ok(None)
}
