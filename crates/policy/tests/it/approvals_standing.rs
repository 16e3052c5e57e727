//! Approvals given in advance: what they reach, for how long, how often, and by whom.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use weaver_policy::approval::{
    APPROVAL_VERSION, HeldCheck, ReceiptTime, Rejection, SignedFile, SignedStandingApproval,
    StandingApproval, StandingApprovalBounds, StandingApprovalState, verify_standing_approval,
};
use weaver_policy::{ArgumentPredicate, Keys, Pattern, PolicySet};
use weaver_types::{
    AgentId, ApprovalAuthority, Label, LogId, PrincipalId, ReasonCode, StandingApprovalId, Tenant,
    Timestamp, Verdict,
};

use crate::approvals::{
    ALICE, ALICE_NEW, BOB, CAROL, LOW_CLEARANCE, LOW_TRUST, NO_SCOPE, OWNER, RETIRED, STRANGER,
    key, keys, log, nonce,
};
use crate::approvals_release::Call;
use crate::support::{NOW, set};

fn pattern(text: &str) -> Vec<Pattern> {
    vec![Pattern::parse(text).unwrap()]
}

fn predicate(value: serde_json::Value) -> ArgumentPredicate {
    serde_json::from_value(value).unwrap()
}

fn standing() -> StandingApproval {
    StandingApproval {
        v: APPROVAL_VERSION,
        id: StandingApprovalId::parse("std_1").unwrap(),
        log: log(),
        tenant: Tenant::default(),
        capability: pattern("git.*"),
        principals: pattern("agent"),
        agents: Vec::new(),
        arguments: vec![predicate(json!({ "at": "/remote", "equals": "origin" }))],
        folders: Vec::new(),
        expires: NOW.after(Duration::from_secs(3_600)),
        uses: 3,
        opened_at: NOW,
        nonce: nonce(5),
    }
}

fn sign(standing: &StandingApproval, seeds: &[u8]) -> SignedStandingApproval {
    let envelopes = seeds.iter().map(|seed| standing.envelope(&key(*seed), NOW).unwrap()).collect();
    SignedStandingApproval { standing: standing.clone(), envelopes }
}

fn bounds(quorum: u8) -> StandingApprovalBounds {
    StandingApprovalBounds {
        authority: crate::approvals::authority(quorum),
        ..StandingApprovalBounds::default()
    }
}

/// Reads the file and verifies it.
fn accept(
    signed: &SignedStandingApproval,
    bounds: &StandingApprovalBounds,
) -> Result<StandingApprovalState, Rejection> {
    let SignedFile::Standing(read) = SignedFile::parse(&signed.to_json().unwrap())? else {
        panic!("another file");
    };
    assert_eq!(read, *signed);
    verify_standing_approval(&keys(), &log(), &read, bounds, ReceiptTime::at(NOW))
}

fn in_force() -> StandingApprovalState {
    accept(&sign(&standing(), &[ALICE]), &bounds(1)).unwrap()
}

fn held(authority: &str) -> PolicySet {
    set(
        &format!(
            "[[rules]]\nname = \"push\"\nmatch = {{}}\neffect = \"require_approval\"\n\
             authority = {{ {authority} }}\n"
        ),
        "",
    )
}

fn release(
    used: &StandingApprovalState,
    call: &Call,
    keys: &Keys,
) -> Result<weaver_policy::approval::ReleaseProof, Rejection> {
    call.with(None, |query| used.release(query, &log(), keys, &bounds(1)))
}

#[test]
fn it_releases_what_rules_and_the_floor_hold_as_often_as_it_says() {
    let rules = held("min_trust = 900");
    let mut used = in_force();
    for left in [3, 2, 1] {
        assert_eq!((used.use_count(), used.uses_left()), (3 - left, left));
        let release = release(&used, &Call::push(), &keys()).unwrap();
        let decision = Call::push().decide(&rules, Some(&release));
        assert_eq!(decision.primary_reason(), ReasonCode::StandingApproval);
        assert_eq!(release.approvers().into_iter().collect::<Vec<_>>(), ["alice"]);
        assert!(decision.is_allowed());
        used.consume(&release).unwrap();
    }
    assert_eq!(release(&used, &Call::push(), &keys()), Err(Rejection::UsedUp));
    let stored = serde_json::to_vec(&used).unwrap();
    assert_eq!(serde_json::from_slice::<StandingApprovalState>(&stored).unwrap(), used);
}

