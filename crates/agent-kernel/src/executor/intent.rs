//! Commits the intent: decision, token use, charge and intent event in one batch before the effect
//! (write-ahead logging).

use std::time::Duration;

use serde_json::Value;
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, RecordKey};
use weaver_types::{
    CheckKind, CheckResult, Decision, DecisionKey, EventKind, Label, Millicents, ReasonCode,
    Remedy, ResponseMode, Verdict,
};

use super::CallExecutor;
use crate::approval::ReleaseEffect;
use crate::approval::hold_release::HoldRelease;
use crate::authorized_invocation::{AuthorizedInvocation, TokenHolder};
use crate::budget_reservation::BudgetReservation;
use crate::cached_run::RunSlot;
use crate::decision_point::resume::write_denial;
use crate::decision_record::DecisionRecord;
use crate::event_payload::{record_arguments, record_event};
use crate::provenance::PaymentReservation;
use crate::recorder::{OpenCall, OpenCallGuard, ProvenanceUpdate, RunUpdate, RunUpdateError};
use crate::results::result_label;
use crate::run_state::RunDelta;

/// How often the use of an approval is tried when others use or answer it too.
const MAX_TRIES: usize = 1_024;

impl CallExecutor {
    /// Commits the intent. Nothing is executed before that; if the commit fails, the returned
    /// decision is a denial.
    pub(crate) async fn commit_intent(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Result<Box<OpenCallGuard<'_>>, Box<Decision>> {
        if let Err(error) = self.recorder.flush_unrecorded_ends().await {
            return Err(Box::new(intent_denial(invocation, &error)));
        }
        let mut release = invocation.release.clone();
        for _ in 0..MAX_TRIES {
            match self.try_commit_intent(invocation, slot, release.as_deref()).await {
                Ok(guard) => return Ok(guard),
                Err(IntentFailure::Denied(decision)) => return Err(decision),
                Err(IntentFailure::StandingConflict) => {
                    self.reload_standing_release(invocation, release.as_deref_mut())?;
                }
                Err(IntentFailure::RequestConflict) => {
                    self.reload_request_release(invocation, release.as_deref_mut())?;
                }
            }
        }
        let detail = "the approval changes too fast; try again";
        let reason = ReasonCode::LedgerUnavailable;
        Err(Box::new(system_denial(invocation, reason, detail)))
    }

