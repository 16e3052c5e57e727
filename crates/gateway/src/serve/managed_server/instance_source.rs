//! Which instance of a server a call of one of its tools or features goes to.

use std::sync::Arc;
use std::time::Duration;

use weaver_agent_kernel::{AuthorizedCall, DriverError};
use weaver_drivers::mcp::Endpoint;
use weaver_drivers::{InstanceSource, ServerInstance};
use weaver_types::BoxFuture;

use super::dedicated_instance::ApprovedItem;
use super::instances::{AcquiredInstance, Acquisition, Instances, PrimaryInstance};
use crate::serve::client_call::ClientCall;

/// How long a call waits for its instance to start.
const MAX_START_WAIT: Duration = Duration::from_secs(25);

/// Chooses the instance for the calls of one tool or feature.
pub(super) struct ItemInstanceSource {
    pub(super) instances: Arc<Instances>,
    pub(super) item: Arc<ApprovedItem>,
    /// The connection of the primary instance on which it was listed.
    pub(super) generation: u64,
}

impl InstanceSource for ItemInstanceSource {
    fn instance(
        &self,
        call: &AuthorizedCall,
    ) -> BoxFuture<'static, Result<ServerInstance, DriverError>> {
        let choice = self.instances.acquire(self.instances.key_for(call.run_id()));
        let caller = self.instances.events.current_caller(&self.instances.server);
        let client_call = ClientCall::current();
        let (item, generation) = (Arc::clone(&self.item), self.generation);
        let primary = self.instances.primary().upstream;
        let call_timeout = primary.config().limits.call_timeout.min(call.timeout());
        let max_wait = MAX_START_WAIT.min(call_timeout * 3 / 4);
        let is_process = matches!(primary.config().endpoint, Endpoint::Stdio(_));
        let note = move |generation| match client_call {
            Some(call) if is_process => call.note_serving_process(generation),
            _ => {}
        };
        Box::pin(async move {
            let Acquisition { instance, evicted } = choice?;
            if let Some(evicted) = evicted {
                tokio::spawn(async move { evicted.upstream.close().await });
            }
            match instance {
                AcquiredInstance::Primary(PrimaryInstance { upstream, .. }, usage_token) => {
                    note(generation);
                    let primary = ServerInstance::new(upstream, Some(generation)).called_by(caller);
                    Ok(match usage_token {
                        Some(usage_token) => primary.guarded(usage_token),
                        None => primary,
                    })
                }
                AcquiredInstance::Dedicated(dedicated) => {
                    let generation = dedicated.generation_for(item, max_wait).await?;
                    note(generation);
                    let upstream = Arc::clone(&dedicated.upstream);
                    let instance = ServerInstance::new(upstream, Some(generation));
                    Ok(instance.called_by(caller).guarded(dedicated))
                }
            }
        })
    }
}
