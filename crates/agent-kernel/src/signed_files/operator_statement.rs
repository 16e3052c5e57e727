//! An operator's statement: confirms the clock, ends a run, revokes a request or a standing
//! approval, or reports an outcome.

use weaver_policy::approval::{
    MAX_SKEW, OPERATOR_STATEMENT_MAX_AGE, OperatorAction, OperatorStatement, Rejection, RequestEnd,
    SignedOperatorStatement, verify_operator_statement,
};
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, NewEvent, RecordKey};
use weaver_types::{
    ApprovalRequestId, DecisionKey, Digest, EventKind, ReasonCode, RunId, Tenant, Timestamp,
};

use super::{SignedFileError, SignedFileOutcome, SignedFileReceiver};
use crate::approval::ChangeError;
use crate::approval::hold_release::HoldEnding;
use crate::approval_limits;
use crate::clock_guard::StoredConfirmation;
use crate::event_payload::EventPayload;
use crate::revocation::RevocationSubject;

impl SignedFileReceiver {
    pub(super) async fn receive_operator_statement(
        &self,
        signed: &SignedOperatorStatement,
    ) -> Result<SignedFileOutcome, SignedFileError> {
        let policy = self.context.policy();
        let unknown = || Rejection::UnknownApprover { approver: "no keys document".to_owned() };
        let keys = policy.keys().ok_or_else(unknown)?;
        let statement = &signed.operator_statement;
        // Somebody who confirms the clock dates the statement by the clock that is not trusted yet.
        let now = match statement.action {
            OperatorAction::ConfirmClock { .. } => {
                self.context.clock.unguarded().now().max(self.context.now())
            }
            _ => self.context.now(),
        };
        let is_used = |digest: &Digest| {
            // An unreadable record counts as seen, so that a statement is never applied twice.
            self.context
                .ledger
                .read(&Self::statement_key(digest))
                .map_or(true, |record| record.is_some())
        };
        let moment = approval_limits::receipt_time(&policy, now);
        let digest =
            verify_operator_statement(keys, &self.approvals.log_id, signed, moment, is_used)?;
        let expires_at = statement.at.after(OPERATOR_STATEMENT_MAX_AGE + MAX_SKEW + MAX_SKEW);
        let extra = Batch::new(Durability::Disk).create(
            Self::statement_key(&digest),
            b"1".to_vec(),
            Some(expires_at),
        );
        let by = statement.approver.as_str();
        match &statement.action {
            OperatorAction::ConfirmClock { until } => {
                self.confirm_clock(statement, *until, extra).await
            }
            OperatorAction::EndRun { run } => self.end_run(run, by, extra).await,
            OperatorAction::RevokeRequest { request } => {
                self.revoke_request(request, by, &extra).await
            }
            OperatorAction::RevokeStanding { standing } => {
                self.revoke_standing(standing, by, &extra).await?;
                Ok(SignedFileOutcome::StandingRevoked { standing: standing.clone() })
            }
            OperatorAction::Outcome(outcome) => {
                let Some(sample) = outcome.to_calibration_sample() else {
                    let problem = "its class is not a name, or its confidence is above 1000";
                    return Err(Rejection::Malformed { problem: problem.to_owned() }.into());
                };
                self.recorder.count_outcome(by, outcome, &sample, &extra).await?;
                Ok(SignedFileOutcome::OutcomeRecorded { class: outcome.class.clone() })
            }
            _ => Err(SignedFileError::Failed("this build does not know such words".to_owned())),
        }
    }

    /// The record that a statement was accepted. A statement names its log and no tenant, so the
    /// record belongs to none: accepted by one kernel on the log, it is used up for all.
    fn statement_key(digest: &Digest) -> RecordKey {
        RecordKey::new(Tenant::default(), Namespace::Received, digest.to_hex())
    }

    async fn confirm_clock(
        &self,
        statement: &OperatorStatement,
        until: Timestamp,
        extra: Batch,
    ) -> Result<SignedFileOutcome, SignedFileError> {
        let wall = self.context.clock.unguarded().now();
        let event = EventPayload::new()
            .with("by", &statement.approver)
            .with("until", until)
            .with("wall", wall)
            .into_global_event(EventKind::ClockConfirmed, self.context.now())
            .ok_or_else(unrecordable_statement)?;
        let batch = extra.with_event(event);
        let tenant = &self.context.settings.tenant;
        loop {
            let stored = StoredConfirmation::read(tenant, self.context.ledger.as_ref())
                .map_err(|error| SignedFileError::Failed(error.to_string()))?;
            let mut batch = batch.clone();
            batch.replace.push(stored.raise_to(tenant, until));
            match self.context.ledger.commit(batch).await {
                Ok(_) => break,
                // Another confirmation was recorded in between.
                Err(LedgerError::Conflict { key }) if key == StoredConfirmation::key(tenant) => {}
                Err(LedgerError::Conflict { .. }) => return Err(Rejection::Replayed.into()),
                Err(error) => return Err(error.into()),
            }
        }
        self.context.clock.confirm(until);
        Ok(SignedFileOutcome::ClockConfirmed { until })
    }

    async fn end_run(
        &self,
        run: &RunId,
        by: &str,
        extra: Batch,
    ) -> Result<SignedFileOutcome, SignedFileError> {
        let now = self.context.now();
        let subject = RevocationSubject::Run(run.clone());
        // The revocation is in force from here on, even if it cannot be recorded.
        let put = self.revocations.revoke(&self.context.settings.tenant, &subject, now);
        let event = |kind, key| {
            EventPayload::new()
                .with_optional("decision_key", key)
                .with("by", by)
                .with("tenant", &self.context.settings.tenant)
                .with("subject", subject.record_id())
                .into_global_event(kind, now)
                .map(|event| NewEvent { run: Some(run.clone()), ..event })
                .ok_or_else(unrecordable_statement)
        };
        let mut batch = extra
            .with_event(event(EventKind::Revoked, None)?)
            .with_event(event(EventKind::RunFinished, Some(DecisionKey::RunFinished))?);
        batch.put.push(put);
        self.commit_statement(batch).await?;
        self.approvals.end_requests_of(&subject, by).await;
        Ok(SignedFileOutcome::RunEnded { run: run.clone() })
    }

    async fn revoke_request(
        &self,
        id: &ApprovalRequestId,
        by: &str,
        extra: &Batch,
    ) -> Result<SignedFileOutcome, SignedFileError> {
        if self.approvals.holds.get(id).is_none() {
            return Err(match self.approvals.phase(id) {
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
        // One commit: a statement that counts as used while the request stays open could not be
        // repeated.
        match self.approvals.end_request_with(ending, extra).await {
            Ok(_) => Ok(SignedFileOutcome::RequestRevoked { request: id.clone() }),
            Err(ChangeError::Ledger(LedgerError::Conflict { .. })) => {
                Err(Rejection::Replayed.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn commit_statement(&self, batch: Batch) -> Result<(), SignedFileError> {
        match self.context.ledger.commit(batch).await {
            Ok(_) => Ok(()),
            Err(LedgerError::Conflict { .. }) => Err(Rejection::Replayed.into()),
            Err(error) => Err(error.into()),
        }
    }
}

fn unrecordable_statement() -> SignedFileError {
    SignedFileError::Failed("the word has no recordable form".to_owned())
}
