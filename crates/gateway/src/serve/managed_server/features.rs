//! The resources, prompts and completion of a server, kept current.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use weaver_agent_kernel::Driver;
use weaver_drivers::mcp::{Connection, LogLevel, ServerList, Upstream};
use weaver_drivers::{InstanceSource, McpDriver};
use weaver_types::{Capability, RunId};

use super::ManagedServer;
use super::dedicated_instance::{ApprovedItem, is_same_list, unlisted_features};
use super::instance_source::ItemInstanceSource;
use super::instances::{PrimaryInstance, ServingInstance};
use super::listing_context::ListingObserver;
use crate::serve::instance_id::InstanceId;
use crate::serve::server_events::{InstanceRef, Notice};
use crate::serve::server_feature::{
    FeatureKind, FeatureProposal, ServerFeatures, propose_features,
};
use crate::telemetry;

/// The time limit for listing resources and prompts, because the tools wait for them.
const FEATURE_LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// The capabilities of a server's features with their drivers, and the features left out.
pub(super) struct FeatureRegistrations {
    pub(super) capabilities: Vec<(Capability, Arc<dyn Driver>)>,
    pub(super) problems: Vec<String>,
}

impl ManagedServer {
    /// The features of the primary instance, as last listed.
    pub(crate) fn features(&self) -> Arc<ServerFeatures> {
        let features = self.features.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&features)
    }

    /// The features that the client of a run sees; `None` for those of the primary instance. A
    /// client with an instance of its own sees what that one offers. Without one, while another
    /// client works with the primary, it sees what the primary offered before anybody used it. A
    /// client with a login of its own gets its instance here, because the primary's lists are for
    /// another login.
    pub(crate) async fn features_of_client(
        &self,
        run: Option<&RunId>,
    ) -> Option<Arc<ServerFeatures>> {
        let run_with_own_login = run.filter(|run| !self.instances.may_use_primary_login(run));
        let dedicated = match (self.instances.serving_instance(run), run_with_own_login) {
            (ServingInstance::Primary, _) => return None,
            (ServingInstance::NotStarted, None) => {
                let pristine_features =
                    self.pristine_features.read().unwrap_or_else(PoisonError::into_inner);
                return Some(Arc::clone(&pristine_features));
            }
            (ServingInstance::NotStarted, Some(run)) => self.instances.get_or_create_dedicated(run),
            (ServingInstance::Dedicated(dedicated), _) => Some(dedicated),
        };
        let Some(dedicated) = dedicated else { return Some(Arc::default()) };
        let listed = timeout(FEATURE_LIST_TIMEOUT, dedicated.features()).await;
        Some(match listed {
            Ok(Ok(features)) => features,
            // What it listed last says more than an empty list.
            Ok(Err(_)) | Err(_) => dedicated.last_features().unwrap_or_else(unlisted_features),
        })
    }

    /// Lists the resources of the instance of a run's client again, if it has one of its own and the
    /// server does not report changes.
    pub(crate) async fn refresh_resources_of_client(&self, run: &RunId) {
        if let ServingInstance::Dedicated(dedicated) = self.instances.serving_instance(Some(run)) {
            // Where that fails, the last list stays.
            let _ = timeout(FEATURE_LIST_TIMEOUT, dedicated.refresh_resources()).await;
        }
    }

    /// Lists a connection's features; on timeout there are none, with a problem that says so.
    pub(super) async fn list_features(&self, connection: &Connection) -> ServerFeatures {
        let fetched = timeout(FEATURE_LIST_TIMEOUT, ServerFeatures::fetch(connection)).await;
        fetched.unwrap_or_else(|_| ServerFeatures {
            problems: vec![format!(
                "its resources and prompts were not listed within {FEATURE_LIST_TIMEOUT:?}"
            )],
            ..ServerFeatures::default()
        })
    }

    /// Lists the resources again if the server does not report changes.
    pub(crate) async fn refresh_resources(&self, observer: &dyn ListingObserver) {
        if self.problem().is_some() || !self.features().has_resources {
            return;
        }
        let PrimaryInstance { id, upstream } = self.instances.primary();
        let Ok(connection) = upstream.connection().await else { return };
        if connection.server().announces_changes_of(ServerList::Resources) {
            return;
        }
        let listed = timeout(FEATURE_LIST_TIMEOUT, connection.list(ServerList::Resources)).await;
        let Ok(Ok(resources)) = listed else { return };
        let features = self.features();
        self.store_features(observer, id, ServerFeatures { resources, ..(*features).clone() });
    }

    /// Requests log messages from the lowest level on that a connected client wants, if that has
    /// changed. Once none wants any, the server is asked for the least.
    pub(crate) async fn sync_log_level(&self) {
        // Held until the server was asked, so that the last request has the last level.
        let mut current = self.log_level.lock().await;
        let wanted = self.connected_clients.wanted_log_level();
        if *current == wanted {
            return;
        }
        *current = wanted;
        // Stored first, so that an instance that starts in the meantime asks for it too.
        self.instances.set_log_level(wanted);
        let level = wanted.unwrap_or(LogLevel::Emergency);
        for upstream in self.instances.dedicated().iter().chain([&self.upstream()]) {
            if let Err(error) = upstream.set_log_level(level).await {
                tracing::debug!(upstream = %self.name, %error, "its log level was not set");
            }
        }
    }

    /// Notifies all instances that the roots changed.
    pub(crate) async fn tell_roots_changed(&self) {
        let (dedicated, primary) = (self.instances.dedicated(), self.upstream());
        let all = dedicated.iter().chain([&primary]).map(|upstream| async move {
            if let Err(error) = upstream.tell_roots_changed().await {
                tracing::debug!(upstream = %self.name, %error, "it was not notified of changed roots");
            }
        });
        join_all(all).await;
    }

    /// Stores the features that the primary instance `id` listed, and notifies clients of the lists
    /// that changed.
    pub(super) fn store_features(
        &self,
        observer: &dyn ListingObserver,
        id: InstanceId,
        features: ServerFeatures,
    ) {
        let current = Arc::new(features);
        let previous = {
            let mut features = self.features.write().unwrap_or_else(PoisonError::into_inner);
            // What a replaced instance listed may be its client's own.
            if self.instances.primary().id != id {
                return;
            }
            std::mem::replace(&mut *features, Arc::clone(&current))
        };
        if self.instances.primary_owner().is_none() {
            *self.pristine_features.write().unwrap_or_else(PoisonError::into_inner) =
                Arc::clone(&current);
        }
        let changed: Vec<ServerList> = [
            (ServerList::Resources, &previous.resources, &current.resources),
            (ServerList::ResourceTemplates, &previous.templates, &current.templates),
            (ServerList::Prompts, &previous.prompts, &current.prompts),
        ]
        .into_iter()
        .filter(|(_, previous, current)| !is_same_list(previous, current))
        .map(|(list, _, _)| list)
        .collect();
        let abilities = |features: &ServerFeatures| {
            (
                features.has_resources,
                features.supports_completion,
                features.supports_subscriptions,
                features.supports_logging,
            )
        };
        if changed.is_empty() && abilities(&previous) == abilities(&current) {
            return;
        }
        observer.features_changed();
        for list in changed {
            let source = InstanceRef { server: self.name.clone(), id };
            self.events.publish(Notice::ListChanged { list, source });
        }
    }

    /// Chooses the instances for the calls of an item.
    pub(super) fn instance_source(
        &self,
        item: ApprovedItem,
        generation: u64,
    ) -> Arc<dyn InstanceSource> {
        let (instances, item) = (Arc::clone(&self.instances), Arc::new(item));
        Arc::new(ItemInstanceSource { instances, item, generation })
    }

    /// The capabilities of the features with their drivers, and the features left out.
    pub(super) fn feature_capabilities(
        &self,
        features: &ServerFeatures,
        connection: &Connection,
    ) -> FeatureRegistrations {
        let (mut capabilities, mut problems) = (Vec::new(), features.problems.clone());
        let instructions = connection.server().instructions();
        for proposal in propose_features(&self.config, features, instructions) {
            let driver = feature_driver(proposal.kind, &proposal.name, self.upstream());
            match (proposal.capability, driver) {
                (Ok(capability), Some(driver)) => {
                    let FeatureProposal { kind, name, definition, .. } = proposal;
                    let item = ApprovedItem::Feature { kind, name, definition };
                    let driver = driver
                        .with_instances(self.instance_source(item, connection.generation()))
                        .with_request_meta(telemetry::request_meta());
                    capabilities.push((capability, telemetry::timed(Arc::new(driver))));
                }
                (Err(problem), _) => problems.push(problem.to_string()),
                (Ok(_), None) => {}
            }
        }
        FeatureRegistrations { capabilities, problems }
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
