//! All upstream servers: their tools together, and which of them are unavailable.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use weaver_drivers::confine::Launcher;
use weaver_drivers::mcp::Redactor;
use weaver_types::CapabilityId;

use super::entry::{Entry, UnavailableServer};
use super::gateway::Gateway;
use super::own_tools;
use super::upstream_config::upstream_config;
use crate::config::Config;

/// How long a server may take to shut down when the gateway ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// All upstreams, and the operator's own tools.
pub(crate) struct Upstreams {
    entries: Vec<Arc<Entry>>,
    own: BTreeMap<CapabilityId, Arc<Value>>,
    /// Set when the gateway ends: nobody waits for a server any more.
    closing: watch::Sender<bool>,
}

impl Upstreams {
    pub(crate) fn new(config: &Config, redactor: &Redactor, launcher: &Launcher) -> Self {
        let closing = watch::Sender::new(false);
        let entry = |upstream| {
            let confined = upstream_config(upstream, config, launcher);
            Arc::new(Entry::new(upstream, confined, redactor, closing.subscribe()))
        };
        let entries = config.upstreams.iter().map(entry).collect();
        Self { entries, own: own_tools::definitions(config), closing }
    }

    /// Starts connecting all of them, and keeps them connected.
    pub(crate) fn start(&self, gateway: &Arc<Gateway>) {
        for entry in &self.entries {
            let (gateway, entry) = (Arc::clone(gateway), Arc::clone(entry));
            tokio::spawn(async move { entry.keep(&gateway).await });
        }
    }

    /// Waits for the first attempts until they have lasted for `patience`.
    pub(crate) async fn settled(&self, patience: Duration) {
        let all = self.entries.iter().map(|entry| entry.wait_settled(patience));
        futures_util::future::join_all(all).await;
    }

    /// Waits for the first attempts until they have lasted for `patience`, and looks again at
    /// whoever says that its tools changed or has gone away.
    pub(crate) async fn fresh(&self, patience: Duration) {
        let all = self.entries.iter().map(|entry| async move {
            entry.wait_settled(patience).await;
            if entry.is_settled() {
                entry.look_again().await;
            }
        });
        futures_util::future::join_all(all).await;
    }

    /// Starts every server again that is kept from the gateway's state by mounts.
    pub(crate) async fn restart_covered(&self, gateway: &Gateway) {
        let all = self.entries.iter().map(|entry| entry.restart(gateway));
        futures_util::future::join_all(all).await;
    }

    /// The tools of all, as their servers list them.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<Value>> {
        let own = self.own.iter().map(|(id, tool)| (id.clone(), Arc::clone(tool)));
        self.entries.iter().flat_map(|entry| entry.tools()).chain(own).collect()
    }

    /// The upstream that a capability belongs to by its name.
    pub(crate) fn of(&self, id: &str) -> Option<&Arc<Entry>> {
        let (upstream, _) = id.split_once('.')?;
        self.entries.iter().find(|entry| entry.name.as_str() == upstream)
    }

    /// The only one, where there is no other.
    pub(crate) fn only(&self) -> Option<&Arc<Entry>> {
        self.entries.first().filter(|_| self.entries.len() == 1)
    }

    /// The servers whose tools are not there, and why.
    pub(crate) fn missing(&self) -> Vec<UnavailableServer> {
        self.entries.iter().filter_map(|entry| entry.missing()).collect()
    }

    /// Every server by its name, with why it is unavailable.
    pub(crate) fn states(&self) -> impl Iterator<Item = (String, Option<UnavailableServer>)> {
        self.entries.iter().map(|entry| (entry.name.to_string(), entry.missing()))
    }

    /// Ends every wait for a server: the client has nothing more to say.
    pub(crate) fn stop_waiting(&self) {
        self.closing.send_replace(true);
    }

    /// Ends all servers. Whoever takes too long is killed.
    pub(crate) async fn close(&self) {
        self.stop_waiting();
        let all = self.entries.iter().map(|entry| entry.close());
        let _ = tokio::time::timeout(FAREWELL, futures_util::future::join_all(all)).await;
    }
}
