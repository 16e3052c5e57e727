//! Why a signed file has no effect.

use weaver_types::{ApprovalAuthority, DecisionBasis};

use super::ApprovalRequest;

/// Why a resolution, a standing approval or an operator statement is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The file cannot be read.
    #[error("the signed file cannot be read: {problem}; sign again with `weaver approve`")]
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
    /// The signature is missing.
    #[error("the file is not signed; sign it with `weaver approve`")]
    Unsigned,
    /// The keys document contains no such person or key.
    #[error("the keys document names no approver `{approver}`; add them there and sign it again")]
    UnknownApprover {
        /// The name or the key, escaped and truncated.
        approver: String,
    },
    /// The signature names a key that does not belong to this person.
    #[error("the key of the signature is not one of this approver's")]
    WrongKey,
    /// The signature does not match the statement.
    #[error("the signature does not hold: {problem}")]
    SignatureInvalid {
        /// Which part does not match.
        problem: String,
    },
    /// It is about another request, or one that was never opened here.
    #[error("the file is about another request, or one that was never opened here")]
    WrongRequest,
    /// The request that was signed is not the one that was opened.
    #[error("the request that was signed is not the one that was opened; look at it again")]
    RequestChanged,
    /// The request was opened under other documents than those in force.
    #[error(
        "{what} changed since the request was opened, so it takes no answer; answer the one that \
         replaces it, or let the call be made again"
    )]
    PolicyChanged {
        /// Which documents, in words.
        what: &'static str,
    },
    /// It is dated before the request was opened.
    #[error("the file is dated before the request that it answers; check the clock")]
    TooEarly,
    /// It is dated in the future, or it arrived after the deadline.
    #[error(
        "the file is dated in the future, or came after the deadline; check the clock, or let the call be made again"
    )]
    TooLate,
    /// The approver's trust is too low.
    #[error("the approver's trust is below what the request asks for")]
    Trust,
    /// The approver's clearance is too low.
    #[error("the approver's clearance is below what the request asks for")]
    Clearance,
    /// The approver does not cover every scope.
    #[error("the approver does not cover every scope that the request asks for")]
    Scope,
    /// The approver has none of the roles that the request requires.
    #[error("the approver lacks a role that the request asks for: {needed}")]
    Role {
        /// The roles, escaped and truncated.
        needed: String,
    },
    /// The approver is the requester.
    #[error("whoever asks cannot approve; somebody else must")]
    Requester,
    /// This statement was counted before.
    #[error("this was received before; it counts once")]
    Replayed,
    /// The request is no longer open.
    #[error("the request is closed already; let the call be made again")]
    AlreadyResolved,
    /// The key was not valid when it signed, or is no longer valid.
    #[error("the key was not valid yet, or is no longer; sign with a key in force")]
    KeyVoid,
    /// Too few people agreed.
    #[error("{have} of {need} people agreed")]
    Quorum {
        /// How many votes count.
        have: usize,
        /// How many are needed.
        need: usize,
    },
    /// The person may not act as an operator.
    #[error("the keys document does not say `operator = true` for this person")]
    NotOperator,
    /// It is about another log.
    #[error("the file is about another log")]
    WrongLog,
    /// A standing approval exceeds the policy's bounds.
    #[error("the standing approval goes beyond the policy's bounds: {problem}")]
    Bounds {
        /// Which bound.
        problem: &'static str,
    },
    /// A standing approval does not cover this call.
    #[error("the standing approval does not cover this call: {problem}")]
    NotCovered {
        /// What does not match.
        problem: &'static str,
    },
    /// A standing approval has no uses left.
    #[error("the standing approval has no use left")]
    UsedUp,
    /// A standing approval was revoked.
    #[error("the standing approval was revoked")]
    Revoked,
}

impl Rejection {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "malformed",
            Self::Unsigned => "unsigned",
            Self::UnknownApprover { .. } => "unknown_approver",
            Self::WrongKey => "wrong_key",
            Self::SignatureInvalid { .. } => "signature_invalid",
            Self::WrongRequest => "wrong_request",
            Self::RequestChanged => "request_changed",
            Self::PolicyChanged { .. } => "policy_changed",
            Self::TooEarly => "too_early",
            Self::TooLate => "too_late",
            Self::Trust => "trust",
            Self::Clearance => "clearance",
            Self::Scope => "scope",
            Self::Role { .. } => "role",
            Self::Requester => "requester",
            Self::Replayed => "replayed",
            Self::AlreadyResolved => "already_resolved",
            Self::KeyVoid => "key_void",
            Self::Quorum { .. } => "quorum",
            Self::NotOperator => "not_operator",
            Self::WrongLog => "wrong_log",
            Self::Bounds { .. } => "bounds",
            Self::NotCovered { .. } => "not_covered",
            Self::UsedUp => "used_up",
            Self::Revoked => "revoked",
        }
    }

    pub(super) fn malformed(problem: impl AsRef<str>) -> Self {
        Self::Malformed { problem: escaped_excerpt(problem.as_ref()) }
    }

    pub(super) fn unknown_approver(name: &str) -> Self {
        Self::UnknownApprover { approver: escaped_excerpt(name) }
    }

    /// The rejection of an answer to a request that was opened under other documents than these;
    /// `None` if it was opened under them.
    #[must_use]
    pub fn of_changed_documents(request: &ApprovalRequest, basis: &DecisionBasis) -> Option<Self> {
        let changed = (request.policy != basis.policy, request.contracts != basis.contracts);
        let what = match changed {
            (false, false) => return None,
            (true, false) => "the policy has",
            (false, true) => "the contracts have",
            (true, true) => "the policy and the contracts have",
        };
        Some(Self::PolicyChanged { what })
    }

    /// A rejection because the person has none of the roles that the authority requires.
    #[must_use]
    pub fn missing_role(authority: &ApprovalAuthority) -> Self {
        Self::Role { needed: escaped_excerpt(&authority.roles_in_words().unwrap_or_default()) }
    }

    pub(super) fn invalid_signature(problem: impl ToString) -> Self {
        Self::SignatureInvalid { problem: escaped_excerpt(&problem.to_string()) }
    }
}

/// Escapes foreign text and truncates it to 160 characters, so that it can be shown and logged
/// safely.
fn escaped_excerpt(text: &str) -> String {
    let line = weaver_text::escape::line(weaver_text::escape::truncate(text, 160));
    weaver_text::escape::truncate(&line, 160).to_owned()
}
