//! Approvals: what releases a held call, and how little does. This file holds what the tests share
//! and the defences by name.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_policy::Keys;
use weaver_policy::approval::{
    APPROVAL_VERSION, ApprovalRequest, ApprovalState, HeldCheck, Nonce, Phase, ReceiptTime,
    Rejection, ReleaseProof, RequestEnd, Resolution, ResolutionVerdict, SignedFile,
    SignedResolution, verify_resolution,
};
use weaver_types::signature::SigningKey;
use weaver_types::{
    ApprovalAuthority, ApprovalRequestId, Capability, CheckKind, Confidentiality, Digest, Effects,
    Label, LogId, PathSource, Precondition, PrincipalId, ReasonCode, RunId, Tenant, Timestamp,
};

use crate::support::{NOW, foreign, load};

/// Seeds of the keys in the keys document.
pub(crate) const ALICE: u8 = 1;
pub(crate) const ALICE_NEW: u8 = 2;
pub(crate) const BOB: u8 = 3;
pub(crate) const CAROL: u8 = 4;
pub(crate) const LOW_TRUST: u8 = 5;
pub(crate) const LOW_CLEARANCE: u8 = 6;
pub(crate) const NO_SCOPE: u8 = 7;
pub(crate) const OWNER: u8 = 8;
pub(crate) const OPERATOR: u8 = 9;
pub(crate) const RETIRED: u8 = 10;
pub(crate) const STRANGER: u8 = 99;

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed([seed; 32])
}

fn approver(name: &str, keys: &str, trust: u16, clearance: &str, more: &str) -> String {
    format!("[approvers.{name}]\n{keys}\ntrust = {trust}\nclearance = \"{clearance}\"\n{more}\n")
}

fn one_key(seed: u8) -> String {
    format!("key = \"{}\"", key(seed).public())
}

/// The keys document of these tests, without its head.
pub(crate) fn keys_text() -> String {
    let alice = format!(
        "keys = {{ old = {{ key = \"{}\" }}, new = {{ key = \"{}\" }} }}",
        key(ALICE).public(),
        key(ALICE_NEW).public()
    );
    let finance = "scopes = [\"finance\"]";
    let retired = format!("{finance}\nnot_after = {}", NOW.rfc3339());
    let owner = format!("{finance}\nprincipals = [\"agent\", \"other\"]");
    [
        approver("alice", &alice, 900, "confidential", finance),
        approver("bob", &one_key(BOB), 900, "restricted", finance),
        approver("carol", &one_key(CAROL), 1000, "restricted", "scopes = [\"finance\", \"ops\"]"),
        approver("low_trust", &one_key(LOW_TRUST), 500, "restricted", finance),
        approver("low_clearance", &one_key(LOW_CLEARANCE), 900, "public", finance),
        approver("no_scope", &one_key(NO_SCOPE), 900, "restricted", "scopes = [\"ops\"]"),
        approver("owner", &one_key(OWNER), 1000, "restricted", &owner),
        approver("operator", &one_key(OPERATOR), 0, "public", "operator = true"),
        approver("retired", &one_key(RETIRED), 900, "restricted", &retired),
    ]
    .concat()
}

pub(crate) fn keys_of(text: &str) -> Keys {
    let set = load("", "", text).unwrap_or_else(|error| panic!("{error}"));
    set.keys().unwrap().clone()
}

pub(crate) fn keys() -> Keys {
    keys_of(&keys_text())
}

pub(crate) fn log() -> LogId {
    LogId::parse("log_1").unwrap()
}

pub(crate) fn nonce(n: u8) -> Nonce {
    Nonce::parse(&format!("{n:02x}").repeat(16)).unwrap()
}

/// A server's tool that pushes: at the floor.
pub(crate) fn push() -> Capability {
    foreign("git.push", Effects::UNDECLARED)
}

pub(crate) fn authority(quorum: u8) -> ApprovalAuthority {
    ApprovalAuthority {
        min_trust: Some(800),
        clearance: Some(Confidentiality::Internal),
        scopes: BTreeSet::from(["finance".to_owned()]),
        quorum,
        ..ApprovalAuthority::default()
    }
}

