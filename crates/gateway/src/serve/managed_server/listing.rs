//! Registers what a server lists, and records changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use weaver_agent_kernel::{ContractComparison, ContractState, Driver, Kernel, Registry};
use weaver_drivers::McpDriver;
use weaver_drivers::confine::EnforcedConfinement;
use weaver_drivers::mcp::{Connection, ListedTool, McpError, McpErrorKind};
use weaver_types::{Capability, CapabilityId, EventKind};

use super::dedicated_instance::ApprovedItem;
use super::features::FeatureRegistrations;
use super::instances::PrimaryInstance;
use super::listing_context::ListingContext;
use super::{ManagedServer, ServerProblem, ServerState};
use crate::serve::instance_id::InstanceId;
use crate::serve::listed_definition::{ListedDefinition, TaskSupport};
use crate::serve::long_work::off_worker;
use crate::serve::server_feature::ServerFeatures;
use crate::serve::{event, pending_relays, tool_proposal};
use crate::telemetry;

/// The most rejected tools recorded for one listing.
const MAX_RECORDED_PROBLEMS: usize = 20;
/// The longest recorded problem, in characters.
const MAX_PROBLEM_CHARS: usize = 2_000;

/// The most changed tools recorded for one listing, and the most changes of each.
const MAX_RECORDED_TOOLS: usize = 50;
const MAX_RECORDED_CHANGES: usize = 50;

/// The registered tools of one listing, and the tools that were left out.
struct RegisteredTools {
    definitions: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
    problems: Vec<String>,
}

impl ManagedServer {
    /// Lists the tools and features again; returns the number of tools, or `None` when the server
    /// is unavailable.
    pub(super) async fn relist(&self, context: ListingContext<'_>) -> Option<usize> {
        if *self.closing.borrow() {
            return None;
        }
        let PrimaryInstance { id, upstream } = self.instances.primary();
        match upstream.list_tools_with_connection().await {
            Ok((connection, tools)) => {
                let features = (id, self.list_features(&connection).await);
                Some(self.apply_listing(context, &tools, features, &connection).await)
            }
            Err(error) => {
                self.record_loss(context.kernel, &error).await;
                None
            }
        }
    }

    async fn apply_listing(
        &self,
        context: ListingContext<'_>,
        tools: &[ListedTool],
        features: (InstanceId, ServerFeatures),
        connection: &Connection,
    ) -> usize {
        let (id, features) = features;
        let ListingContext { kernel, confinement_signals, observer } = context;
        if let Some(enforced) = connection.enforced() {
            confinement_signals.record(self.name.clone(), self.upstream().config(), enforced);
        }
        let registrations = self.feature_capabilities(&features, connection);
        let FeatureRegistrations {
            capabilities: mut other_capabilities,
            problems: feature_problems,
        } = registrations;
        other_capabilities.extend(pending_relays::capabilities(&self.name, &self.relays));
        let RegisteredTools { definitions: listed, mut problems } =
            off_worker(|| self.register(kernel.registry(), tools, other_capabilities, connection));
        problems.extend(feature_problems);
        self.store_features(observer, id, features);
        let count = listed.len();
        let instructions = connection.server().instructions().map(str::to_owned);
        if self.set_ready(listed, instructions) {
            problems.extend(observer.tools_changed(&self.name));
            for problem in &problems {
                tracing::warn!(upstream = %self.name, "a tool was left out: {problem}");
            }
            let fields = event::fields([
                ("upstream", json!(self.name)),
                ("tools", json!(count)),
                ("confinement", json!(connection.enforced().map(EnforcedConfinement::to_json))),
                (
                    "left_out",
                    json!(problems.iter().take(MAX_RECORDED_PROBLEMS).collect::<Vec<_>>()),
                ),
            ]);
            event::record(kernel, EventKind::UpstreamReady, fields).await;
            self.record_contract_changes(kernel).await;
        }
        self.store_listing(kernel, observer.tenant()).await;
        count
    }

