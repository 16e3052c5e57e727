//! What a server lists, taken into the registry and told.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use weaver_agent_kernel::{ContractComparison, Driver, Kernel, Registry};
use weaver_drivers::McpDriver;
use weaver_drivers::confine::EnforcedConfinement;
use weaver_drivers::mcp::{Connection, ListedTool, McpError};
use weaver_types::{Capability, CapabilityId, EventKind};

use super::dedicated_instance::ApprovedItem;
use super::features::FeatureRegistrations;
use super::listing_context::ListingContext;
use super::{Entry, State};
use crate::serve::listed_definition::{ListedDefinition, TaskSupport};
use crate::serve::server_feature::ServerFeatures;
use crate::serve::{event, import, open_relays};
use crate::telemetry;

/// How many rejected tools are recorded.
const MAX_LEFT_OUT: usize = 20;
/// How many characters of a problem are recorded.
const MAX_PROBLEM: usize = 2_000;

/// How many changed tools of one listing are recorded, and how many changes of each.
const MAX_TOLD: usize = 50;
const MAX_CHANGES: usize = 50;

/// The result of one `tools/list`.
struct Listing {
    listed: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
    left_out: Vec<String>,
}

impl Entry {
    pub(super) async fn relist(&self, context: ListingContext<'_>) -> Result<usize, ()> {
        match self.upstream().listing().await {
            Ok((connection, tools)) => {
                let features = self.ask_features(&connection).await;
                Ok(self.take_in(context, &tools, features, &connection).await)
            }
            Err(error) => {
                self.lost(context.kernel, &error).await;
                Err(())
            }
        }
    }

    async fn take_in(
        &self,
        context: ListingContext<'_>,
        tools: &[ListedTool],
        features: ServerFeatures,
        connection: &Connection,
    ) -> usize {
        let ListingContext { kernel, confined, observer } = context;
        if let Some(enforced) = connection.enforced() {
            confined.note(self.name.clone(), self.upstream().config(), enforced);
        }
        let registrations = self.feature_capabilities(&features, connection);
        let FeatureRegistrations { set: mut more, left_out: unread } = registrations;
        more.extend(open_relays::capabilities(&self.name, &self.relays));
        let Listing { listed, mut left_out } =
            self.register(kernel.registry(), tools, more, connection);
        left_out.extend(unread);
        self.put_features(observer, features);
        let count = listed.len();
        if self.set_ready(listed) {
            left_out.extend(observer.tools_changed(&self.name));
            for problem in &left_out {
                tracing::warn!(upstream = %self.name, "a tool was left out: {problem}");
            }
            let fields = event::fields([
                ("upstream", json!(self.name)),
                ("tools", json!(count)),
                ("confinement", json!(connection.enforced().map(EnforcedConfinement::to_json))),
                ("left_out", json!(left_out.iter().take(MAX_LEFT_OUT).collect::<Vec<_>>())),
            ]);
            event::note(kernel, EventKind::UpstreamReady, fields).await;
            self.tell_changes(kernel).await;
        }
        count
    }

    /// Records which of its tools are not as they were registered and approved.
    async fn tell_changes(&self, kernel: &Kernel) {
        let changed = self.tools().into_keys().filter_map(|id| {
            let contract = kernel.contract(&id).filter(ContractComparison::mismatch)?;
            Some((id, contract))
        });
        for (id, contract) in changed.take(MAX_TOLD) {
            tracing::warn!(tool = %id, "a tool is not what was approved: {}", contract.drift.summary());
            let changes: Vec<_> = contract.drift.changes().iter().take(MAX_CHANGES).collect();
            let fields = event::fields([
                ("upstream", json!(self.name)),
                ("capability", json!(id)),
                ("status", json!(contract.state)),
                ("enforcement", json!(contract.enforcement)),
                ("fingerprint", json!(contract.fingerprint)),
                ("registered_fingerprint", json!(contract.registered)),
                ("class", json!(contract.drift.class())),
                ("changes", json!(changes)),
            ]);
            event::note(kernel, EventKind::ContractChanged, fields).await;
        }
    }

    fn register(
        &self,
        registry: &Registry,
        tools: &[ListedTool],
        more: Vec<(Capability, Arc<dyn Driver>)>,
        connection: &Connection,
    ) -> Listing {
        let (instructions, generation) =
            (connection.server().instructions(), connection.generation());
        let mut set = more;
        let mut listed = BTreeMap::new();
        let mut left_out = Vec::new();
        for tool in tools {
            match import::propose(&self.config, tool, instructions) {
                Ok(capability) => {
                    let runtime = tokio::runtime::Handle::current();
                    let definition = Arc::new(ListedDefinition::new(tool.value()));
                    let name = tool.name().to_owned();
                    let item = ApprovedItem::Tool { name, listed: Arc::clone(&definition) };
                    let driver = McpDriver::new(self.upstream(), tool.name(), runtime)
                        .with_instances(self.instances_for(item, generation))
                        .with_request_meta(telemetry::request_meta());
                    let driver = match definition.task_support {
                        TaskSupport::Required => driver.as_task(),
                        TaskSupport::Optional | TaskSupport::Forbidden => driver,
                    };
                    listed.insert(capability.id().clone(), definition);
                    set.push((capability, telemetry::timed(Arc::new(driver))));
                }
                Err(problem) => left_out.push(problem.to_string()),
            }
        }
        match registry.replace_prefix(&format!("{}.", self.name), set) {
            Ok(errors) => left_out.extend(errors.into_iter().map(|error| error.to_string())),
            Err(error) => left_out.push(error.to_string()),
        }
        listed.retain(|id, _| registry.contains(id));
        Listing { listed, left_out }
    }

    fn set_ready(&self, tools: BTreeMap<CapabilityId, Arc<ListedDefinition>>) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        let changed = !state.ready || state.problem.is_some() || state.tools != tools;
        *state = State { tools, problem: None, ready: true };
        changed
    }

    pub(super) async fn lost(&self, kernel: &Kernel, error: &McpError) {
        // The text also reaches a model.
        let problem = kernel.firewall().redact_text(&error.explained()).text;
        let news = match self.state.lock() {
            // The cause says more than "too early to try again".
            Ok(state) if state.problem.is_some() && matches!(error, McpError::Backoff { .. }) => {
                return;
            }
            Ok(mut state) => {
                let news = state.problem.is_none();
                state.problem = Some(problem.clone());
                news
            }
            Err(_) => false,
        };
        if !news {
            return;
        }
        tracing::warn!(upstream = %self.name, "{problem}");
        let fields = event::fields([
            ("upstream", json!(self.name)),
            ("code", json!(error.code())),
            ("problem", json!(problem.chars().take(MAX_PROBLEM).collect::<String>())),
        ]);
        event::note(kernel, EventKind::UpstreamLost, fields).await;
    }
}