    async fn try_commit_intent(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        release: Option<&HoldRelease>,
    ) -> Result<Box<OpenCallGuard<'_>>, IntentFailure> {
        let PreparedIntent { run_update, mut guard, provenance, release_effect: effect } =
            self.prepare_intent(invocation, slot, release)?;
        let Err(error) = self.recorder.commit_run_update(run_update).await else {
            self.decision_point.pending_grants.remove(&invocation.claims.token_id);
            provenance.apply(slot);
            if let Some(effect) = effect {
                self.approvals.apply_release_effect(*effect);
            }
            return Ok(guard);
        };
        guard.is_recorded = true;
        let refused = |decision: Decision| IntentFailure::Denied(Box::new(decision));
        Err(match (conflict_namespace(&error), release) {
            (Some(Namespace::Standing), Some(_)) => IntentFailure::StandingConflict,
            (Some(Namespace::Hold), Some(HoldRelease::Request { .. })) => {
                IntentFailure::RequestConflict
            }
            _ => refused(intent_denial(invocation, &error)),
        })
    }

    fn prepare_intent<'a, 'k>(
        &'k self,
        invocation: &'a AuthorizedInvocation<'_>,
        slot: &'a RunSlot,
        release: Option<&HoldRelease>,
    ) -> Result<PreparedIntent<'a, 'k>, IntentFailure> {
        let refused = |decision: Decision| IntentFailure::Denied(Box::new(decision));
        // Verified before, and checked again right before the commit.
        if self.decision_point.is_revoked(invocation.claims) {
            let detail = "the grant was revoked";
            return Err(refused(system_denial(invocation, ReasonCode::TokenRevoked, detail)));
        }
        if !self.decision_point.is_policy_unchanged(&invocation.decision) {
            let detail = "the policy has changed since the decision; ask again";
            return Err(refused(system_denial(invocation, ReasonCode::PolicyChanged, detail)));
        }
        let (open, call) = (open_call_record(invocation), invocation.call.clone());
        let used = match release {
            Some(release) => Some(
                self.approvals
                    .release_consumption(release)
                    .ok_or_else(|| refused(release_used_up(invocation)))?,
            ),
            None => None,
        };
        let payment = self.reserve_payment(invocation, slot, release)?;
        let provenance =
            self.results.argument_provenance(invocation, slot, payment).map_err(|error| {
                let detail = error.to_string();
                refused(system_denial(invocation, ReasonCode::InternalError, detail))
            })?;
        let capability = &invocation.target.capability;
        let effects = capability.spec().effects;
        let is_reviewed = release.is_some_and(|release| release.approval_request().is_some());
        let changes_state =
            effects.writes() || invocation.target.entry.changes_state(invocation.arguments);
        let delta = RunDelta {
            tool_calls: 1,
            unreviewed_writes: u64::from(changes_state && !is_reviewed),
            label: early_label(invocation),
            provenance: provenance.digests(),
            ..RunDelta::default()
        };
        let evidence = used.as_ref().map(|used| used.evidence.clone());
        let mut batch =
            self.intent_batch(invocation, &open, &delta, evidence).ok_or_else(|| {
                let detail = "the intent has no recordable form";
                refused(system_denial(invocation, ReasonCode::InternalError, detail))
            })?;
        batch.put.extend(provenance.puts.iter().cloned());
        if invocation.stream_outlet.is_some() || invocation.progress.is_some() {
            // Parts are shown before the end is recorded, so the mask table is recorded now.
            batch
                .put
                .extend(slot.masks().put_unless_recorded(&self.context.settings.tenant, &open.run));
        }
        let mut effect = None;
        if let Some(used) = used {
            batch = batch.join(used.batch);
            effect = Some(Box::new(used.effect));
        }
        let guard = Box::new(OpenCallGuard {
            recorder: &self.recorder,
            slot: slot.clone(),
            call,
            open,
            effects,
            is_recorded: false,
            sources_notified: false,
            is_cancellable: !effects.writes(),
            reservation: None,
            execution_time: Duration::ZERO,
            cost: Millicents(0),
            attempt_started: None,
        });
        let budget = Some(&invocation.caller.run.settings.budget);
        // Compared with the decision too; again here, as another call of the run may have written since.
        let seen_writes = release.and_then(HoldRelease::seen_writes);
        let run_update = RunUpdate {
            budget,
            seen_writes,
            ..RunUpdate::new(invocation.caller, slot, delta, batch)
        };
        Ok(PreparedIntent { run_update, guard, provenance, release_effect: effect })
    }

    /// Reserves the payment that the call makes. The decision found that it is no repeated one; that
    /// is checked again here, under the lock under which it is reserved, unless a person released
    /// this very call, or the policy only records such holds.
    fn reserve_payment(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        release: Option<&HoldRelease>,
    ) -> Result<Option<PaymentReservation>, IntentFailure> {
        let is_released = matches!(release, Some(HoldRelease::Request { .. }));
        if let Ok(payment) = self.results.reserve_payment(invocation, slot, is_released) {
            return Ok(payment);
        }
        let detail = "another call has made this payment since the decision; ask again";
        let (flow, reason) = (CheckKind::Flow, ReasonCode::UntrustedInfluence);
        let held = CheckResult::new(flow, Verdict::Hold, reason, detail);
        let held = held.with_remedy(Remedy::Approval);
        let decision = self.context.policy().with_limit_result(invocation.decision.clone(), held);
        if !decision.is_allowed() {
            return Err(IntentFailure::Denied(Box::new(decision)));
        }
        Ok(self.results.reserve_payment(invocation, slot, true).ok().flatten())
    }

    /// Reads a standing approval again that another call has used, to count from its remaining
    /// uses.
    fn reload_standing_release(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        release: Option<&mut HoldRelease>,
    ) -> Result<(), Box<Decision>> {
        let Some(HoldRelease::Standing { record: used, .. }) = release else {
            return Err(Box::new(release_used_up(invocation)));
        };
        match self.approvals.reload_standing_approval(&used.state.standing_approval().id) {
            Ok(Some(now)) => {
                **used = now;
                Ok(())
            }
            Ok(None) => Err(Box::new(release_used_up(invocation))),
            Err(error) => {
                let reason = ReasonCode::LedgerUnavailable;
                Err(Box::new(system_denial(invocation, reason, error.to_string())))
            }
        }
    }

    /// Reads the request of a call again that somebody has answered or used meanwhile. Another
    /// answer takes nothing from a grant.
    fn reload_request_release(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        release: Option<&mut HoldRelease>,
    ) -> Result<(), Box<Decision>> {
        if let Some(HoldRelease::Request { hold, .. }) = release {
            let id = hold.open.request.id.clone();
            // Whoever changed the request may not have updated the table yet.
            let _ = self.approvals.reload_request(&id, hold);
            let newer = self.approvals.holds.get(&id).filter(|now| now.version > hold.version);
            if let Some(newer) = newer {
                *hold = newer;
                return Ok(());
            }
        }
        Err(Box::new(release_used_up(invocation)))
    }

    fn intent_batch(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        open: &OpenCall,
        delta: &RunDelta,
        release: Option<Value>,
    ) -> Option<Batch> {
        let tenant = &self.context.settings.tenant;
        let capability = &invocation.target.capability;
        let writes = capability.spec().effects.writes();
        let durability = if writes { Durability::Disk } else { Durability::Os };
        let args = match &invocation.target.arguments {
            Some(args) => {
                let as_written = invocation.masks.map(|masks| &masks.as_written);
                let (value, random) = (invocation.arguments, self.context.random.as_ref());
                Some(record_arguments(value, as_written, args, &self.context.firewall, random)?)
            }
            None => None,
        };
        let (request, decision) = (invocation.request, &invocation.decision);
        let mut record = DecisionRecord::new(
            invocation.caller, request, decision, delta, &self.context.firewall,
        );
        record.describe_capability(capability, &invocation.target.contract);
        record.decision_key = DecisionKey::ToolDispatch;
        record.token = Some(&invocation.claims.token_id);
        record.driver = Some(invocation.target.entry.driver.name());
        record.mode = Some(invocation.effective_mode());
        record.worst_label = Some(&open.worst);
        record.arguments = args;
        record.repaired = invocation.repairs;
        record.released_by = release;
        let event = record_event(
            &record,
            EventKind::Intent,
            invocation.counted_at,
            &open.run,
            Some(&invocation.call),
        )?;
        let mut batch = Batch::new(durability);
        if invocation.token_holder == TokenHolder::Host {
            let token = &invocation.claims.token_id;
            let used = RecordKey::new(tenant.clone(), Namespace::TokenUse, token);
            batch = batch.create(used, b"1".to_vec(), Some(invocation.claims.expires_at));
        }
        let opened = RecordKey::new(tenant.clone(), Namespace::OpenCall, &invocation.call);
        Some(batch.create(opened, open.to_bytes()?, None).with_event(event))
    }
}

