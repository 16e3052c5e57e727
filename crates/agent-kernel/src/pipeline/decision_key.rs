//! The decision keys of executed calls.

use weaver_types::{DecisionKey, Impact, ReasonCode, SensitivityTag};

use super::authorized_invocation::AuthorizedInvocation;

/// The decision key of a call that wrote to memory or read from it and succeeded: one of a capability that is
/// tagged as memory.
pub(super) fn of_memory(invocation: &AuthorizedInvocation<'_>) -> Option<DecisionKey> {
    let spec = invocation.target.capability.spec();
    if !spec.sensitivity.contains(&SensitivityTag::Memory) {
        return None;
    }
    match spec.effects.impact {
        Impact::Read => Some(DecisionKey::MemoryGet),
        Impact::Write => Some(DecisionKey::MemoryPut),
        Impact::Destroy => None,
    }
}

/// The decision key of a call that was not retried for lack of budget.
pub(super) fn of_stopped(stopped: Option<ReasonCode>) -> Option<DecisionKey> {
    (stopped == Some(ReasonCode::BudgetExceeded)).then_some(DecisionKey::BudgetExceeded)
}
