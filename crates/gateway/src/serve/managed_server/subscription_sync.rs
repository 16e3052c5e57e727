//! Keeps the instances of a server subscribed to what their clients watch.
//!
//! What a client watches is kept with the client, and which instance serves it follows from its run.
//! So whatever changes (a client subscribes or leaves, its run ends, an instance is replaced), the
//! two are compared and the server is told the difference, one comparison after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use weaver_drivers::mcp::Upstream;

use super::ManagedServer;
use super::instances::InstanceLease;
use crate::serve::instance_id::InstanceId;

/// What the instances of a server are subscribed to.
pub(super) type PlacedSubscriptions = BTreeMap<InstanceId, InstanceSubscriptions>;

/// What one instance is subscribed to. It is in use meanwhile.
pub(super) struct InstanceSubscriptions {
    lease: InstanceLease,
    uris: BTreeSet<String>,
    /// Those of the URIs that the server did not accept. It is asked again for a new subscriber.
    refused: BTreeSet<String>,
}

impl ManagedServer {
    /// Subscribes each instance to what its clients watch, and to nothing else. `new` are URIs that a
    /// client has begun to watch.
    pub(crate) async fn sync_subscriptions(&self, new: &BTreeSet<String>) {
        // One at a time, so that requests reach the server in the order of what caused them.
        let mut placed = self.subscriptions.lock().await;
        let mut wanted = self.wanted_subscriptions();
        let dropped = placed.iter().flat_map(|(id, now)| {
            let kept = wanted.get(id).map(|wanted| &wanted.uris);
            let dropped = now.uris.iter().filter(move |uri| kept.is_none_or(|k| !k.contains(*uri)));
            dropped.map(|uri| self.unsubscribe_at(&now.lease.upstream, uri))
        });
        join_all(dropped).await;
        for (id, wanted) in &mut wanted {
            let now = placed.remove(id);
            let is_settled = |uri: &&String| {
                now.as_ref().is_some_and(|now| {
                    let is_accepted = !now.refused.contains(*uri);
                    now.uris.contains(*uri) && (is_accepted || !new.contains(*uri))
                })
            };
            let added = wanted.uris.iter().filter(|uri| !is_settled(uri));
            let outcomes = added.map(|uri| self.subscribe_at(&wanted.lease.upstream, uri));
            let newly_refused = join_all(outcomes).await.into_iter().flatten();
            let still_refused = now.iter().flat_map(|now| now.refused.difference(new));
            let still_refused = still_refused.filter(|uri| wanted.uris.contains(*uri)).cloned();
            wanted.refused = newly_refused.chain(still_refused).collect();
        }
        *placed = wanted;
    }

    /// What the clients watch, by the instances that serve them.
    fn wanted_subscriptions(&self) -> PlacedSubscriptions {
        let mut wanted = PlacedSubscriptions::new();
        for (run, uris) in self.connected_clients.watched_at(&self.name) {
            match self.instances.lease(&run) {
                Ok(lease) => {
                    let at = wanted.entry(lease.id).or_insert_with(|| InstanceSubscriptions {
                        lease,
                        uris: BTreeSet::new(),
                        refused: BTreeSet::new(),
                    });
                    at.uris.extend(uris);
                }
                Err(error) => {
                    tracing::debug!(upstream = %self.name, %error, "no instance for subscriptions");
                }
            }
        }
        wanted
    }

    /// Subscribes to a resource; returns its URI where that failed.
    async fn subscribe_at(&self, upstream: &Arc<Upstream>, uri: &str) -> Option<String> {
        // A server without subscriptions may send updates all the same.
        let error = upstream.subscribe(uri).await.err()?;
        tracing::debug!(upstream = %self.name, %error, "a resource is not watched");
        Some(uri.to_owned())
    }

    async fn unsubscribe_at(&self, upstream: &Arc<Upstream>, uri: &str) {
        if let Err(error) = upstream.unsubscribe(uri).await {
            tracing::debug!(upstream = %self.name, %error, "a resource is still watched");
        }
    }
}
