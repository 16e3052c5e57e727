//! The one commit before the effect: decision, token use, charge and intent in one batch.

use serde::{Deserialize, Serialize};
use serde_json::json;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, RecordKey};
use weaver_types::{
    CapabilityId, Check, Contribution, Decision, DecisionKey, EventKind, Label, PrincipalId,
    ReasonCode, RunId, Verdict,
};

use super::invoke::Ready;
use crate::kernel::Kernel;
use crate::record::{Payload, arguments};
use crate::run_state::{RunDelta, RunSlot, lock};

/// A call whose end is not recorded yet, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenCall {
    pub(crate) v: u8,
    pub(crate) run: RunId,
    pub(crate) principal: PrincipalId,
    pub(crate) capability: CapabilityId,
    /// The label that the run takes if the end is never seen.
    pub(crate) worst: Label,
}

impl Kernel {
    /// Commits the intent. Until its ticket is done nothing is executed; when it cannot be done,
    /// the decision that comes back is a denial.
    pub(crate) async fn commit_intent(
        &self,
        ready: &Ready<'_>,
        slot: &RunSlot,
    ) -> Result<(), Decision> {
        let deny = |check, reason, detail: String| {
            Err(ready.decision.clone().tightened(Contribution::new(
                check,
                Verdict::Deny,
                reason,
                detail,
            )))
        };
        let delta = RunDelta { tool_calls: 1, ..RunDelta::default() };
        let Some(batch) = self.intent_batch(ready, &delta) else {
            return deny(
                Check::System,
                ReasonCode::InternalError,
                "the intent has no recordable form".to_owned(),
            );
        };
        let submitted = {
            let Some(mut hot) = lock(slot) else {
                return deny(
                    Check::System,
                    ReasonCode::InternalError,
                    "the run's state is unusable".to_owned(),
                );
            };
            // Decided before; decided again now that nobody else can charge the run.
            if let Some(cap) = hot.state.meters.exceeded(&ready.caller.run.settings.budget) {
                return deny(
                    Check::Limit,
                    ReasonCode::BudgetExceeded,
                    format!("the run's cap `{cap}` is used up"),
                );
            }
            self.step_locked(ready.caller, &mut hot, &delta, batch)
        };
        let outcome = match submitted {
            Ok(ticket) => ticket.await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(_) => {
                self.pending.remove(&ready.claims.token_id);
                Ok(())
            }
            Err(error) => {
                // Nothing was executed: take the charge back. The refusal's batch writes the state.
                if let Some(mut hot) = lock(slot) {
                    hot.state.meters.tool_calls = hot.state.meters.tool_calls.saturating_sub(1);
                }
                match error {
                    LedgerError::Conflict { key } if key.namespace == Namespace::TokenUse => deny(
                        Check::System,
                        ReasonCode::TokenUsed,
                        "the token was used before".to_owned(),
                    ),
                    error => deny(Check::System, ReasonCode::LedgerUnavailable, error.to_string()),
                }
            }
        }
    }

    fn intent_batch(&self, ready: &Ready<'_>, delta: &RunDelta) -> Option<Batch> {
        let tenant = &self.settings.tenant;
        let capability = &ready.target.capability;
        let durability =
            if capability.spec().effects.writes() { Durability::Disk } else { Durability::Os };
        let worst = capability.spec().output_label.clone().tainted_by(&ready.call);
        let args = match &ready.target.arguments {
            Some(args) => Some(arguments(args, &self.firewall, self.random.as_ref())?),
            None => None,
        };
        let event = Payload::new()
            .key(DecisionKey::ToolDispatch)
            .who(ready.caller.principal)
            .what(capability)
            .asked(ready.request, &self.firewall)
            .decided(&ready.decision)
            .with("token", json!(ready.claims.token_id))
            .with("driver", json!(ready.target.entry.driver.name()))
            .with("mode", json!(ready.effective_mode()))
            .with("worst_label", json!(worst))
            .maybe("arguments", args)
            .run(delta)
            .event(
                EventKind::Intent,
                self.clock.now(),
                &ready.caller.run.run_id,
                Some(&ready.call),
            )?;
        let open = OpenCall {
            v: 1,
            run: ready.caller.run.run_id.clone(),
            principal: ready.caller.principal.id.clone(),
            capability: capability.id().clone(),
            worst,
        };
        let open = canonical::of(&open, Profile::Record).ok()?;
        let used =
            RecordKey::new(tenant.clone(), Namespace::TokenUse, ready.claims.token_id.as_str());
        let open_key = RecordKey::new(tenant.clone(), Namespace::OpenCall, ready.call.as_str());
        Some(
            Batch::new(durability)
                .create(used, b"1".to_vec(), Some(ready.claims.expires_at))
                .create(open_key, open, None)
                .with_event(event),
        )
    }
}
