//! How many clients watch each resource: a server is asked once for all of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::feature_snapshot::ResourceAddress;

/// The watched resources.
#[derive(Default)]
pub(crate) struct WatchCounts(Mutex<BTreeMap<ResourceAddress, usize>>);

impl WatchCounts {
    /// One more watches it. True for the first.
    pub(crate) fn add(&self, address: &ResourceAddress) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address.clone()).or_default();
        *count += 1;
        *count == 1
    }

    /// One fewer watches it. True for the last.
    pub(crate) fn remove(&self, address: &ResourceAddress) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(address) else { return false };
        *count = count.saturating_sub(1);
        if *count > 0 {
            return false;
        }
        counts.remove(address);
        true
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::UpstreamName;

    use super::*;

    #[test]
    fn a_server_is_asked_for_the_first_and_told_after_the_last() {
        let counts = WatchCounts::default();
        let server = UpstreamName::parse("s").unwrap();
        let address = ResourceAddress { server, uri: "x://1".to_owned() };
        assert!(counts.add(&address) && !counts.add(&address));
        assert!(!counts.remove(&address) && counts.remove(&address));
        assert!(!counts.remove(&address), "nobody watched it");
        assert!(counts.add(&address));
    }
}
