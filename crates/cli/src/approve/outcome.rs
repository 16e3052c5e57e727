//! The outcome of a file in the inbox.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use weaver_policy::approval::{Phase, Resolution, ResolutionVerdict};
use weaver_types::EventKind;

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::ApprovalStore;
use super::screen;
use crate::{Exit, Failure};

/// How often the inbox is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits until the gateway has taken an answer in, and fails when it does not count or nobody
/// took it. `size` is that of the log before the file was written.
pub(super) fn wait(
    place: &ApprovalStore,
    file: &Path,
    said: &Resolution,
    size: u64,
    patience: Duration,
) -> Result<(), Failure> {
    let begun = Instant::now();
    while file.exists() {
        if begun.elapsed() >= patience {
            let message = format!(
                "after {} seconds the file lies in the inbox still; it counts when the gateway \
                 takes it in before the deadline",
                patience.as_secs()
            );
            return Err(Failure::new(Exit::NotTaken, "approve.not_taken", message)
                .next("see that `weaver serve` runs with this inbox"));
        }
        std::thread::sleep(PAUSE);
    }
    if counted(&approval_records::one(place, said.request.as_str())?, said) {
        return Ok(());
    }
    let why = refusal(place, size, said.request.as_str())?;
    let message = match why {
        Some((code, detail)) => format!("the gateway refused it: {detail} ({code})"),
        None => "the gateway read the file and rejected it".to_owned(),
    };
    Err(Failure::new(Exit::NotTaken, "approve.not_counted", message)
        .next("`weaver trace why ID` says what was recorded"))
}

/// Whether the record of the request shows this answer.
fn counted(held: &ApprovalRecord, said: &Resolution) -> bool {
    match held {
        ApprovalRecord::Open(open) => {
            let vote = open.state.votes().get(&said.approver);
            vote.is_some_and(|vote| vote.resolution() == said)
        }
        ApprovalRecord::Ended(ended) => match (&ended.phase, said.verdict) {
            (Phase::Denied { by, .. }, ResolutionVerdict::Denied) => *by == said.approver,
            (Phase::Consumed, ResolutionVerdict::Granted) => true,
            _ => false,
        },
        ApprovalRecord::Unreadable { .. } => false,
    }
}

/// The last refusal that is on record of a file about this request.
fn refusal(
    place: &ApprovalStore,
    size: u64,
    id: &str,
) -> Result<Option<(String, String)>, Failure> {
    let mut found = None;
    place.events(size, |kind, payload| {
        let text = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or_default();
        if kind == EventKind::ApprovalRejected && text("request") == id {
            found = Some((screen::line(text("code"), 80), screen::line(text("detail"), 400)));
        }
    })?;
    Ok(found)
}
