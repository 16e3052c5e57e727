//! The order in which servers start when many of them start at once.
//!
//! The processes of a dozen servers that start together share a few processors, so that each takes as
//! long as all of them. A few start at a time, and one that somebody waits for starts at once.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How many servers start at a time, for each processor.
const STARTS_PER_PROCESSOR: usize = 2;
/// How long a start keeps its place. One that takes longer waits for something else than a
/// processor, such as a download.
const MAX_HOLD: Duration = Duration::from_secs(2);

/// The places of servers that start at the same time.
#[derive(Debug, Clone)]
pub(crate) struct StartQueue(Arc<Semaphore>);

impl StartQueue {
    /// As many places as suit this machine.
    pub(crate) fn for_this_machine() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(processors.saturating_mul(STARTS_PER_PROCESSOR))
    }

    fn new(places: usize) -> Self {
        Self(Arc::new(Semaphore::new(places)))
    }

    /// Waits for a place, or until the server is needed.
    pub(crate) async fn wait(&self, mut is_needed: watch::Receiver<bool>) -> StartPlace {
        tokio::select! {
            biased;
            _ = is_needed.wait_for(|needed| *needed) => StartPlace(None),
            place = Arc::clone(&self.0).acquire_owned() => StartPlace(place.ok()),
        }
    }
}

/// The place of a server that starts; none where it is needed.
#[derive(Debug)]
pub(crate) struct StartPlace(Option<OwnedSemaphorePermit>);

impl StartPlace {
    /// Lets the server start, and gives the place to the next one when it has, or takes long.
    pub(crate) async fn hold_during(self, start: impl Future<Output = ()>) {
        let Self(place) = self;
        let mut start = pin!(start);
        let started = tokio::time::timeout(MAX_HOLD, &mut start).await;
        drop(place);
        if started.is_err() {
            start.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    async fn is_waiting(queue: &StartQueue, needed: &watch::Sender<bool>) -> bool {
        let mut place = pin!(queue.wait(needed.subscribe()));
        futures_util::poll!(place.as_mut()).is_pending()
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_servers_start_at_a_time_and_a_needed_one_at_once() {
        let queue = StartQueue::new(1);
        let needed = watch::Sender::new(false);
        let first = queue.wait(needed.subscribe()).await;
        assert!(is_waiting(&queue, &needed).await);
        // The one that somebody waits for goes first, also where it has waited.
        let other = watch::Sender::new(false);
        let mut waits = pin!(queue.wait(other.subscribe()));
        assert!(futures_util::poll!(waits.as_mut()).is_pending());
        other.send_replace(true);
        let urgent = waits.await;
        assert!(urgent.0.is_none() && is_waiting(&queue, &needed).await);
        first.hold_during(async {}).await;
        assert!(!is_waiting(&queue, &needed).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_that_takes_long_gives_its_place_away_and_goes_on() {
        let queue = StartQueue::new(1);
        let needed = watch::Sender::new(false);
        let (end, ended) = oneshot::channel::<()>();
        let place = queue.wait(needed.subscribe()).await;
        let mut slow = pin!(place.hold_during(async { drop(ended.await) }));
        assert!(futures_util::poll!(slow.as_mut()).is_pending());
        assert!(is_waiting(&queue, &needed).await);
        tokio::time::advance(MAX_HOLD).await;
        assert!(futures_util::poll!(slow.as_mut()).is_pending());
        assert!(!is_waiting(&queue, &needed).await);
        end.send(()).unwrap();
        slow.await;
    }
}
