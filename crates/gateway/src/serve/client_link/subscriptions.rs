//! What one client wants to hear of: resources and lists, on its session or on streams of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::{Permit, WeakSender};
use weaver_drivers::mcp::ServerList;
use weaver_types::UpstreamName;

use crate::serve::feature_snapshot::ResourceAddress;

/// The most resources that one client subscribes to.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;
/// The most notification streams that one client of the modern era opens.
const MAX_STREAMS: usize = 16;

/// The resources and lists that one client wants to hear of.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    state: Mutex<SubscriptionState>,
}

#[derive(Debug, Default)]
struct SubscriptionState {
    /// Those of the session, by the URIs that the client used.
    of_session: BTreeMap<String, ResourceAddress>,
    /// The notification streams (modern era), by numbers of our own: over HTTP, requests of many
    /// connections share this link, and several may have the same id.
    streams: BTreeMap<u64, SubscriptionStream>,
    /// The number of the next stream.
    next_stream_number: u64,
}

/// A notification stream of a client of the modern era (`subscriptions/listen`).
#[derive(Debug, Clone)]
pub(crate) struct SubscriptionStream {
    /// The id of the request that opened it.
    pub(crate) id: Value,
    /// The channel of its lines.
    pub(crate) outbox: WeakSender<Vec<u8>>,
    pub(crate) lists: BTreeSet<ServerList>,
    pub(crate) resources: BTreeMap<String, ResourceAddress>,
}

/// Sends lines on one notification stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamSender {
    /// The id of the request that opened it.
    pub(crate) id: Value,
    outbox: WeakSender<Vec<u8>>,
}

impl StreamSender {
    /// Sends a line, unless the queue is full.
    pub(crate) fn try_send(&self, line: Vec<u8>) {
        if let Some(outbox) = self.outbox.upgrade() {
            let _ = outbox.try_send(line);
        }
    }
}

/// One recipient of a resource change: a stream, and the URI that the client knows.
#[derive(Debug)]
pub(crate) struct ResourceUpdateTarget {
    /// The stream that subscribed; `None` for a subscription of the session.
    pub(crate) stream: Option<StreamSender>,
    /// The URI of the subscription, extended by the part that changed.
    pub(crate) uri: String,
}

impl SubscriptionStream {
    fn sender(&self) -> StreamSender {
        StreamSender { id: self.id.clone(), outbox: self.outbox.clone() }
    }
}

/// A limit on subscriptions was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no more than {limit} {what} at once")]
pub(crate) struct SubscriptionLimitError {
    limit: usize,
    what: &'static str,
}

impl SubscriptionLimitError {
    pub(crate) const RESOURCES: Self =
        Self { limit: MAX_SUBSCRIPTIONS, what: "resources are subscribed" };
}

impl Subscriptions {
    /// Adds a subscription. False where the URI was subscribed already.
    pub(crate) fn subscribe(
        &self,
        uri: &str,
        resource: ResourceAddress,
    ) -> Result<bool, SubscriptionLimitError> {
        let mut state = self.state();
        if state.of_session.contains_key(uri) {
            return Ok(false);
        }
        if state.of_session.len() >= MAX_SUBSCRIPTIONS {
            return Err(SubscriptionLimitError::RESOURCES);
        }
        state.of_session.insert(uri.to_owned(), resource);
        Ok(true)
    }

    /// Removes a subscription, and returns its resource.
    pub(crate) fn unsubscribe(&self, uri: &str) -> Option<ResourceAddress> {
        self.state().of_session.remove(uri)
    }

    /// Opens a notification stream, and returns its number. The acknowledgement takes the reserved
    /// place in the stream under the lock that every notification needs, so it is always the first.
    pub(crate) fn open_stream(
        &self,
        stream: SubscriptionStream,
        place: Permit<'_, Vec<u8>>,
        acknowledgement: Vec<u8>,
    ) -> Result<u64, SubscriptionLimitError> {
        let mut state = self.state();
        if state.streams.len() >= MAX_STREAMS {
            return Err(SubscriptionLimitError {
                limit: MAX_STREAMS,
                what: "subscriptions are open",
            });
        }
        if stream.resources.len() > MAX_SUBSCRIPTIONS {
            return Err(SubscriptionLimitError::RESOURCES);
        }
        let number = state.next_stream_number;
        state.next_stream_number = number.wrapping_add(1);
        state.streams.insert(number, stream);
        place.send(acknowledgement);
        Ok(number)
    }

    /// Closes a notification stream, and returns its subscriptions.
    pub(crate) fn close_stream(&self, number: u64) -> BTreeSet<ResourceAddress> {
        let stream = self.state().streams.remove(&number);
        stream.map(|stream| stream.resources.into_values().collect()).unwrap_or_default()
    }

    /// The streams that want to hear of changes of this list.
    pub(crate) fn streams_watching_list(&self, list: ServerList) -> Vec<StreamSender> {
        let state = self.state();
        let streams = state.streams.values().filter(|stream| stream.lists.contains(&list));
        streams.map(SubscriptionStream::sender).collect()
    }

    /// The recipients of a change of this resource, each stream once.
    pub(crate) fn update_targets(&self, changed: &ResourceAddress) -> Vec<ResourceUpdateTarget> {
        self.targets(|subscriptions| {
            let changed_uri = |(uri, one): (&String, &ResourceAddress)| {
                Some(format!("{uri}{}", one.changed_part(changed)?))
            };
            subscriptions.iter().find_map(changed_uri).into_iter().collect()
        })
    }

