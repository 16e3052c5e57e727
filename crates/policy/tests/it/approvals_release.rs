//! What a release does to a decision: its own call, its own holds, and nothing else.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_policy::approval::{ApprovalRequest, HeldCheck, ReleaseProof};
use weaver_policy::{PolicyQuery, PolicySet};
use weaver_types::{
    AgentId, ApprovalAuthority, Capability, CapabilityRequest, CheckKind, CheckResult,
    Confidentiality, Decision, Effects, Integrity, Label, Operation, Principal, PrincipalId,
    ReasonCode, Remedy, SafetyMode, Tenant, Timestamp, Verdict,
};

use crate::approvals::{ALICE, Desk, arguments, authority, grant, push, request};
use crate::support::{NOW, foreign, principal, set};

const POLICY: &str = "[[rules]]\nname = \"push\"\nmatch = { capability = \"git.push\" }\n\
    effect = \"require_approval\"\nconstraints = { max_rows = 7 }\n\
    authority = { min_trust = 800, clearance = \"internal\", scopes = [\"finance\"] }\n";

/// A call that is decided, with everything in it that a release binds.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) capability: Capability,
    pub(crate) principal: Principal,
    pub(crate) arguments: Option<Value>,
    pub(crate) operation: Operation,
    pub(crate) label: Label,
    pub(crate) mode: SafetyMode,
    pub(crate) folder: Option<&'static str>,
    pub(crate) now: Timestamp,
}

impl Call {
    pub(crate) fn push() -> Self {
        Self {
            capability: push(),
            principal: principal(&[]),
            arguments: Some(arguments()),
            operation: Operation::Invoke,
            label: Label::clean(),
            mode: SafetyMode::Normal,
            folder: None,
            now: NOW,
        }
    }

