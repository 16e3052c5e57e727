//! The resolver: host code in the same process that answers requests, a prompt or a rule.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use weaver_policy::approval::ApprovalRequest;
use weaver_types::BoxFuture;

/// What a resolver says to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Let it happen, once.
    Granted {
        /// Who agreed, by name. The host vouches for who they are. Where the policy has a keys
        /// document, each of them must have the authority that the request asks for.
        people: BTreeSet<String>,
    },
    /// Do not.
    Denied {
        /// Who refused.
        by: String,
        /// Why.
        reason: String,
    },
    /// No answer here: the request stays open for signed answers.
    NoAnswer,
}

/// Why a resolver has no answer. The request ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the resolver failed: {0}")]
pub struct ResolverError(
    /// What went wrong.
    pub String,
);

impl ResolverError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "approval.resolver"
    }
}

/// Host code that answers requests. Dropping the future abandons the question.
pub trait Resolver: Send + Sync {
    /// Answers one request.
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, ResolverError>>;
}

/// A resolver with the time that it has.
#[derive(Clone)]
pub struct ResolverPort {
    /// The resolver.
    pub resolver: Arc<dyn Resolver>,
    /// How long a call waits for its answer; a request without one by then ends.
    pub timeout: Duration,
}
