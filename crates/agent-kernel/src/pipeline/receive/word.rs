//! An operator's word: confirms the clock, ends a run, takes an approval back.

use serde_json::json;
use weaver_policy::approval::{
    MAX_SKEW, OPERATOR_WORD_LIFE, OperatorAction, OperatorWord, Rejection, RequestEnd,
    SignedOperatorWord, verify_operator_word,
};
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, NewEvent, Put, RecordKey};
use weaver_types::{DecisionKey, Digest, EventKind, ReasonCode, RequestId, RunId, Timestamp};

use super::{FileOutcome, Refusal};
use crate::bounds;
use crate::kernel::Kernel;
use crate::pipeline::change::ChangeError;
use crate::pipeline::resume::HoldEnding;
use crate::record::Payload;
use crate::revocation::RevocationSubject;

impl Kernel {
    pub(super) async fn take_word(
        &self,
        signed: &SignedOperatorWord,
    ) -> Result<FileOutcome, Refusal> {
        let policy = self.policy();
        let unknown = || Rejection::UnknownApprover { approver: "no keys document".to_owned() };
        let keys = policy.keys().ok_or_else(unknown)?;
        let said = &signed.operator_word;
        // Whoever confirms the clock writes by the clock that is not believed yet.
        let now = match said.word {
            OperatorAction::ConfirmClock { .. } => self.clock.now().max(self.now()),
            _ => self.now(),
        };
        let seen = |digest: &Digest| {
            // What cannot be read counts as seen.
            self.ledger.read(&self.received(digest)).map_or(true, |record| record.is_some())
        };
        let moment = bounds::moment(&policy, now);
        let digest = verify_operator_word(keys, &self.log, signed, moment, seen)?;
        let kept = said.at.after(OPERATOR_WORD_LIFE + MAX_SKEW + MAX_SKEW);
        let beside =
            Batch::new(Durability::Disk).create(self.received(&digest), b"1".to_vec(), Some(kept));
        let by = said.approver.as_str();
        match &said.word {
            OperatorAction::ConfirmClock { until } => {
                self.confirm_clock(said, *until, beside).await
            }
            OperatorAction::EndRun { run } => self.end_run(run, by, beside).await,
            OperatorAction::RevokeRequest { request } => {
                self.revoke_request(request, by, &beside).await
            }
            OperatorAction::RevokeStanding { standing } => {
                self.revoke_standing(standing, by, &beside).await?;
                Ok(FileOutcome::StandingRevoked { standing: standing.clone() })
            }
            OperatorAction::Outcome(outcome) => {
                let Some(sample) = outcome.sample() else {
                    let problem = "its class is no name, or its confidence is above 1000";
                    return Err(Rejection::Malformed { problem: problem.to_owned() }.into());
                };
                self.count_outcome(by, outcome, &sample, &beside).await?;
                Ok(FileOutcome::OutcomeRecorded { class: outcome.class.clone() })
            }
            _ => Err(Refusal::Failed("this build does not know such words".to_owned())),
        }
    }

    fn received(&self, digest: &Digest) -> RecordKey {
        RecordKey::new(self.settings.tenant.clone(), Namespace::Received, digest.to_hex())
    }

    async fn confirm_clock(
        &self,
        said: &OperatorWord,
        until: Timestamp,
        beside: Batch,
    ) -> Result<FileOutcome, Refusal> {
        let wall = self.clock.now();
        let event = Payload::new()
            .with("by", json!(said.approver))
            .with("until", json!(until))
            .with("wall", json!(wall))
            .loose_event(EventKind::ClockConfirmed, self.now())
            .ok_or_else(unwritable)?;
        let mut batch = beside.with_event(event);
        batch.put.push(confirmed_until(self, until));
        self.commit_word(batch).await?;
        self.time.confirm(until);
        Ok(FileOutcome::ClockConfirmed { until })
    }

    async fn end_run(&self, run: &RunId, by: &str, beside: Batch) -> Result<FileOutcome, Refusal> {
        let now = self.now();
        let subject = RevocationSubject::Run(run.clone());
        // It holds from here on, whether or not it can be recorded.
        let put = self.revocations.revoke(&self.settings.tenant, &subject, now);
        let event = |kind, key| {
            Payload::new()
                .maybe("decision_key", key)
                .with("by", json!(by))
                .with("tenant", json!(self.settings.tenant))
                .with("subject", json!(subject.record_id()))
                .loose_event(kind, now)
                .map(|event| NewEvent { run: Some(run.clone()), ..event })
                .ok_or_else(unwritable)
        };
        let mut batch = beside
            .with_event(event(EventKind::Revoked, None)?)
            .with_event(event(EventKind::RunFinished, Some(DecisionKey::RunFinished))?);
        batch.put.push(put);
        self.commit_word(batch).await?;
        self.end_all(&subject, by).await;
        Ok(FileOutcome::RunEnded { run: run.clone() })
    }

    async fn revoke_request(
        &self,
        id: &RequestId,
        by: &str,
        beside: &Batch,
    ) -> Result<FileOutcome, Refusal> {
        if self.holds.get(id).is_none() {
            return Err(match self.phase(id) {
                Some(_) => Rejection::AlreadyResolved.into(),
                None => Rejection::WrongRequest.into(),
            });
        }
        let ending = HoldEnding {
            id: id.clone(),
            end: RequestEnd::Revoked { by: by.to_owned() },
            reason: ReasonCode::ApprovalRevoked,
            detail: "an operator took it back".to_owned(),
        };
        // One commit: a word that counts as used while the request stays could not be said again.
        match self.end_beside(ending, beside).await {
            Ok(_) => Ok(FileOutcome::RequestRevoked { request: id.clone() }),
            Err(ChangeError::Ledger(LedgerError::Conflict { .. })) => {
                Err(Rejection::Replayed.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn commit_word(&self, batch: Batch) -> Result<(), Refusal> {
        match self.ledger.commit(batch).await {
            Ok(_) => Ok(()),
            Err(LedgerError::Conflict { .. }) => Err(Rejection::Replayed.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the open requests of a run or a principal.
    pub(crate) async fn end_all(&self, subject: &RevocationSubject, by: &str) {
        for hold in self.holds.all() {
            let request = &hold.open.request;
            let concerned = match subject {
                RevocationSubject::Run(run) => request.run == *run,
                RevocationSubject::Principal(who) => request.principal == *who,
                RevocationSubject::Token(_) => false,
            };
            if concerned {
                let detail = format!("{} was revoked", subject.record_id());
                let end = RequestEnd::Revoked { by: by.to_owned() };
                let (id, reason) = (request.id.clone(), ReasonCode::ApprovalRevoked);
                // One that cannot be ended now is void all the same: its grant lies before the
                // revocation.
                let _ = self.end(HoldEnding { id, end, reason, detail }).await;
            }
        }
    }
}

/// The record of a confirmed clock.
fn confirmed_until(kernel: &Kernel, until: Timestamp) -> Put {
    Put {
        key: crate::clock_guard::key(&kernel.settings.tenant),
        value: until.micros().to_string().into_bytes(),
        expires_at: None,
    }
}

fn unwritable() -> Refusal {
    Refusal::Failed("the word has no recordable form".to_owned())
}
