//! A cache of results in memory, for later queries.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use weaver_types::{HandleId, RawContent, RawResult};

use crate::content::Content;
use crate::query::{QueryCache, ResultSource};

/// Estimated bytes that all cached results together may take.
const MAX_OPEN_BYTES: usize = 96 * 1024 * 1024;
/// Estimated bytes of memory per byte of JSON, parsed and indexed.
const MEMORY_PER_JSON_BYTE: usize = 8;

/// A stored result in memory with what was computed from it. Its `Debug` output shows no content.
pub struct OpenResult {
    raw: RawResult,
    digest: Option<String>,
    cache: QueryCache,
    estimated_bytes: usize,
}

impl OpenResult {
    /// A result with its stored size and the name of its stored bytes.
    #[must_use]
    pub fn new(mut raw: RawResult, byte_size: u64, digest: Option<String>) -> Self {
        // Text that is JSON is parsed once, here.
        let read = match &raw.content {
            content @ RawContent::Text(_) => match Content::read(content) {
                Content::Json(Cow::Owned(value)) => Some(value),
                _ => None,
            },
            _ => None,
        };
        if let Some(value) = read {
            raw.content = RawContent::Json(value);
        }
        let estimated_bytes =
            usize::try_from(byte_size).unwrap_or(usize::MAX).saturating_mul(MEMORY_PER_JSON_BYTE);
        Self { raw, digest, cache: QueryCache::default(), estimated_bytes }
    }

    pub(crate) fn source(&self) -> ResultSource<'_> {
        ResultSource { raw: &self.raw, cache: &self.cache, digest: self.digest.as_deref() }
    }
}

impl fmt::Debug for OpenResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenResult").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// Cached results with least-recently-used eviction.
#[derive(Debug, Default)]
pub(super) struct OpenResultCache {
    open: BTreeMap<HandleId, (u64, Arc<OpenResult>)>,
    by_last_use: BTreeMap<u64, HandleId>,
    total_bytes: usize,
    next_use: u64,
}

impl OpenResultCache {
    pub(super) fn get(&mut self, id: &HandleId) -> Option<Arc<OpenResult>> {
        let (used, result) = self.open.get_mut(id)?;
        self.by_last_use.remove(used);
        *used = self.next_use;
        self.by_last_use.insert(self.next_use, id.clone());
        self.next_use += 1;
        Some(Arc::clone(result))
    }

    pub(super) fn put(&mut self, id: HandleId, result: Arc<OpenResult>) {
        self.forget(&id);
        if result.estimated_bytes > MAX_OPEN_BYTES / 2 {
            return;
        }
        self.total_bytes = self.total_bytes.saturating_add(result.estimated_bytes);
        self.by_last_use.insert(self.next_use, id.clone());
        self.open.insert(id, (self.next_use, result));
        self.next_use += 1;
        while self.total_bytes > MAX_OPEN_BYTES {
            let Some(oldest) = self.by_last_use.first_key_value().map(|(_, id)| id.clone()) else {
                return;
            };
            self.forget(&oldest);
        }
    }

    pub(super) fn forget(&mut self, id: &HandleId) {
        if let Some((used, result)) = self.open.remove(id) {
            self.by_last_use.remove(&used);
            self.total_bytes = self.total_bytes.saturating_sub(result.estimated_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn id(name: &str) -> HandleId {
        HandleId::parse(name).unwrap()
    }

    fn result(bytes: u64) -> Arc<OpenResult> {
        Arc::new(OpenResult::new(RawResult::text("a"), bytes, None))
    }

    #[test]
    fn an_open_result_is_there_until_it_is_forgotten() {
        let mut open = OpenResultCache::default();
        open.put(id("a"), result(10));
        assert!(open.get(&id("a")).is_some() && open.get(&id("b")).is_none());
        assert_eq!(open.total_bytes, 80);
        open.put(id("a"), result(20));
        assert_eq!((open.total_bytes, open.open.len(), open.by_last_use.len()), (160, 1, 1));
        open.forget(&id("b"));
        open.forget(&id("a"));
        assert!(open.get(&id("a")).is_none());
        assert_eq!((open.total_bytes, open.by_last_use.len()), (0, 0));
    }

    #[test]
    fn the_one_not_asked_for_the_longest_goes_first() {
        let mut open = OpenResultCache::default();
        open.put(id("a"), result(6 * MIB));
        open.put(id("b"), result(6 * MIB));
        assert!(open.get(&id("b")).is_some() && open.get(&id("a")).is_some());
        open.put(id("c"), result(1));
        assert!(open.get(&id("a")).is_some() && open.get(&id("b")).is_none());
        assert!(open.get(&id("c")).is_some());
    }

    #[test]
    fn half_of_the_room_is_the_most_for_one() {
        let mut open = OpenResultCache::default();
        open.put(id("a"), result(6 * MIB));
        open.put(id("b"), result(6 * MIB + 1));
        assert!(open.get(&id("a")).is_some() && open.get(&id("b")).is_none());
    }
}