    pub(crate) fn with<T>(
        &self,
        release: Option<&ReleaseProof>,
        ask: impl FnOnce(&PolicyQuery<'_>) -> T,
    ) -> T {
        let request = CapabilityRequest::new(self.capability.id().clone(), "a goal");
        ask(&PolicyQuery {
            arguments: self.arguments.as_ref(),
            operation: self.operation,
            label: &self.label,
            mode: self.mode,
            folder: self.folder,
            now: self.now,
            human_channel: true,
            release,
            ..PolicyQuery::new(&self.capability, &self.principal, &request)
        })
    }

    pub(crate) fn decide(&self, set: &PolicySet, release: Option<&ReleaseProof>) -> Decision {
        self.with(release, |query| set.decide(query))
    }
}

/// The request that this call opens under the policy.
pub(crate) fn opened(set: &PolicySet, call: &Call) -> ApprovalRequest {
    let decision = call.decide(set, None);
    assert_eq!(decision.verdict(), Verdict::Hold);
    ApprovalRequest {
        label: call.label.clone(),
        holds: HeldCheck::from_decision(&decision),
        authority: decision.authority().clone(),
        ..request(1)
    }
}

fn released(set: &PolicySet, call: &Call) -> ReleaseProof {
    let mut desk = Desk::open(opened(set, call));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    desk.release().unwrap()
}

#[test]
fn what_was_held_is_allowed_and_says_so() {
    let set = set(POLICY, "");
    let call = Call::push();
    let held = call.decide(&set, None);
    assert_eq!(HeldCheck::from_decision(&held).len(), 2);
    let decision = call.decide(&set, Some(&released(&set, &call)));
    assert!(decision.is_allowed());
    assert_eq!(decision.primary_reason(), ReasonCode::ApprovalGranted);
    assert_eq!(decision.authority(), &ApprovalAuthority::default());
    // The limits of the rule stay.
    assert_eq!(decision.constraints().max_rows, Some(7));
    assert_eq!(decision.check_results().len(), held.check_results().len());
    assert!(decision.check_results().iter().all(|c| c.verdict == Verdict::Allow));
    assert!(decision.check_results().iter().any(|c| c.detail.contains("`apr_1`")));
}

#[test]
fn another_call_stays_held() {
    let set = set(POLICY, "");
    let release = released(&set, &Call::push());
    type Change = (&'static str, fn(&mut Call));
    let changes: Vec<Change> = vec![
        ("arguments", |c| c.arguments = Some(json!({ "remote": "evil", "force": true }))),
        ("more arguments", |c| c.arguments.as_mut().unwrap()["x"] = json!(1)),
        ("no arguments", |c| c.arguments = None),
        ("principal", |c| c.principal.id = PrincipalId::parse("other").unwrap()),
        ("agent", |c| c.principal.agent = AgentId::parse("bot").ok()),
        ("tenant", |c| c.principal.tenant = Tenant::parse("other").unwrap()),
        ("fingerprint", |c| c.capability = foreign("git.push", Effects::WRITE_OPEN)),
        ("confidentiality", |c| c.label.confidentiality = Confidentiality::Internal),
        ("integrity", |c| c.label.integrity = Integrity::Untrusted),
        ("folder", |c| c.folder = Some("/srv/other")),
        ("deadline", |c| c.now = request(1).deadline),
    ];
    for (name, change) in changes {
        let mut call = Call::push();
        change(&mut call);
        let (with, without) = (call.decide(&set, Some(&release)), call.decide(&set, None));
        assert_eq!(with, without, "{name}");
        assert_eq!(with.verdict(), Verdict::Hold, "{name}");
    }
    // A release is for a call; a view is decided without it.
    let mut view = Call::push();
    view.operation = Operation::View;
    assert_eq!(view.decide(&set, Some(&release)), view.decide(&set, None));
    // Arguments are compared by what they say, not by how they are written.
    let mut call = Call::push();
    call.arguments = Some(serde_json::from_str(r#"{"force":true,"remote":"origin"}"#).unwrap());
    assert!(call.decide(&set, Some(&release)).is_allowed());
}

#[test]
fn a_hold_that_was_not_in_the_request_stays() {
    let rules = set(POLICY, "");
    let release = released(&rules, &Call::push());
    // A rule that asks for more authority than was granted.
    for more in
        ["min_trust = 801", "clearance = \"restricted\"", "scopes = [\"ops\"]", "quorum = 2"]
    {
        let text = format!(
            "{POLICY}[[rules]]\nname = \"more\"\nmatch = {{}}\neffect = \"require_approval\"\n\
             authority = {{ {more} }}\n"
        );
        let decision = Call::push().decide(&set(&text, ""), Some(&release));
        assert_eq!(decision.verdict(), Verdict::Hold, "{more}");
    }
    // A denial stays a denial.
    let deny = format!("{POLICY}[[rules]]\nname = \"no\"\nmatch = {{}}\neffect = \"deny\"\n");
    let decision = Call::push().decide(&set(&deny, ""), Some(&release));
    assert_eq!(decision.primary_reason(), ReasonCode::ExplicitDenyRule);
    let safe = Call { mode: SafetyMode::Safe, ..Call::push() };
    assert_eq!(safe.decide(&rules, Some(&release)).verdict(), Verdict::Deny);
    // Flow holds what nobody was asked about.
    let tainted = Call { label: Label::undeclared_output(), ..Call::push() };
    let covers = |reason, check| {
        let held = CheckResult::new(check, Verdict::Hold, reason, "x");
        release.releases(&held.with_remedy(Remedy::Approval))
    };
    assert!(!covers(ReasonCode::UntrustedInfluence, CheckKind::Flow));
    assert!(!covers(ReasonCode::FloorHold, CheckKind::Rule));
    assert!(covers(ReasonCode::FloorHold, CheckKind::Floor));
    assert!(tainted.decide(&rules, Some(&release)).verdict() == Verdict::Hold);
    // When it was asked about, it is released with the rest.
    let release = released(&rules, &tainted);
    assert!(tainted.decide(&rules, Some(&release)).is_allowed());
}

#[test]
fn the_same_hold_under_more_authority_stays() {
    let release = released(&set(POLICY, ""), &Call::push());
    let granted = authority(1);
    let held = |authority: ApprovalAuthority| {
        CheckResult::new(
            CheckKind::Rule,
            Verdict::Hold,
            ReasonCode::ApprovalRequired,
            "rule `push`",
        )
        .with_remedy(Remedy::Approval)
        .with_authority(authority)
    };
    let and = |scope: &str| granted.scopes.iter().cloned().chain([scope.to_owned()]).collect();
    let lower = [
        granted.clone(),
        ApprovalAuthority::default(),
        ApprovalAuthority { min_trust: Some(799), ..granted.clone() },
        ApprovalAuthority { clearance: None, ..granted.clone() },
        ApprovalAuthority { scopes: BTreeSet::new(), ..granted.clone() },
        ApprovalAuthority { quorum: 0, ..granted.clone() },
    ];
    assert!(lower.into_iter().all(|one| release.releases(&held(one))));
    for more in [
        ApprovalAuthority { min_trust: Some(801), ..granted.clone() },
        ApprovalAuthority { clearance: Some(Confidentiality::Confidential), ..granted.clone() },
        ApprovalAuthority { scopes: and("ops"), ..granted.clone() },
        ApprovalAuthority { quorum: 2, ..granted.clone() },
    ] {
        assert!(!release.releases(&held(more.clone())), "{more:?}");
    }
    // And so in a decision: the rule of that name asks for more by now.
    let stricter = POLICY.replace("min_trust = 800", "min_trust = 801");
    let decision = Call::push().decide(&set(&stricter, ""), Some(&release));
    assert_eq!(decision.verdict(), Verdict::Hold);
}

#[test]
fn only_a_hold_that_an_approval_discharges_is_covered() {
    let rules = set(POLICY, "");
    let release = released(&rules, &Call::push());
    let held = CheckResult::new(CheckKind::Floor, Verdict::Hold, ReasonCode::FloorHold, "x");
    assert!(release.releases(&held.clone().with_remedy(Remedy::Approval)));
    assert!(!release.releases(&held.clone()));
    assert!(!release.releases(&held.clone().with_remedy(Remedy::Arguments)));
    assert!(!release.releases(&held.clone().with_remedy(Remedy::Wait { retry_after_ms: 1 })));
    for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
        let other = CheckResult { verdict, ..held.clone().with_remedy(Remedy::Approval) };
        assert!(!release.releases(&other), "{verdict}");
    }
}

#[test]
fn a_release_in_process_covers_the_same() {
    let rules = set(POLICY, "");
    let call = Call::push();
    let people = BTreeSet::from(["ana".to_owned()]);
    let release =
        ReleaseProof::vouched_by_host(&opened(&rules, &call), None, &people, NOW).unwrap();
    assert!(call.decide(&rules, Some(&release)).is_allowed());
}

#[test]
fn a_release_covers_the_rule_and_the_signal_that_stood_in_the_request_and_no_others() {
    let mut request = request(1);
    let hold = |check, reason, detail: &str| {
        CheckResult::new(check, Verdict::Hold, reason, detail).with_remedy(Remedy::Approval)
    };
    let (rule, signal) = (
        hold(CheckKind::Rule, ReasonCode::ApprovalRequired, "rule `push`"),
        hold(CheckKind::Signal, ReasonCode::SignalRaised, "sequence: read, send"),
    );
    let decision = Decision::join(vec![rule.clone(), signal.clone()], set("", "").basis().clone());
    request.holds = HeldCheck::from_decision(&decision);
    let people = BTreeSet::from(["carol".to_owned()]);
    let release = ReleaseProof::vouched_by_host(&request, None, &people, NOW).unwrap();
    assert!(release.releases(&rule) && release.releases(&signal));
    let others = [
        hold(CheckKind::Rule, ReasonCode::ApprovalRequired, "rule `another`"),
        hold(CheckKind::Signal, ReasonCode::SignalRaised, "sequence: read, pay"),
    ];
    assert!(others.iter().all(|other| !release.releases(other)));
}
