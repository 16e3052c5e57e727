//! The attack table: each row releases nothing and says why; an honest grant still works after it.

use serde_json::{Value, json};
use weaver_policy::approval::{
    ApprovalRequest, ApprovalState, Phase, Rejection, Resolution, ResolutionVerdict, SignedFile,
};
use weaver_types::signature::{DocumentKind, Envelope};
use weaver_types::{ApprovalRequestId, KeyId, Timestamp};

use crate::approvals::{
    ALICE, ALICE_NEW, BOB, CAROL, Desk, LOW_CLEARANCE, LOW_TRUST, NO_SCOPE, OPERATOR, OWNER,
    RETIRED, STRANGER, deny, grant, key, keys, nonce, request,
};
use crate::support::NOW;

fn wire(signed: &weaver_policy::approval::SignedResolution) -> Value {
    serde_json::from_slice(&signed.to_json().unwrap()).unwrap()
}

/// An honest file with one place of it changed.
fn changed(place: &str, value: Value) -> Vec<u8> {
    let mut wire = wire(&grant(&request(1), "alice", ALICE));
    match (wire.pointer_mut(place), value) {
        (Some(old), value) => *old = value,
        (None, value) => {
            let (parent, name) = place.rsplit_once('/').unwrap();
            wire.pointer_mut(parent).unwrap()[name] = value;
        }
    }
    wire.to_string().into_bytes()
}

/// A resolution by `name` under an envelope that `seed` signs in the name of `claimed`.
fn forged(name: &str, seed: u8, claimed: &str, kind: DocumentKind) -> Vec<u8> {
    let said = Resolution::new(&request(1), ResolutionVerdict::Granted, name, NOW).unwrap();
    let digest = kind.digest(
        &weaver_types::canonical::serialize(&said, weaver_types::canonical::Profile::Record)
            .unwrap(),
    );
    let id = KeyId::parse(claimed).unwrap();
    let envelope = Envelope::sign(kind, digest, id, &key(seed), NOW.micros()).unwrap();
    json!({ "resolution": said, "envelope": envelope }).to_string().into_bytes()
}

fn public(seed: u8) -> String {
    key(seed).public().to_string()
}

fn other_request() -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalRequestId::parse("apr_2").unwrap(),
        nonce: nonce(2),
        ..request(1)
    }
}

fn other_arguments() -> ApprovalRequest {
    ApprovalRequest { arguments: json!({ "remote": "origin", "force": false }), ..request(1) }
}

fn dated(at: i64) -> Vec<u8> {
    let at = Timestamp::from_micros(at);
    let said = Resolution::new(&request(1), ResolutionVerdict::Granted, "alice", at).unwrap();
    said.sign(&key(ALICE)).unwrap().to_json().unwrap()
}

fn by(name: &str, seed: u8) -> Vec<u8> {
    grant(&request(1), name, seed).to_json().unwrap()
}