#[test]
fn a_standing_approval_has_at_most_16_signatures() {
    let file = |count| {
        let signed = sign(&standing(), &vec![ALICE; count]);
        SignedFile::parse(&signed.to_json().unwrap()).map(|_| ())
    };
    assert_eq!(file(16), Ok(()));
    let problem = "it has more than 16 signatures".to_owned();
    assert_eq!(file(17), Err(Rejection::Malformed { problem }));
    assert_eq!(file(0), Err(Rejection::Unsigned));
}

#[test]
fn it_never_releases_what_flow_holds() {
    let rules = held("min_trust = 900");
    let tainted = Call { label: Label::undeclared_output(), ..Call::push() };
    let release = release(&in_force(), &tainted, &keys()).unwrap();
    let decision = tainted.decide(&rules, Some(&release));
    assert_eq!(decision.verdict(), Verdict::Hold);
    assert_eq!(decision.primary_reason(), ReasonCode::UntrustedInfluence);
    let left = HeldCheck::from_decision(&decision);
    assert!(left.iter().all(|held| held.check == weaver_types::CheckKind::Flow), "{left:?}");
}

#[test]
fn it_releases_no_hold_that_asks_for_more_than_its_people_have() {
    for (authority, seeds, allowed) in [
        ("min_trust = 901", vec![ALICE], false),
        ("min_trust = 901", vec![ALICE, CAROL], true),
        ("min_trust = 901, quorum = 2", vec![ALICE, CAROL], false),
        ("quorum = 2", vec![ALICE, CAROL], true),
        ("quorum = 2", vec![ALICE], false),
        ("scopes = [\"ops\"]", vec![ALICE], false),
        ("scopes = [\"ops\", \"finance\"]", vec![CAROL], true),
        ("clearance = \"restricted\"", vec![ALICE], false),
        ("clearance = \"restricted\"", vec![BOB], true),
    ] {
        let used = accept(&sign(&standing(), &seeds), &bounds(1)).unwrap();
        let release = release(&used, &Call::push(), &keys()).unwrap();
        let decision = Call::push().decide(&held(authority), Some(&release));
        assert_eq!(decision.is_allowed(), allowed, "{authority}");
    }
}

#[test]
fn it_speaks_of_the_calls_that_it_names() {
    let code = |change: fn(&mut StandingApproval), call: fn(&mut Call)| {
        let mut written = standing();
        change(&mut written);
        let used = accept(&sign(&written, &[ALICE]), &bounds(1)).unwrap();
        let mut asked = Call::push();
        call(&mut asked);
        release(&used, &asked, &keys()).err().map(|rejection| rejection.code())
    };
    let no = Some("not_covered");
    assert_eq!(code(|_| {}, |_| {}), None);
    assert_eq!(code(|s| s.capability = pattern("fs.*"), |_| {}), no);
    assert_eq!(code(|s| s.principals = pattern("bot-*"), |_| {}), no);
    assert_eq!(code(|_| {}, |c| c.principal.id = PrincipalId::parse("x").unwrap()), no);
    assert_eq!(code(|_| {}, |c| c.principal.tenant = Tenant::parse("x").unwrap()), no);
    assert_eq!(code(|s| s.agents = pattern("a*"), |_| {}), no);
    let agent = |c: &mut Call| c.principal.agent = AgentId::parse("ada").ok();
    assert_eq!(code(|s| s.agents = pattern("a*"), agent), None);
    assert_eq!(code(|_| {}, agent), None);
    assert_eq!(code(|_| {}, |c| c.arguments = Some(json!({ "remote": "evil" }))), no);
    assert_eq!(code(|_| {}, |c| c.arguments = Some(json!({}))), no);
    assert_eq!(code(|_| {}, |c| c.arguments = None), no);
    assert_eq!(code(|s| s.arguments.clear(), |c| c.arguments = Some(json!({}))), None);
    assert_eq!(code(|s| s.arguments.clear(), |c| c.arguments = None), no);
    // Where a value came from is not known here, so a condition on it does not hold.
    let from = |s: &mut StandingApproval| {
        s.arguments = vec![predicate(json!({ "at": "/remote", "provenance": ["user"] }))];
    };
    assert_eq!(code(from, |_| {}), no);
    assert_eq!(code(|_| {}, |c| c.now = standing().expires), Some("too_late"));
}

