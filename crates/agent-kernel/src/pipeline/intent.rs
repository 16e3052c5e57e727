//! The one commit before the effect: decision, token use, charge and intent in one batch.

use serde_json::{Value, json};
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, RecordKey};
use weaver_types::{Check, Contribution, Decision, DecisionKey, EventKind, ReasonCode, Verdict};

use super::invoke::Ready;
use super::label;
use super::resume::Released;
use super::transition::{Step, StepError};
use super::unfinished::{OpenCall, Watch};
use crate::hot_run::RunSlot;
use crate::kernel::Kernel;
use crate::record::{Payload, arguments};
use crate::run_state::RunDelta;

/// How often a use of a standing approval is counted again because others use it too.
const MAX_TRIES: usize = 1_024;

impl Kernel {
    /// Commits the intent. Until it is committed nothing is executed; when it cannot be, the
    /// decision that comes back is a denial.
    pub(crate) async fn commit_intent(
        &self,
        ready: &Ready<'_>,
        slot: &RunSlot,
    ) -> Result<Watch<'_>, Decision> {
        let mut released = ready.released.as_deref().cloned();
        let open = self.open_call(ready);
        for _ in 0..MAX_TRIES {
            let delta = RunDelta { tool_calls: 1, ..RunDelta::default() };
            let used = match &released {
                Some(released) => Some(self.consumption(released).ok_or_else(|| gone(ready))?),
                None => None,
            };
            let told = used.as_ref().map(|used| used.told.clone());
            let Some(mut batch) = self.intent_batch(ready, &open, &delta, told) else {
                let detail = "the intent has no recordable form".to_owned();
                return Err(deny(ready, Check::System, ReasonCode::InternalError, detail));
            };
            let noted = used.map(|used| {
                batch = std::mem::take(&mut batch).join(used.batch);
                used.noted
            });
            let (call, open) = (ready.call.clone(), open.clone());
            let effects = ready.target.capability.spec().effects;
            let slot_of = slot.clone();
            let mut watch = Watch {
                kernel: self,
                slot: slot_of,
                call,
                open,
                effects,
                over: false,
                told: false,
            };
            let budget = Some(&ready.caller.run.settings.budget);
            let step = Step { budget, ..Step::new(ready.caller, slot, delta, batch) };
            let Err(error) = self.step(step).await else {
                self.pending.remove(&ready.claims.token_id);
                if let Some(noted) = noted {
                    self.consumed(noted);
                }
                return Ok(watch);
            };
            watch.over = true;
            let StepError::Ledger(LedgerError::Conflict { key }) = &error else {
                return Err(not_committed(ready, &error));
            };
            match (key.namespace, &mut released) {
                // Others use the same standing approval: count on what they left.
                (Namespace::Standing, Some(Released::Standing { used, .. })) => {
                    let id = used.state.standing().id.clone();
                    match self.reload_standing(&id) {
                        Ok(Some(now)) => **used = now,
                        Ok(None) => return Err(gone(ready)),
                        Err(error) => {
                            let reason = ReasonCode::LedgerUnavailable;
                            return Err(deny(ready, Check::System, reason, error.to_string()));
                        }
                    }
                }
                (Namespace::Hold, _) => return Err(gone(ready)),
                _ => return Err(not_committed(ready, &error)),
            }
        }
        let detail = "the standing approval changes too fast; try again".to_owned();
        Err(deny(ready, Check::System, ReasonCode::LedgerUnavailable, detail))
    }

    fn open_call(&self, ready: &Ready<'_>) -> OpenCall {
        let capability = &ready.target.capability;
        OpenCall {
            v: 1,
            run: ready.caller.run.run_id.clone(),
            principal: ready.caller.principal.id.clone(),
            capability: capability.id().clone(),
            worst: label::stored(capability, &ready.call),
        }
    }

    fn intent_batch(
        &self,
        ready: &Ready<'_>,
        open: &OpenCall,
        delta: &RunDelta,
        released: Option<Value>,
    ) -> Option<Batch> {
        let tenant = &self.settings.tenant;
        let capability = &ready.target.capability;
        let writes = capability.spec().effects.writes();
        let durability = if writes { Durability::Disk } else { Durability::Os };
        let args = match &ready.target.arguments {
            Some(args) => Some(arguments(args, &self.firewall, self.random.as_ref())?),
            None => None,
        };
        let event = Payload::new()
            .key(DecisionKey::ToolDispatch)
            .who(ready.caller.principal)
            .what(capability)
            .asked(ready.request, &self.firewall)
            .decided(&ready.decision, &self.firewall)
            .with("token", json!(ready.claims.token_id))
            .with("driver", json!(ready.target.entry.driver.name()))
            .with("mode", json!(ready.effective_mode()))
            .with("worst_label", json!(open.worst))
            .maybe("arguments", args)
            .maybe("released_by", released)
            .run(delta)
            .event(EventKind::Intent, self.now(), &open.run, Some(&ready.call))?;
        let token = &ready.claims.token_id;
        let used = RecordKey::new(tenant.clone(), Namespace::TokenUse, token.as_str());
        let opened = RecordKey::new(tenant.clone(), Namespace::OpenCall, ready.call.as_str());
        Some(
            Batch::new(durability)
                .create(used, b"1".to_vec(), Some(ready.claims.expires_at))
                .create(opened, open.to_bytes()?, None)
                .with_event(event),
        )
    }
}

/// Another call has used up what released this one.
fn gone(ready: &Ready<'_>) -> Decision {
    match ready.released.as_deref() {
        Some(Released::Standing { used, .. }) => {
            let id = &used.state.standing().id;
            let detail = format!("the standing approval `{id}` has no use left; ask again");
            let reason = ReasonCode::ApprovalRequired;
            let said = Contribution::new(Check::Rule, Verdict::Hold, reason, detail);
            ready.decision.clone().tightened(said)
        }
        released => {
            let id = released.and_then(Released::request);
            let id = id.map_or("unknown", |id| id.as_str());
            let detail = format!("the approval `{id}` was used by another call, or is over");
            deny(ready, Check::System, ReasonCode::TokenUsed, detail)
        }
    }
}

fn not_committed(ready: &Ready<'_>, error: &StepError) -> Decision {
    match error {
        StepError::Budget(_) => {
            deny(ready, Check::Limit, ReasonCode::BudgetExceeded, error.to_string())
        }
        StepError::Ledger(LedgerError::Conflict { key })
            if key.namespace == Namespace::TokenUse =>
        {
            let detail = "the token was used before".to_owned();
            deny(ready, Check::System, ReasonCode::TokenUsed, detail)
        }
        StepError::Ledger(error) => {
            deny(ready, Check::System, ReasonCode::LedgerUnavailable, error.to_string())
        }
    }
}

fn deny(ready: &Ready<'_>, check: Check, reason: ReasonCode, detail: String) -> Decision {
    let said = Contribution::new(check, Verdict::Deny, reason, detail);
    ready.decision.clone().tightened(said)
}
