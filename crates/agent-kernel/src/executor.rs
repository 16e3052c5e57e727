//! The executor: commits the intent of an authorized call, executes the call, and records its end.
//!
//! ```text
//! commit_intent = one batch: token use, release use, charge, open call, intent
//! run_to_end    = attempts within their time limit ─ result pipeline ─ outcome
//! stream_to_end = chunks as they are read ─ result pipeline ─ outcome
//! ```

mod attempt;
mod finish;
mod intent;
mod progress;
mod retry;
mod stream;

use std::sync::Arc;

pub(crate) use attempt::{attempt_needs, needs_under};

use crate::approval::ApprovalRequests;
use crate::context::KernelContext;
use crate::decision_point::PolicyDecisionPoint;
use crate::late_response::LateResponseLog;
use crate::recorder::RunRecorder;
use crate::results::ResultPipeline;

/// Executes calls that the decision point has allowed.
pub(crate) struct CallExecutor {
    context: Arc<KernelContext>,
    recorder: Arc<RunRecorder>,
    approvals: Arc<ApprovalRequests>,
    decision_point: Arc<PolicyDecisionPoint>,
    results: Arc<ResultPipeline>,
    late_responses: Arc<LateResponseLog>,
}

impl CallExecutor {
    pub(crate) fn new(
        recorder: &Arc<RunRecorder>,
        approvals: &Arc<ApprovalRequests>,
        decision_point: &Arc<PolicyDecisionPoint>,
        results: &Arc<ResultPipeline>,
    ) -> Self {
        let context = Arc::clone(&recorder.context);
        let late_responses = Arc::new(LateResponseLog {
            ledger: Arc::clone(&context.ledger),
            clock: Arc::clone(&context.clock),
        });
        Self {
            context,
            recorder: Arc::clone(recorder),
            approvals: Arc::clone(approvals),
            decision_point: Arc::clone(decision_point),
            results: Arc::clone(results),
            late_responses,
        }
    }
}
