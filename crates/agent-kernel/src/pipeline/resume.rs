//! Resuming: whether a held call was released, and whether everything is still as it was then.

use std::sync::Arc;

use weaver_policy::approval::{
    ApprovalRequest, HeldCheck, ObservedPrecondition, Phase, RequestEnd,
};
use weaver_policy::{PolicySet, Query, Release};
use weaver_types::{Check, Contribution, Decision, Discharge, ReasonCode, RequestId, Verdict};

use super::evaluate::Target;
use super::observe;
use crate::approval::hold::CallSite;
use crate::approval::standing_approvals::StandingRecord;
use crate::approval::table::{Hold, HoldLookup};
use crate::caller::Caller;
use crate::kernel::Kernel;
use crate::revocation::RevocationScope;

/// Who takes a request back when the kernel itself does.
pub(crate) const KERNEL: &str = "kernel";

/// Where a call stands with what holds it.
#[derive(Debug, Clone, Default)]
pub(crate) enum HoldState {
    /// Nothing that a request could release holds it.
    #[default]
    Free,
    /// It is held, and a request can be opened; it takes the place of another one.
    Openable { instead_of: Option<RequestId> },
    /// It is held, and its request is open.
    Waiting(RequestId),
    /// It was held, and this releases it, once.
    Released(Box<HoldRelease>),
}

/// What releases a call; it is used up with the call's intent.
#[derive(Debug, Clone)]
pub(crate) enum HoldRelease {
    Request { hold: Hold, release: Arc<Release> },
    Standing { used: Box<StandingRecord>, release: Arc<Release> },
}

impl HoldRelease {
    /// The request, where it is one.
    pub(crate) fn request(&self) -> Option<&RequestId> {
        match self {
            Self::Request { hold, .. } => Some(&hold.open.request.id),
            Self::Standing { .. } => None,
        }
    }
}

/// A request that ends, and why.
#[derive(Debug, Clone)]
pub(crate) struct HoldEnding {
    pub(crate) id: RequestId,
    pub(crate) end: RequestEnd,
    pub(crate) reason: ReasonCode,
    pub(crate) detail: String,
}

/// What came of looking for a release.
pub(crate) struct ResumeOutcome {
    pub(crate) decision: Decision,
    pub(crate) holding: HoldState,
    pub(crate) endings: Vec<HoldEnding>,
}

/// A held call, as it is asked for.
pub(crate) struct HeldCall<'a, 'q> {
    pub(crate) policy: &'a PolicySet,
    pub(crate) caller: Caller<'a>,
    pub(crate) query: &'a Query<'q>,
    pub(crate) target: &'a Target,
    pub(crate) facts: &'a [ObservedPrecondition],
    /// The decision without any release.
    pub(crate) decision: Decision,
    /// The decision with one.
    pub(crate) decide: &'a dyn Fn(&Release) -> Decision,
}

/// True when people could release everything that stands in the way.
pub(crate) fn is_releasable(decision: &Decision) -> bool {
    decision.verdict() == Verdict::Hold
        && decision
            .obstacles()
            .all(|said| said.verdict == Verdict::Hold && said.discharge == Discharge::Approval)
}

impl Kernel {
    /// Looks for what releases a held call.
    pub(crate) fn resume(&self, held: HeldCall<'_, '_>) -> ResumeOutcome {
        let Some(arguments) = &held.target.arguments else {
            return ResumeOutcome::new(held.decision, HoldState::Free);
        };
        let place = CallSite {
            run: held.caller.run.run_id.clone(),
            principal: held.caller.principal.id.clone(),
            agent: held.caller.principal.agent.clone(),
            capability: held.target.capability.id().clone(),
        };
        let mut resumed = match self.holds.find(&place, arguments, held.query.now) {
            None => {
                let reason = ReasonCode::InternalError;
                let detail = "the held calls are unusable: a thread died while it held them";
                return ResumeOutcome::denied(held.decision, Check::System, reason, detail);
            }
            Some(HoldLookup::Denied(ended)) => {
                let detail = format!(
                    "request `{}` for this very call was denied; it can be asked again from {} on",
                    ended.id, ended.deadline
                );
                let reason = ReasonCode::ApprovalDenied;
                return ResumeOutcome::denied(held.decision, Check::Rule, reason, &detail);
            }
            Some(HoldLookup::Nothing) => {
                ResumeOutcome::new(held.decision.clone(), HoldState::Openable { instead_of: None })
            }
            Some(HoldLookup::Open(hold)) => self.meet(&held, hold),
        };
        if matches!(resumed.holding, HoldState::Openable { .. } | HoldState::Waiting(_))
            && let Some((decision, released)) = self.release_by_standing_approval(&held)
        {
            resumed.decision = decision;
            resumed.holding = HoldState::Released(Box::new(released));
        }
        resumed
    }

