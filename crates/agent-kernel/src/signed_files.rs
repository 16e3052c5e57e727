//! Receives signed files: each is verified here and only then recorded. No other code records their
//! contents.

mod answer;
mod operator_statement;
mod rejected_files;
mod standing_approval;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use weaver_policy::approval::{Rejection, SignedFile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{Batch, Durability, LedgerError};
use weaver_types::{ApprovalRequestId, EventKind, RunId, StandingApprovalId, Timestamp};

use crate::approval::{ApprovalRequests, ChangeError};
use crate::context::KernelContext;
use crate::event_payload::{EventPayload, error_text};
use crate::recorder::RunRecorder;
use crate::revocation::Revocations;
use rejected_files::RejectedFiles;

/// What a signed file led to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SignedFileOutcome {
    /// An approver agreed; more people are needed.
    Endorsed {
        /// The request.
        request: ApprovalRequestId,
    },
    /// The request is granted: the same call may be made once.
    Granted {
        /// The request.
        request: ApprovalRequestId,
    },
    /// The request was refused.
    Denied {
        /// The request.
        request: ApprovalRequestId,
    },
    /// A standing approval came into force.
    StandingAccepted {
        /// The standing approval.
        standing: StandingApprovalId,
    },
    /// A standing approval was taken back.
    StandingRevoked {
        /// The standing approval.
        standing: StandingApprovalId,
    },
    /// A request was taken back.
    RequestRevoked {
        /// The request.
        request: ApprovalRequestId,
    },
    /// The operator confirmed the clock.
    ClockConfirmed {
        /// The time up to which the clock is confirmed.
        until: Timestamp,
    },
    /// The operator ended a run: everything granted in it is void.
    RunEnded {
        /// The run.
        run: RunId,
    },
    /// The outcome of a belief was counted.
    OutcomeRecorded {
        /// The class of beliefs.
        class: String,
    },
    /// The file is invalid. Handing it in again is of no use.
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
enum SignedFileError {
    Rejected(Rejection),
    Failed(String),
}

impl From<Rejection> for SignedFileError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<ChangeError> for SignedFileError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::NotOpen => Self::Rejected(Rejection::AlreadyResolved),
            ChangeError::Rejected(rejection) => Self::Rejected(rejection),
            ChangeError::Ledger(_) | ChangeError::Form => Self::Failed(error.to_string()),
        }
    }
}

impl From<LedgerError> for SignedFileError {
    fn from(error: LedgerError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Receives signed files.
pub(crate) struct SignedFileReceiver {
    context: Arc<KernelContext>,
    recorder: Arc<RunRecorder>,
    approvals: Arc<ApprovalRequests>,
    revocations: Arc<Revocations>,
    rejected_files: RejectedFiles,
}

impl SignedFileReceiver {
    pub(crate) fn new(
        recorder: &Arc<RunRecorder>,
        approvals: &Arc<ApprovalRequests>,
        revocations: &Arc<Revocations>,
    ) -> Self {
        Self {
            context: Arc::clone(&recorder.context),
            recorder: Arc::clone(recorder),
            approvals: Arc::clone(approvals),
            revocations: Arc::clone(revocations),
            rejected_files: RejectedFiles::default(),
        }
    }

    /// Verifies a file under the keys document in force and records it, and only then lets it take
    /// effect.
    pub(crate) async fn receive(&self, bytes: &[u8]) -> SignedFileOutcome {
        let outcome = match SignedFile::parse(bytes) {
            Err(rejection) => Err(rejection.into()),
            Ok(SignedFile::Resolution(signed)) => self.receive_answer(&signed).await,
            Ok(SignedFile::Standing(signed)) => self.receive_standing_approval(&signed).await,
            Ok(SignedFile::OperatorStatement(signed)) => {
                self.receive_operator_statement(&signed).await
            }
            Ok(_) => Err(SignedFileError::Failed("this build does not know such files".to_owned())),
        };
        match outcome {
            Ok(received) => received,
            Err(SignedFileError::Failed(problem)) => SignedFileOutcome::Failed { problem },
            Err(SignedFileError::Rejected(rejection)) => {
                let (code, detail) = (rejection.code(), rejection.to_string());
                self.context.approval_counts.count(EventKind::ApprovalRejected);
                self.record_rejection(bytes, code, &detail).await;
                SignedFileOutcome::Rejected { code, detail }
            }
        }
    }

    async fn record_rejection(&self, bytes: &[u8], code: &'static str, detail: &str) {
        let now = self.context.now();
        // A file is one of our documents with a signature: its digest discloses no more than the
        // file itself, and the event keeps only what identifies it.
        let digest = Digest::of(DomainTag::COMMIT, bytes);
        let Some(unrecorded) = self.rejected_files.count_unrecorded(digest, now) else { return };
        let file = SignedFile::parse(bytes).ok();
        let policy = self.context.policy();
        // Whoever signed is named as far as the signature holds, whatever the file claims: an answer
        // that is refused because it is the requester's own must not be anonymous.
        let signers = file.as_ref().map(|file| file.verified_signers(policy.keys()));
        let signers = signers.unwrap_or_default();
        let people: BTreeSet<&str> =
            signers.iter().filter_map(|signer| signer.approver.as_deref()).collect();
        let (by, people) = match (people.len(), people.first()) {
            (1, Some(only)) => (Some(json!(only)), None),
            (0, _) => (None, None),
            _ => (None, Some(json!(people))),
        };
        let (key, keys) = match signers.as_slice() {
            [] => (None, None),
            [only] => (Some(json!(only.key)), None),
            all => (None, Some(all.iter().map(|signer| json!(signer.key)).collect::<Value>())),
        };
        let event = EventPayload::new()
            .with("code", code)
            .with("detail", error_text(&self.context.firewall, detail))
            .with("bytes", bytes.len())
            .with_optional("request", file.as_ref().and_then(request_of).map(|id| json!(id)))
            .with_optional("by", by)
            .with_optional("people", people)
            .with_optional("key", key)
            .with_optional("keys", keys)
            .with_optional("rejections_not_recorded", (unrecorded > 0).then(|| json!(unrecorded)))
            .into_global_event(EventKind::ApprovalRejected, now);
        if let Some(event) = event {
            // A failing ledger cannot record the rejection; the file has no effect either way.
            let _ = self.context.ledger.commit(Batch::new(Durability::Os).with_event(event)).await;
        }
    }
}

/// The request that a file is about.
fn request_of(file: &SignedFile) -> Option<&ApprovalRequestId> {
    match file {
        SignedFile::Resolution(signed) => Some(&signed.resolution.request),
        _ => None,
    }
}