    /// A recipient for each subscription: any of the resources may have changed.
    pub(crate) fn all_update_targets(&self) -> Vec<ResourceUpdateTarget> {
        self.targets(|subscriptions| subscriptions.keys().cloned().collect())
    }

    fn targets(
        &self,
        uris_in: impl Fn(&BTreeMap<String, ResourceAddress>) -> Vec<String>,
    ) -> Vec<ResourceUpdateTarget> {
        let state = self.state();
        let from_session = uris_in(&state.of_session).into_iter();
        let from_session = from_session.map(|uri| ResourceUpdateTarget { stream: None, uri });
        let streams = state.streams.values().flat_map(|stream| {
            let uris = uris_in(&stream.resources).into_iter();
            uris.map(|uri| ResourceUpdateTarget { stream: Some(stream.sender()), uri })
        });
        from_session.chain(streams).collect()
    }

    /// All resources that it watches.
    pub(crate) fn watched(&self) -> BTreeSet<ResourceAddress> {
        self.state().watched().cloned().collect()
    }

    /// The resources of a server that it watches.
    pub(crate) fn watched_at(&self, server: &UpstreamName) -> BTreeSet<String> {
        let state = self.state();
        let of_server = state.watched().filter(|address| address.server == *server);
        of_server.map(|address| address.uri.clone()).collect()
    }

    /// Removes the subscriptions to these resources.
    pub(crate) fn unsubscribe_from(&self, denied: &BTreeSet<ResourceAddress>) {
        let mut state = self.state();
        state.of_session.retain(|_, address| !denied.contains(address));
        for stream in state.streams.values_mut() {
            stream.resources.retain(|_, address| !denied.contains(address));
        }
    }

    /// Removes all subscriptions, and returns their resources.
    pub(crate) fn take_all_subscriptions(&self) -> BTreeSet<ResourceAddress> {
        let mut state = self.state();
        let watched = state.watched().cloned().collect();
        state.streams.clear();
        state.of_session.clear();
        watched
    }

    fn state(&self) -> MutexGuard<'_, SubscriptionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SubscriptionState {
    /// The resources of all subscriptions.
    fn watched(&self) -> impl Iterator<Item = &ResourceAddress> {
        let streamed = self.streams.values().flat_map(|stream| stream.resources.values());
        self.of_session.values().chain(streamed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::mpsc;

    use super::*;

    fn address(uri: &str) -> ResourceAddress {
        ResourceAddress { server: UpstreamName::parse("s").unwrap(), uri: uri.to_owned() }
    }

    #[test]
    fn what_is_watched_is_bounded_and_covers_its_parts() {
        let subscriptions = Subscriptions::default();
        for n in 0..MAX_SUBSCRIPTIONS {
            assert_eq!(
                subscriptions.subscribe(&format!("x://{n}/"), address(&format!("x://{n}/"))),
                Ok(true)
            );
        }
        assert_eq!(subscriptions.subscribe("x://0/", address("x://0/")), Ok(false));
        assert!(subscriptions.subscribe("x://more", address("x://more")).is_err());
        assert_eq!(told_of(&subscriptions, &address("x://1/part")), ["x://1/part"]);
        let none: [&str; 0] = [];
        assert_eq!(told_of(&subscriptions, &address("x://1")), none);
        let mut other = address("x://1/part");
        other.server = UpstreamName::parse("t").unwrap();
        assert_eq!(told_of(&subscriptions, &other), none);
        assert_eq!(
            subscriptions.all_update_targets().len(),
            MAX_SUBSCRIPTIONS,
            "all of it may have changed"
        );
        assert_eq!(subscriptions.take_all_subscriptions().len(), MAX_SUBSCRIPTIONS);
    }

    /// By which URIs the client is told of a change.
    fn told_of(subscriptions: &Subscriptions, changed: &ResourceAddress) -> Vec<String> {
        subscriptions.update_targets(changed).into_iter().map(|listener| listener.uri).collect()
    }

    #[test]
    fn a_resource_with_a_longer_name_is_no_part_and_the_clients_own_uri_is_told() {
        let subscriptions = Subscriptions::default();
        assert_eq!(subscriptions.subscribe("weaver://s/x://a", address("x://a")), Ok(true));
        for part in ["", "/b", "?page=2", "#end"] {
            let told = told_of(&subscriptions, &address(&format!("x://a{part}")));
            assert_eq!(told, [format!("weaver://s/x://a{part}")]);
        }
        for other in ["x://ab", "x://a.txt", "x://"] {
            assert!(told_of(&subscriptions, &address(other)).is_empty(), "{other}");
        }
    }

    /// The protocol requires it, and whatever looks for streams needs the lock under which it is sent.
    #[tokio::test]
    async fn the_first_message_of_a_stream_is_its_acknowledgement() {
        let subscriptions = Subscriptions::default();
        let (outbox, mut lines) = mpsc::channel(8);
        let stream = SubscriptionStream {
            id: json!(1),
            outbox: outbox.downgrade(),
            lists: BTreeSet::from([ServerList::Prompts]),
            resources: BTreeMap::new(),
        };
        let open =
            |place| subscriptions.open_stream(stream.clone(), place, b"acknowledged".to_vec());
        assert_eq!(open(outbox.reserve().await.unwrap()), Ok(0));
        assert_eq!(lines.try_recv().unwrap(), b"acknowledged");
        for _ in 1..MAX_STREAMS {
            open(outbox.reserve().await.unwrap()).unwrap();
            lines.recv().await.unwrap();
        }
        assert!(open(outbox.reserve().await.unwrap()).is_err());
        assert!(lines.try_recv().is_err(), "nothing was agreed to");
    }
}
