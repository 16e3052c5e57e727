//! Chooses the process or session of a server that serves a call.

use std::any::Any;
use std::sync::Arc;

use weaver_agent_kernel::{AuthorizedCall, DriverError};
use weaver_types::{BoxFuture, RunId};

use crate::mcp::{CallRequest, CallTimer, ClientFeatures, RpcError, Upstream, code};

/// Chooses the server instance for each call, for example one per client.
pub trait InstanceSource: Send + Sync {
    /// The instance that serves this call. It may have to be started first.
    ///
    /// # Errors
    /// [`DriverError::Unavailable`] if there is none; then nothing was sent.
    fn instance(
        &self,
        call: &AuthorizedCall,
    ) -> BoxFuture<'static, Result<ServerInstance, DriverError>>;

    /// The folder of the instance that serves the calls of this run, where there is one for each folder. `None` by
    /// default.
    fn working_folder(&self, _run: &RunId) -> Option<String> {
        None
    }
}

/// One process of a server, or one session with it.
pub struct ServerInstance {
    upstream: Arc<Upstream>,
    generation: Option<u64>,
    _in_use: Option<Arc<dyn Any + Send + Sync>>,
    caller: Option<InstanceCaller>,
}

/// The client that a call is made for.
#[derive(Clone)]
pub struct InstanceCaller {
    /// Answers the server's requests during the call.
    pub features: Arc<dyn ClientFeatures>,
    /// The timer for the time limits of the call.
    pub timer: CallTimer,
}

impl ServerInstance {
    /// An instance. With a generation, calls use only that connection; see
    /// [`Connection::generation`](crate::mcp::Connection::generation).
    #[must_use]
    pub fn new(upstream: Arc<Upstream>, generation: Option<u64>) -> Self {
        Self { upstream, generation, _in_use: None, caller: None }
    }

    /// Holds `guard` while the call runs, so that its owner sees that the instance is in use.
    #[must_use]
    pub fn guarded(mut self, guard: Arc<dyn Any + Send + Sync>) -> Self {
        self._in_use = Some(guard);
        self
    }

    /// Sets the client that the call is made for.
    #[must_use]
    pub fn called_by(mut self, caller: Option<InstanceCaller>) -> Self {
        self.caller = caller;
        self
    }

    /// Adds the client's features and timer to the request.
    pub(crate) fn for_caller(&self, request: CallRequest) -> CallRequest {
        match &self.caller {
            Some(InstanceCaller { features, timer }) => {
                request.client(Arc::clone(features)).timer(timer.clone())
            }
            None => request,
        }
    }

    /// Tells the client that it lacks a capability that the server requires.
    pub(crate) fn report_missing_capability(&self, error: &RpcError) {
        if let (code::MISSING_CAPABILITY, Some(caller)) = (error.code, &self.caller) {
            caller.features.on_missing_capability(error);
        }
    }

    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    pub(crate) fn generation(&self) -> Option<u64> {
        self.generation
    }
}
