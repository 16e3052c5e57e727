//! All that is known of a log for one request before anything is chosen. It is carried on when the
//! log grows.

use std::collections::BTreeMap;

use weaver_types::Confidentiality;

use crate::compile::candidate;
use crate::compile::group::{Groups, MemberShare};
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::rank::Ranks;
use crate::compile::score::{self, QueryStems};
use crate::compile::section::Block;
use crate::compile::sensitivity;
use crate::compile::stats::DropReason;
use crate::compile::{ContextLog, ItemKind, Request, closure, dedupe};

/// The stages up to the choice.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) outcomes: Vec<ItemOutcome>,
    /// Blocks in place of those of redacted items.
    pub(super) blocks: BTreeMap<usize, Block>,
    pub(super) groups: Groups,
    pub(super) ranks: Ranks,
    pub(super) total: usize,
    pub(super) closures: usize,
    /// Places of which the outcome or the group has changed, when it was carried on the last time.
    pub(super) changed: Vec<usize>,
    wanted: QueryStems,
    levels: Vec<Option<Confidentiality>>,
    /// Of which a later item that stays says the same.
    is_repeated: Vec<bool>,
    late: usize,
}

impl Plan {
    /// From the beginning.
    pub(super) fn new(log: &ContextLog, request: &Request<'_>) -> Self {
        let mut outcomes = candidate::candidates(log, &request.phase);
        let closures = closure::close(log, &mut outcomes);
        let total = outcomes.iter().filter(|outcome| **outcome != ItemOutcome::Absent).count();
        let levels = sensitivity::levels(log, &outcomes);
        let blocks = sensitivity::apply(log, &mut outcomes, &levels, request);
        for (place, outcome) in outcomes.iter_mut().enumerate() {
            if *outcome == ItemOutcome::Kept && is_without_call(log, place) {
                *outcome = ItemOutcome::Dropped(DropReason::Group);
            }
        }
        let wanted = QueryStems::of(log, request);
        let share = |place| share(log, place, &wanted, &blocks, request);
        let mut groups = Groups::of_all(log, &mut outcomes, share);
        let is_repeated = dedupe::repeated(log, &outcomes);
        dedupe::dedupe(&mut outcomes, &mut groups, &is_repeated);
        let ranks = Ranks::of(&groups, outcomes.len());
        let (late, changed) = (log.links().late(), Vec::new());
        Self {
            outcomes,
            blocks,
            groups,
            ranks,
            total,
            closures,
            changed,
            wanted,
            levels,
            is_repeated,
            late,
        }
    }

    /// How many items it knows.
    pub(super) fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// The group of what the user said last, as far as it may be shown.
    pub(super) fn last_turn(&self, log: &ContextLog) -> Option<usize> {
        let is_turn = |place: &usize| {
            let kept = self.outcomes.get(*place) == Some(&ItemOutcome::Kept);
            kept && log.analysis(*place).is_some_and(|a| a.kind == ItemKind::UserTurn)
        };
        let group = self.groups.at((0..self.outcomes.len()).rev().find(is_turn)?)?;
        self.groups.get(group).filter(|found| found.is_live).map(|_| group)
    }

    /// Carries on with what has come since. Returns `None` where that brings back what was left
    /// out before.
    pub(super) fn grown(mut self, log: &ContextLog, request: &Request<'_>) -> Option<Self> {
        if self.late != log.links().late() {
            return None;
        }
        self.changed.clear();
        self.wanted.look(log);
        for place in self.outcomes.len()..log.len() {
            self.outcomes.push(ItemOutcome::Absent);
            self.levels.push(None);
            self.is_repeated.push(false);
            self.groups.skip(place);
            if log.analysis(place).is_some_and(|a| request.phase.takes(a.kind)) {
                self.add(log, place, request)?;
            } else if closure::is_result_of_kept_call(log, &self.outcomes, place) {
                self.closures += 1;
                self.add(log, place, request)?;
            }
        }
        Some(self)
    }

    /// A new candidate with what it hangs on.
    fn add(&mut self, log: &ContextLog, place: usize, request: &Request<'_>) -> Option<()> {
        let mut chain = vec![place];
        let mut next = log.links().parent(place);
        while let Some(at) = next.filter(|at| self.outcomes.get(*at) == Some(&ItemOutcome::Absent))
        {
            if log.analysis(at).is_some_and(|a| a.kind == ItemKind::ToolCall) {
                // Its other results, which came before, come with it.
                return None;
            }
            chain.push(at);
            next = log.links().parent(at);
        }
        self.closures += chain.len() - 1;
        chain.into_iter().rev().try_for_each(|at| self.admit(log, at, request))
    }

