//! The upstreams: who they are, what they list together, and who of them is away.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use weaver_types::CapabilityId;

use super::entry::Entry;
use super::gateway::Gateway;
use super::own_tools;
use crate::config::Config;

/// All upstreams, and the operator's own tools.
pub(crate) struct Upstreams(Vec<Arc<Entry>>, BTreeMap<CapabilityId, Arc<Value>>);

impl Upstreams {
    pub(crate) fn new(config: &Config) -> Self {
        let entry = |upstream| Arc::new(Entry::new(upstream, config));
        Self(config.upstreams.iter().map(entry).collect(), own_tools::definitions(config))
    }

    /// Begins to connect all of them.
    pub(crate) fn start(&self, gateway: &Arc<Gateway>) {
        for entry in &self.0 {
            let (gateway, entry) = (Arc::clone(gateway), Arc::clone(entry));
            tokio::spawn(async move { entry.first_look(&gateway).await });
        }
    }

    /// Waits for the first attempts for at most `patience`.
    pub(crate) async fn settled(&self, patience: Duration) {
        let all = self.0.iter().map(|entry| entry.wait_settled(patience));
        futures_util::future::join_all(all).await;
    }

    /// Waits for the first attempts for at most `patience`, and looks again at whoever says that
    /// its tools changed or has gone away.
    pub(crate) async fn fresh(&self, gateway: &Arc<Gateway>, patience: Duration) {
        let all = self.0.iter().map(|entry| async move {
            entry.wait_settled(patience).await;
            if entry.is_settled() {
                entry.look_again(gateway).await;
            }
        });
        futures_util::future::join_all(all).await;
    }

    /// The tools of all, as their servers list them.
    pub(crate) fn tools(&self) -> BTreeMap<CapabilityId, Arc<Value>> {
        let own = self.1.iter().map(|(id, tool)| (id.clone(), Arc::clone(tool)));
        self.0.iter().flat_map(|entry| entry.tools()).chain(own).collect()
    }

    /// The upstream that a capability belongs to by its name.
    pub(crate) fn of(&self, id: &str) -> Option<&Arc<Entry>> {
        let (upstream, _) = id.split_once('.')?;
        self.0.iter().find(|entry| entry.name.as_str() == upstream)
    }

    /// The only one, where there is no other.
    pub(crate) fn only(&self) -> Option<&Arc<Entry>> {
        self.0.first().filter(|_| self.0.len() == 1)
    }

    /// Who is away, and why.
    pub(crate) fn away(&self) -> Vec<(String, String)> {
        let starting = || "it is still starting".to_owned();
        self.0
            .iter()
            .filter_map(|entry| {
                let problem = entry.problem().or_else(|| (!entry.is_settled()).then(starting))?;
                Some((entry.name.to_string(), problem))
            })
            .collect()
    }

    pub(crate) async fn close(&self) {
        futures_util::future::join_all(self.0.iter().map(|entry| entry.close())).await;
    }
}
