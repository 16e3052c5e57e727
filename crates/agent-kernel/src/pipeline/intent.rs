//! The one commit before the effect: decision, token use, charge and intent in one batch.

use std::time::Duration;

use serde_json::Value;
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, RecordKey};
use weaver_types::{
    Check, Contribution, Decision, DecisionKey, EventKind, Label, Millicents, ReasonCode,
    ResponseMode, Verdict,
};

use super::authorized_invocation::{AuthorizedInvocation, TokenHolder};
use super::decision_record::DecisionRecord;
use super::label;
use super::provenance_updates::ProvenanceUpdate;
use super::resume::HoldRelease;
use super::standing_release::ReleaseEffect;
use super::transition::{Step, StepError};
use super::unfinished_calls::OpenCallGuard;
use crate::budget_reservation::BudgetReservation;
use crate::cached_run::RunSlot;
use crate::kernel::Kernel;
use crate::open_call::OpenCall;
use crate::record::{arguments, event};
use crate::run_state::RunDelta;

/// How often a use of a standing approval is counted again because others use it too.
const MAX_TRIES: usize = 1_024;

impl Kernel {
    /// Commits the intent. Until it is committed nothing is executed; when it cannot be, the
    /// decision that comes back is a denial.
    pub(crate) async fn commit_intent(
        &self,
        ready: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Result<Box<OpenCallGuard<'_>>, Box<Decision>> {
        if let Err(error) = self.record_ends().await {
            return Err(Box::new(not_committed(ready, &error)));
        }
        let mut released = ready.released.clone();
        for _ in 0..MAX_TRIES {
            match self.try_intent(ready, slot, released.as_deref()).await {
                Ok(watch) => return Ok(watch),
                Err(IntentRefusal::Refused(decision)) => return Err(decision),
                Err(IntentRefusal::Shared) => {
                    self.count_again(ready, released.as_deref_mut())?;
                }
            }
        }
        let detail = "the standing approval changes too fast; try again".to_owned();
        let reason = ReasonCode::LedgerUnavailable;
        Err(Box::new(deny(ready, Check::System, reason, detail)))
    }

