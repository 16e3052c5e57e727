//! Lists the tools that the servers have now: connects each server, lists once, and disconnects.

use std::collections::BTreeMap;

use weaver_gateway::config::{self, Config, OWN_TOOLS_NAMESPACE};
use weaver_gateway::listing::{self, ListingResult};
use weaver_gateway::serve::{self, ProposalError};
use weaver_policy::PolicySet;
use weaver_text::escape;
use weaver_types::{Capability, CapabilityId, Clock as _, SystemClock, UpstreamName};

use super::args::ToolSource;
use super::ledger::ApprovedVersions;
use super::output;
use super::tool_contract_status::ToolContractStatus;
use crate::{Exit, Failure};

/// The surface that consists of all servers.
pub(crate) const KERNEL: &str = "kernel";
/// A configuration, its documents, and what its servers list.
pub(crate) struct LiveTools {
    pub(crate) config: Config,
    pub(crate) policy: PolicySet,
    /// The proposed capability of each tool.
    pub(crate) tools: BTreeMap<CapabilityId, Capability>,
    /// The servers of the surface.
    pub(super) surface_servers: Vec<UpstreamName>,
    /// The servers that could not be reached, and why.
    pub(crate) unreachable: BTreeMap<UpstreamName, String>,
    /// Tools that cannot be used, and why.
    pub(crate) unusable_tools: Vec<String>,
}

/// Connects these servers in parallel and lists their tools. After a second, prints on standard
/// error which servers it still waits for.
pub(super) fn list_servers(
    config: &Config,
    servers: &[config::UpstreamSettings],
) -> Result<Vec<(UpstreamName, ListingResult)>, Failure> {
    listing::list_all(config, servers, None, &output::print_waiting_for)
        .map_err(|error| Failure::new(Exit::Internal, "contracts.runtime", error))
}

impl LiveTools {
    /// Connects the servers of the surface and lists their tools.
    pub(crate) fn list(from: &ToolSource, surface: &str) -> Result<Self, Failure> {
        let config = config::load(from.config.path())?;
        let now = SystemClock::default().now();
        let policy = config::load_policy(
            &config,
            config::SignatureChecks::unless(from.unsigned_development),
            now,
        )?;
        let wanted = servers_of_surface(&config, surface)?;
        let listed = list_servers(&config, &wanted)?;
        let mut live = Self {
            config,
            policy,
            tools: BTreeMap::new(),
            surface_servers: wanted.iter().map(|server| server.name.clone()).collect(),
            unreachable: BTreeMap::new(),
            unusable_tools: Vec::new(),
        };
        for (name, listed) in listed {
            live.add_listing(name, listed);
        }
        if matches!(surface, KERNEL | OWN_TOOLS_NAMESPACE) {
            let own: Vec<_> = live.config.tools.iter().map(serve::propose_own_tool).collect();
            live.add(own);
        }
        live.require_any_server()
    }

    /// Compares each tool with what was approved.
    pub(super) fn contract_statuses<'a>(
        &'a self,
        approved: &'a ApprovedVersions,
    ) -> Vec<ToolContractStatus<'a>> {
        self.tools
            .values()
            .map(|tool| ToolContractStatus::new(tool, &self.policy, approved))
            .collect()
    }

    /// The servers that were unreachable and the tools that cannot be used, as text.
    pub(crate) fn notes(&self) -> String {
        let note = output::bold("note");
        let unreachable =
            self.unreachable.iter().map(|(name, problem)| format!("{name} is away: {problem}"));
        let unusable = self.unusable_tools.iter().map(|problem| format!("left out: {problem}"));
        unreachable
            .chain(unusable)
            .map(|line| format!("{note}: {}\n", escape::line(&line)))
            .collect()
    }

    /// Fails if a server was unreachable.
    pub(super) fn require_all_servers(&self) -> Result<(), Failure> {
        let Some((name, problem)) = self.unreachable.first_key_value() else { return Ok(()) };
        let message = format!("`{name}` cannot be reached: {problem}; nothing was approved");
        Err(Failure::new(Exit::Upstream, "contracts.upstream_away", message)
            .with_next_step("start it, or name another surface with `--surface`"))
    }

    fn add_listing(&mut self, name: UpstreamName, listed: ListingResult) {
        let tools = match listed {
            Ok(tools) => tools,
            Err(problem) => {
                self.unreachable.insert(name, problem.to_string());
                return;
            }
        };
        self.add(tools.into_iter().map(|offered| offered.capability).collect());
    }

    fn add(&mut self, tools: Vec<Result<Capability, ProposalError>>) {
        for tool in tools {
            match tool {
                Err(problem) => self.unusable_tools.push(problem.to_string()),
                Ok(tool) if self.tools.contains_key(tool.id()) => {
                    self.unusable_tools.push(format!("`{}` is listed twice", tool.id()));
                }
                Ok(tool) => drop(self.tools.insert(tool.id().clone(), tool)),
            }
        }
    }

    /// Fails if no server could be reached.
    fn require_any_server(self) -> Result<Self, Failure> {
        let none_reached = self.tools.is_empty() && self.unusable_tools.is_empty();
        let Some((name, problem)) = self.unreachable.first_key_value().filter(|_| none_reached)
        else {
            return Ok(self);
        };
        let message = format!("`{name}` cannot be asked for its tools: {problem}");
        Err(Failure::new(Exit::Upstream, "contracts.upstream_away", message).with_next_step(
            "start the server by hand with the command in the configuration, then try again",
        ))
    }
}

/// The servers of a surface.
pub(super) fn servers_of_surface(
    config: &Config,
    surface: &str,
) -> Result<Vec<config::UpstreamSettings>, Failure> {
    if surface == KERNEL {
        return Ok(config.upstreams.clone());
    }
    if surface == OWN_TOOLS_NAMESPACE && !config.tools.is_empty() {
        return Ok(Vec::new());
    }
    let named = config.upstreams.iter().filter(|one| one.name.as_str() == surface);
    let named: Vec<_> = named.cloned().collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let names: Vec<&str> = config.upstreams.iter().map(|one| one.name.as_str()).collect();
    let message = format!("there is no server `{surface}` in the configuration");
    let next = format!("name `{KERNEL}` for all, or one of: {}", names.join(", "));
    Err(Failure::new(Exit::NotFound, "contracts.unknown_surface", message).with_next_step(next))
}
