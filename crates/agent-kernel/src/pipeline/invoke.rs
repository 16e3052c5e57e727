//! Invokes a call: verifies its token, decides again on the exact arguments, commits, executes,
//! finishes.

use serde_json::Value;
use weaver_policy::{PolicyQuery, PolicySet};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, CheckKind, CheckResult, Confidentiality, Decision,
    Integrity, Label, Operation, ProgressSink, ReasonCode, ResponseMode, TokenClaims, Verdict,
};

use super::operation_timer::OperationTimer;
use super::refuse::{refuse, refuse_early};
use crate::approval::hold_release::HoldState;
use crate::authorized_invocation::{AuthorizedInvocation, TokenHolder};
use crate::budget_reservation::BudgetReservation;
use crate::cached_run::{RunSlot, lock_run};
use crate::call_stream::{CallStream, StreamOutlet};
use crate::caller::Caller;
use crate::decision_point::{
    CallTarget, Evaluation, EvaluationRequest, denied_decision, deny_raw_without_admin,
    joined_constraints,
};
use crate::executor::attempt_needs;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::progress::ProgressOutlet;
use crate::results::result_label;
use crate::settings::Settings;
use crate::telemetry;
use crate::token::Token;
use crate::token_allotment::{TokenAllotment, max_frame_tokens};

/// Options of an invocation: who holds the token, and what is shown before the end.
#[derive(Default)]
pub(super) struct InvokeOptions {
    pub(super) token_holder: TokenHolder,
    pub(super) stream: Option<StreamOutlet>,
    pub(super) progress: Option<ProgressSink>,
}

impl Kernel {
    /// Executes the call of a token, once.
    ///
    /// Dropping the future abandons the call. If its intent was committed by then, the log records
    /// the call as "outcome unknown".
    pub async fn invoke(
        &self,
        caller: Caller<'_>,
        token: &Token,
        arguments: &Value,
        mode: ResponseMode,
    ) -> Invocation {
        self.invoke_with_options(caller, token, arguments, mode, InvokeOptions::default()).await
    }

