//! Finishes a call: executes it, gets its result through the result pipeline, charges it, and
//! records the outcome.

use weaver_types::ledger::{Durability, RecordWrite};
use weaver_types::{DecisionKey, Impact, ReasonCode, ResponseMode, SensitivityTag, Timestamp};

use super::CallExecutor;
use super::attempt::AttemptsResult;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::budget_reservation::micros;
use crate::driver::DriverError;
use crate::event_payload::{CapabilityTags, FrameRecord, HostFields, OutcomeRecord, record_event};
use crate::invocation::{Explanation, Invocation, span_id};
use crate::long_work;
use crate::progress::ProgressOutlet;
use crate::recorder::{OpenCallGuard, ProvenanceUpdate, RecordingError, RunUpdate};
use crate::results::{CallEnd, result_label, unrecorded_end};
use crate::run_masks;
use crate::run_state::RunDelta;
use crate::token_allotment::TokenAllotment;

impl CallExecutor {
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
        let end_with = |error: &DriverError| self.results.end_with_error(&invocation, error);
        let mut call_end = Box::new(match result {
            Ok(raw) => {
                let is_long = long_work::is_long_content(&raw.content);
                let process = || match self.results.schema_violation(&invocation, &raw) {
                    Some(problem) => {
                        self.results.end_with_schema_violation(&invocation, &raw, &problem)
                    }
                    None => self.results.end_with_frame(&invocation, raw, &mut allotment, now),
                };
                let processed = long_work::run(self.context.long_work.as_ref(), is_long, process);
                processed.unwrap_or_else(|| end_with(&unprocessed_error()))
            }
            Err(error) => end_with(&error),
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
                    self.results.keep_open(&stored, raw);
                }
            }
            // The effect has happened, but its end is not in the log. The log will say "outcome
            // unknown", and so must the answer.
            Err(problem) => {
                if let Some((stored, _)) = call_end.stored.as_deref() {
                    self.results.rollback(stored);
                }
                *call_end = unrecorded_end(&invocation, &problem);
            }
        }
        self.recorder.explanations.add(Explanation {
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
        let provenance = self.results.result_provenance(invocation, &guard.slot, call_end)?;
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
        let success_key = if result.success { memory_key(invocation) } else { None };
        let host = HostFields::of(invocation.caller.run, &self.context.firewall);
        let outcome = OutcomeRecord {
            agent: invocation.caller.principal.agent.as_ref(),
            capability: capability.id(),
            decision_key: success_key.or(stopped_key(call_end.retry_stopped)),
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

/// The decision key of a call that wrote to memory or read from it and succeeded: one of a capability that is
/// tagged as memory.
fn memory_key(invocation: &AuthorizedInvocation<'_>) -> Option<DecisionKey> {
    let spec = invocation.target.capability.spec();
    if !spec.sensitivity.contains(&SensitivityTag::Memory) {
        return None;
    }
    match spec.effects.impact {
        Impact::Read => Some(DecisionKey::MemoryGet),
        Impact::Write => Some(DecisionKey::MemoryPut),
        Impact::Destroy => None,
    }
}

/// The decision key of a call that was not retried for lack of budget.
fn stopped_key(stopped: Option<ReasonCode>) -> Option<DecisionKey> {
    (stopped == Some(ReasonCode::BudgetExceeded)).then_some(DecisionKey::BudgetExceeded)
}

/// The error for a result that the host did not let the kernel process.
fn unprocessed_error() -> DriverError {
    DriverError::Unavailable("the host did not run the processing of the result".to_owned())
}
