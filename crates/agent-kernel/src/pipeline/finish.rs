//! Finishes a call: stores the result, passes it through the firewall, labels and charges it, and
//! records the outcome.

use weaver_firewall::handle::{HandleGrant, StoredHandle};
use weaver_firewall::{FrameBudget, FrameSpec, HandleError};
use weaver_types::ledger::{Durability, RecordWrite};
use weaver_types::{
    CheckKind, CheckResult, Decision, EventKind, PII_READER, RawResult, ReasonCode, ResponseMode,
    SafetyMode, Timestamp, ToolResult,
};

use super::attempt::AttemptsResult;
use super::authorized_invocation::AuthorizedInvocation;
use super::call_end::{CallEnd, CallFailure, error_code, tool_result_of, unrecorded_end};
use super::decision_key;
use super::progress::ProgressOutlet;
use super::refuse::span_id;
use super::result_label;
use super::token_allotment::TokenAllotment;
use crate::budget_reservation::micros;
use crate::driver::DriverError;
use crate::event_payload::{
    CapabilityTags, FrameRecord, HostFields, OutcomeRecord, error_text, record_event,
};
use crate::invocation::{Explanation, Invocation};
use crate::kernel::Kernel;
use crate::provenance;
use crate::recorder::OpenCallGuard;
use crate::recorder::ProvenanceUpdate;
use crate::recorder::{RecordingError, RunUpdate};
use crate::run_masks;
use crate::run_state::RunDelta;

/// The most tokens of one frame, whatever a rule allows.
const MAX_FRAME_TOKENS: u32 = 200_000;

impl Kernel {
    /// Executes a committed call and records its end. From here on nothing is refused.
    pub(crate) async fn run_to_end(
        &self,
        mut invocation: Box<AuthorizedInvocation<'_>>,
        mut guard: Box<OpenCallGuard<'_>>,
    ) -> Box<Invocation> {
        let attempts = self.execute_with_retries(&invocation, &mut guard);
        let AttemptsResult { result, retries, retry_stopped: stopped } =
            self.with_progress(&invocation, attempts).await;
        let (mut allotment, now) =
            (std::mem::take(&mut invocation.token_allotment), self.context.now());
        let mut call_end = Box::new(match result {
            Ok(raw) => match self.schema_violation(&invocation, &raw) {
                Some(problem) => self.end_with_schema_violation(&invocation, &raw, &problem),
                None => self.end_with_frame(&invocation, raw, &mut allotment, now),
            },
            Err(error) => self.end_with_error(&invocation, &error),
        });
        if call_end.shown_label.is_none()
            && invocation.progress.as_ref().is_some_and(ProgressOutlet::has_shown_message)
        {
            call_end.shown_label = Some(result_label::frame_label(
                &invocation.target.capability,
                ResponseMode::Summary,
                &invocation.worst_label,
            ));
        }
        call_end.result.retries = retries;
        call_end.retry_stopped = stopped;
        self.record_and_answer(invocation, guard, call_end, now, allotment).await
    }

    /// Records the end of a call, charges what was shown, and returns the answer.
    pub(crate) async fn record_and_answer(
        &self,
        invocation: Box<AuthorizedInvocation<'_>>,
        mut guard: Box<OpenCallGuard<'_>>,
        mut call_end: Box<CallEnd>,
        at: Timestamp,
        allotment: TokenAllotment,
    ) -> Box<Invocation> {
        call_end.result.trace_id = invocation.caller.run.trace_id.clone();
        call_end.result.span_id = span_id(&invocation.call);
        call_end.result.latency_us = micros(guard.execution_time);
        call_end.counts_tokens = allotment.is_bounded();
        let recorded = self.record_end(&invocation, &guard, &mut call_end, at).await;
        guard.notify_sources(call_end.shown_label.as_ref());
        match recorded {
            Ok(()) => {
                guard.is_recorded = true;
                allotment.charge();
                if let Some((stored, raw)) =
                    call_end.stored.take().map(|stored_result| *stored_result)
                {
                    self.handles.keep_open(&stored, raw);
                }
            }
            // The effect has happened, but its end is not in the log. The log will say "outcome
            // unknown", and so must the answer.
            Err(problem) => {
                if let Some((stored, _)) = call_end.stored.as_deref() {
                    self.handles.rollback(stored, self.blobs.as_ref());
                }
                *call_end = unrecorded_end(&invocation, &problem);
            }
        }
        self.recorder.remember_explanation(Explanation {
            call: invocation.call.clone(),
            principal: invocation.caller.principal.id.clone(),
            capability: invocation.target.capability.id().clone(),
            decision: invocation.decision.clone(),
            failure: call_end.failure,
        });
        let request =
            invocation.release.as_ref().and_then(|hold_release| hold_release.request()).cloned();
        let AuthorizedInvocation { call, decision, .. } = *invocation;
        Box::new(Invocation { call, decision, result: Some(call_end.result), request })
    }

