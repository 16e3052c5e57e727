//! What differs between two sets of documents: what they say, and what they answer.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use weaver_types::{ReasonCode, Verdict};

use super::answer::Judge;
use super::request::{RecordedRequest, RequestError};
use crate::set::PolicySet;

/// The most flips that are kept one by one; all are counted.
const MAX_KEPT: usize = 1_000;

/// How one thing of the documents changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It says something else.
    Changed,
}

/// A request that is answered otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flip {
    /// The `id` of the request.
    pub id: String,
    /// Verdict and primary reason before.
    pub before: (Verdict, ReasonCode),
    /// Verdict and primary reason after.
    pub after: (Verdict, ReasonCode),
}

impl Flip {
    /// The kind: `allow→deny`, or `reason changed` where the verdict stays.
    #[must_use]
    pub fn kind(&self) -> String {
        if self.before.0 == self.after.0 {
            "reason changed".to_owned()
        } else {
            format!("{}→{}", self.before.0, self.after.0)
        }
    }
}

/// Two sets beside each other.
#[derive(Debug)]
pub struct Comparison<'s> {
    before: Judge<'s>,
    after: Judge<'s>,
    changes: BTreeMap<String, Change>,
    seen: usize,
    counts: BTreeMap<String, usize>,
    flips: Vec<Flip>,
}

impl<'s> Comparison<'s> {
    /// Compares what the documents say.
    #[must_use]
    pub fn new(before: &'s PolicySet, after: &'s PolicySet) -> Self {
        Self {
            before: Judge::new(before),
            after: Judge::new(after),
            changes: changes(before, after),
            seen: 0,
            counts: BTreeMap::new(),
            flips: Vec::new(),
        }
    }

    /// Judges one recorded request under both.
    ///
    /// # Errors
    /// [`RequestError`] where the contract of one side cannot be applied.
    pub fn replay(&mut self, request: &RecordedRequest) -> Result<Option<Flip>, RequestError> {
        let (before, after) = (self.before.answer(request), self.after.answer(request));
        let (before, after) = (before?, after?);
        self.seen += 1;
        let flip = Flip {
            id: before.id,
            before: (before.verdict, before.primary),
            after: (after.verdict, after.primary),
        };
        if flip.before == flip.after {
            return Ok(None);
        }
        *self.counts.entry(flip.kind()).or_default() += 1;
        if self.flips.len() < MAX_KEPT {
            self.flips.push(flip.clone());
        }
        Ok(Some(flip))
    }

    /// What changed in the documents, by its place, for example `policy.rules.writes`.
    #[must_use]
    pub fn changes(&self) -> &BTreeMap<String, Change> {
        &self.changes
    }

    /// How many requests were judged.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// How many requests flipped, by kind.
    #[must_use]
    pub fn counts(&self) -> &BTreeMap<String, usize> {
        &self.counts
    }

    /// The first 1,000 flips, in the order of the requests.
    #[must_use]
    pub fn flips(&self) -> &[Flip] {
        &self.flips
    }
}

fn changes(before: &PolicySet, after: &PolicySet) -> BTreeMap<String, Change> {
    let (before, after) = (parts(before), parts(after));
    let mut out = BTreeMap::new();
    for (place, value) in &before {
        match after.get(place) {
            None => out.insert(place.clone(), Change::Removed),
            Some(other) if other != value => out.insert(place.clone(), Change::Changed),
            Some(_) => None,
        };
    }
    let added = after.keys().filter(|place| !before.contains_key(*place));
    out.extend(added.map(|place| (place.clone(), Change::Added)));
    out
}

/// Every document by its parts: tables and lists of named things one by one.
fn parts(set: &PolicySet) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    let documents = [
        ("policy", serde_json::to_value(set.policy())),
        ("contracts", serde_json::to_value(set.contracts())),
        ("keys", serde_json::to_value(set.keys())),
    ];
    for (kind, document) in documents {
        let Ok(Value::Object(document)) = document else { continue };
        for (name, value) in document {
            named(&format!("{kind}.{name}"), value, &mut out);
        }
    }
    out
}

fn named(place: &str, value: Value, out: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) => {
            out.extend(members.into_iter().map(|(name, one)| (format!("{place}.{name}"), one)));
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(|i| name_of(i).is_some()) => {
            for item in items {
                if let Some(name) = name_of(&item).map(str::to_owned) {
                    out.insert(format!("{place}.{name}"), item);
                }
            }
        }
        Value::Array(items) if items.is_empty() => {}
        other => {
            out.insert(place.to_owned(), other);
        }
    }
}

fn name_of(item: &Value) -> Option<&str> {
    item.get("name").and_then(Value::as_str)
}