pub(crate) fn arguments() -> Value {
    json!({ "remote": "origin", "force": true })
}

/// A request for a push that was opened a minute ago and ends in fourteen.
pub(crate) fn request(quorum: u8) -> ApprovalRequest {
    let minute = Duration::from_secs(60);
    let opened_at = Timestamp::from_micros(NOW.micros() - 60_000_000);
    let floor = HeldCheck {
        check: CheckKind::Floor,
        reason: ReasonCode::FloorHold,
        detail: String::new(),
        authority: ApprovalAuthority::default(),
    };
    let rule = HeldCheck {
        check: CheckKind::Rule,
        reason: ReasonCode::ApprovalRequired,
        detail: "rule `push`".to_owned(),
        authority: authority(quorum),
    };
    ApprovalRequest {
        v: APPROVAL_VERSION,
        id: ApprovalRequestId::parse("apr_1").unwrap(),
        nonce: nonce(1),
        tenant: Tenant::default(),
        log: log(),
        capability: push().id().clone(),
        fingerprint: push().fingerprint(),
        arguments: arguments(),
        folder: None,
        policy: Digest::from_bytes([1; 32]),
        contracts: Digest::from_bytes([2; 32]),
        principal: PrincipalId::parse("agent").unwrap(),
        agent: None,
        run: RunId::parse("run_1").unwrap(),
        label: Label::clean(),
        holds: vec![floor, rule],
        authority: authority(quorum),
        detail: "push needs a senior".to_owned(),
        intent: "publish the fix".to_owned(),
        justification: None,
        preconditions: vec![weaver_policy::approval::ObservedPrecondition {
            precondition: Precondition::GitHead { repository: PathSource::Path("/r".to_owned()) },
            value: "abc".to_owned(),
        }],
        opened_at,
        deadline: opened_at.after(15 * minute),
        supersedes: None,
        unreviewed_writes: 0,
    }
}

pub(crate) fn say(
    request: &ApprovalRequest,
    verdict: ResolutionVerdict,
    name: &str,
    seed: u8,
) -> SignedResolution {
    Resolution::new(request, verdict, name, NOW).unwrap().sign(&key(seed)).unwrap()
}

pub(crate) fn grant(request: &ApprovalRequest, name: &str, seed: u8) -> SignedResolution {
    say(request, ResolutionVerdict::Granted, name, seed)
}

pub(crate) fn deny(request: &ApprovalRequest, name: &str, seed: u8) -> SignedResolution {
    say(request, ResolutionVerdict::Denied, name, seed)
}

/// One side that opened a request and receives files.
pub(crate) struct Desk {
    pub(crate) keys: Keys,
    pub(crate) request: ApprovalRequest,
    pub(crate) state: ApprovalState,
    pub(crate) now: Timestamp,
}

impl Desk {
    pub(crate) fn open(request: ApprovalRequest) -> Self {
        let state = ApprovalState::new(&request);
        Self { keys: keys(), request, state, now: NOW }
    }

    /// Reads, verifies and records a file.
    pub(crate) fn receive(&mut self, file: &[u8]) -> Result<(), Rejection> {
        let SignedFile::Resolution(signed) = SignedFile::parse(file)? else {
            return Err(Rejection::WrongRequest);
        };
        let moment = ReceiptTime::at(self.now);
        let vote = verify_resolution(&self.keys, &self.request, &self.state, &signed, moment)?;
        self.state.record(&self.request, vote).map(|_| ())
    }

    pub(crate) fn hear(&mut self, signed: &SignedResolution) -> Result<(), Rejection> {
        self.receive(&signed.to_json().unwrap())
    }

    pub(crate) fn release(&self) -> Result<ReleaseProof, Rejection> {
        self.state.release(&self.request, &self.keys, self.now)
    }
}