/// The record of the call while its end is not recorded.
fn open_call_record(invocation: &AuthorizedInvocation<'_>) -> OpenCall {
    let capability = &invocation.target.capability;
    let (latency_us, cost) =
        invocation.reservation.as_ref().map(BudgetReservation::worst_case).unwrap_or_default();
    OpenCall {
        v: 1,
        latency_us,
        cost: cost.0,
        run: invocation.caller.run.run_id.clone(),
        principal: invocation.caller.principal.id.clone(),
        capability: capability.id().clone(),
        worst: invocation.worst_label.clone(),
        tokens: invocation
            .stream_outlet
            .as_ref()
            .map_or(0, |_| invocation.token_allotment.reserved_tokens()),
    }
}

/// Parts of a stream and progress messages are shown before the outcome is recorded, so the run
/// takes on their label with the intent.
fn early_label(invocation: &AuthorizedInvocation<'_>) -> Option<Label> {
    let mode = invocation.effective_mode();
    let outlets = invocation.stream_outlet.is_some() || invocation.progress.is_some();
    let early = outlets && mode <= ResponseMode::Table;
    early.then(|| {
        result_label::frame_label(&invocation.target.capability, mode, &invocation.worst_label)
    })
}

/// An intent before its commit.
struct PreparedIntent<'a, 'k> {
    run_update: RunUpdate<'a>,
    guard: Box<OpenCallGuard<'k>>,
    /// The provenance update of the run, applied after the commit.
    provenance: ProvenanceUpdate,
    /// The effect of the consumed release, applied after the commit.
    release_effect: Option<Box<ReleaseEffect>>,
}

/// Why an intent was not committed.
enum IntentFailure {
    Denied(Box<Decision>),
    /// Another call used the same standing approval first.
    StandingConflict,
    /// The request was answered once more, used or ended first.
    RequestConflict,
}

fn conflict_namespace(error: &RunUpdateError) -> Option<Namespace> {
    match error {
        RunUpdateError::Ledger(LedgerError::Conflict { key }) => Some(key.namespace),
        _ => None,
    }
}

/// The decision when another call has consumed the release.
fn release_used_up(invocation: &AuthorizedInvocation<'_>) -> Decision {
    match invocation.release.as_deref() {
        Some(HoldRelease::Standing { record: used, .. }) => {
            let id = &used.state.standing_approval().id;
            let detail = format!("the standing approval `{id}` has no use left; ask again");
            let reason = ReasonCode::ApprovalRequired;
            let check_result = CheckResult::new(CheckKind::Rule, Verdict::Hold, reason, detail);
            invocation.decision.clone().joined_with(check_result)
        }
        release => {
            let id = release.and_then(HoldRelease::request);
            let id = id.map_or("unknown", |id| id.as_str());
            let detail = format!("the approval `{id}` was used by another call, or has ended");
            system_denial(invocation, ReasonCode::TokenUsed, detail)
        }
    }
}

fn intent_denial(invocation: &AuthorizedInvocation<'_>, error: &RunUpdateError) -> Decision {
    match error {
        RunUpdateError::Budget(_) => {
            let (limit, reason) = (CheckKind::Limit, ReasonCode::BudgetExceeded);
            let check_result = CheckResult::new(limit, Verdict::Deny, reason, error.to_string());
            invocation.decision.clone().joined_with(check_result)
        }
        RunUpdateError::UnreviewedWrite => invocation.decision.clone().joined_with(write_denial()),
        _ if conflict_namespace(error) == Some(Namespace::TokenUse) => {
            let detail = "the token was used before";
            system_denial(invocation, ReasonCode::TokenUsed, detail)
        }
        RunUpdateError::Ledger(error) => {
            system_denial(invocation, ReasonCode::LedgerUnavailable, error.to_string())
        }
    }
}

fn system_denial(
    invocation: &AuthorizedInvocation<'_>,
    reason: ReasonCode,
    detail: impl AsRef<str>,
) -> Decision {
    let check_result = CheckResult::new(CheckKind::System, Verdict::Deny, reason, detail);
    invocation.decision.clone().joined_with(check_result)
}
