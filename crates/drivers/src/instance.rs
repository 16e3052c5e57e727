//! Which process or session of a server a call goes to, where there are several.

use std::any::Any;
use std::sync::Arc;

use weaver_agent_kernel::{AuthorizedCall, DriverError};
use weaver_types::BoxFuture;

use crate::mcp::Upstream;

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
}

impl ServerInstance {
    /// An instance. With a generation, calls go over that connection alone; see
    /// [`Connection::generation`](crate::mcp::Connection::generation).
    #[must_use]
    pub fn new(upstream: Arc<Upstream>, generation: Option<u64>) -> Self {
        Self { upstream, generation, _in_use: None }
    }

    /// Keeps `guard` for as long as the call runs, so that its owner sees that the instance is in use.
    #[must_use]
    pub fn guarded(mut self, guard: Arc<dyn Any + Send + Sync>) -> Self {
        self._in_use = Some(guard);
        self
    }

    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    pub(crate) fn generation(&self) -> Option<u64> {
        self.generation
    }
}