    /// Executes the call of a token, once, and shows its result as it arrives if the driver can
    /// stream, otherwise in one frame. The checks are the same, with one intent and one outcome.
    ///
    /// A stream may show no more than one frame, and the time limit of the call bounds all of it: a
    /// tool that keeps sending is cut off. The run takes on the label of the result with the
    /// intent, since parts are shown before the end is recorded; the last frame is shown after it.
    pub fn invoke_stream<'k>(
        &'k self,
        caller: Caller<'k>,
        token: &'k Token,
        arguments: &'k Value,
        mode: ResponseMode,
    ) -> CallStream<'k> {
        let outlet = StreamOutlet::default();
        let options = InvokeOptions { stream: Some(outlet.clone()), ..InvokeOptions::default() };
        let work = Box::pin(self.invoke_with_options(caller, token, arguments, mode, options));
        CallStream::new(work, outlet)
    }

    pub(super) async fn invoke_with_options(
        &self,
        caller: Caller<'_>,
        token: &Token,
        arguments: &Value,
        mode: ResponseMode,
        options: InvokeOptions,
    ) -> Invocation {
        let mut timer =
            OperationTimer::begin(&self.recorder, telemetry::Operation::Invoke, caller, mode);
        // Boxed: a future is as large as its longest branch, and it is moved.
        let work =
            Box::pin(self.invoke_unmeasured(caller, &mut timer, token, arguments, mode, options));
        let done = work.await;
        timer.finish_invocation(&done);
        *done
    }

    async fn invoke_unmeasured(
        &self,
        caller: Caller<'_>,
        timer: &mut OperationTimer<'_>,
        token: &Token,
        arguments: &Value,
        mode: ResponseMode,
        options: InvokeOptions,
    ) -> Box<Invocation> {
        let policy = self.context.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        let at = self.context.clock_reading();
        let verified = match self.decision_point.verify_token(&policy, caller, token, at) {
            Ok(verified) => verified,
            Err((reason, detail)) => {
                let decision = denied_decision(&policy, reason, detail);
                let refused = Box::pin(self.refuse_token(caller, token, decision)).await;
                return Box::new(refused);
            }
        };
        let (claims, pending) = (verified.claims(), verified.pending());
        timer.set_capability(&claims.capability);
        let request = &pending.request;
        let prepared =
            self.decision_point.prepare_arguments(&policy, caller, request, Some(arguments));
        let (arguments, masks) = (prepared.value().unwrap_or(arguments), prepared.masks());
        let mut evaluation_request = EvaluationRequest {
            arguments: Some(arguments),
            masks,
            preconditions: Some(pending.preconditions.as_slice()),
            ..EvaluationRequest::new(caller, request, Operation::Invoke, at)
        };
        let tighten = |mut evaluation: Box<Evaluation>| {
            evaluation.decision =
                check_token_binding(evaluation.decision, claims, evaluation.target.as_ref());
            evaluation.decision = deny_raw_without_admin(evaluation.decision, caller, mode);
            evaluation.decision = deny_raw_without_token(evaluation.decision, claims, mode);
            evaluation
        };
        let call = pending.call.clone();
        let mut evaluation = self
            .decision_point
            .decide_and_resolve(&policy, &mut evaluation_request, &call, &tighten)
            .await;
        let release = match std::mem::take(&mut evaluation.hold_state) {
            HoldState::Released(release) => Some(release),
            _ => None,
        };
        match (evaluation.target.take(), evaluation.slot.take()) {
            (Some(target), Some(slot)) if evaluation.decision.is_allowed() => {
                let decision = evaluation.decision;
                let worst_label = result_label::stored_label(&target.capability, &call);
                let reports_progress =
                    options.progress.is_some() && target.entry.driver.reports_progress();
                let invocation = Box::new(AuthorizedInvocation {
                    caller,
                    request,
                    worst_label: match masks {
                        Some(masks) => masks.join_value_labels(worst_label),
                        None => worst_label,
                    },
                    call,
                    claims,
                    target,
                    limits: joined_constraints(request, &decision).join(&claims.constraints),
                    decision,
                    mode,
                    arguments,
                    masks,
                    repairs: prepared.repairs(),
                    release,
                    token_allotment: TokenAllotment::default(),
                    counted_at: evaluation_request.at.now,
                    reservation: None,
                    token_holder: options.token_holder,
                    stream_outlet: options.stream,
                    progress: options
                        .progress
                        .filter(|_| reports_progress)
                        .map(ProgressOutlet::new),
                });
                self.commit_and_execute(&policy, invocation, slot).await
            }
            (target, slot) => {
                (evaluation.target, evaluation.slot) = (target, slot);
                let open_request = evaluation.request.clone();
                let refused = refuse(&self.recorder, caller, request, call, evaluation).await;
                Box::new(Invocation { request: open_request, ..refused })
            }
        }
    }

    /// Commits the intent, then executes; or refuses.
    async fn commit_and_execute(
        &self,
        policy: &PolicySet,
        mut invocation: Box<AuthorizedInvocation<'_>>,
        slot: RunSlot,
    ) -> Box<Invocation> {
        let AuthorizedInvocation { caller, request, .. } = *invocation;
        if caller.run.dry_run {
            let AuthorizedInvocation { call, decision, .. } = *invocation;
            return Box::new(Invocation::without_result(call, decision));
        }
        // The checks of the decision may have taken time.
        invocation.counted_at = self.context.now();
        let reserved = reserve_budget(&self.context.settings, &mut invocation, &slot);
        let counted =
            reserved.and_then(|()| self.count_for_rate_limits(policy, &invocation, &slot));
        let decision = match counted {
            Err(check_result) => invocation.decision.clone().joined_with(*check_result),
            Ok(()) => match self.executor.commit_intent(&invocation, &slot).await {
                Ok(mut guard) => {
                    if let Some(masks) = invocation.masks {
                        masks.mark_values_disclosed();
                    }
                    guard.reservation = invocation.reservation.take();
                    return match invocation.stream_outlet.take() {
                        Some(outlet) => {
                            Box::pin(self.executor.stream_to_end(invocation, guard, &outlet)).await
                        }
                        None => Box::pin(self.executor.run_to_end(invocation, guard)).await,
                    };
                }
                Err(decision) => *decision,
            },
        };
        // The loser of a race for the token is refused under a new call id: the original id belongs
        // to the winner.
        let new_call = (decision.primary_reason() == ReasonCode::TokenUsed)
            .then(|| CallId::random(self.context.random.as_ref()).ok())
            .flatten();
        let call = new_call.unwrap_or(invocation.call);
        let mut evaluation = Evaluation::new(decision, Some(slot));
        evaluation.masked_arguments = invocation.masks.map(|masks| masks.as_written.clone());
        evaluation.target = Some(invocation.target);
        Box::new(refuse(&self.recorder, caller, request, call, evaluation).await)
    }

    /// Counts the call for the rate limits right before it is made.
    fn count_for_rate_limits(
        &self,
        policy: &PolicySet,
        invocation: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Result<(), Box<CheckResult>> {
        let label = lock_run(slot).map(|run| run.state().label.clone());
        let unknown = || Label::new(Confidentiality::Restricted, Integrity::Untrusted);
        let label = label.unwrap_or_else(unknown);
        let query = PolicyQuery {
            arguments: Some(invocation.arguments),
            mode: invocation.caller.run.settings.safety_mode,
            label: &label,
            now: invocation.counted_at,
            human_channel: self.context.settings.human_channel,
            origins: Some(&self.context.value_origins(slot)),
            run: Some(&invocation.caller.run.run_id),
            ..PolicyQuery::new(
                &invocation.target.capability,
                invocation.caller.principal,
                invocation.request,
            )
        };
        self.decision_point.rates.count(policy, &query)
    }

    async fn refuse_token(
        &self,
        caller: Caller<'_>,
        token: &Token,
        decision: Decision,
    ) -> Invocation {
        // The claims of a token are used in the record only if its MAC holds.
        let authentic = self
            .decision_point
            .key_ring()
            .verify(token)
            .ok()
            .map(|authentic| authentic.claims.capability);
        let capability = authentic.or_else(|| CapabilityId::parse("unknown").ok());
        let (Some(capability), Ok(call)) =
            (capability, CallId::random(self.context.random.as_ref()))
        else {
            return Invocation::unnamed(decision);
        };
        let request = CapabilityRequest::new(capability, "");
        refuse_early(&self.recorder, caller, &request, call, decision).await
    }
}

