//! Reason codes: stable words for why a decision came out as it did.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal;)*) => {
        /// Why. The text form is stable: it appears in results, logs and documentation, and is
        /// never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum ReasonCode {
            $($(#[doc = $doc])* #[serde(rename = $code)] $name,)*
        }

        impl ReasonCode {
            /// Every code, in the order of this page.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// Its meaning, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii(),)* }
            }

            /// Reads the stable text.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($code => Some(Self::$name),)* _ => None }
            }
        }
    };
}

reasons! {
    /// The built-in baseline allows it.
    DefaultPolicyAllow = "default_policy_allow";
    /// A rule allows it.
    RuleAllow = "rule_allow";
    /// The policy observes: the check spoke against the call, and what it said is recorded and not
    /// enforced.
    NotEnforced = "not_enforced";
    /// A policy whose default is allow lets it fall through.
    DefaultFallthroughAllow = "default_fallthrough_allow";
    /// The token was verified.
    TokenVerified = "token_verified";
    /// The principal lacks a role that is required.
    MissingRole = "missing_role";
    /// A justification is missing, too short, or from a source that does not count.
    InsufficientJustification = "insufficient_justification";
    /// The principal has no tenant attribute.
    MissingTenantAttribute = "missing_tenant_attribute";
    /// Writing to memory needs the role of a memory writer.
    MemoryWriteRequiresWriter = "memory_write_requires_writer";
    /// Sensitive memory may be read only with a role for it.
    MemorySensitiveReadDenied = "memory_sensitive_read_denied";
    /// A constraint in the request is malformed.
    InvalidConstraint = "invalid_constraint";
    /// Too many calls in the window.
    RateLimited = "rate_limited";
    /// The principal lacks an attribute that is required.
    MissingAttribute = "missing_attribute";
    /// No rule allows it; silence is not permission.
    NoMatchingRule = "no_matching_rule";
    /// A rule denies it.
    ExplicitDenyRule = "explicit_deny_rule";
    /// The intent is not among those allowed.
    IntentNotAllowed = "intent_not_allowed";
    /// The scope is not among those allowed.
    ScopeNotAllowed = "scope_not_allowed";
    /// The drill-down asks for what the handle's constraints exclude.
    HandleConstraintViolation = "handle_constraint_violation";
    /// The handle belongs to another principal.
    HandlePrincipalMismatch = "handle_principal_mismatch";
    /// The handle is unknown, or belongs to somebody else.
    HandleNotFound = "handle_not_found";
    /// The handle is past its time or was evicted.
    HandleExpired = "handle_expired";
    /// The handle was revoked with its grant, run or principal.
    HandleRevoked = "handle_revoked";
    /// The principal lacks a permission that the capability requires.
    MissingPermission = "missing_permission";
    /// The capability is not meant for this agent.
    AgentNotAllowed = "agent_not_allowed";
    /// The capability is of a class above what the agent may use.
    AgentCeiling = "agent_ceiling";
    /// A rule asks for an approval.
    ApprovalRequired = "approval_required";
    /// The wait for an approval ended without one.
    ApprovalTimeout = "approval_timeout";
    /// An approver refused.
    ApprovalDenied = "approval_denied";
    /// The request for an approval outlived its deadline.
    ApprovalExpired = "approval_expired";
    /// The approval was taken back.
    ApprovalRevoked = "approval_revoked";
    /// The policy changed while the call was held; another request took this one's place.
    ApprovalSuperseded = "approval_superseded";
    /// An approval for exactly this call released it.
    ApprovalGranted = "approval_granted";
    /// A standing approval released it.
    StandingApproval = "standing_approval";
    /// The tool reaches outside or cannot be undone, so somebody must release the call.
    FloorHold = "floor_hold";
    /// The contract of the tool prohibits its calls (rung L5).
    Prohibited = "prohibited";
    /// The run mode allows only local reads.
    ModeForbids = "mode_forbids";
    /// A decision about a hold needs the arguments.
    ArgumentsRequired = "arguments_required";
    /// The run has taken in untrusted data, and this capability acts outside of it.
    UntrustedInfluence = "untrusted_influence";
    /// The run holds data above what this sink may receive.
    ClearanceExceeded = "clearance_exceeded";
    /// A runtime signal asks for more care.
    SignalRaised = "signal_raised";
    /// A source of signals failed.
    SignalUnavailable = "signal_unavailable";
    /// The tool's contract is not the approved one.
    ContractChanged = "contract_changed";
    /// The tool has no approved contract.
    ContractUnknown = "contract_unknown";
    /// The server's text about the tool addresses a model, and nobody approved it.
    ContractSuspicious = "contract_suspicious";
    /// A precondition no longer holds.
    PreconditionFailed = "precondition_failed";
    /// The policy in force is not the one the token was made under.
    PolicyChanged = "policy_changed";
    /// No policy is in force.
    PolicyUnavailable = "policy_unavailable";
    /// The general word for a refusal by policy, as other kernels use it.
    PolicyDenied = "policy_denied";
    /// The log cannot be written, so nothing may be done.
    LedgerUnavailable = "ledger_unavailable";
    /// The clock jumped forward by over a day; the operator must confirm the time.
    ClockJump = "clock_jump";
    /// The token is malformed or its signature is wrong.
    TokenInvalid = "token_invalid";
    /// The token is past its expiry.
    TokenExpired = "token_expired";
    /// The token was used before.
    TokenUsed = "token_used";
    /// The token was revoked.
    TokenRevoked = "token_revoked";
    /// The token was made for another principal, run, capability, argument or audience.
    TokenScope = "token_scope";
    /// A budget of the run is used up.
    BudgetExceeded = "budget_exceeded";
    /// The session's token budget is used up.
    SessionBudgetExhausted = "session_budget_exhausted";
    /// The arguments do not fit the tool's schema.
    InvalidArguments = "invalid_arguments";
    /// A mask in the arguments stands for nothing here, so nothing is written in its place.
    MaskedValueInArguments = "masked_value_in_arguments";
    /// A masked value would go where its kind or its origin does not let it go.
    MaskedValueFlow = "masked_value_flow";
    /// The result does not fit the tool's schema.
    InvalidResult = "invalid_result";
    /// There is no such capability, or it is hidden from this principal.
    NotFound = "not_found";
    /// The tool is not among those advertised.
    ToolNotAdvertised = "tool_not_advertised";
    /// The tool's registration was lost.
    ToolRegistrationLost = "tool_registration_lost";
    /// The gateway has not finished starting.
    ProxyNotInitialised = "proxy_not_initialised";
    /// The tool's server is not reachable.
    UpstreamUnavailable = "upstream_unavailable";
    /// The execution took longer than allowed.
    Timeout = "timeout";
    /// The execution failed.
    ExecutionFailed = "execution_failed";
    /// Whoever asked went away before the end.
    Cancelled = "cancelled";
    /// It was begun and its end was never seen.
    OutcomeUnknown = "outcome_unknown";
    /// Something inside failed; nothing was done on its account.
    InternalError = "internal_error";
}

impl ReasonCode {
    /// Whether it says that people released a call, now or in advance.
    #[must_use]
    pub fn is_release(self) -> bool {
        matches!(self, Self::ApprovalGranted | Self::StandingApproval)
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_round_trips_and_is_explained() {
        for code in ReasonCode::ALL {
            assert_eq!(ReasonCode::parse(code.as_str()), Some(*code));
            assert!(code.meaning().ends_with('.'), "{code}");
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{code}\""));
        }
    }
}
