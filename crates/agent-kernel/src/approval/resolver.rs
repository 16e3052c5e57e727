//! The approval resolver: host code in this process that answers approval requests, for example
//! with a prompt or a rule.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use weaver_policy::approval::ApprovalRequest;
use weaver_types::BoxFuture;

use crate::worker_pool::WorkerPool;

/// The answer of a resolver to an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// The call is approved, once.
    Granted {
        /// Who agreed, by name. The host vouches for who they are. Where the policy has a keys
        /// document, each of them must have the authority that the request asks for.
        people: BTreeSet<String>,
    },
    /// The call is denied.
    Denied {
        /// Who refused.
        by: String,
        /// Why.
        reason: String,
    },
    /// No answer here: the request stays open for signed answers.
    NoAnswer,
}

impl ApprovalAnswer {
    /// The call is approved, once, by these people.
    #[must_use]
    pub fn granted_by<'p>(people: impl IntoIterator<Item = &'p str>) -> Self {
        Self::Granted { people: people.into_iter().map(str::to_owned).collect() }
    }
}

/// Why a resolver failed. The request ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the resolver failed: {0}")]
pub struct ApprovalResolverError(
    /// What went wrong.
    pub String,
);

impl ApprovalResolverError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "approval.resolver"
    }
}

/// Host code that answers approval requests. Dropping the future abandons the request.
pub trait ApprovalResolver: Send + Sync {
    /// Answers one request.
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<ApprovalAnswer, ApprovalResolverError>>;
}

/// A resolver and how long a call waits for it.
#[derive(Clone)]
pub struct TimedApprovalResolver {
    /// The resolver.
    pub resolver: Arc<dyn ApprovalResolver>,
    /// How long a call waits for its answer; a request without one by then ends.
    pub timeout: Duration,
}

impl TimedApprovalResolver {
    /// A resolver from a function that may block. It runs on its own thread, so that the timeout is
    /// kept; a function that exceeds it goes on in the background, and its answer is discarded. A
    /// panic ends the request.
    ///
    /// ```
    /// use std::time::Duration;
    /// use weaver_agent_kernel::{ApprovalAnswer, Ports, TimedApprovalResolver};
    ///
    /// let port = TimedApprovalResolver::blocking(Duration::from_secs(60), |request| {
    ///     match request.capability.as_str() {
    ///         "tickets.close" => ApprovalAnswer::granted_by(["ben"]),
    ///         _ => ApprovalAnswer::NoAnswer,
    ///     }
    /// });
    /// let ports = Ports { resolver: Some(port), ..Ports::default() };
    /// ```
    pub fn blocking(
        timeout: Duration,
        f: impl Fn(&ApprovalRequest) -> ApprovalAnswer + Send + Sync + 'static,
    ) -> Self {
        Self { resolver: Arc::new(FnResolver(Arc::new(f))), timeout }
    }
}

/// A host function as a resolver.
struct FnResolver(Arc<dyn Fn(&ApprovalRequest) -> ApprovalAnswer + Send + Sync>);

impl ApprovalResolver for FnResolver {
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<ApprovalAnswer, ApprovalResolverError>> {
        let (f, request) = (Arc::clone(&self.0), request.clone());
        let answer = WorkerPool::shared().run(move || Ok(f(&request)), |_| ());
        Box::pin(
            async move { answer.await.map_err(|error| ApprovalResolverError(error.to_string())) },
        )
    }
}
