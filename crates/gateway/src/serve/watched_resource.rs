//! A resource that is watched, at the instance of its server that a client works with.

use super::feature_snapshot::ResourceAddress;
use super::instance_key::InstanceKey;

/// A resource at one instance of its server: only the clients of that instance hear of its changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchedResource {
    pub(crate) address: ResourceAddress,
    /// Which instance; `None` for the primary.
    pub(crate) instance: Option<InstanceKey>,
}

impl WatchedResource {
    /// Whether a change of `other` concerns whoever watches this one. A server may tell of a part of
    /// what is watched.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let (own, told) = (&self.address, &other.address);
        self.instance == other.instance
            && own.server == told.server
            && told.uri.starts_with(&own.uri)
    }
}