    /// One candidate; what it hangs on has been admitted.
    fn admit(&mut self, log: &ContextLog, place: usize, request: &Request<'_>) -> Option<()> {
        let mut level = log.analysis(place)?.level;
        if let Some(parent) = log.links().parent(place) {
            if self.outcomes.get(parent) == Some(&ItemOutcome::Dropped(DropReason::Dedup)) {
                return None;
            }
            level = level.max(self.levels.get(parent).copied().flatten()?);
        }
        self.total += 1;
        self.changed.push(place);
        let (judged, block) = sensitivity::judge(log, place, level, request);
        let outcome = match judged {
            ItemOutcome::Kept if is_without_call(log, place) => {
                ItemOutcome::Dropped(DropReason::Group)
            }
            other => other,
        };
        self.blocks.extend(block.map(|block| (place, block)));
        if let Some(entry) = self.levels.get_mut(place) {
            *entry = Some(level);
        }
        self.set(place, outcome);
        let group = self.join(log, place, request)?;
        match (outcome, self.groups.get(group)?.is_live) {
            (ItemOutcome::Kept, true) => {
                self.ranks.push(group, self.groups.get(group)?);
                self.stands_for_older(log, place);
            }
            (ItemOutcome::Kept, false) => self.set(place, ItemOutcome::Dropped(DropReason::Group)),
            (_, true) => self.lose(log, group)?,
            (_, false) => {}
        }
        Some(())
    }

    /// Its group, in which it is the newest.
    fn join(&mut self, log: &ContextLog, place: usize, request: &Request<'_>) -> Option<usize> {
        let known = self.groups.all().len();
        let older = self.groups.at(Groups::head_of(log, place));
        if older.and_then(|at| self.groups.get(at)).is_some_and(|g| g.newest as usize > place) {
            return None;
        }
        if let Some(older) = older.and_then(|at| self.groups.get(at)) {
            self.ranks.remove(older);
        }
        let share = share(log, place, &self.wanted, &self.blocks, request);
        self.groups.add(log, place, share);
        let group = self.groups.at(place)?;
        if group == known {
            self.groups.hang(log, group);
        } else {
            self.changed.extend(self.groups.members(group));
        }
        if self.is_repeated.get(place) == Some(&true) {
            self.groups.repeat(group);
        }
        Some(group)
    }

    /// One member is left out, and the others with it.
    fn lose(&mut self, log: &ContextLog, group: usize) -> Option<()> {
        let found = self.groups.get(group)?;
        let (is_needed, needs) = (found.is_needed, found.needs());
        let members: Vec<usize> = self.groups.members(group).collect();
        // What hangs on them, and what they stood for, would change as well.
        let stood = |place: &usize| {
            self.outcomes.get(*place) == Some(&ItemOutcome::Kept)
                && log.links().older(*place).is_some()
        };
        if is_needed || members.iter().any(stood) {
            return None;
        }
        for place in members {
            if self.outcomes.get(place) == Some(&ItemOutcome::Kept) {
                self.set(place, ItemOutcome::Dropped(DropReason::Group));
            }
        }
        self.groups.end(group);
        needs.into_iter().for_each(|needs| self.end_repeated(needs));
        Some(())
    }

    /// What says the same as this and came before may go.
    fn stands_for_older(&mut self, log: &ContextLog, place: usize) {
        let mut next = log.links().older(place);
        while let Some(at) = next.filter(|at| self.is_repeated.get(*at) == Some(&false)) {
            if let Some(entry) = self.is_repeated.get_mut(at) {
                *entry = true;
            }
            if let Some(group) = self.groups.at(at) {
                self.groups.repeat(group);
                self.end_repeated(group);
            }
            next = log.links().older(at);
        }
    }

    fn end_repeated(&mut self, group: usize) {
        let before = self.changed.len();
        let changed = &mut self.changed;
        dedupe::end(&mut self.outcomes, &mut self.groups, group, |place| changed.push(place));
        for place in self.changed.iter().skip(before) {
            let group = self.groups.at(*place).and_then(|group| self.groups.get(group));
            if let Some(gone) = group.filter(|group| group.newest as usize == *place) {
                self.ranks.remove(gone);
            }
        }
    }

    fn set(&mut self, place: usize, outcome: ItemOutcome) {
        if let Some(entry) = self.outcomes.get_mut(place) {
            *entry = outcome;
        }
    }
}

/// Whether it is a result of a call that is not there.
fn is_without_call(log: &ContextLog, place: usize) -> bool {
    let is_result = log.analysis(place).is_some_and(|a| a.kind == ItemKind::ToolResult);
    is_result && log.links().is_missing(place)
}

fn share(
    log: &ContextLog,
    place: usize,
    wanted: &QueryStems,
    blocks: &BTreeMap<usize, Block>,
    request: &Request<'_>,
) -> MemberShare {
    let analysis = log.analysis(place);
    let counted = analysis.map_or(0, |analysis| analysis.tokens);
    let block = if blocks.is_empty() { None } else { blocks.get(&place) };
    MemberShare {
        tokens: block.map_or(counted, |block| block.tokens),
        lasting: score::lasting(log, place, wanted, request).sum(),
        is_pinned: analysis.is_some_and(|analysis| analysis.is_pinned),
    }
}
