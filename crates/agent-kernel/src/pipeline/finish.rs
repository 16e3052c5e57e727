//! Finishing: store, firewall, label, charge, record the outcome.

use weaver_firewall::handle::{HandleGrant, StoredHandle};
use weaver_firewall::{FrameBudget, FrameSpec, HandleError};
use weaver_types::ledger::{Durability, Put};
use weaver_types::{
    Check, Contribution, Decision, EventKind, Frame, Label, RawResult, ReasonCode, ResponseMode,
    SafetyMode, Status, Timestamp, ToolErrorCode, ToolResult,
};

use super::attempt::AttemptResult;
use super::authorized_invocation::AuthorizedInvocation;
use super::decision_key;
use super::defer_end::is_deferrable;
use super::label;
use super::progress::ProgressOutlet;
use super::provenance_updates::ProvenanceUpdate;
use super::refuse::span_id;
use super::token_allotment::TokenAllotment;
use super::transition::{RecordingError, Step};
use super::unfinished_calls::OpenCallGuard;
use crate::budget_reservation::micros;
use crate::driver::DriverError;
use crate::invocation::{Explanation, Invocation};
use crate::kernel::Kernel;
use crate::masks;
use crate::provenance;
use crate::record::{FrameRecord, HostFields, Outcome, Tags, error_text, event};
use crate::run_state::RunDelta;

/// The most tokens of one frame, whatever a rule says.
const MAX_FRAME_TOKENS: u32 = 200_000;
/// The role that is exempt from a capability's own list of allowed fields.
const PII_READER: &str = "pii_reader";

/// How a call ended, before it is recorded.
pub(crate) struct CallEnd {
    pub(crate) result: ToolResult<Frame>,
    pub(crate) kind: EventKind,
    pub(crate) failure: Option<ReasonCode>,
    /// The stored result, and the result itself for the questions to come.
    pub(crate) kept: Option<Box<(StoredHandle, RawResult)>>,
    /// Tokens of what is shown.
    pub(crate) tokens: u64,
    /// The label of what is shown; `None` when nothing of the tool's is.
    pub(crate) shown: Option<Label>,
    /// The records of the reply, where the contract says which member has their id.
    pub(crate) records: Vec<provenance::Record>,
    /// What the log says of a stream.
    pub(crate) stream: Option<serde_json::Value>,
    /// Whether its tokens are counted against a bound of its session.
    pub(crate) counts_tokens: bool,
    /// Why there was no further attempt.
    pub(crate) stopped: Option<ReasonCode>,
}

impl CallEnd {
    /// An end without anything to keep or to charge.
    pub(crate) fn new(result: ToolResult<Frame>, kind: EventKind) -> Self {
        Self {
            result,
            kind,
            failure: None,
            kept: None,
            tokens: 0,
            shown: None,
            records: Vec::new(),
            stream: None,
            counts_tokens: false,
            stopped: None,
        }
    }
}

impl Kernel {
    /// Executes a committed call and records its end. From here on nothing is refused any more.
    pub(crate) async fn run_to_end(
        &self,
        mut ready: Box<AuthorizedInvocation<'_>>,
        mut watch: Box<OpenCallGuard<'_>>,
    ) -> Box<Invocation> {
        let attempts = self.attempt(&ready, &mut watch);
        let AttemptResult { result, retries, stopped } = self.with_progress(&ready, attempts).await;
        let (mut share, now) = (std::mem::take(&mut ready.share), self.now());
        let mut ended = Box::new(match result {
            Ok(raw) => match self.misfit(&ready, &raw) {
                Some(problem) => self.misfitting(&ready, &raw, &problem),
                None => self.shown(&ready, raw, &mut share, now),
            },
            Err(error) => self.failed(&ready, &error),
        });
        if ended.shown.is_none()
            && ready.progress.as_ref().is_some_and(ProgressOutlet::has_reported)
        {
            ended.shown =
                Some(label::framed(&ready.target.capability, ResponseMode::Summary, &ready.worst));
        }
        ended.result.retries = retries;
        ended.stopped = stopped;
        self.conclude(ready, watch, ended, now, share).await
    }