    /// A call whose request is open.
    fn meet(&self, held: &HeldCall<'_, '_>, hold: Hold) -> ResumeOutcome {
        let request = &hold.open.request;
        let id = request.id.clone();
        if held.query.now >= request.deadline {
            let mut resumed =
                ResumeOutcome::new(held.decision.clone(), HoldState::Openable { instead_of: None });
            let detail = "its time is over";
            resumed.ends(&id, RequestEnd::Expired, ReasonCode::ApprovalExpired, detail);
            return resumed;
        }
        let granted = hold.here.is_some() || *hold.open.state.phase() == Phase::Granted;
        let granted_to = RevocationScope {
            principal: &request.principal,
            run: &request.run,
            token: None,
            at: request.opened_at,
        };
        if self.is_grant_revoked(&granted_to) {
            let mut resumed =
                ResumeOutcome::new(held.decision.clone(), HoldState::Openable { instead_of: None });
            let (end, reason) =
                (RequestEnd::Revoked { by: KERNEL.to_owned() }, ReasonCode::ApprovalRevoked);
            resumed.ends(&id, end, reason, "what was granted to its run or principal was revoked");
            return resumed;
        }
        if let Some(said) = moved(held, request) {
            return if granted {
                ResumeOutcome::refused(held, &id, said)
            } else {
                replaced(held, id, &said)
            };
        }
        if !granted {
            let asked = HeldCheck::of(&held.decision);
            if asked.iter().all(|one| request.holds.contains(one)) {
                return ResumeOutcome::new(held.decision.clone(), HoldState::Waiting(id));
            }
            return replaced(held, id, &more_holds());
        }
        let now = held.query.now;
        let release = match (&hold.here, held.policy.keys()) {
            (Some(people), keys) => Release::in_process(request, keys, people, now),
            (None, Some(keys)) => hold.open.state.release(request, keys, now),
            (None, None) => {
                let detail = "no keys document is in force, so no signature counts";
                let said = denial(Check::System, ReasonCode::ApprovalRevoked, detail);
                return ResumeOutcome::refused(held, &id, said);
            }
        };
        match release {
            Err(rejection) => {
                let detail = format!("the approval counts no more: {rejection}");
                let said = denial(Check::System, ReasonCode::ApprovalRevoked, &detail);
                ResumeOutcome::refused(held, &id, said)
            }
            Ok(release) => {
                let decision = (held.decide)(&release);
                if !decision.allowed() {
                    return replaced(held, id, &more_holds());
                }
                let released = HoldRelease::Request { hold, release: Arc::new(release) };
                ResumeOutcome::new(decision, HoldState::Released(Box::new(released)))
            }
        }
    }
}

impl ResumeOutcome {
    fn new(decision: Decision, holding: HoldState) -> Self {
        Self { decision, holding, endings: Vec::new() }
    }

    fn denied(decision: Decision, check: Check, reason: ReasonCode, detail: &str) -> Self {
        Self::new(decision.tightened(denial(check, reason, detail)), HoldState::Free)
    }

    /// A granted call that is not the granted one any more: refused, and its request ends.
    fn refused(held: &HeldCall<'_, '_>, id: &RequestId, said: Contribution) -> Self {
        let (reason, detail) = (said.reason, said.detail.clone());
        let mut resumed = Self::new(held.decision.clone().tightened(said), HoldState::Free);
        resumed.ends(id, RequestEnd::Revoked { by: KERNEL.to_owned() }, reason, &detail);
        resumed
    }

    fn ends(&mut self, id: &RequestId, end: RequestEnd, reason: ReasonCode, detail: &str) {
        let detail = detail.to_owned();
        self.endings.push(HoldEnding { id: id.clone(), end, reason, detail });
    }
}

/// A request that nobody answered and that speaks of something else by now: another takes its
/// place. It ends when that one is opened.
fn replaced(held: &HeldCall<'_, '_>, id: RequestId, said: &Contribution) -> ResumeOutcome {
    let mut resumed = ResumeOutcome::new(
        held.decision.clone(),
        HoldState::Openable { instead_of: Some(id.clone()) },
    );
    resumed.ends(&id, RequestEnd::Superseded { by: None }, said.reason, &said.detail);
    resumed
}

/// The first thing that is not as it was when the request was opened.
fn moved(held: &HeldCall<'_, '_>, request: &ApprovalRequest) -> Option<Contribution> {
    let basis = held.policy.basis();
    if held.target.capability.fingerprint() != request.fingerprint {
        let detail = format!(
            "the capability is {} by now; the request is about {}",
            held.target.capability.fingerprint(),
            request.fingerprint
        );
        return Some(denial(Check::Contract, ReasonCode::ContractChanged, &detail));
    }
    if basis.policy != request.policy || basis.contracts != request.contracts {
        let detail = "the policy has changed since the call was held; ask again";
        return Some(denial(Check::System, ReasonCode::PolicyChanged, detail));
    }
    let (now, then) = (held.query.label, &request.label);
    if now.integrity > then.integrity || !now.taints.is_subset(&then.taints) {
        let detail = "the run has taken in untrusted data since the call was held";
        return Some(denial(Check::Flow, ReasonCode::UntrustedInfluence, detail));
    }
    if now.confidentiality > then.confidentiality {
        let detail = "the run holds more confidential data than when the call was held";
        return Some(denial(Check::Flow, ReasonCode::ClearanceExceeded, detail));
    }
    observe::changed(&request.preconditions, held.facts)
}

fn more_holds() -> Contribution {
    let detail = "more holds the call by now than the request names";
    denial(Check::Rule, ReasonCode::ApprovalSuperseded, detail)
}

fn denial(check: Check, reason: ReasonCode, detail: &str) -> Contribution {
    Contribution::new(check, Verdict::Deny, reason, detail)
}
