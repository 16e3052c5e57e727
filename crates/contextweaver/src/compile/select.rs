//! Which groups go in: the best that fit, until nothing more would.
//!
//! Greedy packing in the order of points. Filling a budget with the most valuable items is the knapsack
//! problem, which is NP-hard (Karp, *Reducibility among Combinatorial Problems*, 1972). The greedy order
//! is what a reader can follow: an item is left out only if it does not fit beside better ones.
//! Groups are counted by themselves while they are picked; the
//! whole is counted once more, and the last ones are given back where it is too long.

use std::collections::{BTreeMap, BTreeSet};

use crate::compile::messages::Costs;
use crate::compile::plan::Plan;
use crate::compile::render::RenderedContext;
use crate::compile::section::Block;
use crate::compile::selected_groups::SelectedGroups;
use crate::compile::shortening::Shortener;
use crate::compile::shown_sections::{ShownSections, TargetSections};
use crate::compile::{ContextLog, Format, Request};

/// After this number of counts of the whole context, half of what was chosen goes at once, and
/// nothing is tried again. Only a counter for which a whole is more than its parts comes so far.
const MAX_COUNTS: usize = 64;

/// What was chosen.
pub(super) struct Choice {
    pub(super) rendered: RenderedContext,
    /// Tokens of the whole.
    pub(super) tokens: usize,
    pub(super) counts: usize,
    pub(super) taken: SelectedGroups,
    /// Blocks of items that were made shorter.
    pub(super) shortened_blocks: BTreeMap<usize, Block>,
}

pub(super) fn select(
    log: &ContextLog,
    plan: &Plan,
    request: &Request<'_>,
    shown: &mut ShownSections,
) -> Choice {
    let budget = request.phase.budget;
    let mut picker = GroupPicker::new(log, plan, request, shown);
    if picker.may_take_all(budget) {
        picker.taken = SelectedGroups::all();
        let whole = picker.measured();
        if whole.tokens.is_some_and(|tokens| tokens <= budget) {
            return picker.chosen(whole);
        }
    }
    picker.begin_list();
    let mut spare = Some(picker.take_best(budget));
    let mut best = picker.measured();
    while best.tokens.is_none_or(|tokens| tokens > budget) && picker.taken.len() > 0 {
        picker.give_back(best.tokens.map_or(0, |tokens| tokens - budget));
        best = picker.measured();
        spare = None;
    }
    // What was passed over is tried again, in the room that is really left. Where the whole is the
    // sum of its parts, that is the room that was left before, and nothing of it fits.
    loop {
        let left = budget.saturating_sub(best.tokens.unwrap_or(budget));
        let before = picker.taken.len();
        if spare == Some(left) || picker.counts >= MAX_COUNTS {
            break;
        }
        spare = Some(picker.take_best(left));
        if picker.taken.len() == before {
            break;
        }
        let wider = picker.measured();
        if wider.tokens.is_some_and(|tokens| tokens <= budget) {
            best = wider;
        } else {
            picker.refuse_after(before);
            spare = None;
        }
    }
    picker.chosen(best)
}

/// A rendering with its tokens, if these can be counted.
struct MeasuredRendering {
    rendered: RenderedContext,
    tokens: Option<usize>,
}

/// What has been taken so far.
struct GroupPicker<'a> {
    log: &'a ContextLog,
    plan: &'a Plan,
    request: &'a Request<'a>,
    shown: &'a mut ShownSections,
    costs: Costs<'a>,
    shortener: Shortener<'a>,
    taken: SelectedGroups,
    /// Groups that fit by their own count and not in the whole.
    refused: BTreeSet<usize>,
    /// The dearest way to the top that is in, by the group at the top.
    deepest: Vec<u64>,
    shortened_blocks: BTreeMap<usize, Block>,
    counts: usize,
}

impl<'a> GroupPicker<'a> {
    fn new(
        log: &'a ContextLog,
        plan: &'a Plan,
        request: &'a Request<'a>,
        shown: &'a mut ShownSections,
    ) -> Self {
        Self {
            log,
            plan,
            request,
            shown,
            costs: Costs::new(log, plan, request.format, request.calls),
            shortener: Shortener::new(log, request),
            taken: SelectedGroups::default(),
            refused: BTreeSet::new(),
            deepest: Vec::new(),
            shortened_blocks: BTreeMap::new(),
            counts: 0,
        }
    }

    /// Whether everything should fit.
    fn may_take_all(&self, room: usize) -> bool {
        let is_sum = self.request.format == Format::Text && self.log.counter().is_additive();
        is_sum && self.plan.groups.live_tokens() <= room as u64
    }

    /// Nothing is taken yet.
    fn begin_list(&mut self) {
        let groups = self.plan.groups.all().len();
        self.taken = SelectedGroups::none_of(groups);
        self.deepest = vec![0; groups];
    }

