//! Open approval requests, as a host sees them.

use std::time::Duration;

use weaver_policy::approval::Phase;
use weaver_types::{ApprovalRequestId, RunId, Timestamp};

use crate::approval::{ApprovalCounts, PendingApproval};
use crate::kernel::Kernel;

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
        self.approvals.wait_resolution(id, timeout).await
    }

    /// The phase of a request. `None` for a request that this ledger does not know.
    #[must_use]
    pub fn approval_phase(&self, id: &ApprovalRequestId) -> Option<Phase> {
        self.approvals.phase(id)
    }

    /// The request that superseded another one, as far as it is still in memory.
    #[must_use]
    pub fn approval_successor(&self, id: &ApprovalRequestId) -> Option<ApprovalRequestId> {
        match self.approval_phase(id)? {
            Phase::Superseded { by } => by,
            _ => None,
        }
    }

    /// The requests that wait for people, or that were granted and wait for their call; the oldest
    /// first.
    #[must_use]
    pub fn pending_approvals(&self) -> Vec<PendingApproval> {
        self.approvals.pending()
    }

    /// The pending request of this id.
    #[must_use]
    pub fn pending_approval(&self, id: &ApprovalRequestId) -> Option<PendingApproval> {
        self.approvals.holds.get(id).map(|hold| PendingApproval::of(&hold.open))
    }

    /// When the oldest open request was opened.
    #[must_use]
    pub fn oldest_open_request(&self) -> Option<Timestamp> {
        self.approvals.holds.first_opened()
    }

    /// What came of requests and signed files since this kernel was opened.
    #[must_use]
    pub fn approval_counts(&self) -> ApprovalCounts {
        self.context.approval_counts.snapshot()
    }

    /// The ids of all open requests.
    #[must_use]
    pub fn open_requests(&self) -> Vec<ApprovalRequestId> {
        self.approvals.holds.open_requests()
    }

    /// Ends the open requests of a run that no client continues: their calls cannot be made again,
    /// so no person should be asked about them. A request that cannot be ended now ends at its
    /// deadline. Returns how many ended.
    pub async fn expire_requests_of_run(&self, run: &RunId) -> usize {
        self.approvals.expire_requests_of_run(run).await
    }

    /// Ends expired requests, evaluates requests of an older policy again, and records the ends of
    /// abandoned calls. Call it regularly, for example once a minute, and before the process ends.
    /// Returns how many requests ended.
    pub async fn sweep(&self) -> usize {
        // An end that the ledger refuses now stays queued, and nothing is executed before it is
        // recorded.
        let _ = self.recorder.flush_unrecorded_ends().await;
        let ended = self.approvals.end_expired(self.context.now()).await;
        ended + self.decision_point.reevaluate_stale_requests().await
    }
}
