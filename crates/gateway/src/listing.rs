//! Lists what the configured servers offer now: each server is started or connected to, asked once
//! and closed.

mod server_listings;

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use weaver_drivers::confine::{self, Launcher};
use weaver_drivers::mcp::{Redactor, Upstream};
use weaver_policy::PolicySet;
use weaver_policy_analysis::propose::{self, ContractProposal, ServerTraits, ToolDescription};
use weaver_types::{Capability, Clock as _, SystemClock, UpstreamName};

use crate::config::{self, Config, SignatureChecks, UpstreamSettings};
use crate::serve::{self, FeatureKind, ProposalError};

pub use server_listings::ServerListings;

/// How long a server may take to connect and list.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause before an empty list is requested again: some servers register their tools a moment
/// after the handshake.
const RETRY_DELAY: Duration = Duration::from_millis(150);
/// How often it is reported which servers are waited for.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// How many times an empty list is requested.
const MAX_ATTEMPTS: u32 = 3;

/// A tool or other feature as its server lists it, with the capability proposed for it.
#[derive(Debug)]
pub struct ListedFeature {
    /// What it is.
    pub kind: FeatureKind,
    /// The definition as the server wrote it.
    pub definition: Value,
    /// The proposed capability, or why there can be none.
    pub capability: Result<Capability, ProposalError>,
    /// What all tools of its server show together.
    pub server: ServerTraits,
    /// The instructions of its server.
    pub instructions: Option<Arc<str>>,
}

impl ListedFeature {
    /// What its definition says of it, as a tool of its server.
    #[must_use]
    pub fn description(&self) -> ToolDescription<'_> {
        ToolDescription::from_json(&self.definition).with_server(self.server)
    }

    /// The contract that is proposed for it. The words of a tool say what it does; what the other
    /// features do is defined by the protocol.
    #[must_use]
    pub fn propose_contract(&self) -> ContractProposal {
        match self.kind {
            FeatureKind::ResourceReading => propose::propose_resource_reading(&self.definition),
            FeatureKind::Prompt => propose::propose_prompt(),
            FeatureKind::Completion => propose::propose_completion(),
            FeatureKind::Tool | FeatureKind::Elicitation | FeatureKind::Sampling => {
                propose::propose(&self.description())
            }
        }
    }
}

/// What a server lists, or why it could not be listed.
pub type ListingResult = Result<Vec<ListedFeature>, ListingError>;

/// Why a server could not be listed, with the last lines of its standard error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ListingError(String);

/// Lists these servers in parallel. After one second, and whenever others are left from then on,
/// `on_waiting` receives the names of those that have not answered; none at the end. A server that
/// takes longer than `timeout` (30 seconds by default) is given up.
///
/// What a server left when it ended, also outside of its group and its session, is killed before this
/// returns: such a process would go on while the files of the gateway are replaced.
///
/// # Errors
/// An I/O error, if the runtime cannot be started, or a process that a server left cannot be ended.
pub fn list_all(
    config: &Config,
    servers: &[UpstreamSettings],
    timeout: Option<Duration>,
    on_waiting: &dyn Fn(&[String]),
) -> io::Result<Vec<(UpstreamName, ListingResult)>> {
    confine::adopt_orphans()?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let timeout = timeout.unwrap_or(LIST_TIMEOUT);
    config.make_server_folders();
    // Only for what is declared to the servers, so the signatures do not matter.
    let now = SystemClock::default().now();
    let policy = config::load_policy(config, SignatureChecks::Skipped, now).ok();
    let redactor = stderr_redactor(config);
    let context = ListingContext { config, policy: policy.as_ref(), redactor };
    let names: BTreeSet<UpstreamName> = servers.iter().map(|server| server.name.clone()).collect();
    let names = Mutex::new(names);
    let all = servers.iter().map(|server| async {
        let listed = list(server, &context, timeout).await;
        names.lock().unwrap_or_else(PoisonError::into_inner).remove(&server.name);
        (server.name.clone(), listed)
    });
    let listed = runtime.block_on(async {
        tokio::select! {
            listed = futures_util::future::join_all(all) => listed,
            () = report_waiting(&names, on_waiting) => Vec::new(),
        }
    });
    on_waiting(&[]);
    runtime.shutdown_timeout(Duration::from_secs(2));
    confine::kill_orphans()?;
    Ok(listed)
}

