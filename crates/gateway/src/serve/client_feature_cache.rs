//! Caches the resources and prompts of a client that sees other lists than the rest.

use std::sync::{Arc, Mutex, PoisonError};

use weaver_types::UpstreamName;

use super::feature_snapshot::FeatureSnapshot;
use super::server_feature::ServerFeatures;

/// The last snapshot built for one client. It is rebuilt when any list differs.
#[derive(Default)]
pub(crate) struct ClientFeatureCache(Mutex<Option<CachedSnapshot>>);

/// The lists of each server.
type ServerLists = Vec<(UpstreamName, Arc<ServerFeatures>)>;

struct CachedSnapshot {
    lists: ServerLists,
    snapshot: Arc<FeatureSnapshot>,
}

impl ClientFeatureCache {
    /// The snapshot of these lists, built where it is not cached.
    pub(crate) fn get_or_build(
        &self,
        lists: ServerLists,
        build: impl FnOnce(&[(UpstreamName, Arc<ServerFeatures>)]) -> FeatureSnapshot,
    ) -> Arc<FeatureSnapshot> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |cached: &&CachedSnapshot| {
            let mut pairs = cached.lists.iter().zip(&lists);
            cached.lists.len() == lists.len()
                && pairs.all(|(one, other)| one.0 == other.0 && Arc::ptr_eq(&one.1, &other.1))
        };
        if let Some(same) = cached.as_ref().filter(is_same) {
            return Arc::clone(&same.snapshot);
        }
        let snapshot = Arc::new(build(&lists));
        *cached = Some(CachedSnapshot { lists, snapshot: Arc::clone(&snapshot) });
        snapshot
    }
}
