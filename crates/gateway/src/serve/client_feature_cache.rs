//! Caches the resources and prompts of a client that sees other lists than the rest.

use std::sync::{Arc, Mutex, PoisonError};

use super::feature_snapshot::FeatureSnapshot;
use super::server_feature::ServerFeatures;

/// The last snapshot built for one client. It is rebuilt when any list differs.
#[derive(Default)]
pub(crate) struct ClientFeatureCache(Mutex<Option<CachedSnapshot>>);

struct CachedSnapshot {
    lists: Vec<Arc<ServerFeatures>>,
    snapshot: Arc<FeatureSnapshot>,
}

impl ClientFeatureCache {
    /// The snapshot of these lists, built where it is not cached.
    pub(crate) fn get_or_build(
        &self,
        lists: Vec<Arc<ServerFeatures>>,
        build: impl FnOnce(&[Arc<ServerFeatures>]) -> FeatureSnapshot,
    ) -> Arc<FeatureSnapshot> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |cached: &&CachedSnapshot| {
            cached.lists.len() == lists.len()
                && cached.lists.iter().zip(&lists).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if let Some(same) = cached.as_ref().filter(is_same) {
            return Arc::clone(&same.snapshot);
        }
        let snapshot = Arc::new(build(&lists));
        *cached = Some(CachedSnapshot { lists, snapshot: Arc::clone(&snapshot) });
        snapshot
    }
}
