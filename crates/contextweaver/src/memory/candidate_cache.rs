//! A cache of recall candidates, each with the bytes of the record that it was made from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use weaver_types::ledger::Record;
use weaver_types::{Label, Timestamp};

use super::entry::{EntryKind, MemoryEntry};

/// The most entries of one kind that are cached, and the most bytes of their records together.
const MAX_CACHED: usize = 16_384;
pub(super) const MAX_CACHED_BYTES: usize = 16 * 1024 * 1024;

/// An entry prepared for recall.
#[derive(Debug, PartialEq)]
pub(super) struct RecallCandidate {
    pub(super) id: String,
    pub(super) line: String,
    pub(super) stems: BTreeSet<String>,
    pub(super) created_at: Timestamp,
    pub(super) label: Label,
    pub(super) entries: Vec<MemoryEntry>,
}

/// The candidates of one kind, by record id.
#[derive(Default)]
pub(super) struct CandidateCache {
    pub(super) by_id: BTreeMap<String, (Vec<u8>, Arc<RecallCandidate>)>,
    pub(super) bytes: usize,
}

/// The caches of all kinds of entries.
pub(super) type CandidateCaches = Mutex<BTreeMap<EntryKind, CandidateCache>>;

impl CandidateCache {
    pub(super) fn get_if_unchanged(
        &self,
        id: &str,
        record: &Record,
    ) -> Option<Arc<RecallCandidate>> {
        let (bytes, candidate) = self.by_id.get(id)?;
        (*bytes == record.value).then(|| Arc::clone(candidate))
    }

    pub(super) fn insert(&mut self, id: String, bytes: Vec<u8>, candidate: Arc<RecallCandidate>) {
        let sum = self.bytes + bytes.len();
        if self.by_id.len() < MAX_CACHED && sum <= MAX_CACHED_BYTES {
            self.bytes = sum;
            self.by_id.insert(id, (bytes, candidate));
        }
    }
}