    async fn try_intent(
        &self,
        ready: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
        released: Option<&HoldRelease>,
    ) -> Result<Box<OpenCallGuard<'_>>, IntentRefusal> {
        let PreparedIntent { step, mut watch, written, noted } =
            self.prepare_intent(ready, slot, released)?;
        let Err(error) = self.step(step).await else {
            self.pending.remove(&ready.claims.token_id);
            written.take(slot);
            if let Some(noted) = noted {
                self.consumed(*noted);
            }
            return Ok(watch);
        };
        watch.over = true;
        let refused = |decision: Decision| IntentRefusal::Refused(Box::new(decision));
        Err(match (conflicting(&error), released) {
            (Some(Namespace::Standing), Some(_)) => IntentRefusal::Shared,
            (Some(Namespace::Hold), Some(HoldRelease::Request { hold, .. })) => {
                // The call that used it may not have updated memory yet.
                let _ = self.reload(&hold.open.request.id, hold);
                refused(gone(ready))
            }
            _ => refused(not_committed(ready, &error)),
        })
    }

    fn prepare_intent<'a, 'k>(
        &'k self,
        ready: &'a AuthorizedInvocation<'_>,
        slot: &'a RunSlot,
        released: Option<&HoldRelease>,
    ) -> Result<PreparedIntent<'a, 'k>, IntentRefusal> {
        let refused = |decision: Decision| IntentRefusal::Refused(Box::new(decision));
        // Verified before; looked at again, now that the next thing is the commit.
        if self.is_revoked(ready.claims) {
            let detail = "the grant was revoked".to_owned();
            return Err(refused(deny(ready, Check::System, ReasonCode::TokenRevoked, detail)));
        }
        let (open, call) = (self.open_call(ready), ready.call.clone());
        let used = match released {
            Some(released) => Some(self.consumption(released).ok_or_else(|| refused(gone(ready)))?),
            None => None,
        };
        let written = self.argument_provenance(ready, slot).map_err(|error| {
            let detail = error.to_string();
            refused(deny(ready, Check::System, ReasonCode::InternalError, detail))
        })?;
        let delta = RunDelta {
            tool_calls: 1,
            label: shown_early(ready),
            provenance: written.digests(),
            ..RunDelta::default()
        };
        let evidence = used.as_ref().map(|used| used.evidence.clone());
        let mut batch = self.intent_batch(ready, &open, &delta, evidence).ok_or_else(|| {
            let detail = "the intent has no recordable form".to_owned();
            refused(deny(ready, Check::System, ReasonCode::InternalError, detail))
        })?;
        batch.put.extend(written.puts.iter().cloned());
        if ready.outlet.is_some() || ready.progress.is_some() {
            // Parts are shown before the end is recorded.
            batch.put.extend(slot.masks().put_now(&self.settings.tenant, &open.run));
        }
        let mut noted = None;
        if let Some(used) = used {
            batch = batch.join(used.batch);
            noted = Some(Box::new(used.noted));
        }
        let watch = Box::new(OpenCallGuard {
            kernel: self,
            slot: slot.clone(),
            call,
            open,
            effects: ready.target.capability.spec().effects,
            over: false,
            reported: false,
            harmless: false,
            reservation: None,
            spent: Duration::ZERO,
            paid: Millicents(0),
            begun: None,
        });
        let budget = Some(&ready.caller.run.settings.budget);
        let step = Step { budget, ..Step::new(ready.caller, slot, delta, batch) };
        Ok(PreparedIntent { step, watch, written, noted })
    }

    /// Other calls use the same standing approval: recount from the uses they left.
    fn count_again(
        &self,
        ready: &AuthorizedInvocation<'_>,
        released: Option<&mut HoldRelease>,
    ) -> Result<(), Box<Decision>> {
        let Some(HoldRelease::Standing { used, .. }) = released else {
            return Err(Box::new(gone(ready)));
        };
        match self.reload_standing(&used.state.standing().id) {
            Ok(Some(now)) => {
                **used = now;
                Ok(())
            }
            Ok(None) => Err(Box::new(gone(ready))),
            Err(error) => {
                let (check, reason) = (Check::System, ReasonCode::LedgerUnavailable);
                Err(Box::new(deny(ready, check, reason, error.to_string())))
            }
        }
    }

    fn open_call(&self, ready: &AuthorizedInvocation<'_>) -> OpenCall {
        let capability = &ready.target.capability;
        let (latency_us, cost) =
            ready.reservation.as_ref().map(BudgetReservation::at_worst).unwrap_or_default();
        OpenCall {
            v: 1,
            latency_us,
            cost: cost.0,
            run: ready.caller.run.run_id.clone(),
            principal: ready.caller.principal.id.clone(),
            capability: capability.id().clone(),
            worst: ready.worst.clone(),
            tokens: ready.outlet.as_ref().map_or(0, |_| ready.share.held()),
        }
    }

    fn intent_batch(
        &self,
        ready: &AuthorizedInvocation<'_>,
        open: &OpenCall,
        delta: &RunDelta,
        released: Option<Value>,
    ) -> Option<Batch> {
        let tenant = &self.settings.tenant;
        let capability = &ready.target.capability;
        let writes = capability.spec().effects.writes();
        let durability = if writes { Durability::Disk } else { Durability::Os };
        let args = match &ready.target.arguments {
            Some(args) => {
                let given = ready.masks.map(|masks| &masks.given);
                let (value, random) = (ready.arguments, self.random.as_ref());
                Some(arguments(value, given, args, &self.firewall, random)?)
            }
            None => None,
        };
        let (request, decision) = (ready.request, &ready.decision);
        let mut judged =
            DecisionRecord::new(ready.caller, request, decision, delta, &self.firewall);
        judged.about(capability, &ready.target.contract);
        judged.decision_key = DecisionKey::ToolDispatch;
        judged.token = Some(&ready.claims.token_id);
        judged.driver = Some(ready.target.entry.driver.name());
        judged.mode = Some(ready.effective_mode());
        judged.worst_label = Some(&open.worst);
        judged.arguments = args;
        judged.repaired = ready.repaired;
        judged.released_by = released;
        let event = event(&judged, EventKind::Intent, ready.counted, &open.run, Some(&ready.call))?;
        let mut batch = Batch::new(durability);
        if ready.holder == TokenHolder::Host {
            let token = &ready.claims.token_id;
            let used = RecordKey::new(tenant.clone(), Namespace::TokenUse, token);
            batch = batch.create(used, b"1".to_vec(), Some(ready.claims.expires_at));
        }
        let opened = RecordKey::new(tenant.clone(), Namespace::OpenCall, &ready.call);
        Some(batch.create(opened, open.to_bytes()?, None).with_event(event))
    }
}

