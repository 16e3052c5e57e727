//! The decision key of a call that was executed.

use weaver_types::{DecisionKey, Impact, ReasonCode, SensitivityTag};

use super::authorized_invocation::AuthorizedInvocation;

/// The decision key of a call that wrote to memory or read from it and succeeded: one of a capability that is
/// tagged as memory.
pub(super) fn of_memory(ready: &AuthorizedInvocation<'_>) -> Option<DecisionKey> {
    let spec = ready.target.capability.spec();
    if !spec.sensitivity.contains(&SensitivityTag::Memory) {
        return None;
    }
    match spec.effects.impact {
        Impact::Read => Some(DecisionKey::MemoryGet),
        Impact::Write => Some(DecisionKey::MemoryPut),
        Impact::Destroy => None,
    }
}

/// The decision key of a call that had no further attempt for want of budget.
pub(super) fn of_stopped(stopped: Option<ReasonCode>) -> Option<DecisionKey> {
    (stopped == Some(ReasonCode::BudgetExceeded)).then_some(DecisionKey::BudgetExceeded)
}
