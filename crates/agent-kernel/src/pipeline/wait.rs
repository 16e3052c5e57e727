//! Looking at open requests, waiting for them, and ending those whose time is over.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use weaver_policy::approval::{Phase, RequestEnd};
use weaver_types::{ReasonCode, RequestId};

use super::resume::HoldEnding;
use crate::approval::hold::{HoldForm, PendingApproval, key};
use crate::approval::table::Waiter;
use crate::kernel::Kernel;
use crate::wait::within;

/// Done when the request does not wait for people any more.
struct ResolutionFuture<'k> {
    kernel: &'k Kernel,
    id: &'k RequestId,
    number: Option<u64>,
}

impl Future for ResolutionFuture<'_> {
    type Output = Option<Phase>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut number = self.number;
        let phase = self
            .kernel
            .holds
            .phase(self.id, Some(Waiter { number: &mut number, waker: context.waker() }));
        self.number = number;
        match phase {
            Some(Phase::Requested) => Poll::Pending,
            phase => Poll::Ready(phase),
        }
    }
}

impl Drop for ResolutionFuture<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.kernel.holds.leave(self.id, number);
        }
    }
}

impl Kernel {
    /// Waits until a request does not wait for people any more, at most `timeout` and never past
    /// its deadline, and tells where it stands then: [`Phase::Requested`] when the time is up and
    /// nobody answered. `None` for a request that this ledger does not know.
    ///
    /// A granted request releases nothing by itself: make the same call again.
    pub async fn wait_resolution(&self, id: &RequestId, timeout: Duration) -> Option<Phase> {
        let deadline = self.holds.get(id).map(|hold| hold.open.request.deadline);
        let left = deadline.map_or(Duration::ZERO, |deadline| deadline.since(self.now()));
        let waiting = ResolutionFuture { kernel: self, id, number: None };
        if let Some(Some(phase)) = within(waiting, timeout.min(left), self.timer.as_ref()).await {
            return Some(phase);
        }
        if deadline.is_some_and(|deadline| self.now() >= deadline) {
            // When it cannot be recorded, the next sweep tries again.
            let _ = self.expire(id.clone()).await;
        }
        self.phase(id)
    }

    /// Where a request stands. `None` for one that this ledger does not know.
    #[must_use]
    pub fn phase(&self, id: &RequestId) -> Option<Phase> {
        if let Some(phase) = self.holds.phase(id, None) {
            return Some(phase);
        }
        let record = self.ledger.read(&key(&self.settings.tenant, id)).ok()??;
        match HoldForm::read(id.as_str(), &record).ok()? {
            HoldForm::Ended(ended) => Some(ended.phase),
            // Open in the ledger, and ended in memory a moment ago or about to be opened.
            HoldForm::Open(open) => Some(open.state.phase().clone()),
        }
    }

    /// The requests that wait for people or for their call, the oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingApproval> {
        self.holds.all().iter().map(|hold| PendingApproval::of(&hold.open)).collect()
    }

    /// One of them.
    #[must_use]
    pub fn pending_one(&self, id: &RequestId) -> Option<PendingApproval> {
        self.holds.get(id).map(|hold| PendingApproval::of(&hold.open))
    }

    /// The requests that wait for an answer.
    #[must_use]
    pub fn open_requests(&self) -> Vec<RequestId> {
        self.holds.waiting()
    }

    /// Ends every request whose deadline has passed, and puts up others for those that were opened
    /// under another policy; and records the ends of calls that were given up. Call it now and then,
    /// for example once a minute, and before the end. The number of requests that ended.
    pub async fn sweep(&self) -> usize {
        // What the ledger does not take now stays, and nothing is executed before it does.
        let _ = self.record_ends().await;
        let now = self.now();
        let mut ended = 0;
        for hold in self.holds.all() {
            let request = &hold.open.request;
            if now >= request.deadline && self.expire(request.id.clone()).await {
                ended += 1;
            }
        }
        self.holds.tidy(now);
        self.standings.tidy(now);
        ended + self.decide_again().await
    }

    async fn expire(&self, id: RequestId) -> bool {
        let (reason, detail) = (ReasonCode::ApprovalExpired, "its time is over".to_owned());
        self.end(HoldEnding { id, end: RequestEnd::Expired, reason, detail }).await.is_ok()
    }
}
