//! Decides whether a held call may resume: whether it was released, and whether everything is still
//! as it was when its request was opened.

use std::sync::Arc;

use weaver_policy::approval::{
    ApprovalRequest, HeldCheck, ObservedPrecondition, Phase, RequestEnd,
};
use weaver_policy::{PolicyQuery, PolicySet, ReleaseProof};
use weaver_text::escape;
use weaver_types::{
    ApprovalRequestId, CheckKind, CheckResult, Decision, Label, ReasonCode, Remedy,
};

use super::PolicyDecisionPoint;
use super::evaluation::CallTarget;
use super::preconditions;
use crate::approval::hold::CallKey;
use crate::approval::hold_release::{HoldEnding, HoldRelease, HoldState, KERNEL_ACTOR, denial};
use crate::approval::table::{HoldEntry, HoldLookup};
use crate::caller::Caller;
use crate::revocation::GrantScope;

/// How much of a denier's reason the agent reads, in characters.
const MAX_DENIER_CHARS: usize = 300;

/// The result of looking for a release.
pub(crate) struct ResumeOutcome {
    pub(crate) decision: Decision,
    pub(crate) hold_state: HoldState,
    pub(crate) hold_endings: Vec<HoldEnding>,
}

/// A held call and what its decision depends on.
pub(crate) struct HeldCall<'a, 'q> {
    pub(crate) policy: &'a PolicySet,
    pub(crate) caller: Caller<'a>,
    pub(crate) query: &'a PolicyQuery<'q>,
    pub(crate) target: &'a CallTarget,
    pub(crate) preconditions: &'a [ObservedPrecondition],
    /// How many calls of the run have written without that a person released them.
    pub(crate) unreviewed_writes: u64,
    /// The decision without any release.
    pub(crate) decision: Decision,
    pub(crate) decide: &'a DecisionFn<'a>,
}

/// Computes the decision: with a release, if there is one, and under an earlier label of the run in
/// place of the present one.
pub(crate) type DecisionFn<'a> = dyn Fn(Option<&ReleaseProof>, Option<&Label>) -> Decision + 'a;

impl PolicyDecisionPoint {
    /// Looks for an approval that releases a held call: the call's own request first, then a
    /// standing approval. A call that was denied is not offered to a standing approval.
    pub(crate) fn resume(&self, call: HeldCall<'_, '_>) -> ResumeOutcome {
        let Some(arguments) = &call.target.arguments else {
            return ResumeOutcome::new(call.decision, HoldState::Free);
        };
        let call_key = CallKey {
            run: call.caller.run.run_id.clone(),
            principal: call.caller.principal.id.clone(),
            agent: call.caller.principal.agent.clone(),
            capability: call.target.capability.id().clone(),
            folder: call.target.folder.clone(),
        };
        let mut resumed = match self.approvals.holds.find(&call_key, arguments, call.query.now) {
            None => {
                let reason = ReasonCode::InternalError;
                let detail = "internal error: the lock of the held calls is poisoned";
                return ResumeOutcome::with_denial(
                    call.decision,
                    CheckKind::System,
                    reason,
                    detail,
                );
            }
            Some(HoldLookup::Denied(ended)) => {
                let detail = format!(
                    "request `{}` for this very call was denied{}; it can be requested again from {}",
                    ended.id,
                    denier_words(&ended.phase),
                    ended.deadline
                );
                let reason = ReasonCode::ApprovalDenied;
                return ResumeOutcome::with_denial(call.decision, CheckKind::Rule, reason, &detail);
            }
            Some(HoldLookup::TooManyDenied(until)) => {
                let detail = format!(
                    "too many calls of this tool were denied in this run; another can be requested \
                     from {until}"
                );
                let reason = ReasonCode::ApprovalDenied;
                return ResumeOutcome::with_denial(call.decision, CheckKind::Rule, reason, &detail);
            }
            Some(HoldLookup::NotFound) => {
                ResumeOutcome::new(call.decision.clone(), HoldState::Openable { supersedes: None })
            }
            Some(HoldLookup::Open(hold)) => self.resume_open_request(&call, hold),
        };
        if matches!(resumed.hold_state, HoldState::Openable { .. } | HoldState::Waiting(_))
            && let Some((decision, hold_release)) =
                self.approvals.release_by_standing_approval(call.policy, call.query, &|release| {
                    (call.decide)(Some(release), None)
                })
        {
            resumed.decision = decision;
            resumed.hold_state = HoldState::Released(Box::new(hold_release));
        }
        resumed
    }

