//! Tools that a server is known to have before it is up: those of earlier listings whose definitions
//! are the signed ones. They are listed at once; a call waits for the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_agent_kernel::{Driver, DriverError, FnDriver, Kernel};
use weaver_policy::PolicySet;
use weaver_types::{CapabilityId, Tenant};

use super::ManagedServer;
use crate::serve::listed_definition::ListedDefinition;
use crate::serve::server_feature::{FeatureKind, ServerFeatures};
use crate::serve::stored_listing::{StoredListing, StoredTool};

impl ManagedServer {
    /// Registers the tools of earlier listings whose definitions are the signed ones. The first
    /// listing of the server replaces them.
    pub(crate) fn restore(&self, kernel: &Kernel, tenant: &Tenant) {
        let Some(stored) = StoredListing::load(kernel, tenant, &self.name) else { return };
        let policy = kernel.policy();
        let (mut set, mut tools) = (Vec::new(), BTreeMap::new());
        // The signed digests cover them, so they are the same for all tools.
        let mut instructions = None;
        for (name, tool) in &stored.tools {
            let Some(capability) = tool.signed_capability(name, &self.config, &policy) else {
                continue;
            };
            let definition = ListedDefinition::new(&tool.to_value());
            instructions = tool.instructions.clone();
            tools.insert(capability.id().clone(), Arc::new(definition));
            set.push((capability, unlisted_driver()));
        }
        let registered = kernel.registry().replace_prefix(&format!("{}.", self.name), set);
        if let Err(error) = registered {
            tracing::warn!(upstream = %self.name, %error, "its tools are not listed before it is up");
            return;
        }
        tools.retain(|id, _| kernel.registry().contains(id));
        if let Ok(mut state) = self.state.lock() {
            state.tools = tools;
            state.instructions = instructions;
            state.stored = Some(stored);
        }
    }

    /// True while the tools of earlier listings stand for those of the server.
    pub(crate) fn has_restored_tools(&self) -> bool {
        self.state.lock().is_ok_and(|state| !state.ready && !state.tools.is_empty())
    }

    /// Whether it had resources, or prompts, when it was last listed; `None` if that is not known.
    pub(crate) fn had(&self, kind: FeatureKind) -> Option<bool> {
        let state = self.state.lock().ok()?;
        let stored = state.stored.as_ref()?;
        match kind {
            FeatureKind::Prompt => Some(stored.has_prompts),
            FeatureKind::ResourceReading => Some(stored.has_resources),
            _ => None,
        }
    }

    /// Stores the listed tools whose definitions are the signed ones, and keeps of earlier ones what
    /// is signed still.
    pub(crate) async fn store_listing(&self, kernel: &Kernel, tenant: &Tenant) {
        let policy = kernel.policy();
        let Some(listing) = self.listing_to_store(&policy, &self.features()) else { return };
        match listing.save(kernel, tenant, &self.name).await {
            Ok(()) => {
                if let Ok(mut state) = self.state.lock() {
                    state.stored = Some(listing);
                }
            }
            Err(error) => {
                tracing::warn!(upstream = %self.name, %error, "what it lists was not stored");
            }
        }
    }

    /// What is to be stored; `None` if it is stored already, or nothing was listed yet.
    fn listing_to_store(
        &self,
        policy: &PolicySet,
        features: &ServerFeatures,
    ) -> Option<StoredListing> {
        let state = self.state.lock().ok()?;
        if !state.ready {
            return None;
        }
        let is_signed = |name: &str, tool: &StoredTool| {
            tool.signed_capability(name, &self.config, policy).is_some()
        };
        let earlier = state.stored.iter().flat_map(|stored| &stored.tools);
        let earlier = earlier.map(|(name, tool)| (name.clone(), tool.clone()));
        let listed = state.tools.iter().filter_map(|(id, definition)| {
            let name = tool_name(id)?.to_owned();
            let instructions = state.instructions.clone();
            Some((name, StoredTool { definition: definition.text().to_owned(), instructions }))
        });
        // A listed definition replaces an earlier one of the same name.
        let tools = earlier.chain(listed).filter(|(name, tool)| is_signed(name, tool)).collect();
        let listing = StoredListing {
            tools,
            has_resources: features.has_resources,
            has_prompts: !features.prompts.is_empty(),
        };
        (state.stored.as_ref() != Some(&listing)).then_some(listing)
    }
}

/// The name of a tool at its server.
fn tool_name(id: &CapabilityId) -> Option<&str> {
    let is_tool = FeatureKind::of(id) == FeatureKind::Tool;
    id.as_str().split_once('.').map(|(_, name)| name).filter(|_| is_tool)
}

/// The driver of a tool that its server has not listed yet. It sends nothing: a call waits for the
/// listing, which registers the driver that calls the server.
fn unlisted_driver() -> Arc<dyn Driver> {
    Arc::new(FnDriver::inline(|_| {
        Err(DriverError::Unavailable("its server is still starting; nothing was sent".to_owned()))
    }))
}
