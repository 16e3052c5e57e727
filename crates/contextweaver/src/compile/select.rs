//! Selects the groups of a context: the best ones that fit into the budget.
//!
//! Greedy packing in order of score. Filling a budget with the most valuable items is the knapsack
//! problem, which is NP-hard (Karp, *Reducibility among Combinatorial Problems*, 1972). The greedy order
//! is what a reader can follow: an item is left out only if it does not fit beside better ones.
//!
//! Groups are counted by themselves while they are selected. Tokenizers may merge across group
//! boundaries and messages have an envelope, so the complete rendering is counted as well, and the
//! lowest-ranked groups are dropped again if it is too long.

use std::collections::{BTreeMap, BTreeSet};

use crate::compile::messages::GroupCosts;
use crate::compile::ranked_candidates::RankedCandidates;
use crate::compile::render::RenderedContext;
use crate::compile::render_cache::{RenderCache, RenderTarget};
use crate::compile::rendered_item::ReplacementBlock;
use crate::compile::selected_groups::SelectedGroups;
use crate::compile::shortening::Shortener;
use crate::compile::{CompileRequest, ContextLog, PromptFormat};

/// After this many counts of the complete context, half of the selection is dropped at once and no
/// group is tried again. Only a counter for which a text has more tokens than its parts gets here.
const MAX_COUNTS: usize = 64;

/// The selected groups and their rendering.
pub(super) struct SelectedContext {
    pub(super) rendered: RenderedContext,
    /// The tokens of the complete rendering.
    pub(super) tokens: usize,
    pub(super) counts: usize,
    pub(super) selected: SelectedGroups,
    /// The blocks of items that were shortened, by index.
    pub(super) shortened_blocks: BTreeMap<usize, ReplacementBlock>,
}

pub(super) fn select(
    log: &ContextLog,
    ranked: &RankedCandidates,
    request: &CompileRequest<'_>,
    shown: &mut RenderCache,
) -> SelectedContext {
    let budget = request.phase.budget;
    let mut picker = GroupPicker::new(log, ranked, request, shown);
    if picker.may_select_all(budget) {
        picker.selected = SelectedGroups::all();
        let all = picker.render_and_count();
        if all.tokens.is_some_and(|tokens| tokens <= budget) {
            return picker.into_selected(all);
        }
    }
    picker.start_empty();
    let mut remaining = Some(picker.select_best(budget));
    let mut best = picker.render_and_count();
    while best.tokens.is_none_or(|tokens| tokens > budget) && picker.selected.len() > 0 {
        picker.drop_lowest(best.tokens.map_or(0, |tokens| tokens - budget));
        best = picker.render_and_count();
        remaining = None;
    }
    // Groups that were passed over are tried again in the room that is really left. If the counter
    // is additive, that is the room that was left before, and none of them fits.
    loop {
        let left = budget.saturating_sub(best.tokens.unwrap_or(budget));
        let before = picker.selected.len();
        if remaining == Some(left) || picker.counts >= MAX_COUNTS {
            break;
        }
        remaining = Some(picker.select_best(left));
        if picker.selected.len() == before {
            break;
        }
        let extended = picker.render_and_count();
        if extended.tokens.is_some_and(|tokens| tokens <= budget) {
            best = extended;
        } else {
            picker.reject_after(before);
            remaining = None;
        }
    }
    picker.into_selected(best)
}

/// A rendering with its tokens, if they can be counted.
struct MeasuredRendering {
    rendered: RenderedContext,
    tokens: Option<usize>,
}

/// The state of the greedy selection.
struct GroupPicker<'a> {
    log: &'a ContextLog,
    ranked: &'a RankedCandidates,
    request: &'a CompileRequest<'a>,
    shown: &'a mut RenderCache,
    costs: GroupCosts<'a>,
    shortener: Shortener<'a>,
    selected: SelectedGroups,
    /// Groups that fit by their own count but not in the complete rendering.
    rejected: BTreeSet<usize>,
    /// By root group: the most tokens of a selected group together with its ancestors.
    max_chain_tokens: Vec<u64>,
    shortened_blocks: BTreeMap<usize, ReplacementBlock>,
    counts: usize,
}

impl<'a> GroupPicker<'a> {
    fn new(
        log: &'a ContextLog,
        ranked: &'a RankedCandidates,
        request: &'a CompileRequest<'a>,
        shown: &'a mut RenderCache,
    ) -> Self {
        Self {
            log,
            ranked,
            request,
            shown,
            costs: GroupCosts::new(log, ranked, request.format, request.call_style),
            shortener: Shortener::new(log, request),
            selected: SelectedGroups::default(),
            rejected: BTreeSet::new(),
            max_chain_tokens: Vec::new(),
            shortened_blocks: BTreeMap::new(),
            counts: 0,
        }
    }

    /// Whether all active groups fit by their own counts, and these add up.
    fn may_select_all(&self, room: usize) -> bool {
        let is_sum = self.request.format == PromptFormat::Text && self.log.counter().is_additive();
        is_sum && self.ranked.groups.active_tokens() <= room as u64
    }

    /// Starts with an empty selection.
    fn start_empty(&mut self) {
        let groups = self.ranked.groups.all().len();
        self.selected = SelectedGroups::empty(groups);
        self.max_chain_tokens = vec![0; groups];
    }

