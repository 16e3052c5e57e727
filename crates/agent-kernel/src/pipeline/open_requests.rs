//! Lists open requests, waits for their resolution, and ends the expired ones.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use weaver_policy::approval::{Phase, RequestEnd};
use weaver_types::{ApprovalRequestId, ReasonCode};

use super::resume::HoldEnding;
use crate::approval::hold::{PendingApproval, StoredHold, hold_key};
use crate::approval::waiters::Waiter;
use crate::kernel::Kernel;
use crate::wait::with_timeout;

/// Completes when a request no longer waits for people.
struct ResolutionFuture<'k> {
    kernel: &'k Kernel,
    id: &'k ApprovalRequestId,
    waiter_id: Option<u64>,
}

impl Future for ResolutionFuture<'_> {
    type Output = Option<Phase>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut number = self.waiter_id;
        let phase = self
            .kernel
            .holds
            .phase(self.id, Some(Waiter { id: &mut number, waker: context.waker() }));
        self.waiter_id = number;
        match phase {
            Some(Phase::Requested) => Poll::Pending,
            phase => Poll::Ready(phase),
        }
    }
}

impl Drop for ResolutionFuture<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.waiter_id {
            self.kernel.holds.remove_waiter(self.id, number);
        }
    }
}

impl Kernel {
    /// Waits until a request is resolved, at most `timeout` and never past its deadline, and
    /// returns its phase then: [`Phase::Requested`] when nobody has answered in time. `None` for a
    /// request that this ledger does not know.
    ///
    /// A granted request releases nothing by itself: make the same call again.
    pub async fn wait_resolution(
        &self,
        id: &ApprovalRequestId,
        timeout: Duration,
    ) -> Option<Phase> {
        let deadline = self.holds.get(id).map(|hold| hold.open.request.deadline);
        let left = deadline.map_or(Duration::ZERO, |deadline| deadline.since(self.context.now()));
        let waiting = ResolutionFuture { kernel: self, id, waiter_id: None };
        if let Some(Some(phase)) =
            with_timeout(waiting, timeout.min(left), self.context.timer.as_ref()).await
        {
            return Some(phase);
        }
        if deadline.is_some_and(|deadline| self.context.now() >= deadline) {
            // If the expiry cannot be recorded, the next sweep tries again.
            let _ = self.expire(id.clone()).await;
        }
        self.approval_phase(id)
    }

    /// The phase of a request. `None` for a request that this ledger does not know.
    #[must_use]
    pub fn approval_phase(&self, id: &ApprovalRequestId) -> Option<Phase> {
        if let Some(phase) = self.holds.phase(id, None) {
            return Some(phase);
        }
        let record =
            self.context.ledger.read(&hold_key(&self.context.settings.tenant, id)).ok()??;
        match StoredHold::read(id.as_str(), &record).ok()? {
            StoredHold::Ended(ended) => Some(ended.phase),
            // Open in the ledger but not in memory: it has just ended, or is about to be opened.
            StoredHold::Open(open) => Some(open.state.phase().clone()),
        }
    }

    /// The requests that wait for people, or that were granted and wait for their call; the oldest
    /// first.
    #[must_use]
    pub fn pending_approvals(&self) -> Vec<PendingApproval> {
        self.holds.all().iter().map(|hold| PendingApproval::of(&hold.open)).collect()
    }

    /// The pending request of this id.
    #[must_use]
    pub fn pending_approval(&self, id: &ApprovalRequestId) -> Option<PendingApproval> {
        self.holds.get(id).map(|hold| PendingApproval::of(&hold.open))
    }

    /// The ids of all open requests.
    #[must_use]
    pub fn open_requests(&self) -> Vec<ApprovalRequestId> {
        self.holds.open_requests()
    }

    /// Ends expired requests, evaluates requests of an older policy again, and records the ends of
    /// abandoned calls. Call it regularly, for example once a minute, and before the process ends.
    /// Returns how many requests ended.
    pub async fn sweep(&self) -> usize {
        // An end that the ledger refuses now stays queued, and nothing is executed before it is
        // recorded.
        let _ = self.recorder.flush_unrecorded_ends().await;
        let now = self.context.now();
        let mut ended = 0;
        for hold in self.holds.all() {
            let request = &hold.open.request;
            if now >= request.deadline && self.expire(request.id.clone()).await {
                ended += 1;
            }
        }
        self.holds.evict_expired_denials(now);
        self.standing_approvals.evict_expired(now);
        ended + self.reevaluate_stale_requests().await
    }

    async fn expire(&self, id: ApprovalRequestId) -> bool {
        let (reason, detail) = (ReasonCode::ApprovalExpired, "the request expired".to_owned());
        self.end_request(HoldEnding { id, end: RequestEnd::Expired, reason, detail }).await.is_ok()
    }
}
