//! What is shown, carried from one rendering to the next: only what has changed is rendered anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compile::ContextLog;
use crate::compile::plan::Plan;
use crate::compile::render::{Form, Order, Section};
use crate::compile::sensitivity::Block;
use crate::compile::taken::Taken;
use crate::compile::tally::Tally;

/// Sections in order, their text, and the groups that they are of.
#[derive(Debug, Default)]
pub(super) struct Shown {
    sections: Arc<Vec<Section>>,
    text: String,
    tally: Tally,
    taken: Taken,
    /// The places of what was made shorter.
    shortened: Vec<usize>,
}

/// What is to be shown now.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) log: &'a ContextLog,
    pub(super) plan: &'a Plan,
    pub(super) taken: &'a Taken,
    pub(super) squeezed: &'a BTreeMap<usize, Block>,
}

impl Shown {
    /// Goes over to what is wanted now. What stands before the first change stays as it is.
    pub(super) fn change(&mut self, wanted: &Wanted<'_>) {
        let touched = self.touched(wanted);
        if let Some(first) = touched.first() {
            // Where nobody else looks at them any more, they are not copied.
            let sections = Arc::make_mut(&mut self.sections);
            let from = sections.partition_point(|section| section.order() < *first);
            let old = sections.split_off(from);
            let bytes: usize = old.iter().map(|section| section.text.len()).sum();
            self.text.truncate(self.text.len() - bytes);
            old.iter().for_each(|section| self.tally.count(section, false));
            wanted.merge(old, &touched, sections);
            for section in sections.iter().skip(from) {
                self.tally.count(section, true);
                self.text.push_str(&section.text);
            }
        }
        self.taken.follow(wanted.taken);
        self.shortened.clear();
        self.shortened.extend(wanted.squeezed.keys());
    }

    pub(super) fn sections(&self) -> Arc<Vec<Section>> {
        Arc::clone(&self.sections)
    }

    /// The blocks of the sections, one after the other.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Where something may have come, gone or become another text, in order.
    fn touched(&self, wanted: &Wanted<'_>) -> Vec<Order> {
        let groups = &wanted.plan.groups;
        let mut touched = Vec::new();
        for group in wanted.taken.moved(&self.taken, groups) {
            let Some(kind) = groups.get(group).map(|found| found.kind) else { continue };
            touched.extend(groups.members(group).map(|place| Order::of(kind, place)));
        }
        let single =
            wanted.plan.changed.iter().chain(&self.shortened).chain(wanted.squeezed.keys());
        touched.extend(single.filter_map(|place| {
            let group = groups.at(*place).and_then(|group| groups.get(group))?;
            Some(Order::of(group.kind, *place))
        }));
        touched.sort_unstable();
        touched.dedup();
        touched
    }
}

impl Wanted<'_> {
    /// Adds what was known, but for what was touched.
    fn merge(&self, known: Vec<Section>, touched: &[Order], out: &mut Vec<Section>) {
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
        let other = self.squeezed.get(&place).or_else(|| self.plan.blocks.get(&place));
        let as_it_is = before.filter(|section| section.form == Form::Own && other.is_none());
        as_it_is.or_else(|| Section::of(self.log, place, other))
    }
}
