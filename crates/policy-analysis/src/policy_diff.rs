//! Compares two sets of documents: their entries and their decisions.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_types::{ReasonCode, Verdict};

use crate::evaluation::{Evaluation, Evaluator};
use crate::recorded_request::{RecordedRequest, RequestError};

/// The maximum number of listed changed decisions; all are counted.
const MAX_LISTED: usize = 1_000;

/// How an entry of the documents changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentChange {
    /// It was added.
    Added,
    /// It was removed.
    Removed,
    /// It has different content.
    Changed,
}

/// A verdict with its primary reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct VerdictWithReason {
    /// The verdict.
    pub verdict: Verdict,
    /// The primary reason.
    pub reason: ReasonCode,
}

impl From<&Evaluation> for VerdictWithReason {
    fn from(evaluation: &Evaluation) -> Self {
        Self { verdict: evaluation.verdict, reason: evaluation.primary }
    }
}

/// A request on which the two sets decide differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedDecision {
    /// The `id` of the request.
    pub id: String,
    /// The decision before.
    pub before: VerdictWithReason,
    /// The decision after.
    pub after: VerdictWithReason,
}

impl ChangedDecision {
    /// The kind of change: `allow→deny`, or `reason changed` if the verdict is the same.
    #[must_use]
    pub fn kind(&self) -> String {
        let (before, after) = (self.before.verdict, self.after.verdict);
        if before == after { "reason changed".to_owned() } else { format!("{before}→{after}") }
    }
}

/// The comparison of two sets of documents.
#[derive(Debug)]
pub struct PolicyDiff<'s> {
    before: Evaluator<'s>,
    after: Evaluator<'s>,
    document_changes: BTreeMap<String, DocumentChange>,
    compared: usize,
    counts: BTreeMap<String, usize>,
    changed_decisions: Vec<ChangedDecision>,
}

impl<'s> PolicyDiff<'s> {
    /// Compares the entries of the documents.
    #[must_use]
    pub fn new(before: &'s PolicySet, after: &'s PolicySet) -> Self {
        Self {
            before: Evaluator::new(before),
            after: Evaluator::new(after),
            document_changes: document_changes(before, after),
            compared: 0,
            counts: BTreeMap::new(),
            changed_decisions: Vec::new(),
        }
    }

    /// Evaluates one recorded request under both sets.
    ///
    /// # Errors
    /// [`RequestError`] if a contract of either set cannot be applied.
    pub fn compare_request(
        &mut self,
        request: &RecordedRequest,
    ) -> Result<Option<ChangedDecision>, RequestError> {
        let (before, after) = (self.before.evaluate(request), self.after.evaluate(request));
        let (before, after) = (before?, after?);
        self.compared += 1;
        let changed = ChangedDecision {
            before: VerdictWithReason::from(&before),
            after: VerdictWithReason::from(&after),
            id: before.id,
        };
        if changed.before == changed.after {
            return Ok(None);
        }
        *self.counts.entry(changed.kind()).or_default() += 1;
        if self.changed_decisions.len() < MAX_LISTED {
            self.changed_decisions.push(changed.clone());
        }
        Ok(Some(changed))
    }

    /// The changed entries by path, for example `policy.rules.writes`.
    #[must_use]
    pub fn document_changes(&self) -> &BTreeMap<String, DocumentChange> {
        &self.document_changes
    }

    /// The number of requests that were compared.
    #[must_use]
    pub fn compared_count(&self) -> usize {
        self.compared
    }

    /// The number of changed decisions, by kind.
    #[must_use]
    pub fn counts(&self) -> &BTreeMap<String, usize> {
        &self.counts
    }

    /// The first 1,000 changed decisions, in the order of the requests.
    #[must_use]
    pub fn changed_decisions(&self) -> &[ChangedDecision] {
        &self.changed_decisions
    }
}

fn document_changes(before: &PolicySet, after: &PolicySet) -> BTreeMap<String, DocumentChange> {
    let (before, after) = (entries(before), entries(after));
    let mut out = BTreeMap::new();
    for (place, value) in &before {
        match after.get(place) {
            None => out.insert(place.clone(), DocumentChange::Removed),
            Some(other) if other != value => out.insert(place.clone(), DocumentChange::Changed),
            Some(_) => None,
        };
    }
    let added = after.keys().filter(|place| !before.contains_key(*place));
    out.extend(added.map(|place| (place.clone(), DocumentChange::Added)));
    out
}

/// The entries of every document by path. Tables and lists of named entries are split into their
/// entries.
fn entries(set: &PolicySet) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    let documents = [
        ("policy", serde_json::to_value(set.policy())),
        ("contracts", serde_json::to_value(set.contracts())),
        ("keys", serde_json::to_value(set.keys())),
    ];
    for (kind, document) in documents {
        let Ok(Value::Object(document)) = document else { continue };
        for (name, value) in document {
            collect_entries(&format!("{kind}.{name}"), value, &mut out);
        }
    }
    out
}

fn collect_entries(path: &str, value: Value, out: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) => {
            out.extend(members.into_iter().map(|(name, one)| (format!("{path}.{name}"), one)));
        }
        Value::Array(items)
            if !items.is_empty() && items.iter().all(|i| entry_name(i).is_some()) =>
        {
            for item in items {
                if let Some(name) = entry_name(&item).map(str::to_owned) {
                    out.insert(format!("{path}.{name}"), item);
                }
            }
        }
        Value::Array(items) if items.is_empty() => {}
        other => {
            out.insert(path.to_owned(), other);
        }
    }
}

fn entry_name(item: &Value) -> Option<&str> {
    item.get("name").and_then(Value::as_str)
}
