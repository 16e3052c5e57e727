//! The tools that the servers list now: each server is connected, asked once, and left.

use std::collections::BTreeMap;

use weaver_agent_kernel::Baselines;
use weaver_gateway::config::{self, Config, TOOLS};
use weaver_gateway::listing::{self, ListingResult};
use weaver_gateway::serve::{self, ProposalError};
use weaver_policy::PolicySet;
use weaver_text::escape;
use weaver_types::{Capability, CapabilityId, Clock as _, SystemClock, UpstreamName};

use super::args::ToolSource;
use super::contract_standing::ContractStanding;
use super::output;
use crate::{Exit, Failure};

/// The surface that is all servers together.
pub(crate) const KERNEL: &str = "kernel";
/// The configuration, its documents, and what its servers list.
pub(crate) struct LiveTools {
    pub(crate) config: Config,
    pub(crate) policy: PolicySet,
    /// What each server proposes.
    pub(crate) tools: BTreeMap<CapabilityId, Capability>,
    /// The servers that were asked.
    pub(super) surface_servers: Vec<UpstreamName>,
    /// Which servers were not there, and why.
    pub(crate) away: BTreeMap<UpstreamName, String>,
    /// Tools that cannot be used, and why.
    pub(crate) left_out: Vec<String>,
}

/// Connects these servers, all at once, and lists their tools. After a second it says on standard
/// error who is waited for.
pub(super) fn ask(
    config: &Config,
    servers: &[config::Upstream],
) -> Result<Vec<(UpstreamName, ListingResult)>, Failure> {
    listing::list_all(config, servers, None, &output::waiting)
        .map_err(|error| Failure::new(Exit::Internal, "contracts.runtime", error))
}

impl LiveTools {
    /// Connects the servers of the surface and lists their tools.
    pub(crate) fn look(from: &ToolSource, surface: &str) -> Result<Self, Failure> {
        let config = config::load(&from.config)?;
        let now = SystemClock::default().now();
        let policy = config::load_policy(
            &config,
            config::SignatureChecks::unless(from.unsigned_development),
            now,
        )?;
        let wanted = wanted(&config, surface)?;
        let listed = ask(&config, &wanted)?;
        let mut live = Self {
            config,
            policy,
            tools: BTreeMap::new(),
            surface_servers: wanted.iter().map(|server| server.name.clone()).collect(),
            away: BTreeMap::new(),
            left_out: Vec::new(),
        };
        for (name, listed) in listed {
            live.take_in(name, listed);
        }
        if matches!(surface, KERNEL | TOOLS) {
            let own: Vec<_> = live.config.tools.iter().map(serve::own_proposal).collect();
            live.add(own);
        }
        live.someone()
    }

    /// How each of the tools stands.
    pub(super) fn standings<'a>(&'a self, known: &'a Baselines) -> Vec<ContractStanding<'a>> {
        self.tools.values().map(|tool| ContractStanding::of(tool, &self.policy, known)).collect()
    }

    /// Who was away and what cannot be used, for the terminal.
    pub(crate) fn notes(&self) -> String {
        let note = output::bold("note");
        let away = self.away.iter().map(|(name, problem)| format!("{name} is away: {problem}"));
        let left_out = self.left_out.iter().map(|problem| format!("left out: {problem}"));
        away.chain(left_out).map(|line| format!("{note}: {}\n", escape::line(&line))).collect()
    }

    /// Refuses where a server was away.
    pub(super) fn whole(&self) -> Result<(), Failure> {
        let Some((name, problem)) = self.away.first_key_value() else { return Ok(()) };
        let message = format!("`{name}` cannot be reached: {problem}; nothing was approved");
        Err(Failure::new(Exit::Upstream, "contracts.upstream_away", message)
            .next("start it, or name another surface with `--surface`"))
    }

    fn take_in(&mut self, name: UpstreamName, listed: ListingResult) {
        let tools = match listed {
            Ok(tools) => tools,
            Err(problem) => {
                self.away.insert(name, problem.to_string());
                return;
            }
        };
        self.add(tools.into_iter().map(|offered| offered.capability).collect());
    }

    fn add(&mut self, tools: Vec<Result<Capability, ProposalError>>) {
        for tool in tools {
            match tool {
                Err(problem) => self.left_out.push(problem.to_string()),
                Ok(tool) if self.tools.contains_key(tool.id()) => {
                    self.left_out.push(format!("`{}` is listed twice", tool.id()));
                }
                Ok(tool) => drop(self.tools.insert(tool.id().clone(), tool)),
            }
        }
    }

    /// At least one server has to be there.
    fn someone(self) -> Result<Self, Failure> {
        let all_away = self.tools.is_empty() && self.left_out.is_empty();
        let Some((name, problem)) = self.away.first_key_value().filter(|_| all_away) else {
            return Ok(self);
        };
        let message = format!("`{name}` cannot be asked for its tools: {problem}");
        Err(Failure::new(Exit::Upstream, "contracts.upstream_away", message)
            .next("start the server by hand with the command in the configuration, then try again"))
    }
}

/// The servers of a surface.
pub(super) fn wanted(config: &Config, surface: &str) -> Result<Vec<config::Upstream>, Failure> {
    if surface == KERNEL {
        return Ok(config.upstreams.clone());
    }
    if surface == TOOLS && !config.tools.is_empty() {
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
    Err(Failure::new(Exit::Unknown, "contracts.unknown_surface", message).next(next))
}
