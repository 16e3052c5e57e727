//! Candidates that were worked out of records before, with the bytes of these records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use weaver_types::ledger::Record;
use weaver_types::{Label, Timestamp};

use super::entry::{EntryKind, MemoryEntry};

/// Most entries of one kind that are kept, and most bytes of their records together.
const MAX_CACHED: usize = 16_384;
pub(super) const MAX_CACHED_BYTES: usize = 16 * 1024 * 1024;

/// One entry that may be shown.
#[derive(Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) line: String,
    pub(super) stems: BTreeSet<String>,
    pub(super) at: Timestamp,
    pub(super) label: Label,
    pub(super) entries: Vec<MemoryEntry>,
}

/// What was worked out of the records of a kind, by their ids.
#[derive(Default)]
pub(super) struct CandidateCache {
    pub(super) by_id: BTreeMap<String, (Vec<u8>, Arc<Candidate>)>,
    pub(super) bytes: usize,
}

/// What is kept of each kind of entry.
pub(super) type CandidateCaches = Mutex<BTreeMap<EntryKind, CandidateCache>>;

impl CandidateCache {
    pub(super) fn find(&self, id: &str, record: &Record) -> Option<Arc<Candidate>> {
        let (bytes, candidate) = self.by_id.get(id)?;
        (*bytes == record.value).then(|| Arc::clone(candidate))
    }

    pub(super) fn keep(&mut self, id: String, bytes: Vec<u8>, candidate: Arc<Candidate>) {
        let sum = self.bytes + bytes.len();
        if self.by_id.len() < MAX_CACHED && sum <= MAX_CACHED_BYTES {
            self.bytes = sum;
            self.by_id.insert(id, (bytes, candidate));
        }
    }
}
