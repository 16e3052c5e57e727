//! One walk over the log.

use std::collections::BTreeMap;

use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{
    Batch, Durability, Ledger, LedgerError, MAX_BATCH_PRUNE, NewEvent, RecordKey, StoredEvent,
};
use weaver_types::{EventKind, Tenant, Timestamp};

use super::rule::{RetentionVerdict, age};
use super::{Retention, RetentionError, position};
use crate::entry::Header;
use crate::prune::{Note, Reason, named};

/// Events read at once: 16 MiB of payloads at most.
const PAGE: usize = 64;
/// Events that one step looks at.
const LOOKED: u64 = 8_192;
/// Bytes of payloads that one step removes, beside those of one event.
const BYTES: u64 = 16 * 1024 * 1024;

/// A walk over the log under a [`Retention`], as of one moment.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use weaver_trace_store::MemoryLedger;
/// # use weaver_types::{LogId, OsRandom, Tenant, Timestamp};
/// use weaver_trace_store::retention::{LEAST_AGE, Retention, Rule, Sweep, SweepTally};
///
/// # let ledger = MemoryLedger::new(LogId::parse("log_example")?, Arc::new(OsRandom));
/// let year = Duration::from_secs(365 * 24 * 60 * 60);
/// let retention = Retention::new(vec![Rule::older_than(year)], LEAST_AGE)?;
/// let now = Timestamp::from_micros(1_700_000_000_000_000);
/// let mut sweep = Sweep::resume(&ledger, retention, "operator", now)?;
/// let mut tally = SweepTally::default();
/// while let Some(step) = sweep.step(&ledger, &[Tenant::default()])? {
///     tally.add(&sweep.commit(&ledger, step)?); // leave this out for a dry run
/// }
/// assert_eq!(tally.total(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sweep {
    retention: Retention,
    by: String,
    now: Timestamp,
    key: RecordKey,
    stored: u64,
    at: u64,
    end: u64,
    /// The first event that a later sweep has to look at again.
    again: Option<u64>,
    /// Where the first step begins that was made and not committed.
    held: Option<u64>,
}

/// What one step of a sweep prunes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    looked: u64,
    pruned: BTreeMap<u64, Reason>,
    bytes: u64,
    kept: BTreeMap<u64, String>,
    first: u64,
    next: u64,
}

impl Step {
    /// How many events it looked at.
    #[must_use]
    pub fn looked(&self) -> u64 {
        self.looked
    }

    /// The events whose payloads go, and why.
    #[must_use]
    pub fn pruned(&self) -> &BTreeMap<u64, Reason> {
        &self.pruned
    }

    /// The bytes of these payloads.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The events whose payloads would go, and why they stay for now.
    #[must_use]
    pub fn kept(&self) -> &BTreeMap<u64, String> {
        &self.kept
    }

    /// The first event after those that it looked at.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    fn batch(&self, sweep: &Sweep) -> Result<Batch, RetentionError> {
        let mut batch = Batch::new(Durability::Disk);
        let mut reasons: BTreeMap<Reason, Vec<u64>> = BTreeMap::new();
        for (seq, reason) in &self.pruned {
            reasons.entry(*reason).or_default().push(*seq);
        }
        for (reason, seqs) in reasons {
            batch.prune.extend(&seqs);
            let payload = Note::of(seqs, reason, sweep.by.as_str())?.to_bytes()?.into();
            let (kind, at) = (EventKind::Pruned, sweep.now);
            batch = batch.with_event(NewEvent { kind, at, run: None, call: None, payload });
        }
        Ok(batch)
    }
}

impl Sweep {
    /// A sweep from where the last one under the same retention came to. `by` is who prunes: it
    /// is recorded, and never pruned.
    ///
    /// # Errors
    /// [`RetentionError`], when the ledger cannot be read or `by` cannot be recorded.
    pub fn resume(
        ledger: &dyn Ledger,
        retention: Retention,
        by: &str,
        now: Timestamp,
    ) -> Result<Self, RetentionError> {
        Note::of(vec![0], Reason::Age, by)?;
        let key = position::key(&retention)?;
        let (at, end) = (position::read(ledger, &key)?, ledger.head()?.size);
        let by = by.to_owned();
        Ok(Self { retention, by, now, key, stored: at, at, end, again: None, held: None })
    }

