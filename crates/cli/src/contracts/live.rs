//! The tools that the servers list now: each server is connected, asked once, and left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use weaver_agent_kernel::Baselines;
use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::Upstream;
use weaver_gateway::config::{self, Config, TOOLS};
use weaver_gateway::serve::{self, FeatureKind, ProposalError};
use weaver_policy::PolicySet;
use weaver_text::escape;
use weaver_types::{Capability, CapabilityId, Clock as _, SystemClock, UpstreamName};

use super::args::From;
use super::output;
use super::standing::Standing;
use crate::{Exit, Failure};

/// The surface that is all servers together.
pub(crate) const KERNEL: &str = "kernel";
/// How long one server may take to connect and list.
const PATIENCE: Duration = Duration::from_secs(30);
/// Some servers register their tools a moment after the handshake.
const SECOND_LOOK: Duration = Duration::from_millis(150);
/// How often an empty list is looked at again.
const LOOKS: u32 = 3;

/// The configuration, its documents, and what its servers list.
pub(crate) struct Live {
    pub(crate) config: Config,
    pub(crate) policy: PolicySet,
    /// What each server proposes.
    pub(crate) tools: BTreeMap<CapabilityId, Capability>,
    /// Which servers were not there, and why.
    pub(crate) away: BTreeMap<UpstreamName, String>,
    /// Tools that cannot be used, and why.
    pub(crate) left_out: Vec<String>,
}

/// A tool as its server lists it, or another feature in that form, and the capability that it
/// proposes to be.
pub(super) struct ListedTool {
    pub(super) kind: FeatureKind,
    pub(super) tool: Value,
    pub(super) capability: Result<Capability, ProposalError>,
}

/// What one server lists.
pub(super) type ListingResult = Result<Vec<ListedTool>, String>;

/// Connects these servers, all at once, and lists their tools. After a second it says on standard
/// error who is waited for.
pub(super) fn ask(
    config: &Config,
    servers: &[config::Upstream],
) -> Result<Vec<(UpstreamName, ListingResult)>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Internal, "contracts.runtime", error))?;
    let waiting: BTreeSet<UpstreamName> = servers.iter().map(|one| one.name.clone()).collect();
    let waiting = Mutex::new(waiting);
    let all = servers.iter().map(|one| async {
        let listed = list(one, config).await;
        waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&one.name);
        (one.name.clone(), listed)
    });
    let listed = runtime.block_on(async {
        tokio::select! {
            listed = futures_util::future::join_all(all) => listed,
            () = progress(&waiting) => Vec::new(),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(listed)
}

/// Says after a second, and then every five, who is waited for. It never ends by itself.
async fn progress(waiting: &Mutex<BTreeSet<UpstreamName>>) {
    let mut pause = Duration::from_secs(1);
    loop {
        tokio::time::sleep(pause).await;
        pause = Duration::from_secs(5);
        let names: Vec<String> = {
            let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.iter().map(ToString::to_string).collect()
        };
        output::aside(&format!("waiting for: {}\n", names.join(", ")));
    }
}

impl Live {
    /// Connects the servers of the surface and lists their tools.
    pub(crate) fn look(from: &From, surface: &str) -> Result<Self, Failure> {
        let config = config::load(&from.config)?;
        let now = SystemClock::default().now();
        let policy = config::load_policy(&config, from.unsigned_development, now)?;
        let wanted = wanted(&config, surface)?;
        let listed = ask(&config, &wanted)?;
        let mut live = Self {
            config,
            policy,
            tools: BTreeMap::new(),
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
    pub(super) fn standings<'a>(&'a self, known: &'a Baselines) -> Vec<Standing<'a>> {
        self.tools.values().map(|tool| Standing::of(tool, &self.policy, known)).collect()
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
        let message = format!("`{name}` is away: {problem}; nothing was approved");
        Err(Failure::new(Exit::Upstream, "contracts.upstream_away", message)
            .next("start it, or name another surface with `--surface`"))
    }

    fn take_in(&mut self, name: UpstreamName, listed: ListingResult) {
        let tools = match listed {
            Ok(tools) => tools,
            Err(problem) => {
                self.away.insert(name, problem);
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

async fn list(config: &config::Upstream, whole: &Config) -> ListingResult {
    let launcher = Launcher::this_program(serve::LAUNCH);
    let upstream = Upstream::new(serve::upstream_config(config, whole, &launcher));
    let listed = tokio::time::timeout(PATIENCE, proposals(config, &upstream)).await;
    upstream.close().await;
    listed.unwrap_or_else(|_| Err(format!("no answer within {} seconds", PATIENCE.as_secs())))
}

async fn proposals(config: &config::Upstream, upstream: &Upstream) -> ListingResult {
    for look in 1.. {
        let (connection, tools) = upstream.listing().await.map_err(|error| error.to_string())?;
        if tools.is_empty() && look < LOOKS {
            tokio::time::sleep(SECOND_LOOK).await;
            continue;
        }
        let instructions = connection.server().instructions();
        let features = serve::ServerFeatures::ask(&connection).await;
        let listed = tools.iter().map(|tool| ListedTool {
            kind: FeatureKind::Tool,
            tool: tool.value().clone(),
            capability: serve::propose(config, tool, instructions),
        });
        let beside = serve::propose_features(config, &features, instructions).into_iter();
        let beside = beside.map(|feature| ListedTool {
            kind: feature.kind,
            tool: feature.definition,
            capability: feature.capability,
        });
        return Ok(listed.chain(beside).collect());
    }
    Ok(Vec::new())
}
