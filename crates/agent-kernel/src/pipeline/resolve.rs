//! The way from a request to its release inside one call: decide, hold, ask the resolver, decide
//! again.

use std::collections::BTreeSet;

use serde_json::json;
use weaver_policy::approval::{ApprovalRequest, RequestEnd};
use weaver_policy::{PolicySet, Release};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{CallId, Check, Contribution, EventKind, ReasonCode, RequestId};

use super::evaluate::{Evaluation, EvaluationRequest};
use super::hold::deny;
use super::resume::{HoldEnding, is_releasable};
use crate::approval::resolver::{Answer, ResolverPort};
use crate::approval::table::Hold;
use crate::kernel::Kernel;
use crate::record::error_text;
use crate::wait::{contained, within};

/// Who ends a request when the resolver fails.
const RESOLVER: &str = "resolver";

/// Checks of the caller that can only tighten a decision. They run before a hold, so that no approval
/// is asked for a call that is denied anyway.
pub(crate) type Tighten<'a> = &'a (dyn Fn(Box<Evaluation>) -> Box<Evaluation> + Sync);

/// What a resolver's answer means for the call.
enum ResolverOutcome {
    /// Decide again.
    Granted,
    /// The request stays open.
    Open,
    Refused(Box<Contribution>),
}

/// One call asks at a time. Lets the next one ask, also when this one is dropped.
struct AskingTurn<'k>(&'k Kernel, RequestId);

impl Drop for AskingTurn<'_> {
    fn drop(&mut self) {
        self.0.holds.end_asking(&self.1);
    }
}

impl Kernel {
    /// Decides on a call. One that is held is put to the resolver, if there is one, and decided again;
    /// the time of the question is then that of the second decision.
    pub(crate) async fn decide_and_resolve(
        &self,
        policy: &PolicySet,
        question: &mut EvaluationRequest<'_>,
        call: &CallId,
        tighten: Tighten<'_>,
    ) -> Box<Evaluation> {
        let evaluated = tighten(self.evaluate(policy, *question));
        let (caller, slot) = (question.caller, evaluated.slot.as_ref());
        self.record_signals(caller, call, slot, &evaluated.signals).await;
        let mut evaluated = self.hold_if_needed(policy, *question, call, evaluated).await;
        let (Some(id), Some(port)) = (evaluated.request.clone(), &self.ports.resolver) else {
            return evaluated;
        };
        match Box::pin(self.ask(policy, &id, port)).await {
            ResolverOutcome::Open => evaluated,
            ResolverOutcome::Granted => {
                // People take their time.
                question.at = self.moment();
                let again = tighten(self.evaluate(policy, *question));
                self.hold_if_needed(policy, *question, call, again).await
            }
            ResolverOutcome::Refused(said) => {
                evaluated.request = None;
                evaluated.tightened(*said)
            }
        }
    }

    /// What follows from a decision for the requests; nothing for most.
    async fn hold_if_needed(
        &self,
        policy: &PolicySet,
        question: EvaluationRequest<'_>,
        call: &CallId,
        evaluated: Box<Evaluation>,
    ) -> Box<Evaluation> {
        if evaluated.endings.is_empty() && !is_releasable(&evaluated.decision) {
            return evaluated;
        }
        Box::pin(self.hold(policy, question, call, evaluated)).await
    }

    async fn ask(
        &self,
        policy: &PolicySet,
        id: &RequestId,
        port: &ResolverPort,
    ) -> ResolverOutcome {
        if !self.holds.begin_asking(id) {
            return ResolverOutcome::Open;
        }
        let _asking = AskingTurn(self, id.clone());
        let Some(hold) = self.holds.get(id) else { return ResolverOutcome::Open };
        let request = &hold.open.request;
        let work = contained(|| port.resolver.resolve(request));
        let answer = within(work, port.timeout, self.timer.as_ref()).await;
        let revoked = || RequestEnd::Revoked { by: RESOLVER.to_owned() };
        match answer {
            Some(Some(Ok(Answer::NoAnswer))) => ResolverOutcome::Open,
            Some(Some(Ok(Answer::Granted { people }))) => {
                match Release::in_process(request, policy.keys(), &people, self.now()) {
                    Ok(_) => self.agreed(&hold, people).await,
                    Err(rejection) => {
                        let detail = format!("the resolver's grant does not count: {rejection}");
                        self.refuse_hold(request, revoked(), ReasonCode::ApprovalRevoked, &detail)
                            .await
                    }
                }
            }
            Some(Some(Ok(Answer::Denied { by, reason }))) => {
                let reason = error_text(&self.firewall, &reason);
                let detail = format!("`{by}` refused: {reason}");
                let end = RequestEnd::Denied { by, reason };
                self.refuse_hold(request, end, ReasonCode::ApprovalDenied, &detail).await
            }
            Some(Some(Err(error))) => {
                let detail = error.to_string();
                self.refuse_hold(request, revoked(), ReasonCode::InternalError, &detail).await
            }
            Some(None) => {
                let detail = "the resolver panicked";
                self.refuse_hold(request, revoked(), ReasonCode::InternalError, detail).await
            }
            None => {
                let detail = format!("no answer within {} ms", port.timeout.as_millis());
                let reason = ReasonCode::ApprovalTimeout;
                self.refuse_hold(request, RequestEnd::Expired, reason, &detail).await
            }
        }
    }

    /// People in this process agreed. The log says so; the record does not, so that a record
    /// somebody edits never releases anything.
    async fn agreed(&self, hold: &Hold, people: BTreeSet<String>) -> ResolverOutcome {
        let open = &hold.open;
        let event = self
            .about(open)
            .with("people", json!(people))
            .with("in_process", json!(true))
            .event(EventKind::ApprovalGranted, self.now(), &open.request.run, None);
        let Some(event) = event else {
            let detail = "the grant has no recordable form";
            return ResolverOutcome::Refused(deny(
                Check::System,
                ReasonCode::InternalError,
                detail,
            ));
        };
        match self.ledger.commit(Batch::new(Durability::Disk).with_event(event)).await {
            Ok(_) if self.holds.granted_here(&open.request.id, people) => ResolverOutcome::Granted,
            Ok(_) => ResolverOutcome::Open,
            Err(error) => {
                let (check, reason) = (Check::System, ReasonCode::LedgerUnavailable);
                ResolverOutcome::Refused(deny(check, reason, &format!("the grant: {error}")))
            }
        }
    }

    async fn refuse_hold(
        &self,
        request: &ApprovalRequest,
        end: RequestEnd,
        reason: ReasonCode,
        detail: &str,
    ) -> ResolverOutcome {
        let id = request.id.clone();
        let said = format!("request `{id}`: {detail}");
        let ending = HoldEnding { id, end, reason, detail: detail.to_owned() };
        match self.end(ending).await {
            Ok(_) => ResolverOutcome::Refused(deny(Check::Rule, reason, &said)),
            Err(error) => {
                let said = format!("{said} ({error})");
                ResolverOutcome::Refused(deny(Check::Rule, reason, &said))
            }
        }
    }
}
