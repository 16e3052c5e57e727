//! A changed configuration that comes into force while the gateway serves: one that differs in its
//! servers only.
//!
//! Sessions, runs and calls go on, and so do the servers whose settings, secrets and reach are the
//! same. Another configuration needs another gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use weaver_drivers::mcp::ServerList;
use weaver_types::UpstreamName;

use super::gateway::Gateway;
use super::managed_server::ManagedServer;
use super::reload;
use super::server_events::{InstanceRef, Notice};
use super::upstreams::ReplacedServers;
use crate::config::Config;

/// How long the last calls of a server may take.
const LAST_CALLS_TIMEOUT: Duration = Duration::from_secs(30);

/// The last change of each server, which has to be over before the next one.
#[derive(Default)]
pub(crate) struct ServerChangeQueue(Mutex<BTreeMap<UpstreamName, JoinHandle<()>>>);

/// Whether a configuration can come into force in a gateway of another one.
pub(crate) fn differs_in_servers_only(one: &Config, other: &Config) -> bool {
    let rest = |config: &Config| Config {
        file_digest: [0; 32],
        upstreams: Vec::new(),
        servers_file: None,
        environment_file: None,
        source_files: BTreeSet::new(),
        source_links: BTreeSet::new(),
        ..config.clone()
    };
    rest(one) == rest(other)
}

/// Puts such a configuration into force, together with the documents that were written for it.
/// Returns once no call begins at a server that is replaced; its last calls end in the background.
pub(crate) async fn apply(gateway: &Arc<Gateway>, config: Config) {
    if let Err(error) = reload::reload(gateway).await {
        tracing::error!(%error, "the documents could not be loaded; the old ones stay in force until they can");
    }
    let policy = gateway.kernel.policy();
    let ReplacedServers { retired, new } = gateway.upstreams.replace(config, &policy);
    let names = |servers: &[Arc<ManagedServer>]| {
        let names: Vec<String> = servers.iter().map(|server| server.name.to_string()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    tracing::info!(
        "servers ended by it: {}; started: {}; all others go on",
        names(&retired),
        names(&new)
    );
    for server in &retired {
        server.retire(gateway.kernel.registry());
    }
    gateway.servers_changed();
    for server in &retired {
        publish_removal(gateway, server);
    }
    let mut new: BTreeMap<UpstreamName, Arc<ManagedServer>> =
        new.into_iter().map(|server| (server.name.clone(), server)).collect();
    for server in retired {
        let successor = new.remove(&server.name);
        change_server(gateway, server.name.clone(), Some(server), successor);
    }
    for (name, server) in new {
        change_server(gateway, name, None, Some(server));
    }
}

/// Ends a server after its last calls, and then starts the one that takes its place: both could
/// need the same file or port.
fn change_server(
    gateway: &Arc<Gateway>,
    name: UpstreamName,
    retired: Option<Arc<ManagedServer>>,
    successor: Option<Arc<ManagedServer>>,
) {
    let mut queue = gateway.server_changes.0.lock().unwrap_or_else(PoisonError::into_inner);
    queue.retain(|_, change| !change.is_finished());
    let before = queue.remove(&name);
    let changing = Arc::clone(gateway);
    let change = tokio::spawn(async move {
        if let Some(before) = before {
            let _ = before.await;
        }
        if let Some(retired) = retired {
            retired.end_after_last_calls(changing.kernel.registry(), LAST_CALLS_TIMEOUT).await;
        }
        if let Some(server) = successor {
            server.sync_log_level().await;
            changing.restore_tools(&server);
            changing.start_server(&server);
            server.sync_subscriptions(&BTreeSet::new()).await;
        }
    });
    queue.insert(name, change);
}

/// Tells the clients which lists have lost the items of a server.
fn publish_removal(gateway: &Gateway, server: &ManagedServer) {
    let features = server.features();
    for (list, items) in [
        (ServerList::Resources, &features.resources),
        (ServerList::ResourceTemplates, &features.templates),
        (ServerList::Prompts, &features.prompts),
    ] {
        if !items.is_empty() {
            let source =
                InstanceRef { server: server.name.clone(), id: server.instances.primary().id };
            gateway.upstreams.events.publish(Notice::ListChanged { list, source });
        }
    }
}