    /// Records how a call ended and when, charges what was shown, and answers.
    pub(crate) async fn conclude(
        &self,
        ready: Box<AuthorizedInvocation<'_>>,
        mut watch: Box<OpenCallGuard<'_>>,
        mut ended: Box<CallEnd>,
        at: Timestamp,
        share: TokenAllotment,
    ) -> Box<Invocation> {
        ended.result.trace_id = ready.caller.run.trace_id.clone();
        ended.result.span_id = span_id(&ready.call);
        ended.result.latency_us = micros(watch.spent);
        ended.counts_tokens = share.is_bounded();
        let recorded = self.record_end(&ready, &watch, &mut ended, at).await;
        watch.tell(ended.shown.as_ref());
        match recorded {
            Ok(()) => {
                watch.over = true;
                share.settle();
                if let Some((stored, raw)) = ended.kept.take().map(|kept| *kept) {
                    self.handles.keep_open(&stored, raw);
                }
            }
            // The effect has happened and its end is not in the log: it reads "outcome unknown"
            // there, and the caller is told the same.
            Err(problem) => {
                if let Some((stored, _)) = ended.kept.as_deref() {
                    self.handles.abandon(stored, self.blobs.as_ref());
                }
                *ended = unrecorded(&ready, &problem);
            }
        }
        self.remember(Explanation {
            call: ready.call.clone(),
            principal: ready.caller.principal.id.clone(),
            capability: ready.target.capability.id().clone(),
            decision: ready.decision.clone(),
            failure: ended.failure,
        });
        let request = ready.released.as_ref().and_then(|released| released.request()).cloned();
        let AuthorizedInvocation { call, decision, .. } = *ready;
        Box::new(Invocation { call, decision, result: Some(ended.result), request })
    }

    fn shown(
        &self,
        ready: &AuthorizedInvocation<'_>,
        mut raw: RawResult,
        share: &mut TokenAllotment,
        now: Timestamp,
    ) -> CallEnd {
        let capability = &ready.target.capability;
        let mode = ready.effective_mode().max(share.floor());
        raw.findings.extend(share.finding());
        let spec = self.frame_spec(ready, mode, now);
        let fields = capability.spec().records.as_ref();
        let records = fields.map(|fields| provenance::records(&raw, fields)).unwrap_or_default();
        // A raw result is shown whole and needs no handle, unless its session may have no room for it.
        let needs_handle = spec.mode != ResponseMode::Raw || share.is_bounded();
        let stored = if needs_handle { self.keep(ready, &spec, &mut raw) } else { None };
        let handle = stored.as_ref().map(|stored| &stored.handle);
        let label = label::known(spec.label, raw.label.as_ref());
        let spec = FrameSpec { handle, label, ..spec };
        let firewall = self.firewall_for(ready, raw.label.as_ref());
        let first = firewall.frame(&raw, &spec);
        let frame = share.fit(first, &spec, |spec| Some(firewall.frame(&raw, spec)));
        let shown = Some(frame.label.clone());
        let (result, failure) = answered(ready, frame);
        let tokens = share.tokens();
        let kept = stored.map(|stored| Box::new((stored, raw)));
        CallEnd {
            failure,
            kept,
            tokens,
            shown,
            records,
            ..CallEnd::new(result, EventKind::Outcome)
        }
    }

