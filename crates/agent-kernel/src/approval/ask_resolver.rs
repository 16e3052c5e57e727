//! Asks the resolver about a held call.

use std::collections::BTreeSet;

use weaver_policy::approval::{ApprovalRequest, RequestEnd};
use weaver_policy::{PolicySet, ReleaseProof};
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{ApprovalRequestId, CheckKind, CheckResult, EventKind, ReasonCode};

use super::ApprovalRequests;
use super::hold_release::{HoldEnding, boxed_denial};
use super::resolver::{ApprovalAnswer, TimedApprovalResolver};
use super::table::{HoldEntry, HoldTable};
use crate::event_payload::error_text;
use crate::wait::{catch_future_panic, with_timeout};

/// The name in events when a failing resolver ends a request.
const RESOLVER_ACTOR: &str = "resolver";

/// What a resolver's answer means for the call.
pub(crate) enum ResolverOutcome {
    /// People agreed: decide again.
    Granted,
    /// The request stays open.
    Open,
    Refused(Box<CheckResult>),
}

/// The right to ask the resolver about a request. Only one call has it at a time; dropping it lets
/// the next one ask.
struct ResolverTurn<'k>(&'k HoldTable, ApprovalRequestId);

impl Drop for ResolverTurn<'_> {
    fn drop(&mut self) {
        self.0.release_resolver(&self.1);
    }
}

impl ApprovalRequests {
    /// Asks the resolver about a request, unless another call is asking it.
    pub(crate) async fn ask_resolver(
        &self,
        policy: &PolicySet,
        id: &ApprovalRequestId,
        port: &TimedApprovalResolver,
    ) -> ResolverOutcome {
        if !self.holds.claim_resolver(id) {
            return ResolverOutcome::Open;
        }
        let _asking = ResolverTurn(&self.holds, id.clone());
        let Some(hold) = self.holds.get(id) else { return ResolverOutcome::Open };
        let request = &hold.open.request;
        let work = catch_future_panic(|| port.resolver.resolve(request));
        let answer = with_timeout(work, port.timeout, self.context.timer.as_ref()).await;
        let revoked = || RequestEnd::Revoked { by: RESOLVER_ACTOR.to_owned() };
        match answer {
            Some(Some(Ok(ApprovalAnswer::NoAnswer))) => ResolverOutcome::Open,
            Some(Some(Ok(ApprovalAnswer::Granted { people }))) => {
                match ReleaseProof::vouched_by_host(
                    request,
                    policy.keys(),
                    &people,
                    self.context.now(),
                ) {
                    Ok(_) => self.record_grant(&hold, people).await,
                    Err(rejection) => {
                        let detail = format!("the resolver's grant does not count: {rejection}");
                        self.end_refused_request(
                            request,
                            revoked(),
                            ReasonCode::ApprovalRevoked,
                            &detail,
                        )
                        .await
                    }
                }
            }
            Some(Some(Ok(ApprovalAnswer::Denied { by, reason }))) => {
                let reason = error_text(&self.context.firewall, &reason);
                let detail = format!("`{by}` refused: {reason}");
                let end = RequestEnd::Denied { by, reason };
                self.end_refused_request(request, end, ReasonCode::ApprovalDenied, &detail).await
            }
            Some(Some(Err(error))) => {
                let detail = error_text(&self.context.firewall, &error.to_string());
                self.end_refused_request(request, revoked(), ReasonCode::InternalError, &detail)
                    .await
            }
            Some(None) => {
                let detail = "the resolver panicked";
                self.end_refused_request(request, revoked(), ReasonCode::InternalError, detail)
                    .await
            }
            None => {
                let detail = format!("no answer within {} ms", port.timeout.as_millis());
                let reason = ReasonCode::ApprovalTimeout;
                self.end_refused_request(request, RequestEnd::Expired, reason, &detail).await
            }
        }
    }

    /// Records that people in this process agreed. Only the log says so, not the record of the
    /// request: an edited record must never release anything.
    async fn record_grant(&self, hold: &HoldEntry, people: BTreeSet<String>) -> ResolverOutcome {
        let open = &hold.open;
        let event = self
            .request_payload(open)
            .with("people", &people)
            .with("in_process", true)
            .into_event(EventKind::ApprovalGranted, self.context.now(), &open.request.run, None);
        let Some(event) = event else {
            let detail = "the grant has no recordable form";
            return ResolverOutcome::Refused(boxed_denial(
                CheckKind::System,
                ReasonCode::InternalError,
                detail,
            ));
        };
        match self.context.ledger.commit(Batch::new(Durability::Disk).with_event(event)).await {
            Ok(_) if self.holds.mark_granted_in_process(&open.request.id, people) => {
                self.context.approval_counts.count(EventKind::ApprovalGranted);
                ResolverOutcome::Granted
            }
            Ok(_) => ResolverOutcome::Open,
            Err(error) => {
                let (check, reason) = (CheckKind::System, ReasonCode::LedgerUnavailable);
                ResolverOutcome::Refused(boxed_denial(
                    check,
                    reason,
                    &format!("the grant: {error}"),
                ))
            }
        }
    }

    async fn end_refused_request(
        &self,
        request: &ApprovalRequest,
        end: RequestEnd,
        reason: ReasonCode,
        detail: &str,
    ) -> ResolverOutcome {
        let id = request.id.clone();
        let message = format!("request `{id}`: {detail}");
        let ending = HoldEnding { id, end, reason, detail: detail.to_owned() };
        match self.end_request(ending).await {
            Ok(_) => ResolverOutcome::Refused(boxed_denial(CheckKind::Rule, reason, &message)),
            Err(error) => {
                let message = format!("{message} ({error})");
                ResolverOutcome::Refused(boxed_denial(CheckKind::Rule, reason, &message))
            }
        }
    }
}
