//! The cases of group APR that this crate alone decides, by their names. What differs
//! from them stands in `docs/conformance/vector-deviations.md`.

use serde_json::{Value, json};
use weaver_policy::approval::{Phase, Rejection, RequestEnd};
use weaver_types::canonical::{self, Profile};
use weaver_types::signature::SigningKey;

use crate::approvals::{
    ALICE, BOB, CAROL, Desk, LOW_CLEARANCE, LOW_TRUST, NO_SCOPE, STRANGER, deny, grant, key,
    request,
};

fn canonical(value: &Value) -> String {
    String::from_utf8(canonical::to_bytes(value, Profile::Document).unwrap()).unwrap()
}

/// Cases: APR-02.
#[test]
fn a_denial_ends_it_and_so_does_a_resolver_that_fails() {
    let mut desk = Desk::open(request(1));
    desk.hear(&deny(&desk.request, "alice", ALICE)).unwrap();
    assert!(matches!(desk.state.phase(), Phase::Denied { .. }));
    // The reference leaves the action parked when the resolver throws; here there is an end for it.
    let mut desk = Desk::open(request(1));
    let end = RequestEnd::Denied { by: "resolver".to_owned(), reason: "failed".to_owned() };
    assert_eq!(desk.state.end(end), Ok(()));
    assert!(desk.state.phase().is_end() && desk.release().is_err());
}

/// Cases: APR-03.
#[test]
fn a_waiting_request_releases_nothing() {
    let mut desk = Desk::open(request(1));
    assert_eq!(desk.release(), Err(Rejection::Quorum { have: 0, need: 1 }));
    // Without a release nothing can be consumed; another request's release is none.
    let mut other = Desk::open(weaver_policy::approval::ApprovalRequest {
        id: weaver_types::ApprovalRequestId::parse("apr_2").unwrap(),
        ..request(1)
    });
    other.hear(&grant(&other.request, "alice", ALICE)).unwrap();
    let foreign = other.release().unwrap();
    assert_eq!(desk.state.consume(&foreign), Err(Rejection::WrongRequest));
    assert_eq!(desk.state.phase(), &Phase::Requested);
}

/// Cases: APR-04, APR-14.
#[test]
fn an_answer_to_one_request_is_none_to_another() {
    let other = weaver_policy::approval::ApprovalRequest {
        id: weaver_types::ApprovalRequestId::parse("apr_2").unwrap(),
        ..request(1)
    };
    let mut desk = Desk::open(request(1));
    // Refused by what it is about, before any signature is looked at.
    assert_eq!(desk.hear(&grant(&other, "alice", STRANGER)), Err(Rejection::WrongRequest));
    assert_eq!(desk.hear(&grant(&other, "alice", ALICE)), Err(Rejection::WrongRequest));
}

/// Cases: APR-08.
#[test]
fn the_canonical_bytes_of_a_resolution() {
    let said = json!({
        "request_id": "11111111-1111-4111-8111-111111111111",
        "action_id": "22222222-2222-4222-8222-222222222222",
        "kind": "granted", "approver_id": "alice", "reason": "ok é",
        "at": "2026-01-01T00:00:05.000Z",
    });
    let wanted = r#"{"action_id":"22222222-2222-4222-8222-222222222222","approver_id":"alice","at":"2026-01-01T00:00:05.000Z","kind":"granted","reason":"ok é","request_id":"11111111-1111-4111-8111-111111111111"}"#;
    assert_eq!(canonical(&said), wanted);
    let key = SigningKey::from_seed([1; 32]).public().to_bytes();
    let hex = weaver_types::hex(&key);
    assert_eq!(hex, "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c");
}

/// Cases: APR-09 to APR-13.
#[test]
fn a_forgery_is_refused_and_a_genuine_grant_after_it_counts() {
    let mut desk = Desk::open(request(1));
    assert_eq!(desk.hear(&grant(&desk.request, "alice", STRANGER)), Err(Rejection::WrongKey));
    assert_eq!(desk.state.phase(), &Phase::Requested);
    let unsigned = json!({ "resolution": grant(&desk.request, "alice", ALICE).resolution });
    // There is no setting under which an unsigned answer counts.
    assert_eq!(desk.receive(unsigned.to_string().as_bytes()), Err(Rejection::Unsigned));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    assert!(desk.release().is_ok());
}

/// Cases: APR-15, APR-21.
#[test]
fn dates_are_compared_as_points_in_time() {
    use weaver_types::Timestamp;
    let deadline = Timestamp::parse_rfc3339("2026-01-01T10:00:00Z").unwrap();
    let at = |text: &str| Timestamp::parse_rfc3339(text).unwrap();
    assert!(at("2026-01-01T12:00:01+02:00") > deadline);
    assert!(at("2026-01-01T11:59:59+02:00") < deadline);
    // A grant dated 2001 counted there.
    let dated = |at: Timestamp| {
        use weaver_policy::approval::{Resolution, ResolutionVerdict};
        let said = Resolution::new(&request(1), ResolutionVerdict::Granted, "alice", at).unwrap();
        said.sign(&key(ALICE)).unwrap()
    };
    let mut desk = Desk::open(request(1));
    assert_eq!(desk.hear(&dated(at("2001-01-01T00:00:00Z"))), Err(Rejection::TooEarly));
}

/// Cases: APR-16.
#[test]
fn a_key_that_is_no_ed25519_key_does_not_load() {
    let pem =
        "[approvers.a]\nkey = \"-----BEGIN PUBLIC KEY-----\"\ntrust = 1\nclearance = \"public\"\n";
    assert_eq!(crate::support::load("", "", pem).unwrap_err().code(), "policy.value");
    let none = "[approvers.a]\ntrust = 1\nclearance = \"public\"\n";
    assert_eq!(crate::support::load("", "", none).unwrap_err().code(), "policy.missing_key");
}

/// Cases: APR-18, APR-19.
#[test]
fn authority_belongs_to_the_key_and_is_checked_where_it_counts() {
    let mut desk = Desk::open(request(1));
    assert_eq!(desk.hear(&grant(&desk.request, "low_trust", LOW_TRUST)), Err(Rejection::Trust));
    let refused = desk.hear(&grant(&desk.request, "low_clearance", LOW_CLEARANCE));
    assert_eq!(refused, Err(Rejection::Clearance));
    assert_eq!(desk.hear(&grant(&desk.request, "no_scope", NO_SCOPE)), Err(Rejection::Scope));
    assert!(desk.release().is_err());
    assert_eq!(desk.hear(&grant(&desk.request, "alice", ALICE)), Ok(()));
}

/// Cases: APR-20.
#[test]
fn a_planted_request_with_the_same_ids_gets_no_valid_signature() {
    let mut planted = request(1);
    planted.detail = "run unit tests".to_owned();
    planted.authority = Default::default();
    let mut desk = Desk::open(request(1));
    assert_eq!(desk.hear(&grant(&planted, "alice", ALICE)), Err(Rejection::RequestChanged));
}

/// Cases: APR-23.
#[test]
fn two_of_three_people() {
    let mut desk = Desk::open(request(2));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    assert!(desk.hear(&grant(&desk.request, "alice", ALICE)).is_err());
    assert!(desk.release().is_err());
    desk.hear(&grant(&desk.request, "bob", BOB)).unwrap();
    assert!(desk.release().is_ok());
    let mut desk = Desk::open(request(2));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    desk.hear(&deny(&desk.request, "carol", CAROL)).unwrap();
    assert!(desk.hear(&grant(&desk.request, "bob", BOB)).is_err() && desk.release().is_err());
}