fn attacks() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let (now, hour) = (NOW.micros(), 3_600_000_000);
    let alice = public(ALICE);
    let mut unsigned = wire(&grant(&request(1), "alice", ALICE));
    unsigned.as_object_mut().unwrap().remove("envelope");
    let mut twice = by("alice", ALICE);
    twice.splice(1..1, br#""envelope":{},"#.iter().copied());
    vec![
        (
            "forged with another key in alice's name",
            "signature_invalid",
            forged("alice", STRANGER, &alice, DocumentKind::Resolution),
        ),
        ("signed by a key nobody has", "wrong_key", by("alice", STRANGER)),
        ("signed by bob in alice's name", "wrong_key", by("alice", BOB)),
        (
            "the key named by something else than itself",
            "wrong_key",
            forged("alice", ALICE, "alice", DocumentKind::Resolution),
        ),
        ("a name nobody has", "unknown_approver", by("mallory", STRANGER)),
        ("alice's name in other letters", "unknown_approver", by("Alice", ALICE)),
        ("alice's name with a Cyrillic letter", "unknown_approver", by("\u{430}lice", ALICE)),
        ("alice's name with a hidden character", "unknown_approver", by("alice\u{200b}", ALICE)),
        ("unsigned", "unsigned", unsigned.to_string().into_bytes()),
        ("unsigned with null", "unsigned", changed("/envelope", Value::Null)),
        (
            "reason edited after signing",
            "signature_invalid",
            changed("/resolution/reason", json!("ok")),
        ),
        (
            "approver edited after signing",
            "wrong_key",
            changed("/resolution/approver", json!("bob")),
        ),
        (
            "date edited after signing",
            "signature_invalid",
            changed("/resolution/at", json!(now + 1)),
        ),
        (
            "date of the envelope edited",
            "signature_invalid",
            changed("/envelope/signed_at", json!(now + 1)),
        ),
        ("an envelope signed with another date than the answer", "signature_invalid", {
            let mut signed = grant(&request(1), "alice", ALICE);
            let digest = signed.resolution.signed_digest().unwrap();
            let id = KeyId::parse(alice.clone()).unwrap();
            let other = Envelope::sign(DocumentKind::Resolution, digest, id, &key(ALICE), now - 1);
            signed.envelope = other.unwrap();
            signed.to_json().unwrap()
        }),
        (
            "digest of the envelope edited",
            "signature_invalid",
            changed("/envelope/digest", json!(request(1).digest().unwrap().to_string())),
        ),
        (
            "signature bytes edited",
            "signature_invalid",
            changed("/envelope/signature", json!(format!("{}==", "A".repeat(86)))),
        ),
        ("signature no base64", "signature_invalid", changed("/envelope/signature", json!("!!!!"))),
        ("another algorithm", "signature_invalid", changed("/envelope/alg", json!("none"))),
        (
            "another algorithm, in other letters",
            "signature_invalid",
            changed("/envelope/alg", json!("Ed25519")),
        ),
        (
            "a policy signature as a resolution",
            "signature_invalid",
            forged("alice", ALICE, &alice, DocumentKind::Policy),
        ),
        (
            "an operator's word as a resolution",
            "signature_invalid",
            forged("alice", ALICE, &alice, DocumentKind::OperatorStatement),
        ),
        (
            "a standing approval as a resolution",
            "signature_invalid",
            forged("alice", ALICE, &alice, DocumentKind::Standing),
        ),
        ("a newer envelope", "malformed", changed("/envelope/v", json!(2))),
        ("a newer resolution", "malformed", changed("/resolution/v", json!(2))),
        ("an unknown field", "malformed", changed("/resolution/trust", json!(1000))),
        ("an unknown field in the envelope", "malformed", changed("/envelope/trust", json!(1000))),
        ("an unknown field beside", "malformed", changed("/authority", json!({ "min_trust": 0 }))),
        ("a key given twice", "malformed", twice),
        ("not JSON", "malformed", b"granted".to_vec()),
        ("empty", "malformed", Vec::new()),
        ("too large", "malformed", vec![b' '; 256 * 1024 + 1]),
        (
            "for another request",
            "wrong_request",
            grant(&other_request(), "alice", ALICE).to_json().unwrap(),
        ),
        (
            "for other arguments",
            "request_changed",
            grant(&other_arguments(), "alice", ALICE).to_json().unwrap(),
        ),
        ("for another request, renamed to this one", "request_changed", {
            let planted = ApprovalRequest { id: request(1).id, ..other_request() };
            grant(&planted, "alice", ALICE).to_json().unwrap()
        }),
        ("digest of this request put into an answer to another", "signature_invalid", {
            let mut other = wire(&grant(&other_request(), "alice", ALICE));
            other["resolution"]["request"] = json!("apr_1");
            other["resolution"]["digest"] = json!(request(1).digest().unwrap().to_string());
            other.to_string().into_bytes()
        }),
        ("dated before the request", "too_early", dated(978_307_200_000_000)),
        ("dated an hour ahead", "too_late", dated(now + hour)),
        ("too little trust", "trust", by("low_trust", LOW_TRUST)),
        ("too little clearance", "clearance", by("low_clearance", LOW_CLEARANCE)),
        ("another scope", "scope", by("no_scope", NO_SCOPE)),
        ("an operator without authority", "trust", by("operator", OPERATOR)),
        ("the one who asks", "requester", by("owner", OWNER)),
        ("a key past its time", "key_void", by("retired", RETIRED)),
        ("a denial turned into a grant", "signature_invalid", {
            let mut no = wire(&deny(&request(1), "alice", ALICE));
            no["resolution"]["verdict"] = json!("granted");
            no.to_string().into_bytes()
        }),
    ]
}

#[test]
fn no_attack_releases_anything() {
    for (name, code, file) in attacks() {
        let mut desk = Desk::open(request(1));
        let refused = desk.receive(&file).map_err(|rejection| rejection.code());
        assert_eq!(refused, Err(code), "{name}");
        assert_eq!(desk.release().map_err(|r| r.code()), Err("quorum"), "{name}");
        assert_eq!(desk.state, ApprovalState::new(&desk.request), "{name}");
        // The forgery stands in nobody's way.
        desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
        assert!(desk.release().is_ok(), "{name}");
    }
}

#[test]
fn received_after_the_deadline_is_late() {
    let mut desk = Desk::open(request(1));
    desk.now = desk.request.deadline;
    let refused = desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap_err();
    assert_eq!(refused, Rejection::TooLate);
}

