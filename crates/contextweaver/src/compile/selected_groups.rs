//! The groups that are selected.

use crate::compile::group::Groups;

/// The groups that were chosen: all that are live, or those of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct SelectedGroups {
    is_all: bool,
    /// In the order in which they were taken.
    order: Vec<usize>,
    /// The same by group.
    is_in: Vec<bool>,
}

impl SelectedGroups {
    pub(super) fn all() -> Self {
        Self { is_all: true, ..Self::default() }
    }

    /// An empty selection, out of `groups` groups.
    pub(super) fn none_of(groups: usize) -> Self {
        Self { is_all: false, order: Vec::new(), is_in: vec![false; groups] }
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// Whether a group is in.
    pub(super) fn has(&self, groups: &Groups, group: usize) -> bool {
        match self.is_all {
            true => groups.get(group).is_some_and(|found| found.is_live),
            false => self.lists(group),
        }
    }

    /// The groups of which that has changed. Where all were in and are, it has changed only for
    /// groups that have changed themselves, and these are not told.
    pub(super) fn moved(&self, before: &Self, groups: &Groups) -> Vec<usize> {
        match (before.is_all, self.is_all) {
            (true, true) => Vec::new(),
            (false, false) => {
                let gone = before.order.iter().filter(|group| !self.lists(**group));
                let come = self.order.iter().filter(|group| !before.lists(**group));
                gone.chain(come).copied().collect()
            }
            _ => (0..groups.all().len()).collect(),
        }
    }

    /// Becomes a copy of the other one, in the same memory.
    pub(super) fn follow(&mut self, other: &Self) {
        self.is_all = other.is_all;
        self.order.clone_from(&other.order);
        self.is_in.clone_from(&other.is_in);
    }

    /// Whether the list has a group.
    pub(super) fn lists(&self, group: usize) -> bool {
        self.is_in.get(group) == Some(&true)
    }

    /// How many the list has.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn push(&mut self, group: usize) {
        if let Some(entry) = self.is_in.get_mut(group) {
            *entry = true;
        }
        self.order.push(group);
    }

    /// The one that was taken last.
    pub(super) fn last(&self) -> Option<usize> {
        self.order.last().copied()
    }

    pub(super) fn pop(&mut self) -> Option<usize> {
        let group = self.order.pop()?;
        if let Some(entry) = self.is_in.get_mut(group) {
            *entry = false;
        }
        Some(group)
    }
}
