//! Pools of accumulators, collectors and analysers, which queries reuse.

use std::sync::Mutex;

use super::accumulator::ScoreAccumulator;
use super::analyser::Analyser;
use super::top_k::TopKCollector;

/// The most idle objects in one pool.
const MAX_POOLED: usize = 16;

/// Idle objects of one type.
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
    pub(super) fn acquire(&self) -> T {
        self.free.lock().ok().and_then(|mut free| free.pop()).unwrap_or_default()
    }

    /// Returns an object to the pool, unless the pool is full.
    pub(super) fn release(&self, used: T) {
        if let Ok(mut free) = self.free.lock()
            && free.len() < MAX_POOLED
        {
            free.push(used);
        }
    }
}

/// The pools of a router.
#[derive(Debug, Default)]
pub(super) struct Pools {
    accumulators: Pool<ScoreAccumulator>,
    pub(super) collectors: Pool<TopKCollector>,
    pub(super) analysers: Pool<Analyser>,
}

impl Pools {
    /// An empty score accumulator with a capacity of at least `items` documents.
    pub(super) fn accumulator(&self, items: usize) -> ScoreAccumulator {
        let mut accumulator = self.accumulators.acquire();
        accumulator.ensure_capacity(items);
        accumulator
    }

    /// A top-k collector with a capacity of at least `items` documents.
    pub(super) fn collector(&self, items: usize) -> TopKCollector {
        let mut collector = self.collectors.acquire();
        collector.ensure_capacity(items);
        collector
    }

    /// Clears score accumulators and returns them to the pool.
    pub(super) fn release(&self, accumulators: impl IntoIterator<Item = ScoreAccumulator>) {
        for mut accumulator in accumulators {
            accumulator.clear();
            self.accumulators.release(accumulator);
        }
    }
}