/// Parts of a stream and words of progress are shown before the outcome is recorded, so their label
/// is taken on now.
fn shown_early(ready: &AuthorizedInvocation<'_>) -> Option<Label> {
    let mode = ready.effective_mode();
    let outlets = ready.outlet.is_some() || ready.progress.is_some();
    let early = outlets && mode <= ResponseMode::Table;
    early.then(|| label::framed(&ready.target.capability, mode, &ready.worst))
}

/// An intent before its commit.
struct PreparedIntent<'a, 'k> {
    step: Step<'a>,
    watch: Box<OpenCallGuard<'k>>,
    /// What the run then knows of its values.
    written: ProvenanceUpdate,
    /// What memory then has to know of what released the call.
    noted: Option<Box<ReleaseEffect>>,
}

/// Why an intent was not taken.
enum IntentRefusal {
    Refused(Box<Decision>),
    /// Another call has used the same standing approval.
    Shared,
}

fn conflicting(error: &StepError) -> Option<Namespace> {
    match error {
        StepError::Ledger(LedgerError::Conflict { key }) => Some(key.namespace),
        _ => None,
    }
}

/// Another call has used up what released this one.
fn gone(ready: &AuthorizedInvocation<'_>) -> Decision {
    match ready.released.as_deref() {
        Some(HoldRelease::Standing { used, .. }) => {
            let id = &used.state.standing().id;
            let detail = format!("the standing approval `{id}` has no use left; ask again");
            let reason = ReasonCode::ApprovalRequired;
            let said = Contribution::new(Check::Rule, Verdict::Hold, reason, detail);
            ready.decision.clone().tightened(said)
        }
        released => {
            let id = released.and_then(HoldRelease::request);
            let id = id.map_or("unknown", |id| id.as_str());
            let detail = format!("the approval `{id}` was used by another call, or is over");
            deny(ready, Check::System, ReasonCode::TokenUsed, detail)
        }
    }
}

fn not_committed(ready: &AuthorizedInvocation<'_>, error: &StepError) -> Decision {
    match error {
        StepError::Budget(_) => {
            deny(ready, Check::Limit, ReasonCode::BudgetExceeded, error.to_string())
        }
        _ if conflicting(error) == Some(Namespace::TokenUse) => {
            let detail = "the token was used before".to_owned();
            deny(ready, Check::System, ReasonCode::TokenUsed, detail)
        }
        StepError::Ledger(error) => {
            deny(ready, Check::System, ReasonCode::LedgerUnavailable, error.to_string())
        }
    }
}

fn deny(
    ready: &AuthorizedInvocation<'_>,
    check: Check,
    reason: ReasonCode,
    detail: String,
) -> Decision {
    let said = Contribution::new(check, Verdict::Deny, reason, detail);
    ready.decision.clone().tightened(said)
}
