//! The results of all stages before the selection, for one log and one request.
//!
//! They are extended when the log grows. Extension only ever adds candidates and drops items that
//! have become redundant. If new items would bring back something that was dropped, or change groups
//! that others depend on, [`RankedCandidates::extended`] gives up and all is made from scratch, so
//! that extended candidates always equal new ones.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::Confidentiality;

use crate::compile::candidate;
use crate::compile::group::{Groups, MemberContribution};
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::rank::GroupRanking;
use crate::compile::rendered_item::ReplacementBlock;
use crate::compile::score::{self, QueryStems};
use crate::compile::sensitivity;
use crate::compile::stats::DropReason;
use crate::compile::{CompileRequest, ContextItemKind, ContextLog, closure, dedupe};

/// The outcome of each item, and the ranked groups, before groups are selected.
#[derive(Debug, Clone)]
pub(super) struct RankedCandidates {
    pub(super) outcomes: Vec<ItemOutcome>,
    /// The replacement blocks of redacted items, by index.
    pub(super) blocks: BTreeMap<usize, ReplacementBlock>,
    pub(super) groups: Groups,
    pub(super) ranks: GroupRanking,
    pub(super) total_candidates: usize,
    pub(super) closure_count: usize,
    /// The items whose outcome or group changed in the last extension.
    pub(super) changed: Vec<usize>,
    /// The groups that the current extension added members to. Their members are listed once, at
    /// its end: listed for each new member, a call with n results would cost n².
    grown_groups: BTreeSet<usize>,
    query_stems: QueryStems,
    levels: Vec<Option<Confidentiality>>,
    /// For each item, whether it has a later duplicate that is kept.
    is_duplicate: Vec<bool>,
    late_parents: usize,
}

impl RankedCandidates {
    /// Runs all stages from scratch.
    pub(super) fn new(log: &ContextLog, request: &CompileRequest<'_>) -> Self {
        let mut outcomes = candidate::initial_outcomes(log, &request.phase);
        let closure_count = closure::add_dependencies(log, &mut outcomes);
        let total_candidates =
            outcomes.iter().filter(|outcome| **outcome != ItemOutcome::Absent).count();
        let levels = sensitivity::effective_confidentiality(log, &outcomes);
        let blocks = sensitivity::apply_floor(log, &mut outcomes, &levels, request);
        for (index, outcome) in outcomes.iter_mut().enumerate() {
            if *outcome == ItemOutcome::Kept && is_result_without_call(log, index) {
                *outcome = ItemOutcome::Dropped(DropReason::Group);
            }
        }
        let query_stems = QueryStems::from_request(log, request);
        let contribution = |index| member_contribution(log, index, &query_stems, &blocks, request);
        let mut groups = Groups::from_candidates(log, &mut outcomes, contribution);
        let is_duplicate = dedupe::find_duplicates(log, &outcomes);
        dedupe::drop_redundant_groups(&mut outcomes, &mut groups, &is_duplicate);
        let ranks = GroupRanking::from_groups(&groups, outcomes.len());
        let (late_parents, changed) = (log.forest().late_parents(), Vec::new());
        Self {
            outcomes,
            blocks,
            groups,
            ranks,
            total_candidates,
            closure_count,
            changed,
            grown_groups: BTreeSet::new(),
            query_stems,
            levels,
            is_duplicate,
            late_parents,
        }
    }

    /// How many items of the log are covered.
    pub(super) fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// The group of the user's last message that may be shown.
    pub(super) fn last_turn(&self, log: &ContextLog) -> Option<usize> {
        let is_turn = |index: &usize| {
            let kept = self.outcomes.get(*index) == Some(&ItemOutcome::Kept);
            kept && log.analysis(*index).is_some_and(|a| a.kind == ContextItemKind::UserTurn)
        };
        let group = self.groups.group_of((0..self.outcomes.len()).rev().find(is_turn)?)?;
        self.groups.get(group).filter(|found| found.is_active).map(|_| group)
    }

