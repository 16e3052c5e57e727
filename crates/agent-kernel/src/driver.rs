//! Drivers, which execute tools, and the authorized call without which none of them acts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use weaver_types::{
    AgentId, BoxFuture, CallId, Capability, CapabilityId, Label, LocaleCode, Millicents,
    PrincipalId, Progress, RawChunk, RawResult, RunContext, RunId,
};

use crate::late_response::CallLateResponses;
use crate::progress::ProgressSlot;

/// A call that was verified, allowed and recorded: the only input that a driver accepts.
///
/// It cannot be constructed outside of this crate. The registration fixes which tool it means;
/// nothing in the arguments selects another.
///
/// Its fields are private, and there is no default and no deserialization:
///
/// ```compile_fail,E0451
/// let forged = weaver_agent_kernel::AuthorizedCall { parts: loop {}, ..loop {} };
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
    pub(crate) parts: Arc<CallParts>,
    pub(crate) attempt: u8,
    pub(crate) timeout: Duration,
}

pub(crate) struct CallParts {
    pub(crate) call: CallId,
    pub(crate) run: RunId,
    /// The folder in which it works, where that decides what its arguments mean.
    pub(crate) folder: Option<String>,
    pub(crate) host: HostContext,
    pub(crate) capability: Arc<Capability>,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) label: Label,
    pub(crate) late_responses: CallLateResponses,
    /// Where its progress goes, if anybody asked for it.
    pub(crate) progress: Option<Arc<ProgressSlot>>,
}

/// What the host says about the run of a call. The kernel passes it on and reads none of it.
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
    /// The id of the call, which is also its idempotency key: it is the same in every attempt.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        &self.parts.call
    }

    /// The run it belongs to.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.parts.run
    }

    /// The folder in which it works, as [`Driver::working_folder`] named it for the decision. A driver that names
    /// one makes the call there and nowhere else.
    #[must_use]
    pub fn working_folder(&self) -> Option<&str> {
        self.parts.folder.as_deref()
    }

    /// The agent of its run.
    #[must_use]
    pub fn agent_name(&self) -> &AgentId {
        &self.parts.host.agent
    }

    /// The locale for numbers, dates and telephone numbers in its run.
    #[must_use]
    pub fn locale(&self) -> LocaleCode {
        self.parts.host.locale
    }

    /// The session id of its run; empty if the host gave none.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.parts.host.session_id
    }

    /// The session id of the end user; empty if the host gave none.
    #[must_use]
    pub fn user_sid(&self) -> &str {
        &self.parts.host.user_sid
    }

    /// The metadata of its run, exactly as the host gave it. No decision depends on it.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.parts.host.metadata
    }

    /// The capability.
    #[must_use]
    pub fn capability(&self) -> &CapabilityId {
        self.parts.capability.id()
    }

    /// The arguments, exactly as they were decided on.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.parts.arguments
    }

    /// The label of everything that the run was shown before this call, and thus of what the
    /// arguments may contain. A driver that stores the arguments must store this label with them.
    #[must_use]
    pub fn label(&self) -> &Label {
        &self.parts.label
    }

    /// The principal for whom it is made.
    #[must_use]
    pub fn principal(&self) -> &PrincipalId {
        &self.parts.late_responses.principal
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

    /// Whether anybody asked for the progress of the call.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.parts.progress.is_some()
    }

    /// Reports progress, without blocking and from any thread. A report that is not a number or
    /// does not grow is dropped. Of rapid reports only the newest is forwarded, with its message
    /// redacted. Reports after the end of the call are dropped. Only drivers with
    /// [`Driver::reports_progress`] are asked for progress.
    pub fn report_progress(&self, progress: Progress) {
        if let Some(slot) = &self.parts.progress {
            slot.report(progress);
        }
    }

    /// For a driver whose work outlives its future: reports the result of this attempt after nobody
    /// waits for it any more. The log records it once per attempt; the result itself is discarded.
    pub fn report_late(&self, result: &Result<RawResult, DriverError>) {
        self.parts.late_responses.report(&self.parts, self.attempt, result);
    }
}

