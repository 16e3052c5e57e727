//! What the servers offer to one client beside tools, where it sees other lists than others do.

use std::sync::{Arc, Mutex, PoisonError};

use super::feature_snapshot::FeatureSnapshot;
use super::server_feature::ServerFeatures;

/// The last snapshot that was made for one client: it is made anew when any list is another.
#[derive(Default)]
pub(crate) struct ClientFeatureCache(Mutex<Option<CachedSnapshot>>);

struct CachedSnapshot {
    of: Vec<Arc<ServerFeatures>>,
    snapshot: Arc<FeatureSnapshot>,
}

impl ClientFeatureCache {
    /// The snapshot of these lists, which `build` makes where it is not there.
    pub(crate) fn of(
        &self,
        lists: Vec<Arc<ServerFeatures>>,
        build: impl FnOnce(&[Arc<ServerFeatures>]) -> FeatureSnapshot,
    ) -> Arc<FeatureSnapshot> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &&CachedSnapshot| {
            known.of.len() == lists.len()
                && known.of.iter().zip(&lists).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if let Some(known) = cached.as_ref().filter(is_same) {
            return Arc::clone(&known.snapshot);
        }
        let snapshot = Arc::new(build(&lists));
        *cached = Some(CachedSnapshot { of: lists, snapshot: Arc::clone(&snapshot) });
        snapshot
    }
}