    /// Adds the items that were logged since. Returns `None` if that would bring back something that
    /// was dropped, so that all must be made from scratch.
    pub(super) fn extended(
        mut self,
        log: &ContextLog,
        request: &CompileRequest<'_>,
    ) -> Option<Self> {
        if self.late_parents != log.forest().late_parents() {
            return None;
        }
        self.changed.clear();
        self.query_stems.resolve_unseen(log);
        for index in self.outcomes.len()..log.len() {
            self.outcomes.push(ItemOutcome::Absent);
            self.levels.push(None);
            self.is_duplicate.push(false);
            self.groups.extend_to(index);
            if log.analysis(index).is_some_and(|a| request.phase.includes(a.kind)) {
                self.add_with_ancestors(log, index, request)?;
            } else if closure::is_result_of_kept_call(log, &self.outcomes, index) {
                self.closure_count += 1;
                self.add_with_ancestors(log, index, request)?;
            }
        }
        for group in std::mem::take(&mut self.grown_groups) {
            self.changed.extend(self.groups.members(group));
        }
        Some(self)
    }

    /// Adds a new candidate with its ancestors.
    fn add_with_ancestors(
        &mut self,
        log: &ContextLog,
        index: usize,
        request: &CompileRequest<'_>,
    ) -> Option<()> {
        let mut chain = vec![index];
        let mut next = log.forest().parent(index);
        while let Some(at) = next.filter(|at| self.outcomes.get(*at) == Some(&ItemOutcome::Absent))
        {
            if log.analysis(at).is_some_and(|a| a.kind == ContextItemKind::ToolCall) {
                // The call would also bring earlier results of its own, which are not covered here.
                return None;
            }
            chain.push(at);
            next = log.forest().parent(at);
        }
        self.closure_count += chain.len() - 1;
        chain.into_iter().rev().try_for_each(|at| self.add_candidate(log, at, request))
    }

    /// Adds one candidate whose parent has been added.
    fn add_candidate(
        &mut self,
        log: &ContextLog,
        index: usize,
        request: &CompileRequest<'_>,
    ) -> Option<()> {
        let mut level = log.analysis(index)?.confidentiality;
        if let Some(parent) = log.forest().parent(index) {
            if self.outcomes.get(parent) == Some(&ItemOutcome::Dropped(DropReason::Dedup)) {
                return None;
            }
            level = level.max(self.levels.get(parent).copied().flatten()?);
        }
        self.total_candidates += 1;
        self.changed.push(index);
        let (outcome, block) = sensitivity::evaluate(log, index, level, request);
        let outcome = match outcome {
            ItemOutcome::Kept if is_result_without_call(log, index) => {
                ItemOutcome::Dropped(DropReason::Group)
            }
            other => other,
        };
        self.blocks.extend(block.map(|block| (index, block)));
        if let Some(entry) = self.levels.get_mut(index) {
            *entry = Some(level);
        }
        self.set_outcome(index, outcome);
        let group = self.join_group(log, index, request)?;
        match (outcome, self.groups.get(group)?.is_active) {
            (ItemOutcome::Kept, true) => {
                self.ranks.push(group, self.groups.get(group)?);
                self.mark_older_duplicates(log, index);
            }
            (ItemOutcome::Kept, false) => {
                self.set_outcome(index, ItemOutcome::Dropped(DropReason::Group))
            }
            (_, true) => self.drop_group(log, group)?,
            (_, false) => {}
        }
        Some(())
    }

    /// Adds an item to its group and returns the group. Returns `None` if the item is not the newest
    /// member.
    fn join_group(
        &mut self,
        log: &ContextLog,
        index: usize,
        request: &CompileRequest<'_>,
    ) -> Option<usize> {
        let groups_before = self.groups.all().len();
        let older = self.groups.group_of(Groups::group_head(log, index));
        if older
            .and_then(|at| self.groups.get(at))
            .is_some_and(|g| g.newest_member as usize > index)
        {
            return None;
        }
        if let Some(older) = older.and_then(|at| self.groups.get(at)) {
            self.ranks.remove(older);
        }
        let share = member_contribution(log, index, &self.query_stems, &self.blocks, request);
        self.groups.add_member(log, index, share);
        let group = self.groups.group_of(index)?;
        if group == groups_before {
            self.groups.attach_to_parent(log, group);
        } else {
            self.grown_groups.insert(group);
        }
        if self.is_duplicate.get(index) == Some(&true) {
            self.groups.count_duplicate(group);
        }
        Some(group)
    }

