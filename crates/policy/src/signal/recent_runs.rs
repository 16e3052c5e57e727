//! A bounded least-recently-used map by run that knows when something was forgotten.

use std::collections::BTreeMap;

use weaver_types::RunId;

///
/// The remembered state of one run.
pub(super) struct RememberedRun<'m, T> {
    pub(super) value: Option<&'m T>,
    /// Whether nothing about the run was missed or forgotten.
    pub(super) complete: bool,
}

/// State of the most recently active runs. When it is full, the least recently active run is
/// dropped. A dropped run cannot come back as a clean one: callers state how many calls of the run
/// have finished, and an unknown run with finished calls counts as incomplete. So does a run that
/// is first seen midway, as after a restart.
#[derive(Debug)]
pub(super) struct RecentRuns<T> {
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

impl<T: Default> RecentRuns<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), tick: 0, runs: BTreeMap::new(), by_age: BTreeMap::new() }
    }

    /// The state of this run for modification; created if missing. `finished` is the number of its
    /// calls that had finished before.
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
        let new_entry = || Entry { age: 0, complete: finished == 0, value: T::default() };
        let entry = self.runs.entry(run.clone()).or_insert_with(new_entry);
        entry.age = self.tick;
        &mut entry.value
    }

    /// The state of this run. `finished` is the number of its calls that have finished.
    pub(super) fn recall(&self, run: &RunId, finished: u64) -> RememberedRun<'_, T> {
        match self.runs.get(run) {
            Some(entry) => RememberedRun { value: Some(&entry.value), complete: entry.complete },
            None => RememberedRun { value: None, complete: finished == 0 },
        }
    }

    /// Forgets a finished run.
    pub(super) fn forget(&mut self, run: &RunId) {
        if let Some(entry) = self.runs.remove(run) {
            self.by_age.remove(&entry.age);
        }
    }

    /// The state of every run.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.runs.values().map(|entry| &entry.value)
    }

    /// The number of remembered runs.
    pub(super) fn len(&self) -> usize {
        debug_assert_eq!(self.runs.len(), self.by_age.len());
        self.runs.len()
    }
}