    fn end_with_frame(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        mut raw: RawResult,
        allotment: &mut TokenAllotment,
        now: Timestamp,
    ) -> CallEnd {
        let capability = &invocation.target.capability;
        let mode = invocation.effective_mode().max(allotment.min_mode());
        raw.findings.extend(allotment.finding());
        let spec = self.frame_spec(invocation, mode, now);
        let fields = capability.spec().records.as_ref();
        let records =
            fields.map(|fields| provenance::reply_records(&raw, fields)).unwrap_or_default();
        // A raw result is shown whole and needs no handle, unless the session may not have enough
        // tokens for it.
        let needs_handle = spec.mode != ResponseMode::Raw || allotment.is_bounded();
        let stored =
            if needs_handle { self.store_result(invocation, &spec, &mut raw) } else { None };
        let handle = stored.as_ref().map(|stored| &stored.handle);
        let label = result_label::joined_with_source(spec.label, raw.label.as_ref());
        let spec = FrameSpec { handle, label, ..spec };
        let firewall = self.result_firewall(invocation, raw.label.as_ref());
        let first = firewall.frame(&raw, &spec);
        let frame = allotment.fit(first, &spec, |spec| Some(firewall.frame(&raw, spec)));
        let shown = Some(frame.label.clone());
        let (result, failure) = tool_result_of(invocation, frame);
        let tokens = allotment.shown_tokens();
        let stored_result = stored.map(|stored| Box::new((stored, raw)));
        CallEnd {
            failure,
            stored: stored_result,
            tokens,
            shown_label: shown,
            records,
            ..CallEnd::new(result, EventKind::Outcome)
        }
    }

