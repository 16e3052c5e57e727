//! Drivers: what really calls a tool, and the proof without which none does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use weaver_types::{
    AgentId, BoxFuture, CallId, Capability, CapabilityId, Label, LocaleCode, Millicents,
    PrincipalId, Progress, RawChunk, RawResult, RunContext, RunId,
};

use crate::late_response::LateResponseSink;
use crate::progress::ProgressSlot;

/// A call that was verified, decided and recorded: the only thing that a driver accepts.
///
/// It cannot be made outside of this crate. Which tool it means is fixed by the registration;
/// nothing in the arguments selects another.
///
/// Its fields are private, and nothing makes one out of nothing or out of a text:
///
/// ```compile_fail,E0451
/// let forged = weaver_agent_kernel::AuthorizedCall { inner: loop {}, ..loop {} };
/// ```
///
/// ```compile_fail,E0277
/// fn made<T: Default>() {}
/// made::<weaver_agent_kernel::AuthorizedCall>();
/// ```
///
/// ```compile_fail,E0277
/// fn read<T: serde::de::DeserializeOwned>() {}
/// read::<weaver_agent_kernel::AuthorizedCall>();
/// ```
#[derive(Clone)]
pub struct AuthorizedCall {
    pub(crate) inner: Arc<CallParts>,
    pub(crate) attempt: u8,
    pub(crate) timeout: Duration,
}

pub(crate) struct CallParts {
    pub(crate) call: CallId,
    pub(crate) run: RunId,
    pub(crate) host: HostContext,
    pub(crate) capability: Arc<Capability>,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) label: Label,
    pub(crate) late: LateResponseSink,
    /// Where its progress goes, if anywhere.
    pub(crate) progress: Option<Arc<ProgressSlot>>,
}

/// What the host said of the run of a call. The kernel passes it on and reads none of it.
pub(crate) struct HostContext {
    agent: AgentId,
    locale: LocaleCode,
    session_id: String,
    user_sid: String,
    metadata: BTreeMap<String, Value>,
}

impl HostContext {
    pub(crate) fn of(run: &RunContext) -> Self {
        Self {
            agent: run.agent.clone(),
            locale: run.settings.locale,
            session_id: run.settings.session_id.clone(),
            user_sid: run.settings.user_sid.clone(),
            metadata: run.settings.metadata.clone(),
        }
    }
}

impl AuthorizedCall {
    /// The call; also its idempotency key, the same in every attempt.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        &self.inner.call
    }

    /// The run it belongs to.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.inner.run
    }

    /// The agent of its run.
    #[must_use]
    pub fn agent_name(&self) -> &AgentId {
        &self.inner.host.agent
    }

    /// How numbers, dates and telephone numbers are written for the people of its run.
    #[must_use]
    pub fn locale(&self) -> LocaleCode {
        self.inner.host.locale
    }

    /// The scope of the session of its run; empty where the host named none.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.inner.host.session_id
    }

    /// The scope of the end user's session; empty where the host named none.
    #[must_use]
    pub fn user_sid(&self) -> &str {
        &self.inner.host.user_sid
    }

    /// The metadata of its run, exactly as the host gave it. No decision read it.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.inner.host.metadata
    }

    /// The capability.
    #[must_use]
    pub fn capability(&self) -> &CapabilityId {
        self.inner.capability.id()
    }

    /// The arguments, exactly as they were decided on.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.inner.arguments
    }

    /// The label of all that the run was shown before this call: what the arguments may carry. A
    /// driver that keeps them keeps it with them.
    #[must_use]
    pub fn label(&self) -> &Label {
        &self.inner.label
    }

    /// For whom it is made.
    #[must_use]
    pub fn principal(&self) -> &PrincipalId {
        &self.inner.late.principal
    }

    /// How long this attempt may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// 0 for the first attempt.
    #[must_use]
    pub fn attempt(&self) -> u8 {
        self.attempt
    }

    /// Whether anybody wants to know how far the call is.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.inner.progress.is_some()
    }

    /// Tells how far the call is, at once and from any thread. What is no number or does not grow
    /// is dropped; of what comes fast, the newest is passed on, its message redacted. After the end
    /// of the call nothing is. Only a driver that says so
    /// ([`Driver::reports_progress`]) is asked for it.
    pub fn report_progress(&self, progress: Progress) {
        if let Some(slot) = &self.inner.progress {
            slot.report(progress);
        }
    }

    /// For a driver whose work outlives its future: says what came of this attempt after nobody
    /// waited for it any more. The log takes it down, once for each attempt; the result is thrown
    /// away and reaches nobody.
    pub fn report_late(&self, result: &Result<RawResult, DriverError>) {
        self.inner.late.report(&self.inner, self.attempt, result);
    }
}

