//! How many clients watch each resource: a server is asked once for all of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::watched_resource::WatchedResource;

/// The watched resources.
#[derive(Default)]
pub(crate) struct WatchCounts(Mutex<BTreeMap<WatchedResource, usize>>);

impl WatchCounts {
    /// One more watches it. True for the first.
    pub(crate) fn add(&self, watched: &WatchedResource) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(watched.clone()).or_default();
        *count += 1;
        *count == 1
    }

    /// One fewer watches it. True for the last.
    pub(crate) fn remove(&self, watched: &WatchedResource) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(watched) else { return false };
        *count = count.saturating_sub(1);
        if *count > 0 {
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
        let counts = WatchCounts::default();
        let server = UpstreamName::parse("s").unwrap();
        let address = ResourceAddress { server, uri: "x://1".to_owned() };
        let watched = WatchedResource { address, instance: None };
        assert!(counts.add(&watched) && !counts.add(&watched));
        assert!(!counts.remove(&watched) && counts.remove(&watched));
        assert!(!counts.remove(&watched), "nobody watched it");
        assert!(counts.add(&watched));
    }
}