    /// The specification that decides how much a frame of this call may show.
    pub(crate) fn frame_spec<'a>(
        &self,
        invocation: &'a AuthorizedInvocation<'_>,
        mode: ResponseMode,
        now: Timestamp,
    ) -> FrameSpec<'a> {
        let capability = &invocation.target.capability;
        FrameSpec {
            call: &invocation.call,
            capability,
            mode,
            budget: self.frame_budget(&invocation.decision),
            constraints: &invocation.limits,
            pii_reader: invocation.caller.principal.has_role(PII_READER),
            handle: None,
            label: result_label::frame_label(capability, mode, &invocation.worst_label),
            now,
            strict: invocation.caller.run.settings.safety_mode == SafetyMode::Strict,
            goal: Some(invocation.request.goal.as_str()).filter(|goal| !goal.is_empty()),
        }
    }

    /// The budget of a frame: that of the settings, or more tokens if a signed rule grants them.
    /// Constraints of the caller can only tighten it.
    pub(crate) fn frame_budget(&self, decision: &Decision) -> FrameBudget {
        let settings_budget = self.context.settings.frame_budget;
        let gives_tokens = |check_result: &CheckResult| {
            check_result.check == CheckKind::Rule && check_result.constraints.max_tokens.is_some()
        };
        let max_allowed = match decision.check_results().iter().any(gives_tokens) {
            true => MAX_FRAME_TOKENS,
            false => settings_budget.max_tokens,
        };
        let max_tokens = decision
            .constraints()
            .max_tokens
            .unwrap_or(settings_budget.max_tokens)
            .min(max_allowed);
        FrameBudget { max_tokens, ..settings_budget }
    }

    /// Stores a result behind a handle. If that fails, a finding says so.
    pub(crate) fn store_result(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        spec: &FrameSpec<'_>,
        raw: &mut RawResult,
    ) -> Option<StoredHandle> {
        let grant = HandleGrant {
            tenant: &self.context.settings.tenant,
            principal: &invocation.caller.principal.id,
            run: &invocation.caller.run.run_id,
            call: &invocation.call,
            capability: &invocation.target.capability,
            constraints: spec.constraints,
            pii_reader: spec.pii_reader,
            label: &result_label::joined_with_source(
                invocation.worst_label.clone(),
                raw.label.as_ref(),
            ),
            views: self.context.firewall.views(),
            now: spec.now,
        };
        match self.handles.store(raw, grant, self.blobs.as_ref(), self.context.random.as_ref()) {
            Ok(stored) => Some(stored),
            Err(error) => {
                raw.findings.push(match error {
                    HandleError::TooLarge { .. } => "not_stored_too_large",
                    _ => "not_stored",
                });
                None
            }
        }
    }

    pub(crate) fn end_with_error(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        error: &DriverError,
    ) -> CallEnd {
        self.end_with_failure(invocation, CallFailure { error, is_ambiguous: error.is_ambiguous() })
    }

    pub(crate) fn end_with_failure(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        failure: CallFailure<'_>,
    ) -> CallEnd {
        let CallFailure { error, is_ambiguous } = failure;
        let capability = &invocation.target.capability;
        let spec = capability.spec();
        // A write that timed out, lost its server or was cut off may or may not have happened.
        let unknown = is_ambiguous && spec.effects.writes() && !spec.idempotent;
        let (kind, reason) = match error {
            _ if unknown => (EventKind::OutcomeUnknown, ReasonCode::OutcomeUnknown),
            DriverError::Timeout(_) => (EventKind::Outcome, ReasonCode::Timeout),
            DriverError::Unavailable(_) => (EventKind::Outcome, ReasonCode::UpstreamUnavailable),
            _ => (EventKind::Outcome, ReasonCode::ExecutionFailed),
        };
        let firewall = self.result_firewall(invocation, None);
        let message = format!("{reason}: {}", error_text(&firewall, &error.to_string()));
        let code = error_code(error);
        let result =
            ToolResult::error(invocation.call.clone(), capability.id().clone(), code, message);
        // The text of an error comes from the tool, like its data, except for our own text on a
        // timeout.
        let shown = match error {
            _ if unknown => Some(invocation.worst_label.clone()),
            DriverError::Timeout(_) => None,
            _ => Some(result_label::frame_label(
                capability,
                ResponseMode::Summary,
                &invocation.worst_label,
            )),
        };
        CallEnd { failure: Some(reason), shown_label: shown, ..CallEnd::new(result, kind) }
    }

    async fn record_end(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        guard: &OpenCallGuard<'_>,
        call_end: &mut CallEnd,
        at: Timestamp,
    ) -> Result<(), RecordingError> {
        let (update, provenance) = self.end_update(invocation, guard, call_end, at)?;
        let counts_masks = run_masks::writes_mask_record(&update.batch);
        match is_deferrable(invocation, call_end, &update) {
            true => self.recorder.defer_end(update, guard).await?,
            false => self.recorder.commit_run_update(update).await?,
        }
        provenance.apply(&guard.slot);
        if counts_masks {
            guard.slot.masks().mark_recorded();
        }
        Ok(())
    }

    fn end_update<'a>(
        &self,
        invocation: &'a AuthorizedInvocation<'_>,
        guard: &'a OpenCallGuard<'_>,
        call_end: &mut CallEnd,
        at: Timestamp,
    ) -> Result<(RunUpdate<'a>, ProvenanceUpdate), RecordingError> {
        let provenance = self.result_provenance(invocation, &guard.slot, call_end)?;
        let result = &call_end.result;
        let delta = RunDelta {
            latency_us: result.latency_us,
            prompt_tokens: call_end.tokens,
            provenance: provenance.digests(),
            label: call_end.shown_label.clone(),
            cost: guard.cost,
            ..RunDelta::default()
        };
        let capability = &invocation.target.capability;
        let success_key = if result.success { decision_key::of_memory(invocation) } else { None };
        let host = HostFields::of(invocation.caller.run, &self.context.firewall);
        let outcome = OutcomeRecord {
            agent: invocation.caller.principal.agent.as_ref(),
            capability: capability.id(),
            decision_key: success_key.or(decision_key::of_stopped(call_end.retry_stopped)),
            error: result.error_code,
            error_message: &result.error_message,
            frame: result
                .data
                .as_ref()
                .map(|frame| FrameRecord::of(frame, self.context.random.as_ref())),
            latency_us: result.latency_us,
            principal: &invocation.caller.principal.id,
            reason: call_end.failure,
            retries: result.retries,
            retry_stopped: call_end.retry_stopped,
            run: &delta,
            run_agent: host.run_agent,
            session_id: host.session_id,
            stream: call_end.stream.as_ref(),
            success: result.success,
            tags: CapabilityTags::of(capability),
            user_sid: host.user_sid,
            v: 1,
        };
        let run = &invocation.caller.run.run_id;
        let event = record_event(&outcome, call_end.kind, at, run, Some(&invocation.call))
            .ok_or(RecordingError::Form("the outcome"))?;
        let mut batch =
            self.recorder.close_call_batch(&invocation.call, Durability::Os).with_event(event);
        if let Some((stored, _)) = call_end.stored.as_deref_mut() {
            batch.blobs.extend(stored.blob.clone());
            // Moved, not copied: the value is written only here.
            let value = std::mem::take(&mut stored.put.value);
            batch.put.push(RecordWrite { value, ..stored.put.clone() });
            batch.delete.extend(stored.delete.clone());
        }
        batch.put.extend(provenance.puts.iter().cloned());
        batch.put.extend(guard.slot.masks().put_if_used(&self.context.settings.tenant, run));
        Ok((RunUpdate::new(invocation.caller, &guard.slot, delta, batch), provenance))
    }
}

/// Whether the end of a call may be recorded after its caller has the answer.
fn is_deferrable(
    invocation: &AuthorizedInvocation<'_>,
    call_end: &CallEnd,
    update: &RunUpdate<'_>,
) -> bool {
    let is_whole = call_end
        .result
        .data
        .as_ref()
        .is_none_or(|frame| frame.mode == ResponseMode::Auto && frame.next.is_none());
    let budget = &invocation.caller.run.settings.budget;
    !run_masks::writes_mask_record(&update.batch)
        && is_whole
        && invocation.stream_outlet.is_none()
        && !call_end.counts_tokens
        && budget.max_prompt_tokens.is_none()
}