    /// The selection with its last rendering.
    fn into_selected(
        self,
        MeasuredRendering { rendered, tokens }: MeasuredRendering,
    ) -> SelectedContext {
        let Self { selected, shortened_blocks, counts, .. } = self;
        SelectedContext {
            rendered,
            tokens: tokens.unwrap_or(0),
            counts,
            selected,
            shortened_blocks,
        }
    }

    /// Selects the best groups that fit into the room, each with its ancestors, and returns the room
    /// that is left. The user's last message comes first, whatever else is pinned and however old it
    /// is.
    fn select_best(&mut self, mut room: usize) -> usize {
        let newest = self.log.len().saturating_sub(1);
        let ranked = self.ranked;
        if let Some(group) = ranked.last_turn(self.log)
            && !self.selected.is_listed(group)
            && !self.rejected.contains(&group)
            && let Some(cost) = self.try_select(group, room)
        {
            room -= cost;
        }
        // A group that is too long may still fit when its longest item is shortened.
        let fits = |picker: &Self, tokens: u64, room: usize| {
            tokens <= room as u64 || picker.shortener.may_shorten(tokens)
        };
        let mut candidates = ranked.ranks.best_first(newest, |tokens| fits(self, tokens, room));
        while let Some(group) = candidates.next(|tokens| fits(self, tokens, room)) {
            if self.selected.is_listed(group) || self.rejected.contains(&group) {
                continue;
            }
            if let Some(cost) = self.try_select(group, room) {
                room -= cost;
            }
        }
        room
    }

    /// Selects a group with its ancestors if there is room for all of them. Returns their tokens.
    fn try_select(&mut self, group: usize, room: usize) -> Option<usize> {
        let candidate = self.ranked.groups.get(group)?;
        // A lower bound that needs no walk up the tree: of the group and its ancestors, selected
        // groups of the same tree cover at most the longest selected chain.
        let covered = self.max_chain_tokens.get(candidate.root as usize).copied().unwrap_or(0);
        // For messages the text is no bound: a message may have fewer tokens than the block.
        let is_text = self.request.format == PromptFormat::Text;
        let lower_bound =
            if is_text { candidate.tokens_with_ancestors.saturating_sub(covered) } else { 0 };
        if lower_bound > room as u64 && !self.shortener.may_shorten(candidate.tokens) {
            return None;
        }
        let mut chain = Vec::new();
        let mut ancestor_tokens = 0usize;
        let mut next = candidate.parent();
        while let Some(at) = next.filter(|at| !self.selected.is_listed(*at)) {
            ancestor_tokens = ancestor_tokens.saturating_add(self.costs.tokens(at)?);
            if ancestor_tokens > room || self.rejected.contains(&at) {
                return None;
            }
            chain.push(at);
            next = self.ranked.groups.get(at)?.parent();
        }
        let left = room - ancestor_tokens;
        let own_tokens = self.costs.tokens(group).filter(|own_tokens| *own_tokens <= left);
        let own_tokens = match own_tokens {
            Some(own_tokens) => own_tokens,
            None => {
                let (blocks, cost) = self.shortener.shorten_longest(self.ranked, group, left)?;
                self.shortened_blocks.extend(blocks);
                cost
            }
        };
        for at in chain.into_iter().rev().chain([group]) {
            self.mark_selected(at);
        }
        Some(ancestor_tokens + own_tokens)
    }

    fn mark_selected(&mut self, group: usize) {
        self.selected.push(group);
        if let Some(entry) = self.ranked.groups.get(group)
            && let Some(longest) = self.max_chain_tokens.get_mut(entry.root as usize)
        {
            *longest = (*longest).max(entry.tokens_with_ancestors);
        }
    }

    /// Drops the groups that were selected last: at least one, and enough to cover the excess.
    /// `max_chain_tokens` is not reduced; it only has to be an upper bound.
    fn drop_lowest(&mut self, excess: usize) {
        let most = if self.counts < MAX_COUNTS { usize::MAX } else { self.selected.len() / 2 };
        let mut freed = 0usize;
        while self.selected.len() > most || freed == 0 || freed < excess {
            let Some(cost) = self.drop_last() else { break };
            freed = freed.saturating_add(cost.max(1));
        }
    }

    /// Drops the group that was selected last, and returns its tokens. No selected group depends on
    /// it, because ancestors are selected first.
    fn drop_last(&mut self) -> Option<usize> {
        let group = self.selected.pop()?;
        for index in self.ranked.groups.members(group) {
            self.shortened_blocks.remove(&index);
        }
        Some(self.costs.tokens(group).unwrap_or(0))
    }

    /// Drops all groups selected after the first `kept`, and rejects the best of them for good.
    fn reject_after(&mut self, kept: usize) {
        while self.selected.len() > kept {
            if self.selected.len() == kept + 1 {
                self.rejected.extend(self.selected.last());
            }
            self.drop_last();
        }
    }

    fn render_and_count(&mut self) -> MeasuredRendering {
        let (log, ranked) = (self.log, self.ranked);
        self.shown.update(&RenderTarget {
            log,
            ranked,
            selected: &self.selected,
            shortened_blocks: &self.shortened_blocks,
        });
        let rendered =
            RenderedContext::new(log, self.shown, self.request.format, self.request.call_style);
        self.counts += 1;
        let tokens = match rendered.payload.is_empty() {
            true => Some(0),
            false => log.counter().count(&rendered.payload).tokens(),
        };
        MeasuredRendering { rendered, tokens }
    }
}
