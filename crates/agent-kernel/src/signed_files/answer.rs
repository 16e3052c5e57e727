//! An approver's answer to a request.

use weaver_policy::approval::{
    Phase, Rejection, ResolutionVerdict, SignedResolution, verify_resolution,
};
use weaver_types::ledger::{Batch, Durability};

use super::{SignedFileError, SignedFileOutcome, SignedFileReceiver};
use crate::approval::phase_event_kind;
use crate::approval_limits;
use crate::event_payload::error_text;

impl SignedFileReceiver {
    pub(super) async fn receive_answer(
        &self,
        signed: &SignedResolution,
    ) -> Result<SignedFileOutcome, SignedFileError> {
        let policy = self.context.policy();
        let resolution = &signed.resolution;
        let unknown = || Rejection::UnknownApprover { approver: "no keys document".to_owned() };
        let keys = policy.keys().ok_or_else(unknown)?;
        let id = &resolution.request;
        if self.approvals.holds.get(id).is_none() && self.approvals.phase(id).is_none() {
            return Err(Rejection::WrongRequest.into());
        }
        let phase = self
            .approvals
            .change_request(
                id,
                &Batch::new(Durability::Disk),
                |open, state| {
                    let moment = approval_limits::receipt_time(&policy, self.context.now());
                    let request = &open.request;
                    // A request of another policy accepts no votes; they go to its successor.
                    if let Some(changed) = Rejection::of_changed_documents(request, policy.basis())
                    {
                        return Err(changed);
                    }
                    let vote = verify_resolution(keys, request, state, signed, moment)?;
                    state.record(request, vote).map(|_| ())
                },
                |open, state| {
                    let kind = phase_event_kind(state.phase());
                    self.approvals
                        .request_payload(open)
                        .with("by", &resolution.approver)
                        .with("key", signed.envelope.key())
                        .with("said", resolution.verdict)
                        .with("said_at", resolution.at)
                        .with("words", error_text(&self.context.firewall, &resolution.reason))
                        .with("agreed", state.votes().keys().collect::<Vec<_>>())
                        .with("needed", open.request.authority.quorum.max(1))
                        .into_event(kind, self.context.now(), &open.request.run, None)
                },
            )
            .await?;
        let request = id.clone();
        Ok(match (phase, resolution.verdict) {
            (_, ResolutionVerdict::Denied) => SignedFileOutcome::Denied { request },
            (Phase::Granted, _) => SignedFileOutcome::Granted { request },
            _ => SignedFileOutcome::Endorsed { request },
        })
    }
}