    /// What decides how much a frame of this call may show.
    pub(crate) fn frame_spec<'a>(
        &self,
        ready: &'a AuthorizedInvocation<'_>,
        mode: ResponseMode,
        now: Timestamp,
    ) -> FrameSpec<'a> {
        let capability = &ready.target.capability;
        FrameSpec {
            call: &ready.call,
            capability,
            mode,
            budget: self.frame_budget(&ready.decision),
            constraints: &ready.limits,
            pii_reader: ready.caller.principal.has_role(PII_READER),
            handle: None,
            label: label::framed(capability, mode, &ready.worst),
            now,
            strict: ready.caller.run.settings.safety_mode == SafetyMode::Strict,
            goal: Some(ready.request.goal.as_str()).filter(|goal| !goal.is_empty()),
        }
    }

    /// The bounds of a frame: those of the settings, where a signed rule does not give it more
    /// tokens. What the caller asks for only tightens.
    pub(crate) fn frame_budget(&self, decision: &Decision) -> FrameBudget {
        let own = self.settings.frame_budget;
        let gives_tokens = |said: &Contribution| {
            said.check == Check::Rule && said.constraints.max_tokens.is_some()
        };
        let most = match decision.contributions().iter().any(gives_tokens) {
            true => MAX_FRAME_TOKENS,
            false => own.max_tokens,
        };
        let max_tokens = decision.constraints().max_tokens.unwrap_or(own.max_tokens).min(most);
        FrameBudget { max_tokens, ..own }
    }

    /// Stores a result behind a handle; a finding says when it could not be.
    pub(crate) fn keep(
        &self,
        ready: &AuthorizedInvocation<'_>,
        spec: &FrameSpec<'_>,
        raw: &mut RawResult,
    ) -> Option<StoredHandle> {
        let grant = HandleGrant {
            tenant: &self.settings.tenant,
            principal: &ready.caller.principal.id,
            run: &ready.caller.run.run_id,
            call: &ready.call,
            capability: &ready.target.capability,
            constraints: spec.constraints,
            pii_reader: spec.pii_reader,
            label: &label::known(ready.worst.clone(), raw.label.as_ref()),
            views: self.firewall.views(),
            now: spec.now,
        };
        match self.handles.store(raw, grant, self.blobs.as_ref(), self.random.as_ref()) {
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

    pub(crate) fn failed(&self, ready: &AuthorizedInvocation<'_>, error: &DriverError) -> CallEnd {
        self.failed_in(ready, CallFailure { error, is_ambiguous: error.is_ambiguous() })
    }

    pub(crate) fn failed_in(
        &self,
        ready: &AuthorizedInvocation<'_>,
        failure: CallFailure<'_>,
    ) -> CallEnd {
        let CallFailure { error, is_ambiguous } = failure;
        let capability = &ready.target.capability;
        let spec = capability.spec();
        // Whether a write that timed out, lost its server or was cut off has happened is unknown.
        let unknown = is_ambiguous && spec.effects.writes() && !spec.idempotent;
        let (kind, reason) = match error {
            _ if unknown => (EventKind::OutcomeUnknown, ReasonCode::OutcomeUnknown),
            DriverError::Timeout(_) => (EventKind::Outcome, ReasonCode::Timeout),
            DriverError::Unavailable(_) => (EventKind::Outcome, ReasonCode::UpstreamUnavailable),
            _ => (EventKind::Outcome, ReasonCode::ExecutionFailed),
        };
        let firewall = self.firewall_for(ready, None);
        let message = format!("{reason}: {}", error_text(&firewall, &error.to_string()));
        let code = error_code(error);
        let result = ToolResult::error(ready.call.clone(), capability.id().clone(), code, message);
        // The words of an error are the tool's as much as its data are, except ours on a timeout.
        let shown = match error {
            _ if unknown => Some(ready.worst.clone()),
            DriverError::Timeout(_) => None,
            _ => Some(label::framed(capability, ResponseMode::Summary, &ready.worst)),
        };
        CallEnd { failure: Some(reason), shown, ..CallEnd::new(result, kind) }
    }

    async fn record_end(
        &self,
        ready: &AuthorizedInvocation<'_>,
        watch: &OpenCallGuard<'_>,
        ended: &mut CallEnd,
        at: Timestamp,
    ) -> Result<(), RecordingError> {
        let (step, provenance) = self.prepare_end(ready, watch, ended, at)?;
        let counts_masks = masks::are_counted_by(&step.batch);
        match is_deferrable(ready, ended, &step) {
            true => self.defer_end(step, watch).await?,
            false => self.step(step).await?,
        }
        provenance.take(&watch.slot);
        if counts_masks {
            watch.slot.masks().stored();
        }
        Ok(())
    }

    fn prepare_end<'a>(
        &self,
        ready: &'a AuthorizedInvocation<'_>,
        watch: &'a OpenCallGuard<'_>,
        ended: &mut CallEnd,
        at: Timestamp,
    ) -> Result<(Step<'a>, ProvenanceUpdate), RecordingError> {
        let provenance = self.result_provenance(ready, &watch.slot, ended)?;
        let result = &ended.result;
        let delta = RunDelta {
            latency_us: result.latency_us,
            prompt_tokens: ended.tokens,
            provenance: provenance.digests(),
            label: ended.shown.clone(),
            cost: watch.paid,
            ..RunDelta::default()
        };
        let capability = &ready.target.capability;
        let success_key = if result.success { decision_key::of_memory(ready) } else { None };
        let host = HostFields::of(ready.caller.run, &self.firewall);
        let outcome = Outcome {
            agent: ready.caller.principal.agent.as_ref(),
            capability: capability.id(),
            decision_key: success_key.or(decision_key::of_stopped(ended.stopped)),
            error: result.error_code,
            error_message: &result.error_message,
            frame: result.data.as_ref().map(|frame| FrameRecord::of(frame, self.random.as_ref())),
            latency_us: result.latency_us,
            principal: &ready.caller.principal.id,
            reason: ended.failure,
            retries: result.retries,
            retry_stopped: ended.stopped,
            run: &delta,
            run_agent: host.run_agent,
            session_id: host.session_id,
            stream: ended.stream.as_ref(),
            success: result.success,
            tags: Tags::of(capability),
            user_sid: host.user_sid,
            v: 1,
        };
        let run = &ready.caller.run.run_id;
        let event = event(&outcome, ended.kind, at, run, Some(&ready.call))
            .ok_or(RecordingError::Form("the outcome"))?;
        let mut batch = self.closing(&ready.call, Durability::Os).with_event(event);
        if let Some((stored, _)) = ended.kept.as_deref_mut() {
            batch.blobs.extend(stored.blob.clone());
            // It is written here and nowhere else.
            let value = std::mem::take(&mut stored.put.value);
            batch.put.push(Put { value, ..stored.put.clone() });
            batch.delete.extend(stored.delete.clone());
        }
        batch.put.extend(provenance.puts.iter().cloned());
        batch.put.extend(watch.slot.masks().put(&self.settings.tenant, run));
        Ok((Step::new(ready.caller, &watch.slot, delta, batch), provenance))
    }
}

