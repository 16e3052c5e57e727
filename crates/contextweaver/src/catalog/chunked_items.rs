//! A sorted, copy-on-write list of items, stored in chunks that clones share.

use std::sync::Arc;

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;

/// A chunk that reaches this size is split in two.
const MAX_CHUNK_ITEMS: usize = 512;

type Chunk = Vec<Arc<SelectableItem>>;

/// Items in order of id. No chunk is empty. A clone copies one pointer per chunk; an edit copies
/// one chunk.
#[derive(Debug, Clone, Default)]
pub(super) struct ChunkedItems {
    chunks: Vec<Arc<Chunk>>,
    len: usize,
}

impl ChunkedItems {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, id: &CapabilityId) -> Option<&Arc<SelectableItem>> {
        let chunk = self.chunks.get(self.chunk_index_of(id))?;
        let position = chunk.binary_search_by(|item| item.id.cmp(id)).ok()?;
        chunk.get(position)
    }

    /// Inserts an item, replacing the one with the same id.
    pub(super) fn insert_or_replace(&mut self, item: Arc<SelectableItem>) {
        let chunk_index = self.chunk_index_of(&item.id);
        let Some(chunk) = self.chunks.get_mut(chunk_index) else {
            self.chunks.push(Arc::new(vec![item]));
            self.len += 1;
            return;
        };
        let chunk = Arc::make_mut(chunk);
        match chunk.binary_search_by(|other| other.id.cmp(&item.id)) {
            Ok(position) => {
                if let Some(slot) = chunk.get_mut(position) {
                    *slot = item;
                }
                return;
            }
            Err(position) => chunk.insert(position, item),
        }
        self.len += 1;
        if chunk.len() >= MAX_CHUNK_ITEMS {
            let upper = chunk.split_off(MAX_CHUNK_ITEMS / 2);
            self.chunks.insert(chunk_index + 1, Arc::new(upper));
        }
    }

    pub(super) fn remove(&mut self, id: &CapabilityId) -> Option<Arc<SelectableItem>> {
        let chunk_index = self.chunk_index_of(id);
        let chunk = self.chunks.get_mut(chunk_index)?;
        let position = chunk.binary_search_by(|item| item.id.cmp(id)).ok()?;
        let chunk = Arc::make_mut(chunk);
        let removed = chunk.remove(position);
        self.len -= 1;
        if chunk.is_empty() {
            self.chunks.remove(chunk_index);
        }
        Some(removed)
    }

    pub(super) fn iter(&self) -> Items<'_> {
        let chunk_items: fn(&Arc<Chunk>) -> std::slice::Iter<'_, Arc<SelectableItem>> =
            |c| c.iter();
        Items { inner: self.chunks.iter().flat_map(chunk_items), left: self.len }
    }

    pub(super) fn iter_arcs(&self) -> impl Iterator<Item = &Arc<SelectableItem>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The index of the chunk that holds the id or would hold it: the last chunk whose first id is
    /// not greater.
    fn chunk_index_of(&self, id: &CapabilityId) -> usize {
        let begins = |chunk: &Arc<Chunk>| chunk.first().is_some_and(|first| first.id <= *id);
        self.chunks.partition_point(begins).saturating_sub(1)
    }
}

type ItemIter<'a> = std::iter::FlatMap<
    std::slice::Iter<'a, Arc<Chunk>>,
    std::slice::Iter<'a, Arc<SelectableItem>>,
    fn(&'a Arc<Chunk>) -> std::slice::Iter<'a, Arc<SelectableItem>>,
>;

/// Iterates over the items of a catalog in order of id.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    inner: ItemIter<'a>,
    left: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a SelectableItem;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.inner.next()?;
        self.left = self.left.saturating_sub(1);
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Items<'_> {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn item(n: u16, name: &str) -> Arc<SelectableItem> {
        let id = CapabilityId::parse(format!("t{n}")).unwrap();
        Arc::new(SelectableItem::new(id, name, ""))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Compares the list with a map over enough edits that chunks are split and emptied.
        #[test]
        fn chunks_are_a_map(edits in prop::collection::vec((0..2000_u16, 0..4_u8), 0..4000)) {
            let (mut chunks, mut map) = (ChunkedItems::default(), BTreeMap::new());
            let mut old = None;
            for (at, (n, what)) in edits.into_iter().enumerate() {
                let item = item(n, &at.to_string());
                if what == 0 {
                    let removed = chunks.remove(&item.id).map(|item| item.name.clone());
                    prop_assert_eq!(removed, map.remove(&item.id));
                } else {
                    map.insert(item.id.clone(), item.name.clone());
                    chunks.insert_or_replace(item);
                }
                if at == 1000 {
                    old = Some((chunks.clone(), map.clone()));
                }
            }
            for (chunks, map) in old.iter().chain([&(chunks, map)]) {
                let names: Vec<_> = chunks.iter().map(|item| item.name.clone()).collect();
                prop_assert_eq!(chunks.iter().len(), map.len());
                prop_assert_eq!(chunks.len(), map.len());
                prop_assert_eq!(names, map.values().cloned().collect::<Vec<_>>());
                for (id, name) in map {
                    prop_assert_eq!(&chunks.get(id).unwrap().name, name);
                }
            }
        }
    }
}