impl std::fmt::Debug for AuthorizedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizedCall")
            .field("call", &self.parts.call)
            .field("capability", self.parts.capability.id())
            .finish_non_exhaustive()
    }
}

/// Why a driver has no result. Messages are redacted before anyone sees them.
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
    /// The server asks for a pause; it did not act.
    #[error("rate limited: {said}")]
    RateLimited {
        /// The message of the server.
        said: String,
        /// The requested pause, if the server names one. No attempt is made before it ends; after a
        /// long one, none is made at all.
        wait: Option<Duration>,
    },
    /// The server is unavailable, and the call never reached it.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// The server went away during the call; whether it acted is unknown.
    #[error("lost in mid-call: {0}")]
    Lost(String),
    /// The server answered, and its answer breaks the protocol; whether it acted is unknown.
    #[error("{0}")]
    Unreadable(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl DriverError {
    /// This error with another text.
    #[must_use]
    pub fn map_text(self, map: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::NotFound(text) => Self::NotFound(map(text)),
            Self::Invalid(text) => Self::Invalid(map(text)),
            Self::Timeout(after) => Self::Timeout(after),
            Self::Network(text) => Self::Network(map(text)),
            Self::RateLimited { said, wait } => Self::RateLimited { said: map(said), wait },
            Self::Unavailable(text) => Self::Unavailable(map(text)),
            Self::Lost(text) => Self::Lost(map(text)),
            Self::Unreadable(text) => Self::Unreadable(map(text)),
            Self::Failed(text) => Self::Failed(map(text)),
        }
    }

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
            Self::Unreadable(_) => "driver.unreadable",
            Self::Failed(_) => "driver.failed",
        }
    }

    /// True when another attempt may succeed.
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

    /// The pause that the server asks for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { wait, .. } => *wait,
            _ => None,
        }
    }

    /// True when the tool may have acted although no result came back.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Network(_) | Self::Lost(_) | Self::Unreadable(_))
    }
}

/// A result that arrives in chunks.
pub trait ChunkSource: Send {
    /// The next chunk, or `None` after the last one. An error ends the stream.
    fn next(&mut self) -> BoxFuture<'_, Option<Result<RawChunk, DriverError>>>;

    /// The summary of the stream after its last chunk. Empty by default.
    fn summary(&mut self) -> StreamSummary {
        StreamSummary::default()
    }
}

/// What a driver reports about a finished stream.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamSummary {
    /// True when the tool itself reports a failure.
    pub is_error: bool,
    /// Findings of the driver, as stable codes.
    pub findings: Vec<&'static str>,
    /// What the attempt cost, if the driver knows.
    pub cost: Option<Millicents>,
    /// The result to store, if it is not the concatenation of the chunks: chunks that only report
    /// progress are no part of it.
    pub result: Option<RawResult>,
}

/// Something that can execute a capability.
pub trait Driver: Send + Sync {
    /// Executes one attempt of a call. Dropping the future abandons it.
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>>;

    /// Streams the result of one attempt, if the driver can; by default it cannot, and
    /// [`Driver::execute`] is used. Dropping the source abandons the call. A stream is never
    /// retried, and [`AuthorizedCall::timeout`] bounds all of it, from its first chunk to its last.
    fn execute_stream(&self, _call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        None
    }

    /// The most that one attempt of a call may cost. It is reserved from the run's budget before
    /// each attempt and released afterwards. The cost that the result reports is charged, or this
    /// maximum if the tool may have acted and gave no result. Zero by default; the cost that a
    /// result of such a driver reports is still charged afterwards.
    fn max_cost(&self, _call: &CapabilityId) -> Millicents {
        Millicents(0)
    }

    /// Whether it reports the progress of its calls ([`AuthorizedCall::report_progress`]). The run
    /// of such a call takes on the label of its result before the call is made, if somebody asked
    /// for progress. False by default.
    fn reports_progress(&self) -> bool {
        false
    }

    /// The folder in which a call of this run works, if it depends on the run what a relative path in the arguments
    /// means. A release covers calls in this folder only. `None` by default.
    fn working_folder(&self, _run: &RunId) -> Option<String> {
        None
    }

    /// A short name for the log, for example `mcp:files`.
    fn name(&self) -> &str;
}
