//! The approval requests of a kernel: lists them, waits for their resolution, and ends them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use weaver_policy::approval::{Phase, RequestEnd};
use weaver_types::{ApprovalRequestId, LogId, ReasonCode, RunId, Timestamp};

use super::hold::{PendingApproval, StoredHold, hold_key};
use super::hold_release::HoldEnding;
use super::standing_approvals::StandingApprovals;
use super::table::HoldTable;
use super::waiters::Waiter;
use crate::context::KernelContext;
use crate::error::KernelError;
use crate::recorder::RunRecorder;
use crate::revocation::RevocationSubject;
use crate::wait::with_timeout;

/// The requests that held calls open, and the approvals given in advance, with their records in
/// the ledger.
pub(crate) struct ApprovalRequests {
    pub(super) context: Arc<KernelContext>,
    pub(super) recorder: Arc<RunRecorder>,
    pub(crate) holds: HoldTable,
    pub(crate) standing_approvals: StandingApprovals,
    /// The id of the ledger's log, to which every request and every answer is bound.
    pub(crate) log_id: LogId,
}

impl ApprovalRequests {
    pub(crate) fn new(
        recorder: &Arc<RunRecorder>,
        holds: HoldTable,
        standing_approvals: StandingApprovals,
    ) -> Result<Self, KernelError> {
        let context = Arc::clone(&recorder.context);
        let log_id = context.ledger.head()?.log;
        Ok(Self { context, recorder: Arc::clone(recorder), holds, standing_approvals, log_id })
    }

    /// Waits until a request is resolved, at most `timeout` and never past its deadline.
    pub(crate) async fn wait_resolution(
        &self,
        id: &ApprovalRequestId,
        timeout: Duration,
    ) -> Option<Phase> {
        let deadline = self.holds.get(id).map(|hold| hold.open.request.deadline);
        let left = deadline.map_or(Duration::ZERO, |deadline| deadline.since(self.context.now()));
        let waiting = ResolutionFuture { holds: &self.holds, id, waiter_id: None };
        let timer = self.context.timer.as_ref();
        if let Some(Some(phase)) = with_timeout(waiting, timeout.min(left), timer).await {
            return Some(phase);
        }
        if deadline.is_some_and(|deadline| self.context.now() >= deadline) {
            // If the expiry cannot be recorded, the next sweep tries again.
            let _ = self.expire(id.clone()).await;
        }
        self.phase(id)
    }

    /// The phase of a request. `None` for a request that this ledger does not know.
    pub(crate) fn phase(&self, id: &ApprovalRequestId) -> Option<Phase> {
        if let Some(phase) = self.holds.phase(id, None) {
            return Some(phase);
        }
        let key = hold_key(&self.context.settings.tenant, id);
        let record = self.context.ledger.read(&key).ok()??;
        match StoredHold::read(id.as_str(), &record).ok()? {
            StoredHold::Ended(ended) => Some(ended.phase),
            // Open in the ledger but not in memory: it has just ended, or is about to be opened.
            StoredHold::Open(open) => Some(open.state.phase().clone()),
        }
    }

    /// The requests that wait for people, or that were granted and wait for their call; the oldest
    /// first.
    pub(crate) fn pending(&self) -> Vec<PendingApproval> {
        self.holds.all().iter().map(|hold| PendingApproval::of(&hold.open)).collect()
    }

    /// Ends the requests that have expired by now. Returns how many ended.
    pub(crate) async fn end_expired(&self, now: Timestamp) -> usize {
        let mut ended = 0;
        for hold in self.holds.all() {
            let request = &hold.open.request;
            if now >= request.deadline && self.expire(request.id.clone()).await {
                ended += 1;
            }
        }
        self.holds.evict_expired_denials(now);
        self.standing_approvals.evict_expired(now);
        ended
    }

    async fn expire(&self, id: ApprovalRequestId) -> bool {
        self.expire_because(id, "the request expired").await
    }

    async fn expire_because(&self, id: ApprovalRequestId, detail: &str) -> bool {
        let (reason, detail) = (ReasonCode::ApprovalExpired, detail.to_owned());
        self.end_request(HoldEnding { id, end: RequestEnd::Expired, reason, detail }).await.is_ok()
    }

    /// Ends the open requests of a run in which nobody can make their calls any more. Returns how
    /// many ended.
    pub(crate) async fn expire_requests_of_run(&self, run: &RunId) -> usize {
        let mut ended = 0;
        for hold in self.holds.all() {
            let request = &hold.open.request;
            let detail = "the run is over, and its call cannot be made again";
            if request.run == *run && self.expire_because(request.id.clone(), detail).await {
                ended += 1;
            }
        }
        ended
    }

    /// Ends the open requests of a run or a principal.
    pub(crate) async fn end_requests_of(&self, subject: &RevocationSubject, by: &str) {
        for hold in self.holds.all() {
            let request = &hold.open.request;
            let is_concerned = match subject {
                RevocationSubject::Run(run) => request.run == *run,
                RevocationSubject::Principal(who) => request.principal == *who,
                RevocationSubject::Token(_) => false,
            };
            if is_concerned {
                let detail = format!("{} was revoked", subject.record_id());
                let end = RequestEnd::Revoked { by: by.to_owned() };
                let (id, reason) = (request.id.clone(), ReasonCode::ApprovalRevoked);
                // A request that cannot be ended now is void anyway: it was opened before the
                // revocation.
                let _ = self.end_request(HoldEnding { id, end, reason, detail }).await;
            }
        }
    }
}

/// Completes when a request no longer waits for people.
struct ResolutionFuture<'k> {
    holds: &'k HoldTable,
    id: &'k ApprovalRequestId,
    waiter_id: Option<u64>,
}

impl Future for ResolutionFuture<'_> {
    type Output = Option<Phase>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut number = self.waiter_id;
        let waiter = Waiter { id: &mut number, waker: context.waker() };
        let phase = self.holds.phase(self.id, Some(waiter));
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
            self.holds.remove_waiter(self.id, number);
        }
    }
}