#[test]
fn under_quorum_nothing_is_released() {
    let mut desk = Desk::open(request(3));
    for (name, seed) in [("alice", ALICE), ("bob", BOB)] {
        desk.hear(&grant(&desk.request, name, seed)).unwrap();
        assert_eq!(desk.release().unwrap_err().code(), "quorum");
    }
    let second_key = desk.hear(&grant(&desk.request, "alice", ALICE_NEW)).unwrap_err();
    assert_eq!(second_key.code(), "replayed");
    let replay = desk.hear(&grant(&desk.request, "bob", BOB)).unwrap_err();
    assert_eq!(replay.code(), "replayed");
    assert_eq!(desk.release().unwrap_err().code(), "quorum");
    desk.hear(&grant(&desk.request, "carol", CAROL)).unwrap();
    assert!(desk.release().is_ok());
    let late = desk.hear(&grant(&desk.request, "carol", CAROL)).unwrap_err();
    assert_eq!(late.code(), "replayed");
}

#[test]
fn a_planted_request_is_none_that_was_opened() {
    // The approver was shown "run unit tests" under the same id, without any authority.
    let mut planted = request(1);
    planted.detail = "run unit tests".to_owned();
    planted.authority = Default::default();
    planted.holds.clear();
    let mut desk = Desk::open(request(1));
    let refused = desk.hear(&grant(&planted, "low_trust", LOW_TRUST)).unwrap_err();
    assert_eq!(refused, Rejection::RequestChanged);
    // Under an id of its own it is about nothing that is held here.
    planted.id = ApprovalRequestId::parse("apr_planted").unwrap();
    let refused = desk.hear(&grant(&planted, "alice", ALICE)).unwrap_err();
    assert_eq!(refused, Rejection::WrongRequest);
    assert!(desk.release().is_err());
}

#[test]
fn a_stored_state_that_was_edited_by_hand_releases_nothing() {
    let fresh = Desk::open(request(2));
    let granted = |votes: Value| -> ApprovalState {
        let mut stored = serde_json::to_value(&fresh.state).unwrap();
        stored["state"] = json!({ "phase": "granted" });
        stored["votes"] = votes;
        serde_json::from_value(stored).unwrap()
    };
    let vote = |name: &str, seed: u8| json!({ "signed": wire(&grant(&fresh.request, name, seed)), "received_at": NOW });
    let release = |state: &ApprovalState| {
        assert_eq!(state.phase(), &Phase::Granted);
        state.release(&fresh.request, &keys(), NOW).map_err(|r| r.code())
    };
    assert_eq!(release(&granted(json!({}))), Err("quorum"));
    // One person under two names, once per key, with a forgery, or with a denial.
    let twice = json!({ "alice": vote("alice", ALICE), "bob": vote("alice", ALICE) });
    assert_eq!(release(&granted(twice)), Err("quorum"));
    let two_keys = json!({ "alice": vote("alice", ALICE), "bob": vote("alice", ALICE_NEW) });
    assert_eq!(release(&granted(two_keys)), Err("quorum"));
    let forgery = json!({ "alice": vote("alice", ALICE), "bob": vote("bob", STRANGER) });
    assert_eq!(release(&granted(forgery)), Err("wrong_key"));
    let denial = json!({
        "alice": vote("alice", ALICE),
        "bob": { "signed": wire(&deny(&fresh.request, "bob", BOB)), "received_at": NOW },
    });
    assert_eq!(release(&granted(denial)), Err("quorum"));
    let honest = json!({ "alice": vote("alice", ALICE), "bob": vote("bob", BOB) });
    let honest = granted(honest);
    assert!(honest.release(&fresh.request, &keys(), NOW).is_ok());
    // The state of another request is not this request's.
    let other = ApprovalState::new(&other_request());
    let refused = other.release(&fresh.request, &keys(), NOW).unwrap_err();
    assert_eq!(refused, Rejection::WrongRequest);
}

#[test]
fn keys_that_two_people_share_make_one_person() {
    // The document refuses this; keys built in host code are counted all the same.
    let mut desk = Desk::open(request(2));
    let twin = desk.keys.approvers["alice"].clone();
    desk.keys.approvers.insert("twin".to_owned(), twin);
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    desk.hear(&grant(&desk.request, "twin", ALICE)).unwrap();
    assert_eq!(desk.release().unwrap_err().code(), "quorum");
}

#[test]
fn a_file_holds_one_statement() {
    let honest = wire(&grant(&request(1), "alice", ALICE));
    let mut two = honest.clone();
    two["standing"] = json!({ "v": 1 });
    let mut envelopes = honest.clone();
    envelopes["envelopes"] = json!([honest["envelope"]]);
    for file in [two, envelopes, json!({}), json!([]), json!({ "envelope": honest["envelope"] })] {
        let refused = SignedFile::parse(file.to_string().as_bytes()).unwrap_err();
        assert_eq!(refused.code(), "malformed", "{file}");
    }
}
