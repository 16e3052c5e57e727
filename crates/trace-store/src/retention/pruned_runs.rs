//! What a step of a sweep prunes of runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_types::{EventKind, RunId};

use crate::entry::EventHeader;
use crate::prune::RunRestatement;

/// The runs of which a step prunes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PrunedRuns {
    /// What the pruned events changed in their runs.
    changes: BTreeMap<RunId, BTreeMap<u64, Option<Value>>>,
    /// The runs that ended among the examined events and did not go on there: nobody compares
    /// their records any more, and what their events changed is forgotten with them.
    ended: BTreeSet<RunId>,
}

impl PrunedRuns {
    /// How many runs there are.
    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn note_event(&mut self, header: &EventHeader) {
        let Some(run) = &header.run else { return };
        if header.kind == EventKind::RunFinished {
            self.ended.insert(run.clone());
        } else {
            self.ended.remove(run);
        }
    }

    pub(super) fn add(&mut self, run: &RunId, seq: u64, change: Option<Value>) {
        self.changes.entry(run.clone()).or_default().insert(seq, change);
    }

    pub(super) fn remove(&mut self, seq: u64) {
        self.changes.retain(|_, changes| {
            changes.remove(&seq);
            !changes.is_empty()
        });
    }

    /// The restatements of the runs that have not ended.
    pub(super) fn restatements(&self) -> impl Iterator<Item = (&RunId, RunRestatement)> {
        let going_on = self.changes.iter().filter(|(run, _)| !self.ended.contains(*run));
        going_on.flat_map(|(run, changes)| {
            RunRestatement::split(changes).into_iter().map(move |restatement| (run, restatement))
        })
    }
}

/// The change of its run that an event contains.
pub(super) fn run_change(payload: &Value) -> Option<Value> {
    payload.get("run").filter(|change| change.is_object()).cloned()
}
