//! Results that are open in memory, for the next question.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use weaver_types::{HandleId, RawContent, RawResult};

use crate::content::Content;
use crate::query::{QueryCache, Source};

/// The most that all open results may take, in bytes, as estimated.
const MAX_OPEN: usize = 96 * 1024 * 1024;
/// What a byte of JSON takes at most, read and looked into, as estimated.
const PER_BYTE: usize = 8;

/// A stored result in memory, with what was computed of it. Its `Debug` shows no content.
pub struct OpenResult {
    raw: RawResult,
    digest: Option<String>,
    memo: QueryCache,
    weight: usize,
}

impl OpenResult {
    /// A result that was read, with its size and the name under which its bytes are stored.
    #[must_use]
    pub fn new(mut raw: RawResult, byte_size: u64, digest: Option<String>) -> Self {
        // Text that is JSON is read once.
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
        let weight = usize::try_from(byte_size).unwrap_or(usize::MAX).saturating_mul(PER_BYTE);
        Self { raw, digest, memo: QueryCache::default(), weight }
    }

    pub(crate) fn source(&self) -> Source<'_> {
        Source { raw: &self.raw, memo: &self.memo, digest: self.digest.as_deref() }
    }
}

impl fmt::Debug for OpenResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenResult").field("raw", &self.raw).finish_non_exhaustive()
    }
}

/// Open results; those that were not asked for the longest go first.
#[derive(Debug, Default)]
pub(super) struct OpenResults {
    open: BTreeMap<HandleId, (u64, Arc<OpenResult>)>,
    by_use: BTreeMap<u64, HandleId>,
    weight: usize,
    next: u64,
}

impl OpenResults {
    pub(super) fn get(&mut self, id: &HandleId) -> Option<Arc<OpenResult>> {
        let (used, result) = self.open.get_mut(id)?;
        self.by_use.remove(used);
        *used = self.next;
        self.by_use.insert(self.next, id.clone());
        self.next += 1;
        Some(Arc::clone(result))
    }

    pub(super) fn put(&mut self, id: HandleId, result: Arc<OpenResult>) {
        self.forget(&id);
        if result.weight > MAX_OPEN / 2 {
            return;
        }
        self.weight = self.weight.saturating_add(result.weight);
        self.by_use.insert(self.next, id.clone());
        self.open.insert(id, (self.next, result));
        self.next += 1;
        while self.weight > MAX_OPEN {
            let Some(oldest) = self.by_use.first_key_value().map(|(_, id)| id.clone()) else {
                return;
            };
            self.forget(&oldest);
        }
    }

    pub(super) fn forget(&mut self, id: &HandleId) {
        if let Some((used, result)) = self.open.remove(id) {
            self.by_use.remove(&used);
            self.weight = self.weight.saturating_sub(result.weight);
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
        let mut open = OpenResults::default();
        open.put(id("a"), result(10));
        assert!(open.get(&id("a")).is_some() && open.get(&id("b")).is_none());
        assert_eq!(open.weight, 80);
        open.put(id("a"), result(20));
        assert_eq!((open.weight, open.open.len(), open.by_use.len()), (160, 1, 1));
        open.forget(&id("b"));
        open.forget(&id("a"));
        assert!(open.get(&id("a")).is_none());
        assert_eq!((open.weight, open.by_use.len()), (0, 0));
    }

    #[test]
    fn the_one_not_asked_for_the_longest_goes_first() {
        let mut open = OpenResults::default();
        open.put(id("a"), result(6 * MIB));
        open.put(id("b"), result(6 * MIB));
        assert!(open.get(&id("b")).is_some() && open.get(&id("a")).is_some());
        open.put(id("c"), result(1));
        assert!(open.get(&id("a")).is_some() && open.get(&id("b")).is_none());
        assert!(open.get(&id("c")).is_some());
    }

    #[test]
    fn half_of_the_room_is_the_most_for_one() {
        let mut open = OpenResults::default();
        open.put(id("a"), result(6 * MIB));
        open.put(id("b"), result(6 * MIB + 1));
        assert!(open.get(&id("a")).is_some() && open.get(&id("b")).is_none());
    }
}
