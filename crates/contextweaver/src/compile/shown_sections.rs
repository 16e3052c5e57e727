//! What is shown, carried from one rendering to the next: only what has changed is rendered anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compile::ContextLog;
use crate::compile::plan::Plan;
use crate::compile::section::Block;
use crate::compile::section::{Form, RenderKey, Section};
use crate::compile::section_totals::{Change, SectionTotals};
use crate::compile::selected_groups::SelectedGroups;

/// Sections in order, their text, and the groups that they are of.
#[derive(Debug, Default)]
pub(super) struct ShownSections {
    sections: Arc<Vec<Section>>,
    text: String,
    tally: SectionTotals,
    taken: SelectedGroups,
    /// The places of what was made shorter.
    shortened: Vec<usize>,
}

/// What is to be shown now.
#[derive(Clone, Copy)]
pub(super) struct TargetSections<'a> {
    pub(super) log: &'a ContextLog,
    pub(super) plan: &'a Plan,
    pub(super) taken: &'a SelectedGroups,
    pub(super) shortened_blocks: &'a BTreeMap<usize, Block>,
}

impl ShownSections {
    /// Goes over to what is wanted now. What stands before the first change stays as it is.
    pub(super) fn change(&mut self, wanted: &TargetSections<'_>) {
        let touched = self.touched(wanted);
        if let Some(first) = touched.first() {
            // Where nobody else looks at them any more, they are not copied.
            let sections = Arc::make_mut(&mut self.sections);
            let from = sections.partition_point(|section| section.order() < *first);
            let old = sections.split_off(from);
            let bytes: usize = old.iter().map(|section| section.text.len()).sum();
            self.text.truncate(self.text.len() - bytes);
            old.iter().for_each(|section| self.tally.count(section, Change::Removed));
            wanted.merge(old, &touched, sections);
            for section in sections.iter().skip(from) {
                self.tally.count(section, Change::Added);
                self.text.push_str(&section.text);
            }
        }
        self.taken.follow(wanted.taken);
        self.shortened.clear();
        self.shortened.extend(wanted.shortened_blocks.keys());
    }

    pub(super) fn sections(&self) -> Arc<Vec<Section>> {
        Arc::clone(&self.sections)
    }

    /// The blocks of the sections, one after the other.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn tally(&self) -> &SectionTotals {
        &self.tally
    }

    /// Where something may have come, gone or become another text, in order.
    fn touched(&self, wanted: &TargetSections<'_>) -> Vec<RenderKey> {
        let groups = &wanted.plan.groups;
        let mut touched = Vec::new();
        for group in wanted.taken.moved(&self.taken, groups) {
            let Some(kind) = groups.get(group).map(|found| found.kind) else { continue };
            touched.extend(groups.members(group).map(|place| RenderKey::of(kind, place)));
        }
        let single =
            wanted.plan.changed.iter().chain(&self.shortened).chain(wanted.shortened_blocks.keys());
        touched.extend(single.filter_map(|place| {
            let group = groups.at(*place).and_then(|group| groups.get(group))?;
            Some(RenderKey::of(group.kind, *place))
        }));
        touched.sort_unstable();
        touched.dedup();
        touched
    }
}

impl TargetSections<'_> {
    /// Adds what was known, but for what was touched.
    fn merge(&self, known: Vec<Section>, touched: &[RenderKey], out: &mut Vec<Section>) {
        out.reserve(known.len() + touched.len());
        let mut known = known.into_iter().peekable();
        for at in touched {
            while let Some(section) = known.next_if(|section| section.order() < *at) {
                out.push(section);
            }
            let before = known.next_if(|section| section.order() == *at);
            out.extend(self.section(at.place(), before));
        }
        out.extend(known);
    }

    /// The section of an item now.
    fn section(&self, place: usize, before: Option<Section>) -> Option<Section> {
        let groups = &self.plan.groups;
        groups.at(place).filter(|group| self.taken.has(groups, *group))?;
        let other = self.shortened_blocks.get(&place).or_else(|| self.plan.blocks.get(&place));
        let as_it_is = before.filter(|section| section.form == Form::Own && other.is_none());
        as_it_is.or_else(|| Section::of(self.log, place, other))
    }
}
