//! Waits for what the gateway does with a file in the inbox.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use weaver_policy::approval::{Phase, Resolution, ResolutionVerdict};
use weaver_types::EventKind;

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::ApprovalStore;
use super::terminal_text;
use crate::{Exit, Failure};

/// How often to check whether the file is still in the inbox.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the gateway has read an answer from the inbox, and returns the record of its
/// request. Fails if the answer does not count or
/// the gateway does not read it in time. `size` is the size of the log before the file was written.
pub(super) fn wait_until_accepted(
    store: &ApprovalStore,
    file: &Path,
    resolution: &Resolution,
    size: u64,
    timeout: Duration,
) -> Result<ApprovalRecord, Failure> {
    let start = Instant::now();
    while file.exists() {
        if start.elapsed() >= timeout {
            let message = format!(
                "after {} seconds the file lies in the inbox still; it counts when the gateway \
                 takes it in before the deadline",
                timeout.as_secs()
            );
            return Err(Failure::new(Exit::NotAccepted, "approve.not_taken", message)
                .with_next_step("see that `weaver serve` runs with this inbox"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let record = approval_records::find(store, resolution.request.as_str())?;
    if is_recorded(&record, resolution) {
        return Ok(record);
    }
    let why = last_rejection(store, size, resolution.request.as_str())?;
    let message = match why {
        Some((code, detail)) => format!("the gateway refused it: {detail} ({code})"),
        None => "the gateway read the file and rejected it".to_owned(),
    };
    Err(Failure::new(Exit::NotAccepted, "approve.not_counted", message)
        .with_next_step("`weaver trace why ID` says what was recorded"))
}

/// Whether the record of the request contains this answer.
fn is_recorded(record: &ApprovalRecord, resolution: &Resolution) -> bool {
    match record {
        ApprovalRecord::Open(open) => {
            let vote = open.state.votes().get(&resolution.approver);
            vote.is_some_and(|vote| vote.resolution() == resolution)
        }
        ApprovalRecord::Ended(ended) => match (&ended.phase, resolution.verdict) {
            (Phase::Denied { by, .. }, ResolutionVerdict::Denied) => *by == resolution.approver,
            (Phase::Consumed, ResolutionVerdict::Granted) => true,
            _ => false,
        },
        ApprovalRecord::Unreadable { .. } => false,
    }
}

/// The last rejection in the log of a file about this request, as code and detail.
fn last_rejection(
    store: &ApprovalStore,
    size: u64,
    id: &str,
) -> Result<Option<(String, String)>, Failure> {
    let mut found = None;
    store.for_each_event(size, |header, payload| {
        let text = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or_default();
        if header.kind == EventKind::ApprovalRejected && text("request") == id {
            found = Some((
                terminal_text::escape_line(text("code"), 80),
                terminal_text::escape_line(text("detail"), 400),
            ));
        }
    })?;
    Ok(found)
}