#[test]
fn it_takes_people_of_the_role_that_the_policy_and_the_rule_ask_for() {
    let with = |roles: &[&str]| {
        let mut keys = keys();
        let carried = roles.iter().map(|role| (*role).to_owned()).collect();
        keys.approvers.get_mut("alice").unwrap().roles = carried;
        keys
    };
    let role = |role: &str| -> ApprovalAuthority {
        ApprovalAuthority {
            roles: [[role.to_owned()].into()].into(),
            ..ApprovalAuthority::default()
        }
    };
    let bounds =
        StandingApprovalBounds { authority: role("cfo"), ..StandingApprovalBounds::default() };
    let signed = sign(&standing(), &[ALICE]);
    let verify = |keys: &Keys| {
        verify_standing_approval(keys, &log(), &signed, &bounds, ReceiptTime::at(NOW))
    };
    assert_eq!(verify(&with(&["clerk"])).unwrap_err().code(), "role");
    let used = verify(&with(&["cfo"])).unwrap();
    let set = held("roles = [\"clerk\"]");
    let decide = |keys: &Keys| {
        let call = Call::push();
        let release = call.with(None, |query| used.release(query, &log(), keys, &bounds));
        call.decide(&set, Some(&release.unwrap())).verdict()
    };
    assert_eq!(decide(&with(&["cfo"])), Verdict::Hold);
    assert_eq!(decide(&with(&["cfo", "clerk"])), Verdict::Allow);
}

#[test]
fn it_stays_within_the_bounds_of_the_policy() {
    let code = |change: fn(&mut StandingApproval)| {
        let mut written = standing();
        change(&mut written);
        accept(&sign(&written, &[ALICE]), &bounds(1)).err().map(|rejection| rejection.code())
    };
    assert_eq!(code(|_| {}), None);
    assert_eq!(code(|s| s.uses = 100), None);
    assert_eq!(code(|s| s.uses = 101), Some("bounds"));
    assert_eq!(code(|s| s.uses = 0), Some("bounds"));
    let month = Duration::from_secs(2_592_000);
    assert_eq!(code(|s| s.expires = NOW.after(Duration::from_secs(2_592_000))), None);
    assert_eq!(
        code(|s| s.expires = NOW.after(Duration::from_micros(2_592_000_000_001))),
        Some("bounds")
    );
    assert_eq!(code(|s| s.capability.clear()), Some("bounds"));
    assert_eq!(code(|s| s.principals.clear()), Some("bounds"));
    assert_eq!(code(|s| s.expires = s.opened_at), Some("too_late"));
    assert_eq!(code(|s| s.opened_at = NOW.after(Duration::from_secs(31))), Some("too_late"));
    assert_eq!(code(|s| s.log = LogId::parse("log_2").unwrap()), Some("wrong_log"));
    assert_eq!(code(|s| s.v = 2), Some("malformed"));
    // The bounds of the policy in force count at each use, not those of the day it was accepted.
    let used = in_force();
    let tight = StandingApprovalBounds { max_uses: 2, ..bounds(1) };
    let refused = Call::push().with(None, |query| used.release(query, &log(), &keys(), &tight));
    assert_eq!(refused.unwrap_err().code(), "bounds");
    let tight = StandingApprovalBounds {
        authority: ApprovalAuthority { min_trust: Some(950), ..bounds(1).authority },
        ..bounds(1)
    };
    let refused = Call::push().with(None, |query| used.release(query, &log(), &keys(), &tight));
    assert_eq!(refused, Err(Rejection::Trust));
    let elsewhere = LogId::parse("log_2").unwrap();
    let refused =
        Call::push().with(None, |query| used.release(query, &elsewhere, &keys(), &bounds(1)));
    assert_eq!(refused, Err(Rejection::WrongLog));
    assert!(month > Duration::ZERO);
}