    /// Drops a group because one of its members was dropped.
    fn drop_group(&mut self, log: &ContextLog, group: usize) -> Option<()> {
        let dropped = self.groups.get(group)?;
        let (is_needed, parent) = (dropped.ever_had_children, dropped.parent());
        let members: Vec<usize> = self.groups.members(group).collect();
        // Dependents of the group, and older duplicates that its members replaced, would change too.
        let replaces_older = |index: &usize| {
            self.outcomes.get(*index) == Some(&ItemOutcome::Kept)
                && log.forest().previous_duplicate(*index).is_some()
        };
        if is_needed || members.iter().any(replaces_older) {
            return None;
        }
        for index in members {
            if self.outcomes.get(index) == Some(&ItemOutcome::Kept) {
                self.set_outcome(index, ItemOutcome::Dropped(DropReason::Group));
            }
        }
        self.groups.drop_group(group);
        parent.into_iter().for_each(|parent| self.drop_if_redundant(parent));
        Some(())
    }

    /// Marks the earlier duplicates of an item, and drops groups that become redundant.
    fn mark_older_duplicates(&mut self, log: &ContextLog, index: usize) {
        let mut next = log.forest().previous_duplicate(index);
        while let Some(at) = next.filter(|at| self.is_duplicate.get(*at) == Some(&false)) {
            if let Some(entry) = self.is_duplicate.get_mut(at) {
                *entry = true;
            }
            if let Some(group) = self.groups.group_of(at) {
                self.groups.count_duplicate(group);
                self.drop_if_redundant(group);
            }
            next = log.forest().previous_duplicate(at);
        }
    }

    fn drop_if_redundant(&mut self, group: usize) {
        let before = self.changed.len();
        let changed = &mut self.changed;
        dedupe::drop_if_redundant(&mut self.outcomes, &mut self.groups, group, |index| {
            changed.push(index)
        });
        for index in self.changed.iter().skip(before) {
            let group = self.groups.group_of(*index).and_then(|group| self.groups.get(group));
            if let Some(dropped) = group.filter(|group| group.newest_member as usize == *index) {
                self.ranks.remove(dropped);
            }
        }
    }

    fn set_outcome(&mut self, index: usize, outcome: ItemOutcome) {
        if let Some(entry) = self.outcomes.get_mut(index) {
            *entry = outcome;
        }
    }
}

/// Whether the item is a result whose call is not in the log.
fn is_result_without_call(log: &ContextLog, index: usize) -> bool {
    let is_result = log.analysis(index).is_some_and(|a| a.kind == ContextItemKind::ToolResult);
    is_result && log.forest().is_parent_missing(index)
}

fn member_contribution(
    log: &ContextLog,
    index: usize,
    query_stems: &QueryStems,
    blocks: &BTreeMap<usize, ReplacementBlock>,
    request: &CompileRequest<'_>,
) -> MemberContribution {
    let analysis = log.analysis(index);
    let counted = analysis.map_or(0, |analysis| analysis.tokens);
    let block = if blocks.is_empty() { None } else { blocks.get(&index) };
    MemberContribution {
        tokens: block.map_or(counted, |block| block.tokens),
        base_score: score::base_score(log, index, query_stems, request).sum(),
        is_pinned: analysis.is_some_and(|analysis| analysis.is_pinned),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use weaver_types::{CallId, CapabilityId, RawResult};

    use super::*;
    use crate::compile::{ContextItem, Phase, ToolOutput, item_from_output};

    #[test]
    fn a_call_with_many_results_costs_as_much_as_it_has() {
        let mut log = ContextLog::new(Arc::new(weaver_text::token::CharsPerFour));
        let call = CallId::parse("call_1").unwrap();
        let capability = CapabilityId::parse("files.search").unwrap();
        let item = ContextItem::tool_call(&call, &capability, &json!({}));
        let parent = item.id().to_owned();
        log.push(item).unwrap();
        let request = CompileRequest::new(Phase::Answer);
        let ranked = RankedCandidates::new(&log, &request);
        let results = 500;
        for number in 0..results {
            let output = ToolOutput {
                id: format!("result {number}"),
                call: Some(parent.clone()),
                result: RawResult::text(format!("line {number}")),
                label: weaver_types::Label::clean(),
                metadata: Default::default(),
            };
            log.push(item_from_output(output, None)).unwrap();
        }
        let ranked = ranked.extended(&log, &request).unwrap();
        assert!(ranked.changed.len() <= 3 * results, "{} changes", ranked.changed.len());
    }
}
