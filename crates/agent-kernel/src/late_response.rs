//! Results that come after nobody waits for them: the log takes them down, and nobody sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::json;
use weaver_types::ledger::{Batch, Durability, Ledger};
use weaver_types::{Clock, EventKind, PrincipalId, RawResult};

use crate::clock_guard::ClockGuard;
use crate::driver::{CallParts, DriverError};
use crate::record::Payload;

/// Where late results are taken down: one for all calls of a kernel.
pub(crate) struct LateResponseLog {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) time: Arc<ClockGuard>,
}

/// How a late result of one call reaches the log.
pub(crate) struct LateResponseSink {
    pub(crate) log: Arc<LateResponseLog>,
    pub(crate) principal: PrincipalId,
    /// The attempts that were told, a bit each.
    pub(crate) reported: AtomicU8,
}

impl LateResponseSink {
    /// Takes down that an attempt came to an end after all, and how; nothing of what it brought. It
    /// changes nothing of the run: its end is recorded.
    pub(crate) fn report(
        &self,
        call: &CallParts,
        attempt: u8,
        result: &Result<RawResult, DriverError>,
    ) {
        let bit = 1_u8.checked_shl(attempt.into()).unwrap_or(1 << 7);
        if self.reported.fetch_or(bit, Ordering::SeqCst) & bit != 0 {
            return;
        }
        let success = result.as_ref().is_ok_and(|raw| !raw.is_error);
        let LateResponseLog { ledger, clock, time } = &*self.log;
        let event = Payload::new()
            .with("principal", json!(self.principal))
            .with("capability", json!(call.capability.id()))
            .tagged(Some(&call.capability))
            .with("attempt", json!(attempt))
            .with("success", json!(success))
            .maybe("error", result.as_ref().err().map(|error| json!(error.code())))
            .event(EventKind::Late, time.moment(clock.as_ref()).now, &call.run, Some(&call.call));
        if let Some(event) = event {
            // Nobody is left to wait for it, and nothing depends on it.
            drop(ledger.commit(Batch::new(Durability::Os).with_event(event)));
        }
    }
}
