//! The set of selected groups.

use crate::compile::group::Groups;

/// The selected groups: all active ones, or those of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct SelectedGroups {
    is_all: bool,
    /// The list, in the order of selection.
    order: Vec<usize>,
    /// Whether a group is in the list, by group.
    is_listed: Vec<bool>,
}

impl SelectedGroups {
    pub(super) fn all() -> Self {
        Self { is_all: true, ..Self::default() }
    }

    /// An empty selection, out of `groups` groups.
    pub(super) fn empty(groups: usize) -> Self {
        Self { is_all: false, order: Vec::new(), is_listed: vec![false; groups] }
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// Whether a group is selected.
    pub(super) fn contains(&self, groups: &Groups, group: usize) -> bool {
        match self.is_all {
            true => groups.get(group).is_some_and(|found| found.is_active),
            false => self.is_listed(group),
        }
    }

    /// The groups that were added to or removed from the selection. If all active groups were and
    /// are selected, the result is empty: only groups that changed themselves can differ, and the
    /// ranked candidates list those.
    pub(super) fn changed_since(&self, before: &Self, groups: &Groups) -> Vec<usize> {
        match (before.is_all, self.is_all) {
            (true, true) => Vec::new(),
            (false, false) => {
                let removed = before.order.iter().filter(|group| !self.is_listed(**group));
                let added = self.order.iter().filter(|group| !before.is_listed(**group));
                removed.chain(added).copied().collect()
            }
            _ => (0..groups.all().len()).collect(),
        }
    }

    /// Copies another selection, reusing the memory of this one.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.is_all = other.is_all;
        self.order.clone_from(&other.order);
        self.is_listed.clone_from(&other.is_listed);
    }

    /// Whether the list contains a group.
    pub(super) fn is_listed(&self, group: usize) -> bool {
        self.is_listed.get(group) == Some(&true)
    }

    /// The length of the list.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn push(&mut self, group: usize) {
        if let Some(entry) = self.is_listed.get_mut(group) {
            *entry = true;
        }
        self.order.push(group);
    }

    /// The group that was selected last.
    pub(super) fn last(&self) -> Option<usize> {
        self.order.last().copied()
    }

    pub(super) fn pop(&mut self) -> Option<usize> {
        let group = self.order.pop()?;
        if let Some(entry) = self.is_listed.get_mut(group) {
            *entry = false;
        }
        Some(group)
    }
}