    /// Decides what the open request of a call means for it.
    ///
    /// What the run has read since changes nothing: the arguments are those of the request, so they
    /// hold nothing of it, and the call is decided under the label that it was held with.
    ///
    /// The order matters. An expired or revoked request must not release anything, so both are
    /// checked first. Then everything that the approvers saw is compared with the present; a
    /// granted call that differs is refused, and an unanswered request is superseded by a new one.
    /// Only then do the votes count, each checked against the keys in force now.
    fn resume_open_request(&self, call: &HeldCall<'_, '_>, hold: HoldEntry) -> ResumeOutcome {
        let request = &hold.open.request;
        let id = request.id.clone();
        if call.query.now >= request.deadline {
            let mut resumed =
                ResumeOutcome::new(call.decision.clone(), HoldState::Openable { supersedes: None });
            let detail = "the request expired";
            resumed.add_ending(&id, RequestEnd::Expired, ReasonCode::ApprovalExpired, detail);
            return resumed;
        }
        let granted =
            hold.granted_in_process.is_some() || *hold.open.state.phase() == Phase::Granted;
        let granted_to = GrantScope {
            principal: &request.principal,
            run: &request.run,
            token: None,
            at: request.opened_at,
        };
        if self.is_grant_revoked(&granted_to) {
            let mut resumed =
                ResumeOutcome::new(call.decision.clone(), HoldState::Openable { supersedes: None });
            let (end, reason) =
                (RequestEnd::Revoked { by: KERNEL_ACTOR.to_owned() }, ReasonCode::ApprovalRevoked);
            resumed.add_ending(&id, end, reason, "the run or principal was revoked");
            return resumed;
        }
        if let Some(check_result) = changed_since_request(call, request) {
            return if granted {
                ResumeOutcome::refused_grant(call, &id, check_result)
            } else {
                superseded_outcome(call, id, &check_result)
            };
        }
        // Arguments often name a state: a repository, a file, a draft. Whoever agreed saw it as it
        // was then. Whoever has yet to agree is shown what was written meanwhile.
        if granted && call.unreviewed_writes != hold.seen_writes() {
            return ResumeOutcome::refused_grant(call, &id, write_denial());
        }
        if !granted {
            let as_held = (call.decide)(None, Some(&request.label));
            let holds = HeldCheck::from_decision(&as_held);
            if holds.iter().all(|hold| request.holds.contains(hold)) {
                return ResumeOutcome::new(call.decision.clone(), HoldState::Waiting(id));
            }
            return superseded_outcome(call, id, &more_holds_denial());
        }
        let now = call.query.now;
        let release = match (&hold.granted_in_process, call.policy.keys()) {
            (Some(people), keys) => ReleaseProof::vouched_by_host(request, keys, people, now),
            (None, Some(keys)) => hold.open.state.release(request, keys, now),
            (None, None) => {
                let detail = "no keys document is in force, so no signature counts";
                let check_result = denial(CheckKind::System, ReasonCode::ApprovalRevoked, detail);
                return ResumeOutcome::refused_grant(call, &id, check_result);
            }
        };
        match release {
            Err(rejection) => {
                let detail = format!("the approval is no longer valid: {rejection}");
                let check_result = denial(CheckKind::System, ReasonCode::ApprovalRevoked, &detail);
                ResumeOutcome::refused_grant(call, &id, check_result)
            }
            Ok(release) => {
                let decision = (call.decide)(Some(&release), Some(&request.label));
                if !decision.is_allowed() {
                    return superseded_outcome(call, id, &more_holds_denial());
                }
                let hold_release = HoldRelease::Request { hold, release: Arc::new(release) };
                ResumeOutcome::new(decision, HoldState::Released(Box::new(hold_release)))
            }
        }
    }
}