    /// What was taken, as it was measured.
    fn chosen(self, MeasuredRendering { rendered, tokens }: MeasuredRendering) -> Choice {
        let Self { taken, shortened_blocks, counts, .. } = self;
        Choice { rendered, tokens: tokens.unwrap_or(0), counts, taken, shortened_blocks }
    }

    /// Takes the best groups that fit into the room, each with what it hangs on; the room left. What
    /// the user said last is the best of all, whatever is pinned and however old it is.
    fn take_best(&mut self, mut room: usize) -> usize {
        let newest = self.log.len().saturating_sub(1);
        let plan = self.plan;
        if let Some(group) = plan.last_turn(self.log)
            && !self.taken.lists(group)
            && !self.refused.contains(&group)
            && let Some(cost) = self.take(group, room)
        {
            room -= cost;
        }
        // What is too long may be made shorter.
        let fits = |picker: &Self, tokens: u64, room: usize| {
            tokens <= room as u64 || picker.shortener.may_help(tokens)
        };
        let mut walk = plan.ranks.walk(newest, |tokens| fits(self, tokens, room));
        while let Some(group) = walk.next(|tokens| fits(self, tokens, room)) {
            if self.taken.lists(group) || self.refused.contains(&group) {
                continue;
            }
            if let Some(cost) = self.take(group, room) {
                room -= cost;
            }
        }
        room
    }

    /// Takes a group with what it hangs on, if there is room for all of it; what that costs.
    fn take(&mut self, group: usize, room: usize) -> Option<usize> {
        let found = self.plan.groups.get(group)?;
        // A lower bound that needs no walk: what is in covers at most the dearest way so far.
        let covered = self.deepest.get(found.root as usize).copied().unwrap_or(0);
        // Of messages the text is no bound: what stands in one may be shorter than its block.
        let is_text = self.request.format == Format::Text;
        let least = if is_text { found.with_needs.saturating_sub(covered) } else { 0 };
        if least > room as u64 && !self.shortener.may_help(found.tokens) {
            return None;
        }
        let mut chain = Vec::new();
        let mut above = 0usize;
        let mut next = found.needs();
        while let Some(at) = next.filter(|at| !self.taken.lists(*at)) {
            above = above.saturating_add(self.costs.of(at)?);
            if above > room || self.refused.contains(&at) {
                return None;
            }
            chain.push(at);
            next = self.plan.groups.get(at)?.needs();
        }
        let left = room - above;
        let own = self.costs.of(group).filter(|own| *own <= left);
        let own = match own {
            Some(own) => own,
            None => {
                let (blocks, cost) = self.shortener.squeeze(self.plan, group, left)?;
                self.shortened_blocks.extend(blocks);
                cost
            }
        };
        for at in chain.into_iter().rev().chain([group]) {
            self.put(at);
        }
        Some(above + own)
    }

    fn put(&mut self, group: usize) {
        self.taken.push(group);
        if let Some(found) = self.plan.groups.get(group)
            && let Some(deepest) = self.deepest.get_mut(found.root as usize)
        {
            *deepest = (*deepest).max(found.with_needs);
        }
    }

    /// Gives back the lowest groups: at least one, and as many as cost what there is too much.
    /// `deepest` stays as it is, since it is only a bound.
    fn give_back(&mut self, excess: usize) {
        let most = if self.counts < MAX_COUNTS { usize::MAX } else { self.taken.len() / 2 };
        let mut given = 0usize;
        while self.taken.len() > most || given == 0 || given < excess {
            let Some(cost) = self.give_last() else { break };
            given = given.saturating_add(cost.max(1));
        }
    }

    /// Gives back the lowest group, on which nothing that is in hangs; what it cost.
    fn give_last(&mut self) -> Option<usize> {
        let group = self.taken.pop()?;
        for place in self.plan.groups.members(group) {
            self.shortened_blocks.remove(&place);
        }
        Some(self.costs.of(group).unwrap_or(0))
    }

    /// Gives back what was taken after so many, and never takes the best of it again.
    fn refuse_after(&mut self, kept: usize) {
        while self.taken.len() > kept {
            if self.taken.len() == kept + 1 {
                self.refused.extend(self.taken.last());
            }
            self.give_last();
        }
    }

    fn measured(&mut self) -> MeasuredRendering {
        let (log, plan) = (self.log, self.plan);
        self.shown.change(&TargetSections {
            log,
            plan,
            taken: &self.taken,
            shortened_blocks: &self.shortened_blocks,
        });
        let rendered =
            RenderedContext::new(log, self.shown, self.request.format, self.request.calls);
        self.counts += 1;
        let tokens = match rendered.sent.is_empty() {
            true => Some(0),
            false => log.counter().count(&rendered.sent).tokens(),
        };
        MeasuredRendering { rendered, tokens }
    }
}
