//! Invoking: verify, decide again on the exact arguments, commit, execute, finish.

use serde_json::Value;
use weaver_policy::{PolicySet, Query};
use weaver_types::{
    CallId, CapabilityId, CapabilityRequest, Check, Confidentiality, Contribution, Decision,
    Integrity, Label, Operation, ProgressSink, ReasonCode, ResponseMode, TokenClaims, Verdict,
};

use super::attempt::attempt_needs;
use super::authorized_invocation::{AuthorizedInvocation, TokenHolder};
use super::evaluate::{Evaluation, EvaluationRequest, Target, denied};
use super::grant::{early, limits, raw_needs_admin, unnamed};
use super::label;
use super::measure::Measure;
use super::progress::ProgressOutlet;
use super::resume::HoldState;
use super::token_allotment::TokenAllotment;
use crate::budget_reservation::BudgetReservation;
use crate::cached_run::{RunSlot, lock};
use crate::call_stream::{CallStream, Outlet};
use crate::caller::{Call, Caller};
use crate::invocation::Grant;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::masked_arguments;
use crate::telemetry;
use crate::token::Token;

/// How a call is made: who has its token, and what is shown of it before its end, and where.
#[derive(Default)]
struct InvokeOptions {
    holder: TokenHolder,
    stream: Option<Outlet>,
    progress: Option<ProgressSink>,
}

impl Kernel {
    /// Executes what a token stands for, once.
    ///
    /// Dropping the future abandons the call. If its intent was committed by then, the log says
    /// "outcome unknown" of it.
    pub async fn invoke(
        &self,
        caller: Caller<'_>,
        token: &Token,
        arguments: &Value,
        mode: ResponseMode,
    ) -> Invocation {
        self.invoke_into(caller, token, arguments, mode, InvokeOptions::default()).await
    }

