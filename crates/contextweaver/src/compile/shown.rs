//! What is shown, carried from one rendering to the next: only what has changed is rendered anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compile::ContextLog;
use crate::compile::plan::Plan;
use crate::compile::render::{Form, Order, Section};
use crate::compile::sensitivity::Block;

/// Sections in order, and the groups that they are of.
#[derive(Debug, Default)]
pub(super) struct Shown {
    sections: Arc<Vec<Section>>,
    taken: Vec<usize>,
    is_taken: Vec<bool>,
    /// The places of what was made shorter.
    shortened: Vec<usize>,
}

/// What is to be shown now.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) log: &'a ContextLog,
    pub(super) plan: &'a Plan,
    /// The groups that were taken, and the same by group.
    pub(super) taken: &'a [usize],
    pub(super) is_taken: &'a [bool],
    pub(super) squeezed: &'a BTreeMap<usize, Block>,
}

impl Shown {
    /// Goes over to what is wanted now, and gives its sections.
    pub(super) fn change(&mut self, wanted: &Wanted<'_>) -> Arc<Vec<Section>> {
        let touched = self.touched(wanted);
        // Where nobody else looks at them any more, they are not copied.
        let sections = match Arc::try_unwrap(std::mem::take(&mut self.sections)) {
            Ok(known) => wanted.merged(known.into_iter(), &touched),
            Err(known) => wanted.merged(known.iter().cloned(), &touched),
        };
        self.sections = Arc::new(sections);
        self.taken.clear();
        self.taken.extend_from_slice(wanted.taken);
        self.is_taken.clear();
        self.is_taken.extend_from_slice(wanted.is_taken);
        self.shortened.clear();
        self.shortened.extend(wanted.squeezed.keys());
        Arc::clone(&self.sections)
    }

    /// Where something may have come, gone or become another text, in order.
    fn touched(&self, wanted: &Wanted<'_>) -> Vec<Order> {
        let groups = &wanted.plan.groups;
        let (gone, come) = differ(&self.taken, wanted.taken, &self.is_taken, wanted.is_taken);
        let mut touched = Vec::new();
        for group in gone.chain(come) {
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
    /// What was known, but for what was touched.
    fn merged(
        &self,
        known: impl ExactSizeIterator<Item = Section>,
        touched: &[Order],
    ) -> Vec<Section> {
        let mut out = Vec::with_capacity(known.len() + touched.len());
        let mut known = known.peekable();
        for at in touched {
            while let Some(section) = known.next_if(|section| section.order() < *at) {
                out.push(section);
            }
            let before = known.next_if(|section| section.order() == *at);
            out.extend(self.section(at.place(), before));
        }
        out.extend(known);
        out
    }

    /// The section of an item now.
    fn section(&self, place: usize, before: Option<Section>) -> Option<Section> {
        self.plan.groups.at(place).filter(|group| self.is_taken.get(*group) == Some(&true))?;
        let other = self.squeezed.get(&place).or_else(|| self.plan.blocks.get(&place));
        let as_it_is = before.filter(|section| section.form == Form::Own && other.is_none());
        as_it_is.or_else(|| Section::of(self.log, place, other))
    }
}

/// The groups that were taken and are not, and those that are and were not.
pub(super) fn differ<'a>(
    before: &'a [usize],
    now: &'a [usize],
    was_taken: &'a [bool],
    is_taken: &'a [bool],
) -> (impl Iterator<Item = usize> + 'a, impl Iterator<Item = usize> + 'a) {
    let not_in = |taken: &'a [bool]| move |group: &usize| taken.get(*group) != Some(&true);
    let gone = before.iter().copied().filter(not_in(is_taken));
    let come = now.iter().copied().filter(not_in(was_taken));
    (gone, come)
}
