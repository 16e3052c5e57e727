//! Queries the signal sources before a decision.

use std::panic::{AssertUnwindSafe, catch_unwind};

use weaver_policy::signal::{BeliefDeclaration, ProposedCall, SignalError, SignalReport};
use weaver_types::{Capability, Operation, RunId};

use super::PolicyDecisionPoint;

/// The source name under which a failure of the monitor itself is reported.
const MONITOR_SOURCE: &str = "watch";

impl PolicyDecisionPoint {
    /// What the signal sources report about a proposed call.
    pub(super) fn signal_report(
        &self,
        run: &RunId,
        capability: &Capability,
        operation: Operation,
        finished: u64,
    ) -> SignalReport {
        if self.signals.is_idle() {
            return SignalReport::none();
        }
        let declaration = BeliefDeclaration::default();
        let call = ProposedCall { run, capability, operation, finished, declaration: &declaration };
        catch_unwind(AssertUnwindSafe(|| self.signals.report(&call))).unwrap_or_else(|_| {
            let error = SignalError::Unavailable("a source panicked".to_owned());
            SignalReport::none().with_failure(MONITOR_SOURCE, &error)
        })
    }
}
