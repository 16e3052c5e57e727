//! A dedicated instance of a server: for one client, or for the clients of one folder.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use weaver_agent_kernel::DriverError;
use weaver_drivers::mcp::{Connection, ListedItem, McpError, ServerList, Upstream};

use crate::serve::instance_id::InstanceId;
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
    pub(super) id: InstanceId,
    pub(super) upstream: Arc<Upstream>,
    /// Its cached list of tools.
    tools: tokio::sync::Mutex<Option<CachedList<BTreeMap<String, ListedDefinition>>>>,
    /// Its resources and prompts, as last listed.
    features: Mutex<Option<CachedFeatures>>,
    /// Held while they are listed.
    feature_listing: tokio::sync::Mutex<()>,
    last_used: Mutex<Instant>,
}

/// A list with the connection on which it was read.
struct CachedList<T> {
    generation: u64,
    items: T,
}

/// Resources and prompts with the connection on which they were listed.
#[derive(Clone)]
struct CachedFeatures {
    generation: u64,
    /// As listed, which is what has to be as approved.
    listed: Arc<ServerFeatures>,
    /// What clients are shown: the lists before, where one could not be read.
    shown: Arc<ServerFeatures>,
}

impl DedicatedInstance {
    pub(super) fn new(id: InstanceId, upstream: Upstream) -> Self {
        Self {
            id,
            upstream: Arc::new(upstream),
            tools: tokio::sync::Mutex::default(),
            features: Mutex::default(),
            feature_listing: tokio::sync::Mutex::default(),
            last_used: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn idle_time(&self) -> Duration {
        self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
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
            ApprovedItem::Feature { .. } => self.cached_features().is_some(),
        }
    }

    /// The connection on which it lists the item exactly as approved; connects if necessary.
    async fn verified_generation(
        self: &Arc<Self>,
        item: &ApprovedItem,
    ) -> Result<u64, DriverError> {
        let generation = match item {
            ApprovedItem::Tool { name, listed } => self.tool_generation(name, listed).await?,
            ApprovedItem::Feature { kind, name, definition } => {
                let current = self.current_features().await.map_err(unavailable_error)?;
                let listed = definition_of(*kind, name, &current.listed);
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
        let is_stale = self.upstream.tools_stale();
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
    pub(super) async fn features(self: &Arc<Self>) -> Result<Arc<ServerFeatures>, McpError> {
        self.current_features().await.map(|current| current.shown)
    }

    /// Its resources and prompts as last listed, however long ago.
    pub(super) fn last_features(&self) -> Option<Arc<ServerFeatures>> {
        self.cached_features().map(|cached| cached.shown)
    }

    async fn current_features(self: &Arc<Self>) -> Result<CachedFeatures, McpError> {
        let connection = self.upstream.connection().await?;
        if let Some(current) = self.current_cached_features(&connection) {
            return Ok(current);
        }
        // In a task of its own, whose stack is not that of a call, and which ends even if nobody
        // waits for it any more.
        let (generation, instance) = (connection.generation(), Arc::clone(self));
        let listing = tokio::spawn(async move {
            let _one_at_a_time = instance.feature_listing.lock().await;
            match instance.current_cached_features(&connection) {
                Some(current) => current,
                None => instance.list_features(&connection).await,
            }
        });
        Ok(listing.await.unwrap_or_else(|_| {
            let listed = unlisted_features();
            let shown = self.last_features().unwrap_or_else(|| Arc::clone(&listed));
            CachedFeatures { generation, listed, shown }
        }))
    }

    /// The cached lists, unless they are of another connection, incomplete, or reported as changed.
    fn current_cached_features(&self, connection: &Connection) -> Option<CachedFeatures> {
        self.cached_features().filter(|cached| {
            cached.generation == connection.generation()
                && cached.listed.problems.is_empty()
                && !FEATURE_LISTS.into_iter().any(|list| connection.is_stale(list))
        })
    }

    async fn list_features(&self, connection: &Connection) -> CachedFeatures {
        let generation = connection.generation();
        let listed = Arc::new(ServerFeatures::fetch(connection).await);
        let last = self.last_features().filter(|_| !listed.problems.is_empty());
        let shown = last.unwrap_or_else(|| Arc::clone(&listed));
        let current = CachedFeatures { generation, listed, shown };
        self.set_cached_features(current.clone());
        current
    }

    /// Lists the resources again if the server does not report changes of them.
    pub(super) async fn refresh_resources(&self) -> Result<(), McpError> {
        let _one_at_a_time = self.feature_listing.lock().await;
        let connection = self.upstream.connection().await?;
        let Some(current) = self.current_cached_features(&connection) else {
            self.list_features(&connection).await;
            return Ok(());
        };
        let announces = connection.server().announces_changes_of(ServerList::Resources);
        if announces || !current.listed.has_resources {
            return Ok(());
        }
        let resources = connection.list(ServerList::Resources).await?;
        if !is_same_list(&resources, &current.listed.resources) {
            let listed = Arc::new(ServerFeatures { resources, ..(*current.listed).clone() });
            let shown = Arc::clone(&listed);
            self.set_cached_features(CachedFeatures { listed, shown, ..current });
        }
        Ok(())
    }

    fn cached_features(&self) -> Option<CachedFeatures> {
        self.features.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_cached_features(&self, features: CachedFeatures) {
        *self.features.lock().unwrap_or_else(PoisonError::into_inner) = Some(features);
    }
}

/// The features of an instance that has listed none.
pub(super) fn unlisted_features() -> Arc<ServerFeatures> {
    let problems = vec!["its resources and prompts could not be listed".to_owned()];
    Arc::new(ServerFeatures { problems, ..ServerFeatures::default() })
}

/// Whether two lists are identical, byte by byte.
pub(super) fn is_same_list(one: &[ListedItem], other: &[ListedItem]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.raw() == other.raw())
}

/// The error for the model, without text of the server, which only the log gets.
fn unavailable_error(error: McpError) -> DriverError {
    if error.detail().is_some() {
        tracing::warn!(upstream = error.upstream, "{}", error.with_stderr());
    }
    DriverError::Unavailable(error.for_model())
}
