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
    /// What follows this one's URI in that of `changed`, where a change of it concerns whoever watches
    /// this one: nothing for the same resource. A server may tell of a part of what is watched.
    pub(crate) fn part_of<'o>(&self, changed: &'o Self) -> Option<&'o str> {
        let (own, other) = (&self.address, &changed.address);
        let part = other.uri.strip_prefix(own.uri.as_str())?;
        // `a/b` is a part of `a`, `ab` is not.
        let begins_anew =
            part.is_empty() || own.uri.ends_with('/') || part.starts_with(['/', '?', '#']);
        (self.instance == changed.instance && own.server == other.server && begins_anew)
            .then_some(part)
    }
}
