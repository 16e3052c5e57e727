//! What a server offers beside its tools, kept current.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::timeout;
use weaver_agent_kernel::Driver;
use weaver_drivers::mcp::{Connection, ListedItem, LogLevel, McpError, ServerList, Upstream};
use weaver_drivers::{InstanceSource, McpDriver};
use weaver_types::{Capability, RunId};

use super::Entry;
use super::dedicated_instance::ApprovedItem;
use super::instances::{ItemInstanceSource, ServingInstance};
use super::listing_context::ListingObserver;
use crate::serve::instance_key::InstanceKey;
use crate::serve::server_events::{ListedInstance, Notice};
use crate::serve::server_feature::{
    FeatureKind, FeatureProposal, ServerFeatures, propose_features,
};
use crate::telemetry;

/// How long the lists of a server's features may take while its tools wait for them.
const PATIENCE: Duration = Duration::from_secs(10);

/// The capabilities of a server's features with their drivers, and what makes none.
pub(super) struct FeatureRegistrations {
    pub(super) set: Vec<(Capability, Arc<dyn Driver>)>,
    pub(super) left_out: Vec<String>,
}

impl Entry {
    /// What the server offers beside tools, as it listed it last.
    pub(crate) fn features(&self) -> Arc<ServerFeatures> {
        let features = self.features.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&features)
    }

    /// What the client of a run sees of it: what its own instance offers; what the primary offered
    /// before anybody worked with it, where another client does and this one has no instance yet.
    /// One that logs in for itself gets its own instance here: what the primary offers is for the
    /// login that it has. `None` where it is what the primary offers now.
    pub(crate) async fn features_of_client(
        &self,
        run: Option<&RunId>,
    ) -> Option<Arc<ServerFeatures>> {
        let foreign = run.filter(|run| !self.instances.shares_login(run));
        let dedicated = match (self.instances.serving(run), foreign) {
            (ServingInstance::Primary, _) => return None,
            (ServingInstance::NotStarted, None) => {
                let untouched = self.untouched.read().unwrap_or_else(PoisonError::into_inner);
                return Some(Arc::clone(&untouched));
            }
            (ServingInstance::NotStarted, Some(run)) => self.instances.begin_dedicated(run),
            (ServingInstance::Dedicated(dedicated), _) => Some(dedicated),
        };
        let Some(dedicated) = dedicated else { return Some(Arc::default()) };
        let asked = timeout(PATIENCE, dedicated.features()).await;
        Some(asked.ok().and_then(Result::ok).unwrap_or_default())
    }

    /// Asks a connection for its features; nothing where that takes too long.
    pub(super) async fn ask_features(&self, connection: &Connection) -> ServerFeatures {
        let asked = timeout(PATIENCE, ServerFeatures::ask(connection)).await;
        asked.unwrap_or_else(|_| ServerFeatures {
            problems: vec![format!(
                "its resources and prompts were not listed within {PATIENCE:?}"
            )],
            ..ServerFeatures::default()
        })
    }

    /// Lists the resources again, where the server does not tell of changes by itself.
    pub(crate) async fn refresh_resources(&self, observer: &dyn ListingObserver) {
        if self.problem().is_some() || !self.features().has_resources {
            return;
        }
        let upstream = self.upstream();
        let Ok(connection) = upstream.connection().await else { return };
        if connection.server().tells_changes_of(ServerList::Resources) {
            return;
        }
        let asked = timeout(PATIENCE, connection.list(ServerList::Resources)).await;
        let Ok(Ok(resources)) = asked else { return };
        let known = self.features();
        self.put_features(observer, ServerFeatures { resources, ..(*known).clone() });
    }

    /// Asks to be told when a resource changes.
    pub(crate) async fn subscribe(
        &self,
        instance: Option<&InstanceKey>,
        uri: &str,
    ) -> Result<(), McpError> {
        match self.instances.named(instance) {
            Some(upstream) => upstream.subscribe(uri).await,
            None => Ok(()),
        }
    }

    /// Asks no longer to be told of a resource.
    pub(crate) async fn unsubscribe(
        &self,
        instance: Option<&InstanceKey>,
        uri: &str,
    ) -> Result<(), McpError> {
        match self.instances.named(instance) {
            Some(upstream) => upstream.unsubscribe(uri).await,
            None => Ok(()),
        }
    }

    /// Asks for log messages from this level on, if nobody wanted more before.
    pub(crate) async fn want_log(&self, level: LogLevel) {
        {
            let mut wanted = self.log_level.lock().unwrap_or_else(PoisonError::into_inner);
            if wanted.is_some_and(|wanted| wanted <= level) {
                return;
            }
            *wanted = Some(level);
        }
        self.instances.note_log_level(level);
        for upstream in self.instances.dedicated().iter().chain([&self.upstream()]) {
            if let Err(error) = upstream.set_log_level(level).await {
                tracing::debug!(upstream = %self.name, %error, "the level of its log is not set");
            }
        }
    }

    /// Tells the server that roots are no longer as they were.
    pub(crate) async fn tell_roots_changed(&self) {
        for upstream in self.instances.dedicated().iter().chain([&self.upstream()]) {
            if let Err(error) = upstream.tell_roots_changed().await {
                tracing::debug!(upstream = %self.name, %error, "it is not told of changed roots");
            }
        }
    }

    /// Takes in what the server lists, and tells clients of what is no longer as it was.
    pub(super) fn put_features(&self, observer: &dyn ListingObserver, features: ServerFeatures) {
        let fresh = Arc::new(features);
        let known = {
            let mut features = self.features.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *features, Arc::clone(&fresh))
        };
        if self.instances.owner_of_primary().is_none() {
            *self.untouched.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&fresh);
        }
        let changed: Vec<ServerList> = [
            (ServerList::Resources, &known.resources, &fresh.resources),
            (ServerList::ResourceTemplates, &known.templates, &fresh.templates),
            (ServerList::Prompts, &known.prompts, &fresh.prompts),
        ]
        .into_iter()
        .filter(|(_, known, fresh)| !are_same(known, fresh))
        .map(|(list, _, _)| list)
        .collect();
        let abilities = |features: &ServerFeatures| {
            (features.has_resources, features.completes, features.subscribes, features.logs)
        };
        if changed.is_empty() && abilities(&known) == abilities(&fresh) {
            return;
        }
        observer.features_changed();
        for list in changed {
            let of = Some(ListedInstance { server: self.name.clone(), instance: None });
            self.events.tell(Notice::ListChanged { list, of });
        }
    }

    /// Where the calls of an item go.
    pub(super) fn instances_for(
        &self,
        item: ApprovedItem,
        generation: u64,
    ) -> Arc<dyn InstanceSource> {
        let (instances, item) = (Arc::clone(&self.instances), Arc::new(item));
        Arc::new(ItemInstanceSource { instances, item, generation })
    }

    /// The capabilities of the features with their drivers, and what makes none.
    pub(super) fn feature_capabilities(
        &self,
        features: &ServerFeatures,
        connection: &Connection,
    ) -> FeatureRegistrations {
        let (mut set, mut left_out) = (Vec::new(), features.problems.clone());
        let instructions = connection.server().instructions();
        for proposal in propose_features(&self.config, features, instructions) {
            let driver = feature_driver(proposal.kind, &proposal.name, self.upstream());
            match (proposal.capability, driver) {
                (Ok(capability), Some(driver)) => {
                    let FeatureProposal { kind, name, definition, .. } = proposal;
                    let item = ApprovedItem::Feature { kind, name, definition };
                    let driver = driver
                        .with_instances(self.instances_for(item, connection.generation()))
                        .with_request_meta(telemetry::request_meta());
                    set.push((capability, telemetry::timed(Arc::new(driver))));
                }
                (Err(problem), _) => left_out.push(problem.to_string()),
                (Ok(_), None) => {}
            }
        }
        FeatureRegistrations { set, left_out }
    }
}

fn feature_driver(kind: FeatureKind, name: &str, upstream: Arc<Upstream>) -> Option<McpDriver> {
    let runtime = tokio::runtime::Handle::current();
    match kind {
        FeatureKind::ResourceReading => Some(McpDriver::reading_resources(upstream, runtime)),
        FeatureKind::Prompt => Some(McpDriver::prompt(upstream, name, runtime)),
        FeatureKind::Completion => Some(McpDriver::completing(upstream, runtime)),
        FeatureKind::Tool | FeatureKind::Elicitation | FeatureKind::Sampling => None,
    }
}

/// Whether two lists are the same, byte by byte.
fn are_same(one: &[ListedItem], other: &[ListedItem]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.raw() == other.raw())
}