    /// How far it is: events looked at or passed over, and all that there were when it began.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.at.min(self.end), self.end)
    }

    /// Looks at the next events; `None` at the end. `tenants` are those whose open calls and
    /// requests are looked up beforehand; the ledger itself looks at all of them.
    ///
    /// # Errors
    /// [`RetentionError`], when the ledger cannot be read.
    pub fn step(
        &mut self,
        ledger: &dyn Ledger,
        tenants: &[Tenant],
    ) -> Result<Option<Step>, RetentionError> {
        let Some(youngest) = self.retention.youngest() else { return Ok(None) };
        let mut step = Step { first: self.at, ..Step::default() };
        while self.at < self.end && step.looked < LOOKED && step.bytes < BYTES {
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let left_in_batch = MAX_BATCH_PRUNE - step.pruned.len();
            let page = ledger.events(self.at, PAGE.min(left).min(left_in_batch))?;
            if page.is_empty() {
                break;
            }
            for event in page {
                let header = read(&event)?;
                if age(header.at, self.now) < youngest {
                    // Times only grow: nothing behind it is older.
                    self.end = self.at;
                    break;
                }
                self.look(ledger, tenants, &event, &header, &mut step)?;
                self.at += 1;
                step.looked += 1;
            }
        }
        step.next = self.at;
        if step.looked == 0 {
            return Ok(None);
        }
        if !step.pruned.is_empty() {
            self.held.get_or_insert(step.first);
        }
        Ok(Some(step))
    }

    fn look(
        &mut self,
        ledger: &dyn Ledger,
        tenants: &[Tenant],
        event: &StoredEvent,
        header: &Header,
        step: &mut Step,
    ) -> Result<(), RetentionError> {
        let Some(bytes) = &event.payload else { return Ok(()) };
        let payload = canonical::parse(bytes, Profile::Record)
            .map_err(|_| damaged(event.seq, "its payload is no JSON"))?;
        match self.retention.fate(header, &payload, self.now) {
            RetentionVerdict::Stays => {}
            RetentionVerdict::Later => self.look_again(event.seq),
            RetentionVerdict::Goes(reason) => match open(ledger, tenants, header, &payload)? {
                Some(key) => self.keep(step, event.seq, format!("the record {key} stands")),
                None => {
                    step.pruned.insert(event.seq, reason);
                    step.bytes = step.bytes.saturating_add(bytes.len().try_into().unwrap_or(0));
                }
            },
        }
        Ok(())
    }

    fn look_again(&mut self, seq: u64) {
        self.again = Some(self.again.map_or(seq, |again| again.min(seq)));
    }

    fn keep(&mut self, step: &mut Step, seq: u64, why: String) {
        step.pruned.remove(&seq);
        step.kept.insert(seq, why);
        self.look_again(seq);
    }

    /// Prunes what a step names, and notes how far it came, in one commit. What the ledger keeps
    /// stays out of it: the step that comes back says what went.
    ///
    /// # Errors
    /// [`RetentionError`], when the ledger refuses it for another reason.
    pub fn commit(&mut self, ledger: &dyn Ledger, mut step: Step) -> Result<Step, RetentionError> {
        loop {
            let mut batch = step.batch(self)?;
            let held = self.held.filter(|held| *held != step.first);
            let next = [self.again, held].into_iter().flatten().fold(step.next, u64::min);
            if next > self.stored {
                batch.put.push(position::put(&self.key, next)?);
            }
            match ledger.commit(batch).wait() {
                Ok(_) => {
                    self.stored = self.stored.max(next);
                    self.held = held;
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

fn read(event: &StoredEvent) -> Result<Header, RetentionError> {
    Header::parse(&event.header).map_err(|error| damaged(event.seq, &error.to_string()))
}

fn damaged(seq: u64, what: &str) -> RetentionError {
    LedgerError::Damaged(format!("event {seq}: {what}")).into()
}

/// The first record that keeps an event.
fn open(
    ledger: &dyn Ledger,
    tenants: &[Tenant],
    header: &Header,
    payload: &serde_json::Value,
) -> Result<Option<RecordKey>, LedgerError> {
    for (namespace, id) in named(header, payload) {
        for tenant in tenants {
            let key = RecordKey::new(tenant.clone(), namespace, id);
            if id.len() <= crate::limits::MAX_KEY && ledger.read(&key)?.is_some() {
                return Ok(Some(key));
            }
        }
    }
    Ok(None)
}
