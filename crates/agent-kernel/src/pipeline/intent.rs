//! The one commit before the effect: decision, token use, charge and intent in one batch.

use serde_json::json;
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, RecordKey};
use weaver_types::{Check, Contribution, Decision, DecisionKey, EventKind, ReasonCode, Verdict};

use super::invoke::Ready;
use super::label;
use super::transition::{Step, StepError};
use super::unfinished::{OpenCall, Watch};
use crate::hot_run::RunSlot;
use crate::kernel::Kernel;
use crate::record::{Payload, arguments};
use crate::run_state::RunDelta;

impl Kernel {
    /// Commits the intent. Until it is committed nothing is executed; when it cannot be, the
    /// decision that comes back is a denial.
    pub(crate) async fn commit_intent(
        &self,
        ready: &Ready<'_>,
        slot: &RunSlot,
    ) -> Result<Watch<'_>, Decision> {
        let deny = |check, reason, detail: String| {
            let said = Contribution::new(check, Verdict::Deny, reason, detail);
            ready.decision.clone().tightened(said)
        };
        let delta = RunDelta { tool_calls: 1, ..RunDelta::default() };
        let open = self.open_call(ready);
        let Some(batch) = self.intent_batch(ready, &open, &delta) else {
            let detail = "the intent has no recordable form".to_owned();
            return Err(deny(Check::System, ReasonCode::InternalError, detail));
        };
        let call = ready.call.clone();
        let mut watch = Watch { kernel: self, slot: slot.clone(), call, open, over: false };
        let budget = Some(&ready.caller.run.settings.budget);
        let step = Step { budget, ..Step::new(ready.caller, slot, delta, batch) };
        let Err(error) = self.step(step).await else {
            self.pending.remove(&ready.claims.token_id);
            return Ok(watch);
        };
        watch.over = true;
        Err(match error {
            StepError::Budget(_) => {
                deny(Check::Limit, ReasonCode::BudgetExceeded, error.to_string())
            }
            StepError::Ledger(LedgerError::Conflict { key })
                if key.namespace == Namespace::TokenUse =>
            {
                let detail = "the token was used before".to_owned();
                deny(Check::System, ReasonCode::TokenUsed, detail)
            }
            StepError::Ledger(error) => {
                deny(Check::System, ReasonCode::LedgerUnavailable, error.to_string())
            }
        })
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

    fn intent_batch(&self, ready: &Ready<'_>, open: &OpenCall, delta: &RunDelta) -> Option<Batch> {
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
