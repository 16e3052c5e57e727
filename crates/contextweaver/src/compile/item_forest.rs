//! The forest that items form by their parents, and the chains of duplicates.
//!
//! An item may name a parent that is added later, so cycles have to be ruled out as items arrive. A
//! union-find structure with path halving gives the root of each tree. Every edge leads from an
//! existing item to a new one or the other way round, so a cycle can only close when a new item
//! adopts orphans: it closes exactly if the root of the new item's parent is one of the orphans that
//! wait for the new item.

use std::collections::HashMap;
use std::sync::Arc;

const NONE: u32 = u32::MAX;

/// The parent of an item: its id, and its index if it is in the log already.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParentLink<'a> {
    pub(super) id: &'a str,
    pub(super) index: Option<usize>,
}

/// Links between items, by index. A parent may be added after its children; there are no cycles.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemForest {
    parents: Vec<u32>,
    /// The next later duplicate of each item.
    next_duplicate: Vec<u32>,
    /// The last earlier duplicate of each item.
    previous_duplicate: Vec<u32>,
    /// An ancestor of each item; a root is its own. This is the union-find structure.
    ancestor: Vec<u32>,
    /// The items that wait for their parent, by the id of the parent.
    orphans: HashMap<Arc<str>, Vec<u32>>,
    is_parent_missing: Vec<bool>,
    /// How many children had to wait for their parent, and got it.
    late_parents: usize,
}

impl ItemForest {
    /// Whether the item would become its own ancestor.
    pub(super) fn would_form_cycle(&mut self, id: &str, parent: Option<ParentLink<'_>>) -> bool {
        let Some(ParentLink { id: name, index }) = parent else { return false };
        let root =
            index.and_then(|found| u32::try_from(found).ok()).map(|found| self.find_root(found));
        let waits_at = |root| self.orphans.get(id).is_some_and(|all| all.contains(&root));
        name == id || root.is_some_and(waits_at)
    }

    /// Adds the item with the next index. Returns false, and changes nothing, if it would become its
    /// own ancestor.
    pub(super) fn push(
        &mut self,
        index: usize,
        id: &Arc<str>,
        parent: Option<ParentLink<'_>>,
    ) -> bool {
        if self.would_form_cycle(id, parent) {
            return false;
        }
        let index = u32::try_from(index).unwrap_or(NONE);
        let parent_index = parent.and_then(|parent| u32::try_from(parent.index?).ok());
        let root = parent_index.map(|parent_index| self.find_root(parent_index));
        self.parents.push(parent_index.unwrap_or(NONE));
        self.next_duplicate.push(NONE);
        self.previous_duplicate.push(NONE);
        self.ancestor.push(root.unwrap_or(index));
        self.is_parent_missing.push(parent.is_some() && parent_index.is_none());
        if let (Some(parent), None) = (parent, parent_index) {
            self.orphans.entry(parent.id.into()).or_default().push(index);
        }
        for child in self.orphans.remove(id).unwrap_or_default() {
            self.late_parents += 1;
            set(&mut self.parents, child, index);
            set(&mut self.ancestor, child, index);
            set(&mut self.is_parent_missing, child, false);
        }
        true
    }

    pub(super) fn link_duplicates(&mut self, older: usize, newer: usize) {
        if let (Ok(older), Ok(newer)) = (u32::try_from(older), u32::try_from(newer)) {
            set(&mut self.previous_duplicate, newer, older);
            set(&mut self.next_duplicate, older, newer);
        }
    }

    /// The index of the parent, if it is in the log.
    pub(super) fn parent(&self, index: usize) -> Option<usize> {
        get(&self.parents, index)
    }

    /// The next later duplicate.
    pub(super) fn next_duplicate(&self, index: usize) -> Option<usize> {
        get(&self.next_duplicate, index)
    }

    /// The last earlier duplicate.
    pub(super) fn previous_duplicate(&self, index: usize) -> Option<usize> {
        get(&self.previous_duplicate, index)
    }

    /// Whether the item names a parent that is not in the log.
    pub(super) fn is_parent_missing(&self, index: usize) -> bool {
        self.is_parent_missing.get(index).copied().unwrap_or(false)
    }

    /// How many children had to wait for their parent, and got it. A change means that earlier items
    /// have got a parent.
    pub(super) fn late_parents(&self) -> usize {
        self.late_parents
    }

    /// The root of the item's tree. Path halving shortens the way for later searches.
    fn find_root(&mut self, index: u32) -> u32 {
        let mut current = index;
        loop {
            let parent = self.ancestor.get(current as usize).copied().unwrap_or(current);
            if parent == current {
                return current;
            }
            let grandparent = self.ancestor.get(parent as usize).copied().unwrap_or(parent);
            set(&mut self.ancestor, current, grandparent);
            current = grandparent;
        }
    }
}

fn get(list: &[u32], index: usize) -> Option<usize> {
    list.get(index).filter(|found| **found != NONE).map(|found| *found as usize)
}

fn set<T>(list: &mut [T], index: u32, value: T) {
    if let Some(entry) = list.get_mut(index as usize) {
        *entry = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(id: &str, index: Option<usize>) -> ParentLink<'_> {
        ParentLink { id, index }
    }

    fn push(links: &mut ItemForest, index: usize, parent: Option<ParentLink<'_>>) -> bool {
        links.push(index, &format!("i{index}").into(), parent)
    }

    #[test]
    fn what_comes_late_is_found() {
        let mut links = ItemForest::default();
        assert!(push(&mut links, 0, Some(link("i2", None))));
        assert!(push(&mut links, 1, Some(link("i0", Some(0)))));
        assert!(links.is_parent_missing(0));
        assert!(push(&mut links, 2, None));
        assert_eq!(
            (links.parent(0), links.is_parent_missing(0), links.late_parents()),
            (Some(2), false, 1)
        );
    }

    #[test]
    fn nothing_hangs_on_itself() {
        let mut links = ItemForest::default();
        assert!(!push(&mut links, 0, Some(link("i0", None))));
        assert!(push(&mut links, 0, Some(link("i3", None))));
        assert!(push(&mut links, 1, Some(link("i0", Some(0)))));
        assert!(push(&mut links, 2, Some(link("i1", Some(1)))));
        assert!(!push(&mut links, 3, Some(link("i2", Some(2)))));
        assert!(push(&mut links, 3, None));
        assert_eq!(links.parent(0), Some(3));
    }
}
