//! A subscribed resource at one instance of its server.

use super::feature_snapshot::ResourceAddress;
use super::instance_key::InstanceKey;

/// A resource at one instance of its server: only clients of that instance hear of its changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SubscribedResource {
    pub(crate) address: ResourceAddress,
    /// Which instance; `None` for the primary.
    pub(crate) instance: Option<InstanceKey>,
}

impl SubscribedResource {
    /// If a change of `changed` concerns subscribers of this resource, the part of its URI after
    /// this one's; empty for the same resource. A server may report a sub-resource of a subscribed
    /// one.
    pub(crate) fn changed_part<'o>(&self, changed: &'o Self) -> Option<&'o str> {
        let (subscribed, changed_address) = (&self.address, &changed.address);
        let part = changed_address.uri.strip_prefix(subscribed.uri.as_str())?;
        // `a/b` is a part of `a`, `ab` is not.
        let is_own_segment =
            part.is_empty() || subscribed.uri.ends_with('/') || part.starts_with(['/', '?', '#']);
        (self.instance == changed.instance
            && subscribed.server == changed_address.server
            && is_own_segment)
            .then_some(part)
    }
}
