//! Which process or session of a server a call goes to, where there are several.

use std::any::Any;
use std::sync::Arc;

use weaver_agent_kernel::{AuthorizedCall, DriverError};
use weaver_types::BoxFuture;

use crate::mcp::{CallRequest, CallTimer, ClientFeatures, RpcError, Upstream};

/// The code with which a server says that its client lacks a capability (2026-07-28).
const MISSING_CAPABILITY: i64 = -32021;

/// Chooses the instance of a server for each call, for instance one for each client.
pub trait InstanceSource: Send + Sync {
    /// The instance that serves this call; it may have to be started first.
    ///
    /// # Errors
    /// [`DriverError::Unavailable`], when there is none: then nothing was sent.
    fn instance(
        &self,
        call: &AuthorizedCall,
    ) -> BoxFuture<'static, Result<ServerInstance, DriverError>>;
}

/// One process of a server, or one session at it.
pub struct ServerInstance {
    upstream: Arc<Upstream>,
    generation: Option<u64>,
    _in_use: Option<Arc<dyn Any + Send + Sync>>,
    caller: Option<InstanceCaller>,
}

/// Whoever a call is made for, beyond what the kernel knows of them.
#[derive(Clone)]
pub struct InstanceCaller {
    /// Answers what the server asks in the call.
    pub features: Arc<dyn ClientFeatures>,
    /// What the time limits of the call run on.
    pub timer: CallTimer,
}

impl ServerInstance {
    /// An instance. With a generation, calls go over that connection alone; see
    /// [`Connection::generation`](crate::mcp::Connection::generation).
    #[must_use]
    pub fn new(upstream: Arc<Upstream>, generation: Option<u64>) -> Self {
        Self { upstream, generation, _in_use: None, caller: None }
    }

    /// Keeps `guard` for as long as the call runs, so that its owner sees that the instance is in use.
    #[must_use]
    pub fn guarded(mut self, guard: Arc<dyn Any + Send + Sync>) -> Self {
        self._in_use = Some(guard);
        self
    }

    /// Names whoever the call is made for.
    #[must_use]
    pub fn called_by(mut self, caller: Option<InstanceCaller>) -> Self {
        self.caller = caller;
        self
    }

    /// The request on behalf of whoever the call is made for.
    pub(crate) fn on_behalf(&self, request: CallRequest) -> CallRequest {
        match &self.caller {
            Some(InstanceCaller { features, timer }) => {
                request.client(Arc::clone(features)).timer(timer.clone())
            }
            None => request,
        }
    }

    /// Tells whoever the call is made for where they lack a capability that the server needs.
    pub(crate) fn note_refusal(&self, error: &RpcError) {
        if let (MISSING_CAPABILITY, Some(caller)) = (error.code, &self.caller) {
            caller.features.lacks(error);
        }
    }

    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    pub(crate) fn generation(&self) -> Option<u64> {
        self.generation
    }
}
