//! Late responses: results that arrive after the kernel gave up their call. The log records their
//! arrival, and nobody sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::json;
use weaver_types::ledger::{Batch, Durability, Ledger};
use weaver_types::{EventKind, PrincipalId, RawResult};

use crate::clock_guard::GuardedClock;
use crate::driver::{CallParts, DriverError};
use crate::event_payload::EventPayload;

/// Records late responses; shared by all calls of a kernel.
pub(crate) struct LateResponseLog {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) clock: Arc<GuardedClock>,
}

/// Records the late responses of one call.
pub(crate) struct CallLateResponses {
    pub(crate) log: Arc<LateResponseLog>,
    pub(crate) principal: PrincipalId,
    /// The attempts that were reported already, one bit each.
    pub(crate) reported_attempts: AtomicU8,
}

impl CallLateResponses {
    /// Records that an attempt ended late, and whether it succeeded; nothing of its result. The run
    /// is not changed: the end of the call is recorded already.
    pub(crate) fn report(
        &self,
        call: &CallParts,
        attempt: u8,
        result: &Result<RawResult, DriverError>,
    ) {
        let bit = 1_u8.checked_shl(attempt.into()).unwrap_or(1 << 7);
        if self.reported_attempts.fetch_or(bit, Ordering::SeqCst) & bit != 0 {
            return;
        }
        let success = result.as_ref().is_ok_and(|raw| !raw.is_error);
        let LateResponseLog { ledger, clock } = &*self.log;
        let event = EventPayload::new()
            .with("principal", &self.principal)
            .with("capability", call.capability.id())
            .with_tags(Some(&call.capability))
            .with("attempt", attempt)
            .with("success", success)
            .with_optional("error", result.as_ref().err().map(|error| json!(error.code())))
            .into_event(EventKind::Late, clock.read().now, &call.run, Some(&call.call));
        if let Some(event) = event {
            // Not waited for: no caller is left, and nothing depends on it.
            drop(ledger.commit(Batch::new(Durability::Os).with_event(event)));
        }
    }
}