/// Reserves what the call may use of the run's budget and of the session.
fn reserve_budget(
    settings: &Settings,
    invocation: &mut AuthorizedInvocation<'_>,
    slot: &RunSlot,
) -> Result<(), Box<CheckResult>> {
    let budget = &invocation.caller.run.settings.budget;
    let mode = invocation.effective_mode();
    let tokens = max_frame_tokens(settings, slot, mode);
    let reservation =
        BudgetReservation::for_first_attempt(slot, budget, tokens, attempt_needs(invocation))?;
    invocation.token_allotment.reserve(settings, slot, mode, reservation.tokens())?;
    invocation.reservation = Some(reservation);
    Ok(())
}

/// Denies a call that is not the one the token was made for.
fn check_token_binding(
    decision: Decision,
    claims: &TokenClaims,
    target: Option<&CallTarget>,
) -> Decision {
    let Some(target) = target else { return decision };
    let arguments = target.arguments.as_ref().map(|a| a.digest);
    let (reason, detail) = if target.capability.fingerprint() != claims.fingerprint {
        (ReasonCode::ContractChanged, "the capability has changed since the grant; ask again")
    } else if claims.arguments.is_some() && claims.arguments != arguments {
        (ReasonCode::TokenScope, "the token was made for other arguments")
    } else {
        return decision;
    };
    decision.joined_with(CheckResult::new(CheckKind::System, Verdict::Deny, reason, detail))
}

fn deny_raw_without_token(
    decision: Decision,
    claims: &TokenClaims,
    mode: ResponseMode,
) -> Decision {
    if mode != ResponseMode::Raw || claims.raw {
        return decision;
    }
    let detail = "raw results must be asked for at the grant";
    let reason = ReasonCode::TokenScope;
    decision.joined_with(CheckResult::new(CheckKind::System, Verdict::Deny, reason, detail))
}
