//! What the servers of a configuration list now: each is started or reached, asked once, and left.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::Upstream as Connection;
use weaver_types::{Capability, UpstreamName};

use crate::config::{Config, Upstream};
use crate::serve::{self, FeatureKind, ProposalError};

/// How long one server may take to connect and list.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Some servers register their tools a moment after the handshake.
const RETRY_DELAY: Duration = Duration::from_millis(150);
/// How often an empty list is looked at again.
const MAX_ATTEMPTS: u32 = 3;

/// A tool or another feature as its server lists it, with the capability that is proposed for it.
#[derive(Debug)]
pub struct ListedFeature {
    /// What it is.
    pub kind: FeatureKind,
    /// As the server wrote it.
    pub tool: Value,
    /// What it proposes to be, or why it cannot be one.
    pub capability: Result<Capability, ProposalError>,
}

/// What one server lists, or why it does not.
pub type ListingResult = Result<Vec<ListedFeature>, ListingError>;

/// Why a server lists nothing: what went wrong, with the last lines of its standard error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ListingError(String);

/// Asks these servers, all at once. After a second, and then every five, `waiting` is told the names
/// of those that have not answered. A server that needs longer than `patience` (30 seconds, unless
/// another time is given) is left.
///
/// # Errors
/// Those of the system, when the runtime cannot be started.
pub fn list_all(
    config: &Config,
    servers: &[Upstream],
    patience: Option<Duration>,
    waiting: &dyn Fn(&[String]),
) -> io::Result<Vec<(UpstreamName, ListingResult)>> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let patience = patience.unwrap_or(LIST_TIMEOUT);
    let names: BTreeSet<UpstreamName> = servers.iter().map(|one| one.name.clone()).collect();
    let names = Mutex::new(names);
    let all = servers.iter().map(|one| async {
        let listed = list(one, config, patience).await;
        names.lock().unwrap_or_else(PoisonError::into_inner).remove(&one.name);
        (one.name.clone(), listed)
    });
    let listed = runtime.block_on(async {
        tokio::select! {
            listed = futures_util::future::join_all(all) => listed,
            () = progress(&names, waiting) => Vec::new(),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(listed)
}

/// Tells who is waited for. It never ends by itself.
async fn progress(names: &Mutex<BTreeSet<UpstreamName>>, waiting: &dyn Fn(&[String])) {
    let mut pause = Duration::from_secs(1);
    loop {
        tokio::time::sleep(pause).await;
        pause = Duration::from_secs(5);
        let left: Vec<String> = {
            let names = names.lock().unwrap_or_else(PoisonError::into_inner);
            names.iter().map(ToString::to_string).collect()
        };
        waiting(&left);
    }
}

async fn list(config: &Upstream, whole: &Config, patience: Duration) -> ListingResult {
    let launcher = Launcher::this_program(serve::LAUNCH);
    let upstream = Connection::new(serve::upstream_config(config, whole, &launcher));
    let listed = tokio::time::timeout(patience, list_features(config, &upstream)).await;
    upstream.close().await;
    listed.unwrap_or_else(|_| {
        Err(ListingError(format!("no answer within {} seconds", patience.as_secs())))
    })
}

async fn list_features(config: &Upstream, upstream: &Connection) -> ListingResult {
    for look in 1.. {
        let (connection, tools) =
            upstream.listing().await.map_err(|error| ListingError(error.explained()))?;
        if tools.is_empty() && look < MAX_ATTEMPTS {
            tokio::time::sleep(RETRY_DELAY).await;
            continue;
        }
        let instructions = connection.server().instructions();
        let features = serve::ServerFeatures::ask(&connection).await;
        let listed = tools.iter().map(|tool| ListedFeature {
            kind: FeatureKind::Tool,
            tool: tool.value().clone(),
            capability: serve::propose(config, tool, instructions),
        });
        let beside = serve::propose_features(config, &features, instructions).into_iter();
        let beside = beside.map(|feature| ListedFeature {
            kind: feature.kind,
            tool: feature.definition,
            capability: feature.capability,
        });
        return Ok(listed.chain(beside).collect());
    }
    Ok(Vec::new())
}
