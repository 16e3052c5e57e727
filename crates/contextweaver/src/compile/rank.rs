//! The groups in the order of choice, kept so that the passing of time changes nothing.
//!
//! Groups of one class have the same lasting points and grow old alike, so the newer stands before
//! the older whatever comes later. A walk compares only the foremost of each class.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::compile::group::{Group, Groups};
use crate::compile::score::{self, AgeDecay};

const NONE: u32 = u32::MAX;
/// Classes that there may be: pinned or not, by ageing, by lasting points.
const SLOTS: usize = 2 * AgeDecay::COUNT * (score::MOST + 1);

/// A group, by its newest member.
#[derive(Debug, Clone, Copy)]
struct Entry {
    newest: u32,
    group: u32,
    tokens: u32,
}

/// Groups with the same lasting points that grow old alike, the oldest first.
#[derive(Debug, Clone)]
struct Class {
    is_pinned: bool,
    ageing: AgeDecay,
    lasting: u32,
    entries: Vec<Entry>,
    /// No entry has fewer tokens.
    least: u32,
    /// No entry has more.
    most: u32,
}

/// All groups by class.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    classes: Vec<Class>,
    /// The class of each slot.
    slots: Vec<u32>,
    /// No entry of any class has fewer tokens, and none has more.
    least: u32,
    most: u32,
}

impl Ranks {
    /// The groups that are live.
    pub(super) fn of(groups: &Groups, places: usize) -> Self {
        let (classes, slots) = (Vec::new(), vec![NONE; SLOTS]);
        let mut ranks = Self { classes, slots, least: NONE, most: 0 };
        for place in 0..places {
            let Some(at) = groups.at(place) else { continue };
            let found = groups.get(at).filter(|found| found.newest as usize == place);
            if let Some(found) = found.filter(|found| found.is_live) {
                ranks.push(at, found);
            }
        }
        ranks
    }

    /// Takes in a group, or what has become of it with its newest member.
    pub(super) fn push(&mut self, at: usize, found: &Group) {
        let (newest, tokens) = (found.newest, u32::try_from(found.tokens).unwrap_or(NONE));
        self.least = self.least.min(tokens);
        self.most = self.most.max(tokens);
        let Some(class) = self.class_of(found) else { return };
        class.least = class.least.min(tokens);
        class.most = class.most.max(tokens);
        let entry = Entry { newest, group: u32::try_from(at).unwrap_or(NONE), tokens };
        // Nearly always at the end.
        match class.entries.last() {
            Some(last) if last.newest > newest => {
                let place = class.entries.partition_point(|entry| entry.newest < newest);
                class.entries.insert(place, entry);
            }
            _ => class.entries.push(entry),
        }
    }

    /// Takes out a group as it was taken in.
    pub(super) fn remove(&mut self, found: &Group) {
        let Some(class) = self.class_of(found) else { return };
        if let Ok(at) = class.entries.binary_search_by_key(&found.newest, |entry| entry.newest) {
            class.entries.remove(at);
        }
    }

    /// The groups in order, as seen when the newest item stands at this place. What does not fit
    /// now never does later.
    pub(super) fn walk(&self, newest: usize, fits: impl Fn(u64) -> bool) -> Walk<'_> {
        let mut walk = Walk { ranks: self, newest, fronts: BinaryHeap::new() };
        let classes = self.classes.iter().enumerate();
        let fronts = classes.filter_map(|(at, class)| walk.front(at, class.entries.len(), &fits));
        walk.fronts = fronts.collect::<Vec<_>>().into();
        walk
    }

    fn class_of(&mut self, found: &Group) -> Option<&mut Class> {
        let (ageing, lasting) = (AgeDecay::of(found.kind), found.lasting.min(score::MOST as u32));
        let row = usize::from(found.is_pinned) * AgeDecay::COUNT + ageing as usize;
        let slot = self.slots.get_mut(row * (score::MOST + 1) + lasting as usize)?;
        if *slot == NONE {
            *slot = u32::try_from(self.classes.len()).ok()?;
            let (is_pinned, entries) = (found.is_pinned, Vec::new());
            self.classes.push(Class { is_pinned, ageing, lasting, entries, least: NONE, most: 0 });
        }
        self.classes.get_mut(*slot as usize)
    }
}

/// The foremost group of a class that has not been met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Front {
    /// Whether it is pinned, its points, and the place of its newest member, in this order of
    /// weight. Of equals the newest comes first; no two groups have the same.
    order: u64,
    class: u32,
    entry: u32,
}

/// A walk through the groups, the best first.
pub(super) struct Walk<'a> {
    ranks: &'a Ranks,
    newest: usize,
    fronts: BinaryHeap<Front>,
}

impl Walk<'_> {
    /// The next group that may fit.
    pub(super) fn next(&mut self, fits: impl Fn(u64) -> bool) -> Option<usize> {
        let Ranks { least, most, .. } = self.ranks;
        if !fits(u64::from(*least)) && !fits(u64::from(*most)) {
            return None;
        }
        loop {
            let front = *self.fronts.peek()?;
            let entry = self.entry(front)?;
            let behind = self.front(front.class as usize, front.entry as usize, &fits);
            let mut top = self.fronts.peek_mut()?;
            match behind {
                Some(behind) => *top = behind,
                None => drop(PeekMut::pop(top)),
            }
            if fits(u64::from(entry.tokens)) {
                return Some(entry.group as usize);
            }
        }
    }

    fn entry(&self, front: Front) -> Option<Entry> {
        let class = self.ranks.classes.get(front.class as usize)?;
        class.entries.get(front.entry as usize).copied()
    }

    /// The last entry that fits among the entries of a class before `before`.
    fn front(&self, at: usize, before: usize, fits: &impl Fn(u64) -> bool) -> Option<Front> {
        let class = self.ranks.classes.get(at)?;
        if !fits(u64::from(class.least)) && !fits(u64::from(class.most)) {
            return None;
        }
        let entries = class.entries.get(..before)?;
        let entry = entries.iter().rposition(|entry| fits(u64::from(entry.tokens)))?;
        let newest = entries.get(entry)?.newest;
        let age = self.newest.saturating_sub(newest as usize);
        let points = u64::from(class.lasting) + class.ageing.points(age) as u64;
        let order = u64::from(class.is_pinned) << 63 | points << 32 | u64::from(newest);
        let (class, entry) = (u32::try_from(at).ok()?, u32::try_from(entry).ok()?);
        Some(Front { order, class, entry })
    }
}
