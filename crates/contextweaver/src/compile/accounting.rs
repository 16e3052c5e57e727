//! Accounts for every candidate of a build: its outcome, and the statistics.

use crate::compile::dropped_items::DroppedItems;
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::ranked_candidates::RankedCandidates;
use crate::compile::request::OverflowAction;
use crate::compile::select::SelectedContext;
use crate::compile::selected_groups::SelectedGroups;
use crate::compile::stats::{BuildStats, DropReason};
use crate::compile::{CompileRequest, ContextItemKind, ContextLog};
use crate::error::BuildError;

/// Determines the outcome of each item after the selection: an item that was not selected did not
/// fit, or belongs with something that did not.
#[derive(Clone, Copy)]
pub(super) struct OutcomeResolver<'a> {
    pub(super) log: &'a ContextLog,
    pub(super) ranked: &'a RankedCandidates,
    pub(super) budget: usize,
    pub(super) selected: &'a SelectedGroups,
    /// Groups that would fit by themselves but whose parent was not selected, sorted.
    pub(super) blocked_by_parent: &'a [u32],
}

impl OutcomeResolver<'_> {
    /// The outcome of one item.
    pub(super) fn outcome(&self, index: usize) -> ItemOutcome {
        let outcome = self.ranked.outcomes.get(index).copied().unwrap_or(ItemOutcome::Absent);
        let Some(group) =
            self.ranked.groups.group_of(index).filter(|_| outcome == ItemOutcome::Kept)
        else {
            return outcome;
        };
        if self.selected.contains(&self.ranked.groups, group) {
            return outcome;
        }
        let tokens = self.log.analysis(index).map_or(0, |a| a.tokens as usize);
        let longest_member =
            self.ranked.groups.get(group).map_or(0, |found| found.longest as usize);
        // In a group with a member that exceeds the budget by itself, only such members are dropped
        // for the budget; the others are dropped because of their group.
        let is_budget = match longest_member > self.budget {
            true => tokens > self.budget,
            false => !u32::try_from(group)
                .is_ok_and(|at| self.blocked_by_parent.binary_search(&at).is_ok()),
        };
        ItemOutcome::Dropped(if is_budget { DropReason::Budget } else { DropReason::Group })
    }
}

/// The statistics of a build.
pub(super) fn build_stats(
    log: &ContextLog,
    ranked: &RankedCandidates,
    choice: &SelectedContext,
    dropped: DroppedItems,
    request: &CompileRequest<'_>,
) -> BuildStats {
    let mut stats = BuildStats {
        phase: request.phase.name.clone().into_owned(),
        budget: request.phase.budget,
        total_candidates: ranked.total_candidates,
        dependency_closures: ranked.closure_count,
        included_count: choice.rendered.items.len(),
        redacted_count: choice.rendered.totals.redacted_count(),
        tokens_per_section: choice.rendered.totals.tokens_by_kind().collect(),
        compressed_count: choice.shortened_blocks.len(),
        prompt_tokens: choice.tokens,
        token_estimator: log.counter().name().to_owned(),
        exact_counts: choice.counts,
        ..BuildStats::default()
    };
    stats.record_dropped(dropped);
    stats.dedup_removed = stats.dropped_reasons.get(&DropReason::Dedup).copied().unwrap_or(0);
    let items: usize = stats.tokens_per_section.values().sum();
    stats.header_footer_tokens = stats.prompt_tokens.saturating_sub(items);
    stats
}

/// Applies the overflow policy to items that did not fit: a warning, or an error.
pub(super) fn check_overflow(
    stats: &mut BuildStats,
    request: &CompileRequest<'_>,
) -> Result<(), BuildError> {
    let policy = &request.overflow;
    if policy.by_kind.is_empty() && policy.default_action == OverflowAction::Drop {
        return Ok(());
    }
    for kind in ContextItemKind::ALL {
        let pieces = stats.dropped_items.chunks().iter();
        let over_budget: usize =
            pieces.filter_map(|piece| piece.over_budget_by_kind.get(kind as usize)).sum();
        match policy.action_for(kind) {
            _ if over_budget == 0 => {}
            OverflowAction::Drop => {}
            OverflowAction::Warn => {
                let word = kind.as_str();
                stats.warnings.push(format!("{over_budget} of kind {word} had no room"));
            }
            OverflowAction::Error => {
                let (kind, budget) = (kind.as_str(), request.phase.budget);
                return Err(BuildError::Overflow { kind, count: over_budget, budget });
            }
        }
    }
    Ok(())
}