impl std::fmt::Debug for AuthorizedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizedCall")
            .field("call", &self.inner.call)
            .field("capability", self.inner.capability.id())
            .finish_non_exhaustive()
    }
}

/// Why a driver could not bring a result. Messages are redacted before anyone sees them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The resource does not exist.
    #[error("not found: {0}")]
    NotFound(String),
    /// The tool rejected the arguments.
    #[error("invalid arguments: {0}")]
    Invalid(String),
    /// It took longer than allowed.
    #[error("timed out after {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The network failed.
    #[error("network: {0}")]
    Network(String),
    /// The other side asks for a pause; it did not act.
    #[error("rate limited: {said}")]
    RateLimited {
        /// What is known of it.
        said: String,
        /// How long the pause should be, where it says so. No attempt is made before; after a long
        /// one, none is made at all.
        wait: Option<Duration>,
    },
    /// The other side is not there, and the call never reached it.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// The other side went away in mid-call; whether it acted is unknown.
    #[error("lost in mid-call: {0}")]
    Lost(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl DriverError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "driver.not_found",
            Self::Invalid(_) => "driver.invalid",
            Self::Timeout(_) => "driver.timeout",
            Self::Network(_) => "driver.network",
            Self::RateLimited { .. } => "driver.rate_limited",
            Self::Unavailable(_) => "driver.unavailable",
            Self::Lost(_) => "driver.lost",
            Self::Failed(_) => "driver.failed",
        }
    }

    /// True when another attempt may go better.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Timeout(_)
                | Self::Network(_)
                | Self::RateLimited { .. }
                | Self::Unavailable(_)
                | Self::Lost(_)
        )
    }

    /// How long the other side asks to be left alone.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } => *wait,
            _ => None,
        }
    }

    /// True when the tool may have acted although no result came back.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Network(_) | Self::Lost(_))
    }
}

/// A result that comes bit by bit.
pub trait ChunkSource: Send {
    /// The next chunk, or `None` when all of them came. An error ends the stream.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<RawChunk, DriverError>>>;

    /// What is to be said of the stream once all of it came. By default nothing.
    fn summary(&mut self) -> StreamSummary {
        StreamSummary::default()
    }
}

/// What a driver says of a stream that is over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamSummary {
    /// True when the tool itself says that it failed.
    pub is_error: bool,
    /// Findings of the driver, as stable words.
    pub findings: Vec<&'static str>,
    /// What the attempt cost, if its driver knows.
    pub cost: Option<Millicents>,
    /// The result that is stored, where it is another than the chunks one after the other: chunks
    /// that told how far the tool was are no part of it.
    pub whole: Option<RawResult>,
}

/// Something that can execute a capability.
pub trait Driver: Send + Sync {
    /// Executes one attempt of a call. Dropping the future abandons it.
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>>;

    /// The result of one attempt bit by bit, where the driver can; by default it cannot, and
    /// [`Driver::execute`] stands in. Dropping the source abandons the call. A stream is never
    /// tried again, and [`AuthorizedCall::timeout`] bounds all of it, from its first chunk to its
    /// last.
    fn execute_stream(&self, _call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        None
    }

    /// The most that one attempt of a call may cost. Before each attempt the run's budget must have
    /// as much left, and it is set aside until the attempt is over; what the result says it cost
    /// is charged, or this where the tool may have acted and gave no result. By default nothing:
    /// what a result of such a driver says it cost is charged afterwards all the same.
    fn price(&self, _call: &CapabilityId) -> Millicents {
        Millicents(0)
    }

    /// Whether it tells how far its calls are ([`AuthorizedCall::report_progress`]). The run of a
    /// call whose progress is wanted takes on the label of its result before it is made. By default
    /// it does not tell.
    fn reports_progress(&self) -> bool {
        false
    }

    /// A short name for the log, for example `mcp:files`.
    fn name(&self) -> &str;
}