    /// Records the tools that differ from what was registered or approved.
    async fn record_contract_changes(&self, kernel: &Kernel) {
        let changed = self.tools().into_keys().filter_map(|id| {
            let contract = kernel.compare_contract(&id).filter(ContractComparison::is_mismatch)?;
            Some((id, contract))
        });
        for (id, contract) in changed.take(MAX_RECORDED_TOOLS) {
            match contract.state {
                ContractState::Suspicious => tracing::warn!(
                    tool = %id, "a tool is hidden until it is approved: its description addresses the model"
                ),
                ContractState::New => {
                    tracing::warn!(tool = %id, "nobody has approved this tool yet")
                }
                _ => {
                    let how = contract.drift.summary();
                    tracing::warn!(tool = %id, "a tool is not what was approved: {how}");
                }
            }
            let changes: Vec<_> =
                contract.drift.changes().iter().take(MAX_RECORDED_CHANGES).collect();
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
            event::record(kernel, EventKind::ContractChanged, fields).await;
        }
    }

    fn register(
        &self,
        registry: &Registry,
        tools: &[ListedTool],
        other_capabilities: Vec<(Capability, Arc<dyn Driver>)>,
        connection: &Connection,
    ) -> RegisteredTools {
        let (instructions, generation) =
            (connection.server().instructions(), connection.generation());
        let mut set = other_capabilities;
        let mut listed = BTreeMap::new();
        let mut problems = Vec::new();
        for tool in tools {
            match tool_proposal::propose(&self.config, tool, instructions) {
                Ok(capability) => {
                    let runtime = tokio::runtime::Handle::current();
                    let definition = Arc::new(ListedDefinition::new(tool.value()));
                    let name = tool.name().to_owned();
                    let item = ApprovedItem::Tool { name, listed: Arc::clone(&definition) };
                    let driver = McpDriver::new(self.upstream(), tool.name(), runtime)
                        .with_instances(self.instance_source(item, generation))
                        .with_request_meta(telemetry::request_meta());
                    let driver = match definition.task_support {
                        TaskSupport::Required => driver.as_task(),
                        TaskSupport::Optional | TaskSupport::Forbidden => driver,
                    };
                    listed.insert(capability.id().clone(), definition);
                    set.push((capability, telemetry::timed(Arc::new(driver))));
                }
                Err(problem) => problems.push(problem.to_string()),
            }
        }
        match registry.replace_prefix(&format!("{}.", self.name), set) {
            Ok(errors) => problems.extend(errors.into_iter().map(|error| error.to_string())),
            Err(error) => problems.push(error.to_string()),
        }
        listed.retain(|id, _| registry.contains(id));
        RegisteredTools { definitions: listed, problems }
    }

    fn set_ready(
        &self,
        tools: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
        instructions: Option<String>,
    ) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        let changed = !state.ready || state.problem.is_some() || state.tools != tools;
        let stored = state.stored.take();
        *state = ServerState { tools, instructions, stored, problem: None, ready: true };
        changed
    }

    pub(super) async fn record_loss(&self, kernel: &Kernel, error: &McpError) {
        if !is_loss(error) {
            return;
        }
        let redacted = |text: String| kernel.firewall().redact_text(&text).text;
        let problem = redacted(error.with_stderr());
        let message = redacted(error.for_model());
        let is_new = match self.state.lock() {
            // Keep the original cause: "too early to try again" says less.
            Ok(state)
                if state.problem.is_some()
                    && matches!(error.kind, McpErrorKind::Backoff { .. }) =>
            {
                return;
            }
            Ok(mut state) => {
                let is_new = state.problem.is_none();
                state.problem = Some(ServerProblem { detail: problem.clone(), message });
                is_new
            }
            Err(_) => false,
        };
        if !is_new {
            return;
        }
        tracing::warn!(upstream = %self.name, "{problem}");
        let fields = event::fields([
            ("upstream", json!(self.name)),
            ("code", json!(error.code())),
            ("problem", json!(problem.chars().take(MAX_PROBLEM_CHARS).collect::<String>())),
        ]);
        event::record(kernel, EventKind::UpstreamLost, fields).await;
    }
}

/// False where the gateway itself closed the connection, as it does when it ends.
fn is_loss(error: &McpError) -> bool {
    error.kind != McpErrorKind::Shutdown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_the_gateway_closed_is_not_lost() {
        assert!(!is_loss(&McpErrorKind::Shutdown.at("files")));
        assert!(is_loss(&McpErrorKind::TooManySubscriptions { limit: 1 }.at("files")));
    }
}