impl ResumeOutcome {
    fn new(decision: Decision, hold_state: HoldState) -> Self {
        Self { decision, hold_state, hold_endings: Vec::new() }
    }

    fn with_denial(decision: Decision, check: CheckKind, reason: ReasonCode, detail: &str) -> Self {
        Self::new(decision.joined_with(denial(check, reason, detail)), HoldState::Free)
    }

    /// Refuses a granted call that is no longer the call that was granted, and ends its request.
    fn refused_grant(
        call: &HeldCall<'_, '_>,
        id: &ApprovalRequestId,
        check_result: CheckResult,
    ) -> Self {
        let (reason, detail) = (check_result.reason, check_result.detail.clone());
        let mut resumed =
            Self::new(call.decision.clone().joined_with(check_result), HoldState::Free);
        resumed.add_ending(
            id,
            RequestEnd::Revoked { by: KERNEL_ACTOR.to_owned() },
            reason,
            &detail,
        );
        resumed
    }

    fn add_ending(
        &mut self,
        id: &ApprovalRequestId,
        end: RequestEnd,
        reason: ReasonCode,
        detail: &str,
    ) {
        let detail = detail.to_owned();
        self.hold_endings.push(HoldEnding { id: id.clone(), end, reason, detail });
    }
}

/// Supersedes an unanswered request that no longer describes the call. It ends when the new request
/// is opened.
fn superseded_outcome(
    call: &HeldCall<'_, '_>,
    id: ApprovalRequestId,
    check_result: &CheckResult,
) -> ResumeOutcome {
    let mut resumed = ResumeOutcome::new(
        call.decision.clone(),
        HoldState::Openable { supersedes: Some(id.clone()) },
    );
    resumed.add_ending(
        &id,
        RequestEnd::Superseded { by: None },
        check_result.reason,
        &check_result.detail,
    );
    resumed
}

/// The denial for the first thing that changed since the request was opened.
fn changed_since_request(
    call: &HeldCall<'_, '_>,
    request: &ApprovalRequest,
) -> Option<CheckResult> {
    let basis = call.policy.basis();
    if call.target.capability.fingerprint() != request.fingerprint {
        let detail = format!(
            "the capability is now {}; the request is about {}",
            call.target.capability.fingerprint(),
            request.fingerprint
        );
        return Some(denial(CheckKind::Contract, ReasonCode::ContractChanged, &detail));
    }
    if basis.policy != request.policy || basis.contracts != request.contracts {
        let detail = "the policy has changed since the call was held; ask again";
        return Some(askable_denial(CheckKind::System, ReasonCode::PolicyChanged, detail));
    }
    preconditions::changed_precondition_denial(&request.preconditions, call.preconditions)
}

/// The denial of a granted call whose run has written since a person looked at it, so that the call
/// may do something else than what they saw.
pub(crate) fn write_denial() -> CheckResult {
    let detail = "the run has made a call that writes since a person looked at this one, and nobody was \
                  asked about that; call again to ask anew, and write nothing between grant and call";
    askable_denial(CheckKind::Precondition, ReasonCode::PreconditionFailed, detail)
}

/// The denial of a granted call that may be asked about anew, by the same call at once.
fn askable_denial(check: CheckKind, reason: ReasonCode, detail: &str) -> CheckResult {
    denial(check, reason, detail).with_remedy(Remedy::Wait { retry_after_ms: 0 })
}

/// What the person who denied a request said, for the agent. It was signed with the denial.
fn denier_words(phase: &Phase) -> String {
    match phase {
        Phase::Denied { reason, .. } if !reason.trim().is_empty() => {
            let words = escape::truncate(reason.trim(), MAX_DENIER_CHARS);
            format!(": \"{}\"", escape::line(words))
        }
        _ => String::new(),
    }
}

fn more_holds_denial() -> CheckResult {
    let detail = "the call is now held by more than the request names";
    denial(CheckKind::Rule, ReasonCode::ApprovalSuperseded, detail)
}
