//! Ranks groups by score without sorting them again when the log grows.
//!
//! A score is a base score plus recency points, which fall as the log grows. Groups of one class have
//! the same base score, age decay and pinning, so within a class a newer group is always before an
//! older one, whatever is added later. Each class is kept sorted by age, and a walk through all
//! groups is a k-way merge: a heap holds the best remaining group of each class.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::compile::group::{Group, Groups};
use crate::compile::score::{self, AgeDecay};

const NONE: u32 = u32::MAX;
/// The number of possible classes: pinned or not, by age decay, by base score.
const MAX_CLASSES: usize = 2 * AgeDecay::COUNT * (score::MAX_BASE_SCORE + 1);

/// A group with its newest member, by which it is ordered.
#[derive(Debug, Clone, Copy)]
struct RankedGroup {
    newest: u32,
    group: u32,
    tokens: u32,
}

/// Groups with the same base score, age decay and pinning, oldest first.
#[derive(Debug, Clone)]
struct ScoreClass {
    is_pinned: bool,
    decay: AgeDecay,
    base_score: u32,
    entries: Vec<RankedGroup>,
    /// A lower bound on the tokens of every entry.
    min_tokens: u32,
    /// An upper bound on the tokens of every entry.
    max_tokens: u32,
}

/// All active groups, by class.
#[derive(Debug, Clone)]
pub(super) struct GroupRanking {
    classes: Vec<ScoreClass>,
    /// The index of the class for each combination, or `NONE`.
    class_by_slot: Vec<u32>,
    /// Bounds on the tokens of the entries of all classes.
    min_tokens: u32,
    max_tokens: u32,
}

impl GroupRanking {
    /// Ranks the active groups.
    pub(super) fn from_groups(groups: &Groups, item_count: usize) -> Self {
        let (classes, slots) = (Vec::new(), vec![NONE; MAX_CLASSES]);
        let mut ranking = Self { classes, class_by_slot: slots, min_tokens: NONE, max_tokens: 0 };
        for index in 0..item_count {
            let Some(group_index) = groups.group_of(index) else { continue };
            let group =
                groups.get(group_index).filter(|group| group.newest_member as usize == index);
            if let Some(group) = group.filter(|group| group.is_active) {
                ranking.push(group_index, group);
            }
        }
        ranking
    }

    /// Adds a group, at the position of its newest member.
    pub(super) fn push(&mut self, group_index: usize, group: &Group) {
        let (newest, tokens) = (group.newest_member, u32::try_from(group.tokens).unwrap_or(NONE));
        self.min_tokens = self.min_tokens.min(tokens);
        self.max_tokens = self.max_tokens.max(tokens);
        let Some(class) = self.class_for(group) else { return };
        class.min_tokens = class.min_tokens.min(tokens);
        class.max_tokens = class.max_tokens.max(tokens);
        let entry =
            RankedGroup { newest, group: u32::try_from(group_index).unwrap_or(NONE), tokens };
        // New groups are the newest, so this is almost always an append.
        match class.entries.last() {
            Some(last) if last.newest > newest => {
                let index = class.entries.partition_point(|entry| entry.newest < newest);
                class.entries.insert(index, entry);
            }
            _ => class.entries.push(entry),
        }
    }

    /// Removes a group. It must still have the newest member and base score that it was added with.
    pub(super) fn remove(&mut self, group: &Group) {
        let Some(class) = self.class_for(group) else { return };
        if let Ok(at) =
            class.entries.binary_search_by_key(&group.newest_member, |entry| entry.newest)
        {
            class.entries.remove(at);
        }
    }

    /// Walks the groups from best to worst, given the index of the newest item. `fits` must be
    /// monotone: tokens that do not fit now never fit later in the same walk.
    pub(super) fn best_first(&self, newest: usize, fits: impl Fn(u64) -> bool) -> BestFirst<'_> {
        let mut walk = BestFirst { ranking: self, newest, heads: BinaryHeap::new() };
        let classes = self.classes.iter().enumerate();
        let heads =
            classes.filter_map(|(at, class)| walk.class_head(at, class.entries.len(), &fits));
        walk.heads = heads.collect::<Vec<_>>().into();
        walk
    }

    fn class_for(&mut self, group: &Group) -> Option<&mut ScoreClass> {
        let (ageing, base_score) =
            (AgeDecay::for_kind(group.kind), group.base_score.min(score::MAX_BASE_SCORE as u32));
        let row = usize::from(group.is_pinned) * AgeDecay::COUNT + ageing as usize;
        let slot =
            self.class_by_slot.get_mut(row * (score::MAX_BASE_SCORE + 1) + base_score as usize)?;
        if *slot == NONE {
            *slot = u32::try_from(self.classes.len()).ok()?;
            let (is_pinned, entries) = (group.is_pinned, Vec::new());
            self.classes.push(ScoreClass {
                is_pinned,
                decay: ageing,
                base_score,
                entries,
                min_tokens: NONE,
                max_tokens: 0,
            });
        }
        self.classes.get_mut(*slot as usize)
    }
}

/// The best group of a class that has not been returned yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ClassHead {
    /// The sort key: from the highest bit, whether the group is pinned, its score, and the index of
    /// its newest member. The index breaks ties in favour of the newest and makes keys unique.
    priority: u64,
    class: u32,
    entry: u32,
}

/// A walk through the groups from best to worst.
pub(super) struct BestFirst<'a> {
    ranking: &'a GroupRanking,
    newest: usize,
    heads: BinaryHeap<ClassHead>,
}

impl BestFirst<'_> {
    /// The next group that fits.
    pub(super) fn next(&mut self, fits: impl Fn(u64) -> bool) -> Option<usize> {
        let GroupRanking { min_tokens, max_tokens, .. } = self.ranking;
        if !fits(u64::from(*min_tokens)) && !fits(u64::from(*max_tokens)) {
            return None;
        }
        loop {
            let head = *self.heads.peek()?;
            let entry = self.entry(head)?;
            let next_head = self.class_head(head.class as usize, head.entry as usize, &fits);
            let mut top = self.heads.peek_mut()?;
            match next_head {
                Some(next_head) => *top = next_head,
                None => drop(PeekMut::pop(top)),
            }
            if fits(u64::from(entry.tokens)) {
                return Some(entry.group as usize);
            }
        }
    }

    fn entry(&self, head: ClassHead) -> Option<RankedGroup> {
        let class = self.ranking.classes.get(head.class as usize)?;
        class.entries.get(head.entry as usize).copied()
    }

    /// The newest entry of a class that fits, among those before position `before`.
    fn class_head(
        &self,
        class_index: usize,
        before: usize,
        fits: &impl Fn(u64) -> bool,
    ) -> Option<ClassHead> {
        let class = self.ranking.classes.get(class_index)?;
        if !fits(u64::from(class.min_tokens)) && !fits(u64::from(class.max_tokens)) {
            return None;
        }
        let entries = class.entries.get(..before)?;
        let entry = entries.iter().rposition(|entry| fits(u64::from(entry.tokens)))?;
        let newest = entries.get(entry)?.newest;
        let age = self.newest.saturating_sub(newest as usize);
        let points = u64::from(class.base_score) + class.decay.points(age) as u64;
        let order = u64::from(class.is_pinned) << 63 | points << 32 | u64::from(newest);
        let (class, entry) = (u32::try_from(class_index).ok()?, u32::try_from(entry).ok()?);
        Some(ClassHead { priority: order, class, entry })
    }
}
