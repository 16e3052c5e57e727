//! Counts the subscribers of each resource, so that a server is subscribed to once for all of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::subscribed_resource::SubscribedResource;

/// The subscribed resources with their counts.
#[derive(Default)]
pub(crate) struct SubscriptionCounts(Mutex<BTreeMap<SubscribedResource, SubscriptionCount>>);

#[derive(Default)]
struct SubscriptionCount {
    clients: usize,
    /// Set once the server accepted the subscription. If it failed, the next subscriber makes it
    /// try again.
    is_subscribed: bool,
}

impl SubscriptionCounts {
    /// Adds a subscriber. True when the server has not accepted a subscription yet.
    pub(crate) fn add(&self, watched: &SubscribedResource) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(watched.clone()).or_default();
        count.clients = count.clients.saturating_add(1);
        !count.is_subscribed
    }

    /// Records that the server accepted the subscription.
    pub(crate) fn mark_subscribed(&self, watched: &SubscribedResource) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(watched) {
            count.is_subscribed = true;
        }
    }

    /// Removes a subscriber. True for the last.
    pub(crate) fn remove(&self, watched: &SubscribedResource) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(watched) else { return false };
        count.clients = count.clients.saturating_sub(1);
        if count.clients > 0 {
            return false;
        }
        counts.remove(watched);
        true
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::UpstreamName;

    use super::*;
    use crate::serve::feature_snapshot::ResourceAddress;

    #[test]
    fn a_server_is_asked_for_the_first_and_told_after_the_last() {
        let counts = SubscriptionCounts::default();
        let server = UpstreamName::parse("s").unwrap();
        let address = ResourceAddress { server, uri: "x://1".to_owned() };
        let watched = SubscribedResource { address, instance: None };
        assert!(counts.add(&watched) && counts.add(&watched), "it has not agreed yet");
        assert!(!counts.remove(&watched));
        counts.mark_subscribed(&watched);
        assert!(!counts.add(&watched));
        assert!(!counts.remove(&watched) && counts.remove(&watched));
        assert!(!counts.remove(&watched), "nobody watched it");
        assert!(counts.add(&watched));
    }
}
