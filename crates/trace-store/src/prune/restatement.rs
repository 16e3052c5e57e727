//! The payload of a `run.restated` event.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::MAX_PAYLOAD;

/// The version of the restatement, in its field `v`.
pub const RUN_RESTATEMENT_VERSION: u64 = 1;
/// The longest change that can be restated, in bytes.
pub(crate) const MAX_RESTATED_CHANGE: usize = MAX_PAYLOAD - 128;
/// The bytes of a change beside itself: its event number and punctuation.
const BYTES_BESIDE_CHANGE: usize = 32;

/// What pruned events of one run had changed in it: canonical JSON with the fields `v` and
/// `changes`, pairs of an event number and the field `run` of that event's payload, or null where
/// it changed nothing.
///
/// The changes are repeated one by one and not added up, since the order of the events of a run
/// decides which tainting calls its label names. The event is never pruned itself; a change
/// contains counts, a label, ids of calls and digests, nothing that a call said.
///
/// ```
/// use std::collections::BTreeMap;
/// use weaver_trace_store::prune::RunRestatement;
///
/// let changes = BTreeMap::from([(4, Some(serde_json::json!({ "denials": 1 }))), (7, None)]);
/// let restatement = RunRestatement::new(changes);
/// let bytes = restatement.to_bytes().unwrap();
/// assert_eq!(bytes, br#"{"changes":[[4,{"denials":1}],[7,null]],"v":1}"#);
/// assert_eq!(RunRestatement::parse(&bytes), Some(restatement));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunRestatement {
    changes: BTreeMap<u64, Option<Value>>,
}

impl RunRestatement {
    /// What these events changed, by event number; `None` where an event changed nothing.
    #[must_use]
    pub fn new(changes: BTreeMap<u64, Option<Value>>) -> Self {
        Self { changes }
    }

    /// The changes by event number.
    #[must_use]
    pub fn changes(&self) -> &BTreeMap<u64, Option<Value>> {
        &self.changes
    }

    /// The changes by event number.
    #[must_use]
    pub fn into_changes(self) -> BTreeMap<u64, Option<Value>> {
        self.changes
    }

    /// The canonical bytes; `None` when a number lies beyond 2^53.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let changes: Vec<_> = self.changes.iter().collect();
        let restatement = json!({ "v": RUN_RESTATEMENT_VERSION, "changes": changes });
        canonical::to_bytes(&restatement, Profile::Record).ok()
    }

    /// Parses the canonical bytes of this version, and nothing else.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let value = canonical::parse(bytes, Profile::Record).ok()?;
        let changes = value.get("changes")?.as_array()?.iter().map(|pair| {
            let [seq, change] = pair.as_array()?.as_slice() else { return None };
            Some((seq.as_u64()?, Some(change).filter(|change| !change.is_null()).cloned()))
        });
        let read = Self { changes: changes.collect::<Option<_>>()? };
        (read.to_bytes()? == bytes).then_some(read)
    }

    /// As many restatements as these changes need, each small enough for one payload.
    pub(crate) fn split(changes: &BTreeMap<u64, Option<Value>>) -> Vec<Self> {
        let (mut all, mut bytes) = (vec![Self::default()], 0);
        for (seq, change) in changes {
            let size = change.as_ref().map_or(0, size_of_change) + BYTES_BESIDE_CHANGE;
            if bytes + size > MAX_RESTATED_CHANGE {
                all.push(Self::default());
                bytes = 0;
            }
            bytes += size;
            if let Some(last) = all.last_mut() {
                last.changes.insert(*seq, change.clone());
            }
        }
        all.retain(|one| !one.changes.is_empty());
        all
    }
}

/// The size of a change as it is written.
pub(crate) fn size_of_change(change: &Value) -> usize {
    canonical::to_bytes(change, Profile::Record).map_or(usize::MAX / 2, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let changes = BTreeMap::from([(4, Some(json!({ "denials": 1 }))), (7, None)]);
        let text = String::from_utf8(RunRestatement::new(changes).to_bytes().unwrap()).unwrap();
        assert!(RunRestatement::parse(text.as_bytes()).is_some());
        for (from, to) in [
            ("\"v\":1", "\"v\":2"),
            ("\"v\":1", "\"v\":1,\"w\":1"),
            ("\"v\":1", "\"v\": 1"),
            ("[7,null]", "[7]"),
            ("[7,null]", "[4,null]"),
            ("[7,null]", "[3,null]"),
            ("[7,null]", "[-7,null]"),
            ("[7,null]", "[7,null,null]"),
        ] {
            assert!(RunRestatement::parse(text.replace(from, to).as_bytes()).is_none(), "{to}");
        }
    }

    #[test]
    fn many_changes_are_split_and_none_is_lost() {
        let long = json!({ "provenance": ["x".repeat(100_000)] });
        let mut changes: BTreeMap<u64, Option<Value>> =
            (0..5).map(|seq| (seq, Some(long.clone()))).collect();
        changes.extend((5..2_000).map(|seq| (seq, None)));
        let split = RunRestatement::split(&changes);
        assert_eq!(split.len(), 3);
        for one in &split {
            assert!(one.to_bytes().unwrap().len() <= MAX_PAYLOAD);
        }
        let again: BTreeMap<_, _> =
            split.into_iter().flat_map(RunRestatement::into_changes).collect();
        assert_eq!(again, changes);
        let longest = json!({ "x": "y".repeat(MAX_RESTATED_CHANGE - 8) });
        assert_eq!(size_of_change(&longest), MAX_RESTATED_CHANGE);
        let split = RunRestatement::split(&BTreeMap::from([(u64::MAX >> 11, Some(longest))]));
        assert!(split[0].to_bytes().unwrap().len() <= MAX_PAYLOAD);
    }
}