#[test]
fn one_person_with_the_authority_releases_once() {
    let mut desk = Desk::open(request(1));
    assert_eq!(desk.release(), Err(Rejection::Quorum { have: 0, need: 1 }));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    let release = desk.release().unwrap();
    assert_eq!(release.approvers(), BTreeSet::from(["alice"]));
    assert_eq!(desk.state.consume(&release), Ok(()));
    assert_eq!(desk.state.phase(), &Phase::Consumed);
    assert_eq!(desk.state.consume(&release), Err(Rejection::AlreadyResolved));
    assert_eq!(desk.release(), Err(Rejection::AlreadyResolved));
}

/// Cases: W1.
#[test]
fn a_garbage_signature_over_a_right_hash_brings_no_document_into_force() {
    // A document's digest proves nothing: only the signature of a pinned key does.
    let policy = crate::support::policy_text("");
    let honest = crate::support::envelope(
        weaver_types::signature::DocumentKind::Policy,
        &policy,
        &crate::support::root(),
    );
    let mut wire: Value = serde_json::from_str(&honest).unwrap();
    wire["signature"] = json!(format!("{}==", "A".repeat(86)));
    assert_eq!(crate::signatures::policy_refusal(&policy, &wire), ["policy.signature_invalid"]);
    wire["signature"] = json!("AAAA");
    assert_eq!(crate::signatures::policy_refusal(&policy, &wire), ["policy.signature_malformed"]);
}

/// Cases: W2.
#[test]
fn authority_is_the_keys_documents_not_the_messages() {
    // A message that brings its own authority is no message of ours.
    let honest = grant(&request(1), "low_trust", LOW_TRUST);
    let mut wire: Value = serde_json::from_slice(&honest.to_json().unwrap()).unwrap();
    wire["resolution"]["trust"] = json!(990);
    let mut desk = Desk::open(request(1));
    let refused = desk.receive(wire.to_string().as_bytes()).unwrap_err();
    assert_eq!(refused.code(), "malformed");
    // A valid signature by somebody without it releases nothing, each for its own reason.
    for (name, seed, code) in [
        ("low_trust", LOW_TRUST, "trust"),
        ("low_clearance", LOW_CLEARANCE, "clearance"),
        ("no_scope", NO_SCOPE, "scope"),
    ] {
        let refused = desk.hear(&grant(&desk.request, name, seed)).unwrap_err();
        assert_eq!(refused.code(), code);
        assert!(desk.release().is_err());
    }
    // Authority taken away between the vote and the release counts too.
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    assert!(desk.release().is_ok());
    desk.keys.approvers.get_mut("alice").unwrap().trust = 100;
    assert_eq!(desk.release(), Err(Rejection::Trust));
}

fn roles(sets: &[&[&str]]) -> BTreeSet<BTreeSet<String>> {
    let set = |set: &&[&str]| set.iter().map(|role| (*role).to_owned()).collect();
    sets.iter().map(set).collect()
}

#[test]
fn an_approver_carries_one_role_of_each_set() {
    let mut asked = request(2);
    asked.authority.roles = roles(&[&["cfo", "treasurer"], &["reviewer"]]);
    let mut desk = Desk::open(asked);
    let carry = |desk: &mut Desk, name: &str, carried: &[&str]| {
        let person = desk.keys.approvers.get_mut(name).unwrap();
        person.roles = carried.iter().map(|role| (*role).to_owned()).collect();
    };
    for lacks in [&[][..], &["cfo"], &["reviewer"], &["CFO", "reviewer"], &["cf", "reviewer"]] {
        carry(&mut desk, "alice", lacks);
        let refused = desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap_err();
        assert_eq!(refused.code(), "role", "{lacks:?}");
        assert!(refused.to_string().contains("cfo or treasurer, and reviewer"), "{refused}");
    }
    carry(&mut desk, "alice", &["treasurer", "reviewer"]);
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    // The quorum counts people of the role alone.
    let refused = desk.hear(&grant(&desk.request, "bob", BOB)).unwrap_err();
    assert_eq!(refused.code(), "role");
    assert_eq!(desk.release(), Err(Rejection::Quorum { have: 1, need: 2 }));
    carry(&mut desk, "bob", &["cfo", "reviewer"]);
    desk.hear(&grant(&desk.request, "bob", BOB)).unwrap();
    assert!(desk.release().is_ok());
    // A role that is taken away between the vote and the release counts too.
    carry(&mut desk, "bob", &["cfo"]);
    assert_eq!(desk.release().unwrap_err().code(), "role");
}

