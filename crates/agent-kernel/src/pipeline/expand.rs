//! Drilling down into a stored result: decided anew, redacted anew, recorded before it is shown.

use serde_json::json;
use weaver_firewall::handle::{self, HandleRecord};
use weaver_firewall::{FrameSpec, HandleError, HandleQuery};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, Check, Contribution, Decision, EventKind, Frame,
    HandleId, Operation, ReasonCode, ResponseMode, SafetyMode, ToolResult, Verdict,
};

use super::Invocation;
use super::evaluate::{Evaluated, denied};
use super::grant::{early, unnamed};
use super::refuse::span_id;
use crate::kernel::{Caller, Kernel};
use crate::record::Payload;
use crate::revocation::Granted;
use crate::run_state::{RunDelta, RunSlot};

impl Kernel {
    /// Shows more of a stored result: rows or facts, under the rules of the first call and those
    /// in force now.
    pub async fn expand(
        &self,
        caller: Caller<'_>,
        id: &HandleId,
        query: &HandleQuery,
    ) -> Invocation {
        let Ok(call) = CallId::random(self.random.as_ref()) else {
            let detail = "no randomness for a call id";
            let decision = denied(&self.policy(), Check::System, ReasonCode::InternalError, detail);
            return Invocation { call: unnamed(), decision, result: None };
        };
        let record = match self.find(caller, id) {
            Ok(record) => record,
            Err(error) => return self.refuse_view(caller, call, id, &error, None).await,
        };
        let request = CapabilityRequest::new(record.handle.capability_id.clone(), "");
        let evaluated = self.evaluate(caller, &request, None, Operation::View);
        let (Some(target), Some(slot), true) =
            (&evaluated.target, evaluated.slot.clone(), evaluated.decision.allowed())
        else {
            let decision = self.refuse(caller, &request, &call, evaluated).await;
            return self.refused(caller, &request, call, decision);
        };
        let limits = record
            .tighten(evaluated.decision.constraints(), caller.principal.has_role("pii_reader"));
        let spec = FrameSpec {
            call: &call,
            capability: &target.capability,
            mode: ResponseMode::Table,
            budget: self.settings.frame_budget,
            constraints: &limits,
            pii_reader: caller.principal.has_role("pii_reader"),
            handle: Some(record.handle.clone()),
            label: record.label.clone(),
            now: self.clock.now(),
            strict: caller.run.settings.safety_mode == SafetyMode::Strict,
        };
        let frame = handle::content(&record, self.blobs.as_ref())
            .and_then(|raw| self.firewall.expand(&raw, query, &spec));
        match frame {
            Ok(frame) => self.show(caller, call.clone(), evaluated, slot, frame).await,
            Err(error) => {
                self.refuse_view(caller, call.clone(), id, &error, Some(evaluated.decision)).await
            }
        }
    }

    fn find(&self, caller: Caller<'_>, id: &HandleId) -> Result<HandleRecord, HandleError> {
        let stored = self.ledger.read(&handle::key(&self.settings.tenant, id))?;
        let access = handle::Access {
            tenant: &caller.principal.tenant,
            principal: &caller.principal.id,
            now: self.clock.now(),
        };
        let record = handle::load(id, stored.as_ref(), access)?;
        let granted = Granted {
            principal: &record.principal,
            run: &record.run,
            token: None,
            at: record.handle.created_at,
        };
        if self.revocations.covers(&granted) {
            return Err(HandleError::Revoked { id: id.clone() });
        }
        Ok(record)
    }

    async fn show(
        &self,
        caller: Caller<'_>,
        call: CallId,
        evaluated: Evaluated,
        slot: RunSlot,
        frame: Frame,
    ) -> Invocation {
        let delta = RunDelta { label: Some(frame.label.clone()), ..RunDelta::default() };
        let capability = frame.capability_id.clone();
        let event = Payload::new()
            .who(caller.principal)
            .with("capability", json!(capability))
            .with("handle", json!(frame.handle.as_ref().map(|handle| &handle.handle_id)))
            .decided(&evaluated.decision)
            .with("rows", json!(frame.table.len()))
            .with("facts", json!(frame.facts.len()))
            .with("warnings", json!(frame.warnings))
            .run(&delta)
            .event(EventKind::HandleResolved, self.clock.now(), &caller.run.run_id, Some(&call));
        let recorded = match event {
            Some(event) => {
                match self.step(caller, &slot, &delta, Batch::new(Durability::Os).with_event(event))
                {
                    Ok(ticket) => ticket.await.map(|_| ()).map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                }
            }
            None => Err("the view has no recordable form".to_owned()),
        };
        if let Err(problem) = recorded {
            let decision = evaluated.decision.tightened(Contribution::new(
                Check::System,
                Verdict::Deny,
                ReasonCode::LedgerUnavailable,
                problem,
            ));
            return self.refused(caller, &CapabilityRequest::new(capability, ""), call, decision);
        }
        let mut result = ToolResult::ok(call.clone(), capability, frame);
        result.trace_id = caller.run.trace_id.clone();
        result.span_id = span_id(&call);
        Invocation { call, decision: evaluated.decision, result: Some(result) }
    }

    async fn refuse_view(
        &self,
        caller: Caller<'_>,
        call: CallId,
        id: &HandleId,
        error: &HandleError,
        decision: Option<Decision>,
    ) -> Invocation {
        let said =
            Contribution::new(Check::System, Verdict::Deny, error.reason(), error.to_string());
        let decision = match decision {
            Some(decision) => decision.tightened(said),
            None => Decision::join(vec![said], self.policy().basis().clone()),
        };
        let Ok(name) = CapabilityId::parse(format!("handle:{id}")) else {
            return Invocation { call, decision, result: None };
        };
        let request = CapabilityRequest::new(name, "");
        let slot =
            self.runs.slot(&self.settings.tenant, &caller.run.run_id, self.ledger.as_ref()).ok();
        let decision = self.refuse(caller, &request, &call, early(decision, slot)).await;
        self.refused(caller, &request, call, decision)
    }
}
