//! The resolver: host code in the same process that answers requests, a prompt or a rule.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weaver_policy::approval::ApprovalRequest;
use weaver_types::{BoxFuture, RawResult};

use crate::worker::Workers;

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

impl Answer {
    /// Let it happen, once: these people agreed.
    #[must_use]
    pub fn granted_by<'p>(people: impl IntoIterator<Item = &'p str>) -> Self {
        Self::Granted { people: people.into_iter().map(str::to_owned).collect() }
    }
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

impl ResolverPort {
    /// A function that asks somebody and waits. It runs on a thread of its own, so that the timeout
    /// is kept; one that is past it goes on in the background, and its answer is thrown away. One
    /// that panics ends the request.
    ///
    /// ```
    /// use std::time::Duration;
    /// use weaver_agent_kernel::{Answer, Ports, ResolverPort};
    ///
    /// let port = ResolverPort::blocking(Duration::from_secs(60), |request| {
    ///     match request.capability.as_str() {
    ///         "tickets.close" => Answer::granted_by(["ben"]),
    ///         _ => Answer::NoAnswer,
    ///     }
    /// });
    /// let ports = Ports { resolver: Some(port), ..Ports::default() };
    /// ```
    pub fn blocking(
        timeout: Duration,
        f: impl Fn(&ApprovalRequest) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self { resolver: Arc::new(FnResolver(Arc::new(f))), timeout }
    }
}

/// A host function as a resolver.
struct FnResolver(Arc<dyn Fn(&ApprovalRequest) -> Answer + Send + Sync>);

impl Resolver for FnResolver {
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, ResolverError>> {
        let (f, request) = (Arc::clone(&self.0), request.clone());
        let answer = Arc::new(Mutex::new(None));
        let theirs = Arc::clone(&answer);
        let work = move || {
            let said = f(&request);
            if let Ok(mut slot) = theirs.lock() {
                *slot = Some(said);
            }
            Ok(RawResult::text(""))
        };
        let asking = Workers::shared().run(work, |_| ());
        Box::pin(async move {
            asking.await.map_err(|error| ResolverError(error.to_string()))?;
            let said = answer.lock().ok().and_then(|mut slot| slot.take());
            said.ok_or_else(|| ResolverError("its answer was lost".to_owned()))
        })
    }
}