/// Reports the servers that are waited for. It never returns.
async fn report_waiting(names: &Mutex<BTreeSet<UpstreamName>>, on_waiting: &dyn Fn(&[String])) {
    let mut reported = Vec::new();
    loop {
        tokio::time::sleep(REPORT_INTERVAL).await;
        let pending: Vec<String> = {
            let names = names.lock().unwrap_or_else(PoisonError::into_inner);
            names.iter().map(ToString::to_string).collect()
        };
        if pending != reported {
            on_waiting(&pending);
            reported = pending;
        }
    }
}

/// What all servers of one listing share.
struct ListingContext<'a> {
    config: &'a Config,
    policy: Option<&'a PolicySet>,
    redactor: Redactor,
}

/// Masks secrets in what a server wrote to its standard error, which a person reads. Nothing of it is shown if the rules
/// of the configuration cannot be read.
fn stderr_redactor(config: &Config) -> Redactor {
    match config::redaction::firewall(&config.redaction_rules) {
        Ok(firewall) => Redactor::new(move |text| firewall.redact_text(text).text),
        Err(_) => Redactor::new(|_| String::new()),
    }
}

async fn list(
    config: &UpstreamSettings,
    context: &ListingContext<'_>,
    timeout: Duration,
) -> ListingResult {
    let launcher = Launcher::this_program(serve::LAUNCH_SUBCOMMAND);
    let mut driver_config = serve::upstream_config(config, context.config, &launcher);
    driver_config.redactor = Some(context.redactor.clone());
    // A server may list different tools to a client that can be asked.
    driver_config.client_capabilities = serve::offered_capabilities(context.policy, &config.name);
    let upstream = Upstream::new(driver_config);
    let listed = tokio::time::timeout(timeout, list_features(config, &upstream)).await;
    upstream.close().await;
    listed.unwrap_or_else(|_| {
        Err(ListingError(format!("no answer within {} seconds", timeout.as_secs())))
    })
}

async fn list_features(config: &UpstreamSettings, upstream: &Upstream) -> ListingResult {
    for attempt in 1.. {
        let (connection, tools) = upstream
            .list_tools_with_connection()
            .await
            .map_err(|error| ListingError(error.with_stderr()))?;
        if tools.is_empty() && attempt < MAX_ATTEMPTS {
            tokio::time::sleep(RETRY_DELAY).await;
            continue;
        }
        let instructions = connection.server().instructions();
        let shared: Option<Arc<str>> = instructions.map(Arc::from);
        let features = serve::ServerFeatures::fetch(&connection).await;
        let server = ServerTraits::of(tools.iter().map(|tool| tool.value()));
        let server = if config.uses_local_database() {
            server.on_this_machine()
        } else if config.keeps_local_files(instructions) {
            ServerTraits::of_local_files(tools.iter().map(|tool| tool.value()))
        } else {
            server
        };
        let listed = tools.iter().map(|tool| ListedFeature {
            kind: FeatureKind::Tool,
            definition: tool.value().clone(),
            capability: serve::propose(config, tool, instructions),
            server,
            instructions: shared.clone(),
        });
        let features_listed = serve::propose_features(config, &features, instructions).into_iter();
        let features_listed = features_listed.map(|feature| ListedFeature {
            kind: feature.kind,
            definition: feature.definition,
            capability: feature.capability,
            server,
            instructions: shared.clone(),
        });
        return Ok(listed.chain(features_listed).collect());
    }
    Ok(Vec::new())
}
