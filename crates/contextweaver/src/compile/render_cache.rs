//! The rendered items, kept from one rendering to the next: only what changed is rendered again.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compile::ContextLog;
use crate::compile::ranked_candidates::RankedCandidates;
use crate::compile::rendered_item::ReplacementBlock;
use crate::compile::rendered_item::{RenderKey, RenderedItem, Rendition};
use crate::compile::rendered_totals::{Change, RenderedTotals};
use crate::compile::selected_groups::SelectedGroups;

/// The rendered items in order, their text, and the selection that they come from.
#[derive(Debug, Default)]
pub(super) struct RenderCache {
    items: Arc<Vec<RenderedItem>>,
    text: String,
    totals: RenderedTotals,
    selected: SelectedGroups,
    /// The indices of shortened items.
    shortened: Vec<usize>,
}

/// What the next rendering is to show.
#[derive(Clone, Copy)]
pub(super) struct RenderTarget<'a> {
    pub(super) log: &'a ContextLog,
    pub(super) ranked: &'a RankedCandidates,
    pub(super) selected: &'a SelectedGroups,
    pub(super) shortened_blocks: &'a BTreeMap<usize, ReplacementBlock>,
}

impl RenderCache {
    /// Updates the cache to the target. Everything before the first change is left untouched, so an
    /// append costs only what is appended.
    pub(super) fn update(&mut self, target: &RenderTarget<'_>) {
        let changed_keys = self.changed_keys(target);
        if let Some(first) = changed_keys.first() {
            // Copies the items only if an earlier result still shares them.
            let items = Arc::make_mut(&mut self.items);
            let from = items.partition_point(|section| section.render_key() < *first);
            let old = items.split_off(from);
            let bytes: usize = old.iter().map(|section| section.text.len()).sum();
            self.text.truncate(self.text.len() - bytes);
            old.iter().for_each(|section| self.totals.record(section, Change::Removed));
            target.merge(old, &changed_keys, items);
            for section in items.iter().skip(from) {
                self.totals.record(section, Change::Added);
                self.text.push_str(&section.text);
            }
        }
        self.selected.copy_from(target.selected);
        self.shortened.clear();
        self.shortened.extend(target.shortened_blocks.keys());
    }

    pub(super) fn items(&self) -> Arc<Vec<RenderedItem>> {
        Arc::clone(&self.items)
    }

    /// The blocks of the items, concatenated.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn totals(&self) -> &RenderedTotals {
        &self.totals
    }

    /// The keys of items that may have been added, removed or given another text, sorted.
    fn changed_keys(&self, target: &RenderTarget<'_>) -> Vec<RenderKey> {
        let groups = &target.ranked.groups;
        let mut changed_keys = Vec::new();
        for group in target.selected.changed_since(&self.selected, groups) {
            let Some(kind) = groups.get(group).map(|found| found.kind) else { continue };
            changed_keys.extend(groups.members(group).map(|index| RenderKey::of(kind, index)));
        }
        let single = target
            .ranked
            .changed
            .iter()
            .chain(&self.shortened)
            .chain(target.shortened_blocks.keys());
        changed_keys.extend(single.filter_map(|index| {
            let group = groups.group_of(*index).and_then(|group| groups.get(group))?;
            Some(RenderKey::of(group.kind, *index))
        }));
        changed_keys.sort_unstable();
        changed_keys.dedup();
        changed_keys
    }
}

impl RenderTarget<'_> {
    /// Merges the previous items with those whose keys changed, which are rendered again.
    fn merge(
        &self,
        previous: Vec<RenderedItem>,
        changed_keys: &[RenderKey],
        out: &mut Vec<RenderedItem>,
    ) {
        out.reserve(previous.len() + changed_keys.len());
        let mut previous = previous.into_iter().peekable();
        for key in changed_keys {
            while let Some(section) = previous.next_if(|section| section.render_key() < *key) {
                out.push(section);
            }
            let old_item = previous.next_if(|section| section.render_key() == *key);
            out.extend(self.rendered_item(key.index(), old_item));
        }
        out.extend(previous);
    }

    /// The rendered item, if it is selected. Reuses the old one if its text is still the original.
    fn rendered_item(&self, index: usize, old_item: Option<RenderedItem>) -> Option<RenderedItem> {
        let groups = &self.ranked.groups;
        groups.group_of(index).filter(|group| self.selected.contains(groups, *group))?;
        let replacement =
            self.shortened_blocks.get(&index).or_else(|| self.ranked.blocks.get(&index));
        let unchanged = old_item
            .filter(|section| section.rendition == Rendition::Original && replacement.is_none());
        unchanged.or_else(|| RenderedItem::render(self.log, index, replacement))
    }
}
