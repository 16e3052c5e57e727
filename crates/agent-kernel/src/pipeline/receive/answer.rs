//! An approver's answer to a request.

use serde_json::json;
use weaver_policy::approval::{
    Phase, Rejection, ResolutionVerdict, SignedResolution, verify_resolution,
};
use weaver_types::ledger::{Batch, Durability};

use super::{FileOutcome, Refusal};
use crate::bounds;
use crate::kernel::Kernel;
use crate::pipeline::change::ended_as;
use crate::record::error_text;

impl Kernel {
    pub(super) async fn take_answer(
        &self,
        signed: &SignedResolution,
    ) -> Result<FileOutcome, Refusal> {
        let policy = self.policy();
        let said = &signed.resolution;
        let unknown = || Rejection::UnknownApprover { approver: "no keys document".to_owned() };
        let keys = policy.keys().ok_or_else(unknown)?;
        let id = &said.request;
        if self.holds.get(id).is_none() && self.phase(id).is_none() {
            return Err(Rejection::WrongRequest.into());
        }
        let phase = self
            .change(
                id,
                &Batch::new(Durability::Disk),
                |open, state| {
                    let moment = bounds::moment(&policy, self.now());
                    let basis = policy.basis();
                    let request = &open.request;
                    // What was held under another policy waits for its successor.
                    if request.policy != basis.policy || request.contracts != basis.contracts {
                        return Err(Rejection::RequestChanged);
                    }
                    let vote = verify_resolution(keys, request, state, signed, moment)?;
                    state.record(request, vote).map(|_| ())
                },
                |open, state| {
                    let kind = ended_as(state.phase());
                    self.about(open)
                        .with("by", json!(said.approver))
                        .with("key", json!(signed.envelope.key()))
                        .with("said", json!(said.verdict))
                        .with("said_at", json!(said.at))
                        .with("words", json!(error_text(&self.firewall, &said.reason)))
                        .with("agreed", json!(state.votes().keys().collect::<Vec<_>>()))
                        .with("needed", json!(open.request.authority.quorum.max(1)))
                        .event(kind, self.now(), &open.request.run, None)
                },
            )
            .await?;
        let request = id.clone();
        Ok(match (phase, said.verdict) {
            (_, ResolutionVerdict::Denied) => FileOutcome::Denied { request },
            (Phase::Granted, _) => FileOutcome::Granted { request },
            _ => FileOutcome::Endorsed { request },
        })
    }
}
