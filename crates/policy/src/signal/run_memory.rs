//! A bounded memory by run, which knows what it forgot.

use std::collections::BTreeMap;

use weaver_types::RunId;

/// What is remembered of the runs that were active last. When it is full, the run that was quiet
/// for longest goes.
///
/// What is remembered of one run.
pub(super) struct Recollection<'m, T> {
    pub(super) value: Option<&'m T>,
    /// Whether nothing of the run was missed or forgotten.
    pub(super) complete: bool,
}

/// A forgotten run cannot come back clean: whoever asks says how many calls of the run have
/// finished, and a run that is unknown although calls have finished counts as incomplete. So does
/// one that is met in the middle, as after a restart.
#[derive(Debug)]
pub(super) struct RunMemory<T> {
    limit: usize,
    tick: u64,
    runs: BTreeMap<RunId, Entry<T>>,
    by_age: BTreeMap<u64, RunId>,
}

#[derive(Debug)]
struct Entry<T> {
    age: u64,
    complete: bool,
    value: T,
}

impl<T: Default> RunMemory<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), tick: 0, runs: BTreeMap::new(), by_age: BTreeMap::new() }
    }

    /// What is remembered of this run, to be changed. `finished` is the number of its calls that
    /// had finished before.
    pub(super) fn touch(&mut self, run: &RunId, finished: u64) -> &mut T {
        self.tick += 1;
        if let Some(entry) = self.runs.get(run) {
            self.by_age.remove(&entry.age);
        } else if self.runs.len() >= self.limit
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.runs.remove(&oldest);
        }
        self.by_age.insert(self.tick, run.clone());
        let fresh = || Entry { age: 0, complete: finished == 0, value: T::default() };
        let entry = self.runs.entry(run.clone()).or_insert_with(fresh);
        entry.age = self.tick;
        &mut entry.value
    }

    /// What is remembered of this run, with the number of its finished calls.
    pub(super) fn recall(&self, run: &RunId, finished: u64) -> Recollection<'_, T> {
        match self.runs.get(run) {
            Some(entry) => Recollection { value: Some(&entry.value), complete: entry.complete },
            None => Recollection { value: None, complete: finished == 0 },
        }
    }

    /// Forgets a run that is over.
    pub(super) fn forget(&mut self, run: &RunId) {
        if let Some(entry) = self.runs.remove(run) {
            self.by_age.remove(&entry.age);
        }
    }

    /// What is remembered, run by run.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.runs.values().map(|entry| &entry.value)
    }

    /// How many runs are remembered.
    pub(super) fn len(&self) -> usize {
        debug_assert_eq!(self.runs.len(), self.by_age.len());
        self.runs.len()
    }
}
