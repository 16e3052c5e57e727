//! Signed files: verified here, and only then recorded. Nobody else writes what they say.

mod answer;
mod standing_approval;
mod word;

use serde_json::json;
use weaver_policy::approval::{Rejection, SignedFile};
use weaver_types::digest::{Digest, Tag};
use weaver_types::ledger::{Batch, Durability, LedgerError};
use weaver_types::{EventKind, RequestId, RunId, StandingId, Timestamp};

use super::change::ChangeError;
use crate::kernel::Kernel;
use crate::record::{Payload, error_text};

/// What came of a signed file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FileOutcome {
    /// An approver agreed; more people are needed.
    Endorsed {
        /// The request.
        request: RequestId,
    },
    /// The request is granted: the same call may be made once.
    Granted {
        /// The request.
        request: RequestId,
    },
    /// The request was refused.
    Denied {
        /// The request.
        request: RequestId,
    },
    /// A standing approval came into force.
    StandingAccepted {
        /// The standing approval.
        standing: StandingId,
    },
    /// A standing approval was taken back.
    StandingRevoked {
        /// The standing approval.
        standing: StandingId,
    },
    /// A request was taken back.
    RequestRevoked {
        /// The request.
        request: RequestId,
    },
    /// The operator confirmed the clock.
    ClockConfirmed {
        /// Up to when.
        until: Timestamp,
    },
    /// The operator ended a run: everything granted in it is void.
    RunEnded {
        /// The run.
        run: RunId,
    },
    /// It was counted how something turned out.
    OutcomeRecorded {
        /// The class of beliefs.
        class: String,
    },
    /// The file does not count. It is of no further use.
    Rejected {
        /// The stable code.
        code: &'static str,
        /// Why, in words.
        detail: String,
    },
    /// The file could not be recorded. Keep it and hand it in again.
    Failed {
        /// What went wrong.
        problem: String,
    },
}

/// Why a file has no effect.
enum Refusal {
    Rejected(Rejection),
    Failed(String),
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<ChangeError> for Refusal {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Gone => Self::Rejected(Rejection::AlreadyResolved),
            ChangeError::Rejected(rejection) => Self::Rejected(rejection),
            ChangeError::Ledger(_) | ChangeError::Form => Self::Failed(error.to_string()),
        }
    }
}

impl From<LedgerError> for Refusal {
    fn from(error: LedgerError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Kernel {
    /// Takes in a signed file: an approver's answer, a standing approval or an operator's word.
    /// It is verified under the keys document in force, then recorded, and only then it counts.
    /// Files that do not count leave an event, except when the very same was rejected before or
    /// too many are; those are counted by the next event.
    pub async fn receive(&self, bytes: &[u8]) -> FileOutcome {
        let done = match SignedFile::parse(bytes) {
            Err(rejection) => Err(rejection.into()),
            Ok(SignedFile::Resolution(signed)) => self.take_answer(&signed).await,
            Ok(SignedFile::Standing(signed)) => self.take_standing(&signed).await,
            Ok(SignedFile::OperatorWord(signed)) => self.take_word(&signed).await,
            Ok(_) => Err(Refusal::Failed("this build does not know such files".to_owned())),
        };
        match done {
            Ok(received) => received,
            Err(Refusal::Failed(problem)) => FileOutcome::Failed { problem },
            Err(Refusal::Rejected(rejection)) => {
                let (code, detail) = (rejection.code(), rejection.to_string());
                self.record_rejection(bytes, code, &detail).await;
                FileOutcome::Rejected { code, detail }
            }
        }
    }

    async fn record_rejection(&self, bytes: &[u8], code: &'static str, detail: &str) {
        let now = self.now();
        // A file is a document of ours with a signature: its digest gives nothing away that the
        // file itself does not, and the event keeps only what names it.
        let digest = Digest::of(Tag::COMMIT, bytes);
        let Some(untold) = self.rejected_files.count(digest, now) else { return };
        let event = Payload::new()
            .with("code", json!(code))
            .with("detail", json!(error_text(&self.firewall, detail)))
            .with("bytes", json!(bytes.len()))
            .maybe("request", named(bytes).map(|id| json!(id)))
            .maybe("rejections_not_recorded", (untold > 0).then(|| json!(untold)))
            .loose_event(EventKind::ApprovalRejected, now);
        if let Some(event) = event {
            // A ledger that fails has nothing to tell with; the file has no effect either way.
            let _ = self.ledger.commit(Batch::new(Durability::Os).with_event(event)).await;
        }
    }
}

/// The request that a file speaks of, where it can be read.
fn named(bytes: &[u8]) -> Option<RequestId> {
    match SignedFile::parse(bytes).ok()? {
        SignedFile::Resolution(signed) => Some(signed.resolution.request),
        _ => None,
    }
}