#[test]
fn it_needs_the_people_that_the_policy_asks_for() {
    let code = |seeds: &[u8], quorum: u8| {
        accept(&sign(&standing(), seeds), &bounds(quorum)).err().map(|rejection| rejection.code())
    };
    assert_eq!(code(&[ALICE], 1), None);
    assert_eq!(code(&[ALICE, BOB], 2), None);
    assert_eq!(code(&[ALICE], 2), Some("quorum"));
    // Two keys of one person, and one signature twice, are one person.
    assert_eq!(code(&[ALICE, ALICE_NEW], 2), Some("quorum"));
    assert_eq!(code(&[ALICE, ALICE], 2), Some("quorum"));
    assert_eq!(code(&[LOW_TRUST], 1), Some("trust"));
    assert_eq!(code(&[LOW_CLEARANCE], 1), Some("clearance"));
    assert_eq!(code(&[NO_SCOPE], 1), Some("scope"));
    assert_eq!(code(&[STRANGER], 1), Some("unknown_approver"));
    assert_eq!(code(&[ALICE, STRANGER], 1), Some("unknown_approver"));
    assert_eq!(code(&[RETIRED], 1), Some("key_void"));
    assert_eq!(code(&[], 1), Some("unsigned"));
    assert_eq!(code(&[ALICE; 17], 1), Some("malformed"));
}

#[test]
fn the_one_who_asks_does_not_count_in_advance_either() {
    let used = accept(&sign(&standing(), &[OWNER]), &bounds(1)).unwrap();
    assert_eq!(release(&used, &Call::push(), &keys()), Err(Rejection::Requester));
    let used = accept(&sign(&standing(), &[OWNER, ALICE]), &bounds(2)).unwrap();
    let refused = Call::push().with(None, |query| used.release(query, &log(), &keys(), &bounds(2)));
    assert_eq!(refused, Err(Rejection::Quorum { have: 1, need: 2 }));
}

#[test]
fn what_was_not_signed_as_it_stands_comes_not_into_force() {
    let tampered = |change: fn(&mut StandingApproval)| {
        let mut signed = sign(&standing(), &[ALICE]);
        change(&mut signed.standing);
        accept(&signed, &bounds(1)).unwrap_err().code()
    };
    assert_eq!(tampered(|s| s.uses = 4), "signature_invalid");
    assert_eq!(tampered(|s| s.arguments.clear()), "signature_invalid");
    assert_eq!(tampered(|s| s.capability = pattern("*")), "signature_invalid");
    assert_eq!(
        tampered(|s| s.expires = s.expires.after(Duration::from_secs(1))),
        "signature_invalid"
    );
    // Nor what was edited where it is stored.
    let mut stored = serde_json::to_value(in_force()).unwrap();
    stored["signed"]["standing"]["uses"] = json!(50);
    let edited: StandingApprovalState = serde_json::from_value(stored).unwrap();
    assert_eq!(release(&edited, &Call::push(), &keys()).unwrap_err().code(), "signature_invalid");
}

#[test]
fn it_can_be_revoked_and_its_keys_too() {
    let mut used = in_force();
    let release_before = release(&used, &Call::push(), &keys()).unwrap();
    used.revoke("operator");
    used.revoke("somebody else");
    assert_eq!((used.revoked_by(), used.uses_left()), (Some("operator"), 0));
    assert_eq!(release(&used, &Call::push(), &keys()), Err(Rejection::Revoked));
    assert_eq!(used.consume(&release_before), Err(Rejection::Revoked));
    let used = in_force();
    let mut fewer = keys();
    fewer.approvers.remove("alice");
    assert_eq!(release(&used, &Call::push(), &fewer).unwrap_err().code(), "unknown_approver");
    let mut later = keys();
    later.expires = Some(Timestamp::from_micros(NOW.micros()));
    assert_eq!(release(&used, &Call::push(), &later), Err(Rejection::KeyVoid));
}

#[test]
fn its_uses_are_counted_by_its_own_releases_once_each() {
    let mut other = standing();
    other.id = StandingApprovalId::parse("std_2").unwrap();
    let other = accept(&sign(&other, &[ALICE]), &bounds(1)).unwrap();
    let foreign = release(&other, &Call::push(), &keys()).unwrap();
    let mut used = in_force();
    assert_eq!(used.consume(&foreign).unwrap_err().code(), "not_covered");
    // Many at once, each taking the record under one lock as a ledger would give it.
    let shared = Arc::new(Mutex::new(used));
    let consumed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64)
            .map(|_| {
                let shared = Arc::clone(&shared);
                scope.spawn(move || {
                    let before = shared.lock().unwrap().clone();
                    let Ok(release) = release(&before, &Call::push(), &keys()) else { return 0 };
                    usize::from(shared.lock().unwrap().consume(&release).is_ok())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(consumed, 3);
}