/// Why a call failed, and whether it may have taken effect all the same.
pub(crate) struct CallFailure<'a> {
    pub(crate) error: &'a DriverError,
    pub(crate) is_ambiguous: bool,
}

/// The answer of a tool, and what is to be recorded of it where the tool says that it failed.
pub(crate) fn answered(
    ready: &AuthorizedInvocation<'_>,
    frame: Frame,
) -> (ToolResult<Frame>, Option<ReasonCode>) {
    let failed = frame.status == Status::Error;
    let provenance = frame.provenance.clone();
    let id = ready.target.capability.id().clone();
    let mut result = ToolResult::ok(ready.call.clone(), id, frame);
    result.provenance = provenance;
    if failed {
        result.success = false;
        result.error_code = Some(ToolErrorCode::Unexpected);
        result.error_message = "the tool reports an error; what it says is in the data".to_owned();
    }
    (result, failed.then_some(ReasonCode::ExecutionFailed))
}

fn unrecorded(ready: &AuthorizedInvocation<'_>, problem: &RecordingError) -> CallEnd {
    let reason = ReasonCode::OutcomeUnknown;
    let message =
        format!("{reason}: the call was executed, but its end could not be recorded: {problem}");
    let id = ready.target.capability.id().clone();
    let mut result = ToolResult::error(ready.call.clone(), id, ToolErrorCode::Unexpected, message);
    result.trace_id = ready.caller.run.trace_id.clone();
    result.span_id = span_id(&ready.call);
    CallEnd { failure: Some(reason), ..CallEnd::new(result, EventKind::OutcomeUnknown) }
}

/// Maps a driver's error to one of the eight error codes of the SecondBrain kernel.
fn error_code(error: &DriverError) -> ToolErrorCode {
    match error {
        DriverError::NotFound(_) => ToolErrorCode::NotFound,
        DriverError::Invalid(_) => ToolErrorCode::ValidationError,
        DriverError::Timeout(_) => ToolErrorCode::Timeout,
        DriverError::Network(_) | DriverError::Unavailable(_) | DriverError::Lost(_) => {
            ToolErrorCode::NetworkError
        }
        DriverError::RateLimited { .. } => ToolErrorCode::RateLimited,
        DriverError::Failed(_) => ToolErrorCode::Unexpected,
    }
}