    /// Executes what a token stands for, once, and shows its result as it comes, where the driver
    /// can stream; otherwise in one frame. The same checks, one intent and one outcome.
    ///
    /// What a stream may show is bounded as for one frame, and the time limit of the call bounds all
    /// of it: a tool that keeps sending is cut off. The run takes on the label of the result with the intent, since parts
    /// are shown before the end is recorded; the last frame is shown after it.
    pub fn invoke_stream<'k>(
        &'k self,
        caller: Caller<'k>,
        token: &'k Token,
        arguments: &'k Value,
        mode: ResponseMode,
    ) -> CallStream<'k> {
        let outlet = Outlet::default();
        let into = InvokeOptions { stream: Some(outlet.clone()), ..InvokeOptions::default() };
        let work = Box::pin(self.invoke_into(caller, token, arguments, mode, into));
        CallStream::new(work, outlet)
    }

    async fn invoke_into(
        &self,
        caller: Caller<'_>,
        token: &Token,
        arguments: &Value,
        mode: ResponseMode,
        options: InvokeOptions,
    ) -> Invocation {
        let mut measure = Measure::begin(self, telemetry::Operation::Invoke, caller, mode);
        // In a box: a future is moved with all the room that its longest way would take.
        let work = Box::pin(self.invoke_now(caller, &mut measure, token, arguments, mode, options));
        let done = work.await;
        measure.invoked(&done);
        *done
    }

    async fn invoke_now(
        &self,
        caller: Caller<'_>,
        measure: &mut Measure<'_>,
        token: &Token,
        arguments: &Value,
        mode: ResponseMode,
        options: InvokeOptions,
    ) -> Box<Invocation> {
        let policy = self.policy();
        let principal = policy.granted(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        let at = self.moment();
        let verified = match self.verify(&policy, caller, token, at) {
            Ok(verified) => verified,
            Err((reason, detail)) => {
                let decision = denied(&policy, Check::System, reason, detail);
                let refused = Box::pin(self.refuse_token(caller, token, decision)).await;
                return Box::new(refused);
            }
        };
        let (claims, pending) = (verified.claims(), verified.pending());
        measure.about(&claims.capability);
        let (request, operation) = (&pending.request, Operation::Invoke);
        let facts = Some(pending.facts.as_slice());
        let repaired = self.repaired(&policy, request, Some(arguments));
        let arguments = repaired.as_ref().map_or(arguments, |repaired| &repaired.arguments);
        let unmasked = self.unmasked(caller, Some(arguments));
        let (real, masks) = masked_arguments::parts(unmasked.as_deref(), Some(arguments));
        let arguments = real.unwrap_or(arguments);
        let mut question = EvaluationRequest {
            caller,
            request,
            arguments: Some(arguments),
            masks,
            operation,
            at,
            facts,
            resumes: true,
        };
        let tighten = |mut evaluated: Box<Evaluation>| {
            evaluated.decision = bound(evaluated.decision, claims, evaluated.target.as_ref());
            evaluated.decision = raw_needs_admin(evaluated.decision, caller, mode);
            evaluated.decision = raw_needs_token(evaluated.decision, claims, mode);
            evaluated
        };
        let call = pending.call.clone();
        let mut evaluated = self.decide_and_resolve(&policy, &mut question, &call, &tighten).await;
        let released = match std::mem::take(&mut evaluated.holding) {
            HoldState::Released(released) => Some(released),
            _ => None,
        };
        match (evaluated.target.take(), evaluated.slot.take()) {
            (Some(target), Some(slot)) if evaluated.decision.allowed() => {
                let decision = evaluated.decision;
                let worst = label::stored(&target.capability, &call);
                let tells = options.progress.is_some() && target.entry.driver.reports_progress();
                let ready = Box::new(AuthorizedInvocation {
                    caller,
                    request,
                    worst: match masks {
                        Some(masks) => masks.join(worst),
                        None => worst,
                    },
                    call,
                    claims,
                    target,
                    limits: limits(request, &decision).join(&claims.constraints),
                    decision,
                    mode,
                    arguments,
                    masks,
                    repaired: repaired.as_ref().map(|repaired| &repaired.done),
                    released,
                    share: TokenAllotment::default(),
                    counted: question.at.now,
                    reservation: None,
                    holder: options.holder,
                    outlet: options.stream,
                    progress: options.progress.filter(|_| tells).map(ProgressOutlet::new),
                });
                self.commit_and_execute(&policy, ready, slot).await
            }
            (target, slot) => {
                (evaluated.target, evaluated.slot) = (target, slot);
                let open = evaluated.request.clone();
                let decision = self.refuse(caller, request, &call, evaluated).await;
                let refused = self.refused(caller, request, call, decision);
                Box::new(Invocation { request: open, ..refused })
            }
        }
    }

    /// Commits the intent, then executes; or refuses.
    async fn commit_and_execute(
        &self,
        policy: &PolicySet,
        mut ready: Box<AuthorizedInvocation<'_>>,
        slot: RunSlot,
    ) -> Box<Invocation> {
        let AuthorizedInvocation { caller, request, .. } = *ready;
        if caller.run.dry_run {
            let AuthorizedInvocation { call, decision, .. } = *ready;
            return Box::new(Invocation { call, decision, result: None, request: None });
        }
        // What was looked at for the decision may have taken its time.
        ready.counted = self.now();
        let reserved = self.set_aside(&mut ready, &slot);
        let decision = match reserved.and_then(|()| self.reserve(policy, &ready, &slot)) {
            Err(said) => ready.decision.clone().tightened(*said),
            Ok(()) => match self.commit_intent(&ready, &slot).await {
                Ok(mut watch) => {
                    if let Some(masks) = ready.masks {
                        masks.give_out();
                    }
                    watch.reservation = ready.reservation.take();
                    return match ready.outlet.take() {
                        Some(outlet) => Box::pin(self.stream_to_end(ready, watch, &outlet)).await,
                        None => Box::pin(self.run_to_end(ready, watch)).await,
                    };
                }
                Err(decision) => *decision,
            },
        };
        // Whoever lost a race for the token is refused under a name of its own: the call belongs
        // to whoever won.
        let own = (decision.primary() == ReasonCode::TokenUsed)
            .then(|| CallId::random(self.random.as_ref()).ok())
            .flatten();
        let call = own.unwrap_or(ready.call);
        let mut evaluated = Evaluation::new(decision, Some(slot));
        evaluated.given = ready.masks.map(|masks| masks.given.clone());
        evaluated.target = Some(ready.target);
        let decision = self.refuse(caller, request, &call, evaluated).await;
        Box::new(self.refused(caller, request, call, decision))
    }

    /// Sets aside what the call may take of its run and of its session.
    fn set_aside(
        &self,
        ready: &mut AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Result<(), Box<Contribution>> {
        let budget = &ready.caller.run.settings.budget;
        let mode = ready.effective_mode();
        let tokens = self.tokens_of_a_frame(slot, mode);
        let reservation = BudgetReservation::take(slot, budget, tokens, attempt_needs(ready))?;
        ready.share.reserve(self, slot, mode, reservation.tokens())?;
        ready.reservation = Some(reservation);
        Ok(())
    }

    /// Counts the call for the limits, now that it is about to be made.
    fn reserve(
        &self,
        policy: &PolicySet,
        ready: &AuthorizedInvocation<'_>,
        slot: &RunSlot,
    ) -> Result<(), Box<Contribution>> {
        let label = lock(slot).map(|run| run.state().label.clone());
        let unknown = || Label::of(Confidentiality::Restricted, Integrity::Untrusted);
        let label = label.unwrap_or_else(unknown);
        let query = Query {
            arguments: Some(ready.arguments),
            mode: ready.caller.run.settings.safety_mode,
            label: &label,
            now: ready.counted,
            human_channel: self.settings.human_channel,
            origins: Some(&self.origins(slot)),
            run: Some(&ready.caller.run.run_id),
            ..Query::new(&ready.target.capability, ready.caller.principal, ready.request)
        };
        self.rates.reserve(policy, &query)
    }

    /// Grant and invoke in one.
    pub async fn execute(&self, caller: Caller<'_>, call: Call<'_>) -> Invocation {
        self.execute_into(caller, call, None).await
    }

    /// Grant and invoke in one. While the call runs, `progress` is told how far it is, if its driver
    /// tells that: at most ten times a second and 1,000 times in all, in numbers that only grow, the
    /// last of them before this is done. Messages are redacted as results are and one line of at
    /// most 200 characters; there are none in the modes `summary` and `handle_only`. The run takes
    /// on the label of the result with the intent, since messages are shown before the end is
    /// recorded.
    pub async fn execute_with_progress(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        progress: ProgressSink,
    ) -> Invocation {
        self.execute_into(caller, call, Some(progress)).await
    }

    async fn execute_into(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        progress: Option<ProgressSink>,
    ) -> Invocation {
        let nothing = Value::Object(serde_json::Map::new());
        let arguments = call.arguments.unwrap_or(&nothing);
        let grant = self.grant(caller, Call { arguments: Some(arguments), ..call }).await;
        match &grant.token {
            Some(token) => {
                let options = InvokeOptions { holder: TokenHolder::Kernel, stream: None, progress };
                self.invoke_into(caller, token, arguments, call.mode, options).await
            }
            None if grant.decision.allowed() => {
                let Grant { call, decision, request, .. } = grant;
                Invocation { call, decision, result: None, request }
            }
            None => Invocation {
                request: grant.request,
                ..self.refused(caller, call.request, grant.call, grant.decision)
            },
        }
    }

    async fn refuse_token(
        &self,
        caller: Caller<'_>,
        token: &Token,
        decision: Decision,
    ) -> Invocation {
        // What the token claims is worth naming only when its signature holds.
        let known = self.key_ring().verify(token).ok().map(|known| known.claims.capability);
        let capability = known.or_else(|| CapabilityId::parse("unknown").ok());
        let (Some(capability), Ok(call)) = (capability, CallId::random(self.random.as_ref()))
        else {
            return Invocation { call: unnamed(), decision, result: None, request: None };
        };
        let request = CapabilityRequest::new(capability, "");
        let slot = self.slot_of(caller);
        let decision = self.refuse(caller, &request, &call, early(decision, slot)).await;
        self.refused(caller, &request, call, decision)
    }

    /// The run's slot, where its state can be read.
    pub(crate) fn slot_of(&self, caller: Caller<'_>) -> Option<RunSlot> {
        let run = &caller.run.run_id;
        self.runs.slot(run, self.ledger.as_ref()).ok()
    }
}

/// The evaluated call must be the granted one.
fn bound(decision: Decision, claims: &TokenClaims, target: Option<&Target>) -> Decision {
    let Some(target) = target else { return decision };
    let arguments = target.arguments.as_ref().map(|a| a.digest);
    let (reason, detail) = if target.capability.fingerprint() != claims.fingerprint {
        (ReasonCode::ContractChanged, "the capability has changed since the grant; ask again")
    } else if claims.arguments.is_some() && claims.arguments != arguments {
        (ReasonCode::TokenScope, "the token was made for other arguments")
    } else {
        return decision;
    };
    decision.tightened(Contribution::new(Check::System, Verdict::Deny, reason, detail))
}

fn raw_needs_token(decision: Decision, claims: &TokenClaims, mode: ResponseMode) -> Decision {
    if mode != ResponseMode::Raw || claims.raw {
        return decision;
    }
    let detail = "raw results must be asked for at the grant";
    let reason = ReasonCode::TokenScope;
    decision.tightened(Contribution::new(Check::System, Verdict::Deny, reason, detail))
}