/// A way to make a request another one.
type Change = (&'static str, fn(&mut ApprovalRequest));

const CHANGES: [Change; 21] = [
    ("v", |r| r.v = 2),
    ("nonce", |r| r.nonce = nonce(2)),
    ("tenant", |r| r.tenant = Tenant::parse("other").unwrap()),
    ("log", |r| r.log = LogId::parse("log_2").unwrap()),
    ("capability", |r| r.capability = weaver_types::CapabilityId::parse("git.pull").unwrap()),
    ("fingerprint", |r| r.fingerprint = Digest::from_bytes([9; 32])),
    ("arguments", |r| r.arguments = json!({ "remote": "evil", "force": true })),
    ("policy", |r| r.policy = Digest::from_bytes([9; 32])),
    ("contracts", |r| r.contracts = Digest::from_bytes([9; 32])),
    ("principal", |r| r.principal = PrincipalId::parse("somebody").unwrap()),
    ("agent", |r| r.agent = weaver_types::AgentId::parse("x").ok()),
    ("run", |r| r.run = RunId::parse("run_2").unwrap()),
    ("label", |r| r.label.confidentiality = Confidentiality::Internal),
    ("holds", |r| r.holds.clear()),
    ("authority", |r| r.authority = ApprovalAuthority::default()),
    ("detail", |r| r.detail = "run unit tests".to_owned()),
    ("intent", |r| r.intent = "run unit tests".to_owned()),
    ("preconditions", |r| r.preconditions.clear()),
    ("opened_at", |r| r.opened_at = Timestamp::from_micros(r.opened_at.micros() + 1)),
    ("deadline", |r| r.deadline = Timestamp::from_micros(r.deadline.micros() + 1)),
    ("supersedes", |r| r.supersedes = ApprovalRequestId::parse("apr_0").ok()),
];

/// Cases: W3.
#[test]
fn an_approval_binds_everything_that_was_shown() {
    // What a planted or edited request shows is what gets signed, and that is not what is held.
    for (field, change) in CHANGES {
        let mut planted = request(1);
        change(&mut planted);
        assert_ne!(planted.digest(), request(1).digest(), "{field} is not covered");
        let mut desk = Desk::open(request(1));
        let refused = desk.hear(&grant(&planted, "alice", ALICE)).unwrap_err();
        assert_eq!(refused, Rejection::RequestChanged, "{field}");
        assert!(desk.release().is_err());
        // Nor does a vote for what was held count after the record of the request was edited.
        let mut desk = Desk::open(request(1));
        desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
        change(&mut desk.request);
        assert!(desk.release().is_err(), "{field}");
    }
}

#[test]
fn every_field_of_a_request_is_covered_by_a_change_above() {
    let mut full = request(1);
    full.agent = weaver_types::AgentId::parse("a").ok();
    full.supersedes = ApprovalRequestId::parse("apr_0").ok();
    full.justification = Some(weaver_types::Justification {
        text: "t".to_owned(),
        source: weaver_types::JustificationSource::Human,
    });
    let wire = serde_json::to_value(&full).unwrap();
    let named: BTreeSet<_> = CHANGES.iter().map(|(field, _)| *field).collect();
    for field in wire.as_object().unwrap().keys() {
        // `id` is another request, `justification` has its own test.
        let elsewhere = ["id", "justification"].contains(&field.as_str());
        assert!(elsewhere || named.contains(field.as_str()), "{field}");
    }
    let plain = ApprovalRequest { justification: None, ..full.clone() };
    assert_ne!(plain.digest(), full.digest());
    let read: ApprovalRequest = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(read, full);
    let mut more = wire;
    more["extra"] = json!(1);
    assert!(serde_json::from_value::<ApprovalRequest>(more).is_err());
}

/// Cases: W4.
#[test]
fn an_answer_dated_outside_of_its_request_releases_nothing() {
    let dated = |at: Timestamp| {
        let said = Resolution::new(&request(1), ResolutionVerdict::Granted, "alice", at).unwrap();
        said.sign(&key(ALICE)).unwrap()
    };
    let seconds = |n: i64| Timestamp::from_micros(NOW.micros() + n * 1_000_000);
    let (opened, end) = (-60, 14 * 60);
    // (date, received, code)
    for (at, now, code) in [
        (Timestamp::from_micros(978_307_200_000_000), 0, Some("too_early")),
        (seconds(opened - 31), 0, Some("too_early")),
        (seconds(opened - 30), 0, None),
        (seconds(31), 0, Some("too_late")),
        (seconds(30), 0, None),
        (seconds(end - 1), end - 1, None),
        (seconds(end - 1), end, Some("too_late")),
        (seconds(0), end, Some("too_late")),
        (seconds(end + 31), end - 1, Some("too_late")),
        (Timestamp::from_micros(i64::MAX >> 10), 0, Some("too_late")),
    ] {
        let mut desk = Desk::open(request(1));
        desk.now = seconds(now);
        let answer = desk.hear(&dated(at)).err().map(|rejection| rejection.code());
        assert_eq!(answer, code, "dated {at}, received {}", desk.now);
        assert_eq!(desk.release().is_ok(), code.is_none());
    }
    // A grant in time is worth nothing once the deadline has come.
    let mut desk = Desk::open(request(1));
    desk.hear(&dated(NOW)).unwrap();
    desk.now = desk.request.deadline;
    assert_eq!(desk.release(), Err(Rejection::TooLate));
}

/// Cases: W12.
#[test]
fn a_grant_can_be_taken_back_until_it_is_used() {
    let granted = || {
        let mut desk = Desk::open(request(1));
        desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
        desk
    };
    // By the operator, by another approver, by a change of the policy.
    for end in [
        RequestEnd::Revoked { by: "operator".to_owned() },
        RequestEnd::Superseded { by: None },
        RequestEnd::Expired,
        RequestEnd::Denied { by: "host".to_owned(), reason: String::new() },
    ] {
        let mut desk = granted();
        let release = desk.release().unwrap();
        desk.state.end(end.clone()).unwrap();
        assert!(desk.release().is_err());
        assert_eq!(desk.state.consume(&release), Err(Rejection::AlreadyResolved));
        assert_eq!(desk.state.end(end), Err(Rejection::AlreadyResolved));
    }
    let mut desk = granted();
    desk.hear(&deny(&desk.request, "alice", ALICE)).unwrap();
    assert!(matches!(desk.state.phase(), Phase::Denied { by, .. } if by == "alice"));
    assert!(desk.release().is_err());
    // It survives a restart: the stored form reads back as what it was.
    let desk = granted();
    let stored = serde_json::to_vec(&desk.state).unwrap();
    let read: ApprovalState = serde_json::from_slice(&stored).unwrap();
    assert_eq!(read, desk.state);
    assert!(read.release(&desk.request, &desk.keys, NOW).is_ok());
}

#[test]
fn a_denial_by_anybody_with_the_authority_ends_it() {
    let mut desk = Desk::open(request(2));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    let refused = desk.hear(&deny(&desk.request, "low_trust", LOW_TRUST)).unwrap_err();
    assert_eq!(refused, Rejection::Trust);
    assert_eq!(desk.state.phase(), &Phase::Requested);
    desk.hear(&deny(&desk.request, "bob", BOB)).unwrap();
    assert!(desk.state.phase().is_end());
    let refused = desk.hear(&grant(&desk.request, "carol", CAROL)).unwrap_err();
    assert_eq!(refused, Rejection::AlreadyResolved);
    assert!(desk.release().is_err());
}

#[test]
fn a_quorum_counts_people() {
    let mut desk = Desk::open(request(2));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    // Her second key makes no second person.
    let again = desk.hear(&grant(&desk.request, "alice", ALICE_NEW)).unwrap_err();
    assert_eq!(again, Rejection::Replayed);
    assert_eq!(desk.release(), Err(Rejection::Quorum { have: 1, need: 2 }));
    desk.hear(&grant(&desk.request, "bob", BOB)).unwrap();
    assert_eq!(desk.release().unwrap().approvers(), BTreeSet::from(["alice", "bob"]));
}

#[test]
fn a_key_revoked_between_the_vote_and_the_release_counts_no_more() {
    let mut desk = Desk::open(request(2));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    desk.hear(&grant(&desk.request, "bob", BOB)).unwrap();
    assert!(desk.release().is_ok());
    let without =
        keys_text().replace(&key(ALICE).public().to_string(), &key(50).public().to_string());
    desk.keys = keys_of(&without);
    assert_eq!(desk.release(), Err(Rejection::WrongKey));
    desk.keys = keys();
    desk.keys.approvers.remove("bob");
    assert_eq!(desk.release().unwrap_err().code(), "unknown_approver");
    desk.keys = keys();
    let new = desk.keys.approvers.get_mut("alice").unwrap().keys.get_mut("old").unwrap();
    new.not_after = Some(NOW);
    assert_eq!(desk.release(), Err(Rejection::KeyVoid));
    desk.keys = keys();
    desk.keys.expires = Some(NOW);
    assert_eq!(desk.release(), Err(Rejection::KeyVoid));
}

#[test]
fn a_key_whose_time_ends_between_the_vote_and_the_release_counts_no_more() {
    let mut desk = Desk::open(request(1));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    let minutes = |n: u64| NOW.after(Duration::from_secs(60 * n));
    let old = desk.keys.approvers.get_mut("alice").unwrap().keys.get_mut("old").unwrap();
    old.not_after = Some(minutes(5));
    // It counted when it signed, and the request is open for long: only its own time is over.
    for (at, released) in [(4, Ok(())), (5, Err(Rejection::KeyVoid)), (6, Err(Rejection::KeyVoid))]
    {
        desk.now = minutes(at);
        assert!(desk.now < desk.request.deadline);
        assert_eq!(desk.release().map(drop), released, "after {at} minutes");
    }
}

#[test]
fn a_rotated_key_counts_in_its_time() {
    let rotate = |from: Timestamp, to: Timestamp| {
        format!(
            "keys = {{ \"2026\" = {{ key = \"{}\", not_after = {} }}, \"2027\" = {{ key = \"{}\", not_before = {} }} }}",
            key(ALICE).public(),
            to.rfc3339(),
            key(ALICE_NEW).public(),
            from.rfc3339(),
        )
    };
    let counts = |keys: &str, seed: u8| {
        let text = approver("alice", keys, 900, "restricted", "scopes = [\"finance\"]");
        let mut desk = Desk::open(request(1));
        desk.keys = keys_of(&text);
        desk.hear(&grant(&desk.request, "alice", seed)).err().map(|r| r.code())
    };
    let second = Duration::from_secs(1);
    let both = rotate(NOW, NOW.after(second));
    assert_eq!((counts(&both, ALICE), counts(&both, ALICE_NEW)), (None, None));
    let new = rotate(NOW, NOW);
    assert_eq!((counts(&new, ALICE), counts(&new, ALICE_NEW)), (Some("key_void"), None));
    let old = rotate(NOW.after(second), NOW.after(second));
    assert_eq!((counts(&old, ALICE), counts(&old, ALICE_NEW)), (None, Some("key_void")));
}

#[test]
fn the_one_who_asks_does_not_count() {
    let mut desk = Desk::open(request(1));
    let refused = desk.hear(&grant(&desk.request, "owner", OWNER)).unwrap_err();
    assert_eq!(refused, Rejection::Requester);
    // Also when the person bears the name of the principal itself.
    let mut asked = request(1);
    asked.principal = PrincipalId::parse("bob").unwrap();
    let mut desk = Desk::open(asked);
    let refused = desk.hear(&grant(&desk.request, "bob", BOB)).unwrap_err();
    assert_eq!(refused, Rejection::Requester);
    let people = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    let inside =
        |names: &[&str]| ReleaseProof::vouched_by_host(&desk.request, None, &people(names), NOW);
    assert_eq!(inside(&["bob"]), Err(Rejection::Requester));
    assert!(inside(&["ana"]).is_ok());
}

#[test]
fn host_code_vouches_for_people_and_the_keys_document_for_their_authority() {
    let asked = request(2);
    let people = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    let keys = keys();
    let code = |names: &[&str]| {
        let release = ReleaseProof::vouched_by_host(&asked, Some(&keys), &people(names), NOW);
        release.err().map(|rejection| rejection.code())
    };
    assert_eq!(code(&["alice", "bob"]), None);
    assert_eq!(code(&["alice"]), Some("quorum"));
    assert_eq!(code(&[]), Some("quorum"));
    assert_eq!(code(&["alice", "low_trust"]), Some("trust"));
    assert_eq!(code(&["alice", "nobody"]), Some("unknown_approver"));
    assert_eq!(code(&["alice", "retired"]), Some("key_void"));
    assert_eq!(code(&["alice", "owner"]), Some("requester"));
    let late = ReleaseProof::vouched_by_host(
        &asked,
        Some(&keys),
        &people(&["alice", "bob"]),
        asked.deadline,
    );
    assert_eq!(late, Err(Rejection::TooLate));
    // Nothing was signed, so nothing is granted that would outlive the process.
    let mut state = ApprovalState::new(&asked);
    let release =
        ReleaseProof::vouched_by_host(&asked, Some(&keys), &people(&["alice", "bob"]), NOW)
            .unwrap();
    assert_eq!(state.consume(&release), Ok(()));
    assert_eq!(state.phase(), &Phase::Consumed);
}

#[test]
fn a_keys_document_says_whose_each_key_is_once() {
    let code = |text: &str| load("", "", text).err().map(|error| error.code());
    let (one, two) = (one_key(ALICE), one_key(BOB));
    let keys = |table: &str| format!("keys = {{ {table} }}");
    let person = |name: &str, keys: &str| approver(name, keys, 1, "public", "");
    assert_eq!(code(&person("a", &one)), None);
    assert_eq!(code(&person("a", &keys(&format!("x = {{ {one} }}")))), None);
    assert_eq!(code(&person("a", "keys = {}")), Some("policy.missing_key"));
    assert_eq!(code(&person("a", "")), Some("policy.missing_key"));
    let both = format!("{one}\n{}", keys(&format!("x = {{ {two} }}")));
    assert_eq!(code(&person("a", &both)), Some("policy.two_forms"));
    let stray = format!("not_after = {}\n{}", NOW.rfc3339(), keys(&format!("x = {{ {two} }}")));
    assert_eq!(code(&person("a", &stray)), Some("policy.two_forms"));
    // One key serves one person, once, in one office.
    let twice = keys(&format!("x = {{ {one} }}, y = {{ {one} }}"));
    assert_eq!(code(&person("a", &twice)), Some("policy.shared_key"));
    let hidden = person("a", &one) + &person("b", &keys(&format!("x = {{ {one} }}")));
    assert_eq!(code(&hidden), Some("policy.shared_key"));
    let signer = format!("[signers.s]\n{one}\ndocuments = \"policy\"\n");
    assert_eq!(code(&(person("a", &two) + &signer)), None);
    assert_eq!(code(&(person("a", &one) + &signer)), Some("policy.shared_key"));
    let nobody = approver("a", &one, 1, "public", "principals = [\"a b\"]");
    assert_eq!(code(&nobody), Some("policy.id"));
    assert_eq!(code(&approver("a", &one, 1, "public", "operator = 1")), Some("policy.type"));
    assert_eq!(
        code(&approver("a", &one, 1, "public", "operater = true")),
        Some("policy.unknown_key")
    );
}
