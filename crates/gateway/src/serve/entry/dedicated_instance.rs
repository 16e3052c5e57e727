//! An instance for one client, or for the clients of a folder.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use weaver_agent_kernel::DriverError;
use weaver_drivers::mcp::{Connection, LogLevel, McpError, ServerList, Upstream, UpstreamConfig};

use crate::serve::listed_definition::ListedDefinition;
use crate::serve::server_feature::{FeatureKind, ServerFeatures, definition_of};

/// How often a fresh instance is asked for a tool that it does not list: some servers register their
/// tools a moment after the handshake.
const LOOKS: usize = 3;
const SECOND_LOOK: Duration = Duration::from_millis(150);
/// The lists beside that of tools.
const FEATURE_LISTS: [ServerList; 3] =
    [ServerList::Resources, ServerList::ResourceTemplates, ServerList::Prompts];

/// A tool or feature as the primary instance lists it, which is what was approved.
pub(super) enum ApprovedItem {
    /// A tool, as it stands in the list.
    Tool { name: String, listed: Arc<ListedDefinition> },
    /// A prompt by its name, or what else there is beside tools.
    Feature { kind: FeatureKind, name: String, definition: Value },
}

impl ApprovedItem {
    fn name(&self) -> &str {
        match self {
            Self::Tool { name, .. } | Self::Feature { name, .. } => name,
        }
    }
}

/// An instance for one client, or for the clients of a folder.
pub(super) struct DedicatedInstance {
    pub(super) upstream: Arc<Upstream>,
    /// The tools that it lists.
    tools: tokio::sync::Mutex<Option<Listing<BTreeMap<String, ListedDefinition>>>>,
    /// What else it lists.
    features: tokio::sync::Mutex<Option<Listing<Arc<ServerFeatures>>>>,
    last_used: Mutex<Instant>,
}

/// What an instance lists, on which connection.
struct Listing<T> {
    generation: u64,
    items: T,
}

impl DedicatedInstance {
    pub(super) fn new(config: UpstreamConfig) -> Self {
        Self {
            upstream: Arc::new(Upstream::new(config)),
            tools: tokio::sync::Mutex::default(),
            features: tokio::sync::Mutex::default(),
            last_used: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn idle(&self) -> Duration {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Asks for log messages from this level on, before it is connected: later changes are told to it
    /// as to every instance.
    pub(super) async fn want_log(&self, level: Option<LogLevel>) {
        if let Some(level) = level.filter(|_| self.upstream.is_unused()) {
            let _ = self.upstream.set_log_level(level).await;
        }
    }

    /// The connection for a call of the item. A start that takes longer than `patience` goes on, so
    /// that a later call finds the server there; this one was not sent.
    pub(super) async fn ready(
        self: &Arc<Self>,
        item: Arc<ApprovedItem>,
        patience: Duration,
    ) -> Result<u64, DriverError> {
        if self.has_listed(&item) {
            return self.approved(&item).await;
        }
        let starting = Arc::clone(self);
        let starting = tokio::spawn(async move { starting.approved(&item).await });
        match tokio::time::timeout(patience, starting).await {
            Ok(Ok(ready)) => ready,
            Ok(Err(_)) => Err(DriverError::Unavailable("the server was not started".to_owned())),
            Err(_) => Err(DriverError::Unavailable(
                "the server is still starting for this client; nothing was sent, call again in a \
                 moment"
                    .to_owned(),
            )),
        }
    }

    /// True where the list was read before in which the item stands: the server has started.
    fn has_listed(&self, item: &ApprovedItem) -> bool {
        match item {
            ApprovedItem::Tool { .. } => self.tools.try_lock().is_ok_and(|known| known.is_some()),
            ApprovedItem::Feature { .. } => {
                self.features.try_lock().is_ok_and(|known| known.is_some())
            }
        }
    }

    /// The connection on which it has the item just as it was approved; connects where there is none.
    async fn approved(&self, item: &ApprovedItem) -> Result<u64, DriverError> {
        let found = match item {
            ApprovedItem::Tool { name, listed } => self.listing_tool(name, listed).await?,
            ApprovedItem::Feature { kind, name, definition } => {
                let current = self.listed_features().await.map_err(unavailable)?;
                let own = definition_of(*kind, name, &current.items);
                (own.as_ref() == Some(definition)).then_some(current.generation)
            }
        };
        found.ok_or_else(|| {
            let name = item.name();
            DriverError::Unavailable(format!(
                "the instance of the server that was started for this client does not list \
                 `{name}` as it was approved; nothing was sent"
            ))
        })
    }

    async fn listing_tool(
        &self,
        name: &str,
        approved: &ListedDefinition,
    ) -> Result<Option<u64>, DriverError> {
        let mut tools = self.tools.lock().await;
        let connection = self.upstream.connection().await.map_err(unavailable)?;
        let stale = self.upstream.tools_stale().await;
        let mut known =
            tools.take().filter(|known| !stale && known.generation == connection.generation());
        for _ in 0..LOOKS {
            let current = match known.take() {
                Some(known) => known,
                None => self.list_tools().await?,
            };
            match current.items.get(name) {
                Some(listed) if listed == approved => {
                    return Ok(Some(tools.insert(current).generation));
                }
                Some(_) => break,
                None => tokio::time::sleep(SECOND_LOOK).await,
            }
        }
        Ok(None)
    }

    async fn list_tools(&self) -> Result<Listing<BTreeMap<String, ListedDefinition>>, DriverError> {
        let (connection, tools) = self.upstream.listing().await.map_err(unavailable)?;
        let tools =
            tools.iter().map(|tool| (tool.name().to_owned(), ListedDefinition::new(tool.value())));
        Ok(Listing { generation: connection.generation(), items: tools.collect() })
    }

    /// What it lists beside tools, as it is now; connects where there is no connection.
    pub(super) async fn features(&self) -> Result<Arc<ServerFeatures>, McpError> {
        self.listed_features().await.map(|listing| listing.items)
    }

    async fn listed_features(&self) -> Result<Listing<Arc<ServerFeatures>>, McpError> {
        let mut features = self.features.lock().await;
        let connection = self.upstream.connection().await?;
        let generation = connection.generation();
        let current = features
            .as_ref()
            .filter(|known| known.generation == generation && !is_stale(&connection, &known.items));
        let items = match current {
            Some(known) => Arc::clone(&known.items),
            None => Arc::new(ServerFeatures::ask(&connection).await),
        };
        *features = Some(Listing { generation, items: Arc::clone(&items) });
        Ok(Listing { generation, items })
    }
}

/// Whether a list may be another one by now: the server said so, or never says so.
fn is_stale(connection: &Connection, known: &ServerFeatures) -> bool {
    FEATURE_LISTS.into_iter().any(|list| connection.is_stale(list))
        || known.has_resources && !connection.server().tells_changes_of(ServerList::Resources)
}

fn unavailable(error: McpError) -> DriverError {
    DriverError::Unavailable(error.explained())
}
