//! Reads the end of the log backwards.

use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, MAX_PAGE, StoredEvent};
use weaver_types::{EventKind, RunId, Timestamp};

use crate::error::KernelError;
pub(crate) use crate::run_fault::MAX_TAIL_EVENTS;
use crate::run_log::parse_header;

/// One event of the log.
pub(crate) struct LogEvent<'e> {
    pub(crate) at: Timestamp,
    pub(crate) kind: Option<EventKind>,
    pub(crate) run: Option<RunId>,
    event: &'e StoredEvent,
}

impl LogEvent<'_> {
    /// The payload; null if it is pruned.
    pub(crate) fn payload(&self) -> Value {
        let payload = self.event.payload.as_deref();
        payload.and_then(|bytes| canonical::parse(bytes, Profile::Record).ok()).unwrap_or_default()
    }
}

/// A string field of an event.
pub(crate) fn str_field<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// Passes the events from `since` on to `visit`, the latest first. False when there were more than
/// [`MAX_TAIL_EVENTS`], of which the earliest were left out.
pub(crate) fn scan_backwards(
    ledger: &dyn Ledger,
    since: Timestamp,
    mut visit: impl FnMut(&LogEvent<'_>),
) -> Result<bool, KernelError> {
    let page = u64::try_from(MAX_PAGE).unwrap_or(u64::MAX);
    let size = ledger.head()?.size;
    let mut end = size;
    while end > 0 {
        if size.saturating_sub(end) >= MAX_TAIL_EVENTS {
            return Ok(false);
        }
        let from = end.saturating_sub(page);
        let count = usize::try_from(end.saturating_sub(from)).unwrap_or(MAX_PAGE);
        for event in ledger.events(from, count)?.iter().rev() {
            let log_event = read_event(event)?;
            if log_event.at < since {
                return Ok(true);
            }
            visit(&log_event);
        }
        end = from;
    }
    Ok(true)
}

fn read_event(event: &StoredEvent) -> Result<LogEvent<'_>, KernelError> {
    let header = parse_header(event)?;
    Ok(LogEvent {
        at: header.at,
        kind: EventKind::parse(&header.kind),
        run: header.run.and_then(|run| RunId::parse(run).ok()),
        event,
    })
}
