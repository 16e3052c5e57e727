//! Pools of accumulators and collectors, so that queries can share them.

use std::sync::Mutex;

use super::accumulator::ScoreAccumulator;
use super::analyser::Analyser;
use super::top_k::TopKCollector;

/// How many of a sort are kept.
const MAX_KEPT: usize = 16;

/// Things that were used and can be used again.
#[derive(Debug)]
pub(super) struct Pool<T> {
    free: Mutex<Vec<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { free: Mutex::default() }
    }
}

impl<T: Default> Pool<T> {
    pub(super) fn take(&self) -> T {
        self.free.lock().ok().and_then(|mut free| free.pop()).unwrap_or_default()
    }

    /// Takes it back, unless there are enough.
    pub(super) fn give(&self, used: T) {
        if let Ok(mut free) = self.free.lock()
            && free.len() < MAX_KEPT
        {
            free.push(used);
        }
    }
}

/// What the queries of a router need.
#[derive(Debug, Default)]
pub(super) struct Pools {
    accumulators: Pool<ScoreAccumulator>,
    pub(super) collectors: Pool<TopKCollector>,
    pub(super) analysers: Pool<Analyser>,
}

impl Pools {
    /// An empty score accumulator with a capacity of at least `items` documents.
    pub(super) fn accumulator(&self, items: usize) -> ScoreAccumulator {
        let mut accumulator = self.accumulators.take();
        accumulator.fit(items);
        accumulator
    }

    /// A top-k collector with a capacity of at least `items` documents.
    pub(super) fn collector(&self, items: usize) -> TopKCollector {
        let mut collector = self.collectors.take();
        collector.fit(items);
        collector
    }

    /// Takes score accumulators back.
    pub(super) fn give(&self, accumulators: impl IntoIterator<Item = ScoreAccumulator>) {
        for mut accumulator in accumulators {
            accumulator.clear();
            self.accumulators.give(accumulator);
        }
    }
}
