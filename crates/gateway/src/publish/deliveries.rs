//! Deliveries of a checkpoint to publishing targets, and the retry state of each target.

use std::sync::Arc;
use std::time::Instant;

use weaver_trace_store::checkpoint::{Checkpoint, SignedNote};
use weaver_types::{BoxFuture, Random};

use super::backoff::pause;
use super::target::{PublishError, Target};

/// A publishing target and the state of its deliveries.
pub(super) struct TargetState {
    pub(super) name: String,
    pub(super) target: Arc<Target>,
    /// The checkpoint size and the number of signatures of the note that the target last accepted.
    pub(super) accepted: Option<(u64, usize)>,
    pub(super) failures: u32,
    pub(super) next_attempt: Instant,
}

impl TargetState {
    /// Updates the retry state after a delivery.
    pub(super) fn update_attempts(
        &mut self,
        outcome: &Result<(), PublishError>,
        mark: (u64, usize),
        random: &dyn Random,
    ) {
        if outcome.is_ok() {
            (self.accepted, self.failures) = (Some(mark), 0);
        } else {
            self.failures = self.failures.saturating_add(1);
            self.next_attempt = Instant::now() + pause(self.failures, random);
        }
    }
}

/// What became of one delivery, with the index of its target: the target's answer, if it gave one.
pub(super) type TargetOutcome = (usize, Result<Option<SignedNote>, PublishError>);

/// Deliveries of one checkpoint that are still in progress.
pub(super) struct Deliveries {
    pub(super) checkpoint: Checkpoint,
    /// The checkpoint size and the number of signatures of the note being delivered.
    pub(super) mark: (u64, usize),
    pub(super) outcomes: BoxFuture<'static, Vec<TargetOutcome>>,
}

/// The outcomes of [`Deliveries`], each with the index of its target.
pub(super) struct CompletedDeliveries {
    pub(super) checkpoint: Checkpoint,
    pub(super) mark: (u64, usize),
    pub(super) outcomes: Vec<TargetOutcome>,
}

impl Deliveries {
    /// Waits until every delivery has an outcome, then sets `deliveries` to `None`. Without
    /// deliveries it waits for ever.
    pub(super) async fn finish(deliveries: &mut Option<Self>) -> CompletedDeliveries {
        let Some(in_progress) = deliveries else { return std::future::pending().await };
        let outcomes = (&mut in_progress.outcomes).await;
        let (checkpoint, mark) = (in_progress.checkpoint.clone(), in_progress.mark);
        *deliveries = None;
        CompletedDeliveries { checkpoint, mark, outcomes }
    }
}

/// Which of the targets that lack the newest checkpoint are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetSelection {
    /// Those whose pause after a failure is over.
    Due,
    All,
}
