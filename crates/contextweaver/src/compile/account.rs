//! Accounts for every candidate of a build: its outcome, and the totals.

use crate::compile::dropped_items::DroppedItems;
use crate::compile::item_outcome::ItemOutcome;
use crate::compile::plan::Plan;
use crate::compile::request::OverflowAction;
use crate::compile::select::Choice;
use crate::compile::selected_groups::SelectedGroups;
use crate::compile::stats::{BuildStats, DropReason};
use crate::compile::{ContextLog, ItemKind, Request};
use crate::error::BuildError;

/// The outcomes after the choice: what was not chosen had no room, or went with something that had
/// none.
#[derive(Clone, Copy)]
pub(super) struct ItemOutcomes<'a> {
    pub(super) log: &'a ContextLog,
    pub(super) plan: &'a Plan,
    pub(super) budget: usize,
    pub(super) taken: &'a SelectedGroups,
    /// Groups that would fit by themselves and were lost with what they hang on, in order.
    pub(super) lost: &'a [u32],
}

impl ItemOutcomes<'_> {
    /// What has become of one item.
    pub(super) fn of(&self, place: usize) -> ItemOutcome {
        let outcome = self.plan.outcomes.get(place).copied().unwrap_or(ItemOutcome::Absent);
        let Some(group) = self.plan.groups.at(place).filter(|_| outcome == ItemOutcome::Kept)
        else {
            return outcome;
        };
        if self.taken.has(&self.plan.groups, group) {
            return outcome;
        }
        let tokens = self.log.analysis(place).map_or(0, |a| a.tokens as usize);
        let longest = self.plan.groups.get(group).map_or(0, |found| found.longest as usize);
        // One member that fits nowhere takes the others with it.
        let is_budget = match longest > self.budget {
            true => tokens > self.budget,
            false => !u32::try_from(group).is_ok_and(|at| self.lost.binary_search(&at).is_ok()),
        };
        ItemOutcome::Dropped(if is_budget { DropReason::Budget } else { DropReason::Group })
    }
}

/// The statistics of a build.
pub(super) fn account(
    log: &ContextLog,
    plan: &Plan,
    choice: &Choice,
    dropped: DroppedItems,
    request: &Request<'_>,
) -> BuildStats {
    let mut stats = BuildStats {
        phase: request.phase.name.clone().into_owned(),
        budget: request.phase.budget,
        total_candidates: plan.total,
        dependency_closures: plan.closures,
        included_count: choice.rendered.sections.len(),
        redacted_count: choice.rendered.tally.redacted(),
        tokens_per_section: choice.rendered.tally.tokens().collect(),
        compressed_count: choice.shortened_blocks.len(),
        prompt_tokens: choice.tokens,
        token_estimator: log.counter().name().to_owned(),
        exact_counts: choice.counts,
        ..BuildStats::default()
    };
    stats.drop(dropped);
    stats.dedup_removed = stats.dropped_reasons.get(&DropReason::Dedup).copied().unwrap_or(0);
    let sections: usize = stats.tokens_per_section.values().sum();
    stats.header_footer_tokens = stats.prompt_tokens.saturating_sub(sections);
    stats
}

/// Warns of what had no room, or refuses the build, as the policy says.
pub(super) fn overflow(stats: &mut BuildStats, request: &Request<'_>) -> Result<(), BuildError> {
    let policy = &request.overflow;
    if policy.by_kind.is_empty() && policy.usual == OverflowAction::Drop {
        return Ok(());
    }
    for kind in ItemKind::ALL {
        let pieces = stats.dropped_items.pieces().iter();
        let count: usize = pieces.filter_map(|piece| piece.no_room.get(kind as usize)).sum();
        match policy.of(kind) {
            _ if count == 0 => {}
            OverflowAction::Drop => {}
            OverflowAction::Warn => {
                let word = kind.as_str();
                stats.warnings.push(format!("{count} of kind {word} had no room"));
            }
            OverflowAction::Error => {
                let (kind, budget) = (kind.as_str(), request.phase.budget);
                return Err(BuildError::Overflow { kind, count, budget });
            }
        }
    }
    Ok(())
}
