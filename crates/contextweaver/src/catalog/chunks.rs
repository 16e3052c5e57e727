//! Items in the order of their ids, in chunks that clones share.

use std::sync::Arc;

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;

/// A chunk is split when it has grown to this.
const SPLIT: usize = 512;

type Chunk = Vec<Arc<SelectableItem>>;

/// A sorted list without empty chunks. A clone costs a word for each chunk, an edit one chunk.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunks {
    chunks: Vec<Arc<Chunk>>,
    len: usize,
}

impl Chunks {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, id: &CapabilityId) -> Option<&Arc<SelectableItem>> {
        let chunk = self.chunks.get(self.chunk_of(id))?;
        let at = chunk.binary_search_by(|item| item.id.cmp(id)).ok()?;
        chunk.get(at)
    }

    /// Puts an item in, in the place of one with its id.
    pub(super) fn put(&mut self, item: Arc<SelectableItem>) {
        let at = self.chunk_of(&item.id);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(vec![item]));
            self.len += 1;
            return;
        };
        let chunk = Arc::make_mut(chunk);
        match chunk.binary_search_by(|other| other.id.cmp(&item.id)) {
            Ok(place) => {
                if let Some(slot) = chunk.get_mut(place) {
                    *slot = item;
                }
                return;
            }
            Err(place) => chunk.insert(place, item),
        }
        self.len += 1;
        if chunk.len() >= SPLIT {
            let upper = chunk.split_off(SPLIT / 2);
            self.chunks.insert(at + 1, Arc::new(upper));
        }
    }

    pub(super) fn remove(&mut self, id: &CapabilityId) -> Option<Arc<SelectableItem>> {
        let at = self.chunk_of(id);
        let chunk = self.chunks.get_mut(at)?;
        let place = chunk.binary_search_by(|item| item.id.cmp(id)).ok()?;
        let chunk = Arc::make_mut(chunk);
        let removed = chunk.remove(place);
        self.len -= 1;
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
        Some(removed)
    }

    pub(super) fn iter(&self) -> Items<'_> {
        let all: fn(&Arc<Chunk>) -> std::slice::Iter<'_, Arc<SelectableItem>> = |c| c.iter();
        Items { inner: self.chunks.iter().flat_map(all), left: self.len }
    }

    pub(super) fn shared(&self) -> impl Iterator<Item = &Arc<SelectableItem>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The chunk that holds the id or would hold it: the last that begins at or before it.
    fn chunk_of(&self, id: &CapabilityId) -> usize {
        let begins = |chunk: &Arc<Chunk>| chunk.first().is_some_and(|first| first.id <= *id);
        self.chunks.partition_point(begins).saturating_sub(1)
    }
}

type ItemIter<'a> = std::iter::FlatMap<
    std::slice::Iter<'a, Arc<Chunk>>,
    std::slice::Iter<'a, Arc<SelectableItem>>,
    fn(&'a Arc<Chunk>) -> std::slice::Iter<'a, Arc<SelectableItem>>,
>;

/// The items of a catalog in the order of their ids.
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

        /// Against a map, over enough edits that chunks split and vanish.
        #[test]
        fn chunks_are_a_map(edits in prop::collection::vec((0..2000_u16, 0..4_u8), 0..4000)) {
            let (mut chunks, mut map) = (Chunks::default(), BTreeMap::new());
            let mut old = None;
            for (at, (n, what)) in edits.into_iter().enumerate() {
                let item = item(n, &at.to_string());
                if what == 0 {
                    let removed = chunks.remove(&item.id).map(|item| item.name.clone());
                    prop_assert_eq!(removed, map.remove(&item.id));
                } else {
                    map.insert(item.id.clone(), item.name.clone());
                    chunks.put(item);
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
