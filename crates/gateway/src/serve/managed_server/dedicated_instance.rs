//! A dedicated instance of a server: for one client, or for the clients of one folder.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use weaver_agent_kernel::DriverError;
use weaver_drivers::mcp::{Connection, LogLevel, McpError, ServerList, Upstream, UpstreamConfig};

use crate::serve::listed_definition::ListedDefinition;
use crate::serve::server_feature::{FeatureKind, ServerFeatures, definition_of};

/// How often a new instance lists its tools until one appears: some servers register their tools a
/// moment after the handshake.
const MAX_LISTINGS: usize = 3;
const RELIST_DELAY: Duration = Duration::from_millis(150);
/// The lists other than that of tools.
const FEATURE_LISTS: [ServerList; 3] =
    [ServerList::Resources, ServerList::ResourceTemplates, ServerList::Prompts];

/// A tool or feature as the primary instance lists it. This is the definition that was approved, so
/// a dedicated instance must list the same.
pub(super) enum ApprovedItem {
    /// A tool with its listed definition.
    Tool { name: String, listed: Arc<ListedDefinition> },
    /// A prompt, or another feature, with its definition.
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
    /// Its cached list of tools.
    tools: tokio::sync::Mutex<Option<CachedList<BTreeMap<String, ListedDefinition>>>>,
    /// Its cached resources and prompts.
    features: tokio::sync::Mutex<Option<CachedList<Arc<ServerFeatures>>>>,
    last_used: Mutex<Instant>,
}

/// A list with the connection on which it was read.
struct CachedList<T> {
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

    pub(super) fn idle_time(&self) -> Duration {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Sets the log level before the first connection. Later changes reach all instances alike.
    pub(super) async fn set_initial_log_level(&self, level: Option<LogLevel>) {
        if let Some(level) = level.filter(|_| self.upstream.is_unused()) {
            let _ = self.upstream.set_log_level(level).await;
        }
    }

    /// The connection for a call of the item, after checking that the instance lists it as
    /// approved. A start that takes longer than `max_wait` continues in the background, so that a
    /// later call finds the server ready; this call is not sent.
    pub(super) async fn generation_for(
        self: &Arc<Self>,
        item: Arc<ApprovedItem>,
        max_wait: Duration,
    ) -> Result<u64, DriverError> {
        if self.has_listed(&item) {
            return self.verified_generation(&item).await;
        }
        let starting = Arc::clone(self);
        let starting = tokio::spawn(async move { starting.verified_generation(&item).await });
        match tokio::time::timeout(max_wait, starting).await {
            Ok(Ok(generation)) => generation,
            Ok(Err(_)) => Err(DriverError::Unavailable("the server was not started".to_owned())),
            Err(_) => Err(DriverError::Unavailable(
                "the server is still starting for this client; nothing was sent, call again in a \
                 moment"
                    .to_owned(),
            )),
        }
    }

    /// True where the item's list was read before, so the server has started.
    fn has_listed(&self, item: &ApprovedItem) -> bool {
        match item {
            ApprovedItem::Tool { .. } => self.tools.try_lock().is_ok_and(|cached| cached.is_some()),
            ApprovedItem::Feature { .. } => {
                self.features.try_lock().is_ok_and(|cached| cached.is_some())
            }
        }
    }

    /// The connection on which it lists the item exactly as approved; connects if necessary.
    async fn verified_generation(&self, item: &ApprovedItem) -> Result<u64, DriverError> {
        let generation = match item {
            ApprovedItem::Tool { name, listed } => self.tool_generation(name, listed).await?,
            ApprovedItem::Feature { kind, name, definition } => {
                let current = self.current_features().await.map_err(unavailable_error)?;
                let listed = definition_of(*kind, name, &current.items);
                (listed.as_ref() == Some(definition)).then_some(current.generation)
            }
        };
        generation.ok_or_else(|| {
            let name = item.name();
            DriverError::Unavailable(format!(
                "the instance of the server that was started for this client does not list \
                 `{name}` as it was approved; nothing was sent"
            ))
        })
    }

    async fn tool_generation(
        &self,
        name: &str,
        approved: &ListedDefinition,
    ) -> Result<Option<u64>, DriverError> {
        let mut tools = self.tools.lock().await;
        let connection = self.upstream.connection().await.map_err(unavailable_error)?;
        let is_stale = self.upstream.tools_stale().await;
        let mut cached =
            tools.take().filter(|cached| !is_stale && cached.generation == connection.generation());
        for _ in 0..MAX_LISTINGS {
            let current = match cached.take() {
                Some(cached) => cached,
                None => self.list_tools().await?,
            };
            match current.items.get(name) {
                Some(listed) if listed == approved => {
                    return Ok(Some(tools.insert(current).generation));
                }
                Some(_) => break,
                None => tokio::time::sleep(RELIST_DELAY).await,
            }
        }
        Ok(None)
    }

    async fn list_tools(
        &self,
    ) -> Result<CachedList<BTreeMap<String, ListedDefinition>>, DriverError> {
        let (connection, tools) =
            self.upstream.list_tools_with_connection().await.map_err(unavailable_error)?;
        let tools =
            tools.iter().map(|tool| (tool.name().to_owned(), ListedDefinition::new(tool.value())));
        Ok(CachedList { generation: connection.generation(), items: tools.collect() })
    }

    /// Its current resources and prompts; connects if necessary.
    pub(super) async fn features(&self) -> Result<Arc<ServerFeatures>, McpError> {
        self.current_features().await.map(|listing| listing.items)
    }

    async fn current_features(&self) -> Result<CachedList<Arc<ServerFeatures>>, McpError> {
        let mut features = self.features.lock().await;
        let connection = self.upstream.connection().await?;
        let generation = connection.generation();
        let current = features.as_ref().filter(|cached| {
            cached.generation == generation && !is_stale(&connection, &cached.items)
        });
        let items = match current {
            Some(cached) => Arc::clone(&cached.items),
            None => Arc::new(ServerFeatures::fetch(&connection).await),
        };
        *features = Some(CachedList { generation, items: Arc::clone(&items) });
        Ok(CachedList { generation, items })
    }
}

/// Whether a list may have changed: the server reported it, or never reports changes.
fn is_stale(connection: &Connection, known: &ServerFeatures) -> bool {
    FEATURE_LISTS.into_iter().any(|list| connection.is_stale(list))
        || known.has_resources && !connection.server().announces_changes_of(ServerList::Resources)
}

fn unavailable_error(error: McpError) -> DriverError {
    DriverError::Unavailable(error.with_stderr())
}
