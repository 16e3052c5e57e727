//! The links between items: parents, and duplicates of later items.

use std::collections::HashMap;
use std::sync::Arc;

const NONE: u32 = u32::MAX;

/// What an item hangs on: its id, and its place where it has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParentLink<'a> {
    pub(super) id: &'a str,
    pub(super) place: Option<usize>,
}

/// Places by place. Items may hang on what comes later; nothing ever hangs on itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Links {
    parents: Vec<u32>,
    /// The next later item that says the same.
    newer: Vec<u32>,
    /// The one before that says the same.
    older: Vec<u32>,
    /// For every place one above it in its tree, at the top itself.
    above: Vec<u32>,
    /// Items that hang on what has not come.
    waiting: HashMap<Arc<str>, Vec<u32>>,
    is_missing: Vec<bool>,
    /// How often something came on which earlier items hang.
    late: usize,
}

impl Links {
    /// Whether an item would hang on itself.
    pub(super) fn is_ring(&mut self, id: &str, parent: Option<ParentLink<'_>>) -> bool {
        let Some(ParentLink { id: name, place }) = parent else { return false };
        let top = place.and_then(|found| u32::try_from(found).ok()).map(|found| self.top(found));
        let is_above = |top| self.waiting.get(id).is_some_and(|all| all.contains(&top));
        name == id || top.is_some_and(is_above)
    }

    /// Takes in the item at the next place: what it hangs on, by id, and where that stands if it
    /// has come. False, and nothing is changed, where it would hang on itself.
    pub(super) fn push(
        &mut self,
        place: usize,
        id: &Arc<str>,
        parent: Option<ParentLink<'_>>,
    ) -> bool {
        if self.is_ring(id, parent) {
            return false;
        }
        let own = u32::try_from(place).unwrap_or(NONE);
        let found = parent.and_then(|parent| u32::try_from(parent.place?).ok());
        let top = found.map(|found| self.top(found));
        self.parents.push(found.unwrap_or(NONE));
        self.newer.push(NONE);
        self.older.push(NONE);
        self.above.push(top.unwrap_or(own));
        self.is_missing.push(parent.is_some() && found.is_none());
        if let (Some(parent), None) = (parent, found) {
            self.waiting.entry(parent.id.into()).or_default().push(own);
        }
        for child in self.waiting.remove(id).unwrap_or_default() {
            self.late += 1;
            set(&mut self.parents, child, own);
            set(&mut self.above, child, own);
            set(&mut self.is_missing, child, false);
        }
        true
    }

    pub(super) fn say_same(&mut self, older: usize, newer: usize) {
        if let (Ok(older), Ok(newer)) = (u32::try_from(older), u32::try_from(newer)) {
            set(&mut self.older, newer, older);
            set(&mut self.newer, older, newer);
        }
    }

    /// What the item hangs on.
    pub(super) fn parent(&self, place: usize) -> Option<usize> {
        at(&self.parents, place)
    }

    /// The next later item that says the same.
    pub(super) fn newer(&self, place: usize) -> Option<usize> {
        at(&self.newer, place)
    }

    /// The last earlier item that says the same.
    pub(super) fn older(&self, place: usize) -> Option<usize> {
        at(&self.older, place)
    }

    /// Whether it names something that is not there.
    pub(super) fn is_missing(&self, place: usize) -> bool {
        self.is_missing.get(place).copied().unwrap_or(false)
    }

    /// How often something came on which earlier items hang.
    pub(super) fn late(&self) -> usize {
        self.late
    }

    /// The top of the tree; the way to it becomes shorter each time.
    fn top(&mut self, place: u32) -> u32 {
        let mut at = place;
        loop {
            let above = self.above.get(at as usize).copied().unwrap_or(at);
            if above == at {
                return at;
            }
            let further = self.above.get(above as usize).copied().unwrap_or(above);
            set(&mut self.above, at, further);
            at = further;
        }
    }
}

fn at(list: &[u32], place: usize) -> Option<usize> {
    list.get(place).filter(|found| **found != NONE).map(|found| *found as usize)
}

fn set<T>(list: &mut [T], place: u32, value: T) {
    if let Some(entry) = list.get_mut(place as usize) {
        *entry = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(id: &str, place: Option<usize>) -> ParentLink<'_> {
        ParentLink { id, place }
    }

    fn push(links: &mut Links, place: usize, parent: Option<ParentLink<'_>>) -> bool {
        links.push(place, &format!("i{place}").into(), parent)
    }

    #[test]
    fn what_comes_late_is_found() {
        let mut links = Links::default();
        assert!(push(&mut links, 0, Some(link("i2", None))));
        assert!(push(&mut links, 1, Some(link("i0", Some(0)))));
        assert!(links.is_missing(0));
        assert!(push(&mut links, 2, None));
        assert_eq!((links.parent(0), links.is_missing(0), links.late()), (Some(2), false, 1));
    }

    #[test]
    fn nothing_hangs_on_itself() {
        let mut links = Links::default();
        assert!(!push(&mut links, 0, Some(link("i0", None))));
        assert!(push(&mut links, 0, Some(link("i3", None))));
        assert!(push(&mut links, 1, Some(link("i0", Some(0)))));
        assert!(push(&mut links, 2, Some(link("i1", Some(1)))));
        assert!(!push(&mut links, 3, Some(link("i2", Some(2)))));
        assert!(push(&mut links, 3, None));
        assert_eq!(links.parent(0), Some(3));
    }
}
