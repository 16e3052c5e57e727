//! What has become of every candidate, and in which numbers.

use crate::compile::candidate::Fate;
use crate::compile::plan::Plan;
use crate::compile::request::OverflowAction;
use crate::compile::select::Choice;
use crate::compile::stats::{BuildStats, DropReason};
use crate::compile::{ContextLog, Request};
use crate::error::BuildError;

/// The fates after the choice: what was not chosen had no room, or went with something that had
/// none.
pub(super) fn fates(log: &ContextLog, plan: &Plan, choice: &Choice, budget: usize) -> Vec<Fate> {
    let mut is_taken = vec![false; plan.groups.all().len()];
    for group in &choice.taken {
        if let Some(entry) = is_taken.get_mut(*group) {
            *entry = true;
        }
    }
    let left = budget.saturating_sub(choice.tokens) as u64;
    let mut fates = plan.fates.clone();
    for (at, group) in plan.groups.all().iter().enumerate() {
        if !group.is_live || is_taken.get(at) == Some(&true) {
            continue;
        }
        let is_alone = group.needs().is_none_or(|needs| is_taken.get(needs) == Some(&true));
        // What would fit by itself was lost with what it hangs on.
        let lost = !is_alone && group.tokens <= left;
        let tokens = |place: usize| log.analysis(place).map_or(0, |a| a.tokens as usize);
        // One member that fits nowhere takes the others with it.
        let has_giant = plan.groups.members(at).any(|place| tokens(place) > budget);
        for place in plan.groups.members(at) {
            let is_budget = if has_giant { tokens(place) > budget } else { !lost };
            let reason = if is_budget { DropReason::Budget } else { DropReason::Group };
            if let Some(fate) = fates.get_mut(place) {
                *fate = Fate::Dropped(reason);
            }
        }
    }
    fates
}

/// The statistics of a build.
pub(super) fn account(
    log: &ContextLog,
    plan: &Plan,
    choice: &Choice,
    fates: &[Fate],
    request: &Request<'_>,
) -> BuildStats {
    let mut stats = BuildStats {
        phase: request.phase.name.clone().into_owned(),
        budget: request.phase.budget,
        total_candidates: plan.total,
        dependency_closures: plan.closures,
        compressed_count: choice.squeezed.len(),
        prompt_tokens: choice.tokens,
        token_estimator: log.counter().name().to_owned(),
        exact_counts: choice.counts,
        ..BuildStats::default()
    };
    stats.dropped_items.reserve(plan.total.saturating_sub(choice.rendered.sections.len()));
    for (place, fate) in fates.iter().enumerate() {
        if let (Fate::Dropped(reason), Some(item)) = (fate, log.at(place)) {
            stats.drop(item.shared_id(), *reason);
        }
    }
    for section in &choice.rendered.sections {
        let place = section.place;
        let block = choice.squeezed.get(&place).or_else(|| plan.blocks.get(&place));
        let counted = log.analysis(place).map_or(0, |analysis| analysis.tokens);
        stats.include(section.kind, block.map_or(counted, |block| block.tokens) as usize);
        stats.redacted_count += usize::from(plan.blocks.contains_key(&place));
    }
    stats.dedup_removed = stats.dropped_reasons.get(&DropReason::Dedup).copied().unwrap_or(0);
    let sections: usize = stats.tokens_per_section.values().sum();
    stats.header_footer_tokens = stats.prompt_tokens.saturating_sub(sections);
    stats
}

/// Warns of what had no room, or refuses the build, as the policy says.
pub(super) fn overflow(
    log: &ContextLog,
    fates: &[Fate],
    stats: &mut BuildStats,
    request: &Request<'_>,
) -> Result<(), BuildError> {
    let policy = &request.overflow;
    if policy.by_kind.is_empty() && policy.usual == OverflowAction::Drop {
        return Ok(());
    }
    let mut counts = std::collections::BTreeMap::new();
    for (place, fate) in fates.iter().enumerate() {
        if let (Fate::Dropped(DropReason::Budget), Some(a)) = (fate, log.analysis(place)) {
            *counts.entry(a.kind).or_insert(0usize) += 1;
        }
    }
    for (kind, count) in &counts {
        match policy.of(*kind) {
            OverflowAction::Drop => {}
            OverflowAction::Warn => {
                let word = kind.as_str();
                stats.warnings.push(format!("{count} of kind {word} had no room"));
            }
            OverflowAction::Error => {
                return Err(BuildError::Overflow {
                    kind: kind.as_str(),
                    count: *count,
                    budget: request.phase.budget,
                });
            }
        }
    }
    Ok(())
}
