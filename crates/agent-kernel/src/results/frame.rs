//! Makes the frame that a call ends with, or the error.

use weaver_firewall::{FrameBudget, FrameSpec};
use weaver_types::{
    CheckKind, CheckResult, Decision, EventKind, PII_READER, RawResult, ReasonCode, ResponseMode,
    SafetyMode, Timestamp, ToolResult,
};

use super::ResultPipeline;
use super::call_end::{CallEnd, CallFailure, error_code, tool_result_of};
use super::result_label;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::driver::DriverError;
use crate::event_payload::driver_error_text;
use crate::provenance;
use crate::token_allotment::TokenAllotment;

/// The most tokens of one frame, whatever a rule allows.
const MAX_FRAME_TOKENS: u32 = 200_000;

impl ResultPipeline {
    /// The end of a call with a result: what is stored of it, and what is shown.
    pub(crate) fn end_with_frame(
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
        let message = format!("{reason}: {}", driver_error_text(&firewall, &error.to_string()));
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
}
