//! Which instance of a server a call of one of its tools or features goes to.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weaver_agent_kernel::{AuthorizedCall, DriverError};
use weaver_drivers::mcp::Endpoint;
use weaver_drivers::{InstanceSource, ServerInstance};
use weaver_types::{BoxFuture, RunId};

use super::dedicated_instance::ApprovedItem;
use super::instances::{AcquiredInstance, Acquisition, Instances, PrimaryInstance};
use crate::serve::client_call::ClientCall;
use crate::serve::instance_key::InstanceKey;

/// Why a call is refused whose client works in another folder now.
const FOLDER_CHANGED: &str =
    "the client's folder has changed since the call was decided; make the call again";
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
        let choice = self.key_of(call).and_then(|key| self.instances.acquire(key));
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

    fn working_folder(&self, run: &RunId) -> Option<String> {
        self.instances.key_for(run)?.folder_text()
    }
}

impl ItemInstanceSource {
    /// The key of the instance for a call. Two sessions of one client may work in different folders: the call is made
    /// in the folder that was decided on, or not at all.
    fn key_of(&self, call: &AuthorizedCall) -> Result<Option<InstanceKey>, DriverError> {
        let key = self.instances.key_for(call.run_id());
        let folder = key.as_ref().and_then(InstanceKey::folder_text);
        if folder.as_deref() == call.working_folder() {
            return Ok(key);
        }
        match call.working_folder().map(Path::new).filter(|folder| folder.is_absolute()) {
            Some(decided) => Ok(Some(InstanceKey::Folder(decided.to_owned()))),
            None => Err(DriverError::Unavailable(FOLDER_CHANGED.to_owned())),
        }
    }
}
