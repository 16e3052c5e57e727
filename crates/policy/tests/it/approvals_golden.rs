//! The bytes of every signed and stored form, pinned: a change of any of them needs a new version.

use serde_json::{Value, json};
use weaver_policy::approval::{
    APPROVAL_VERSION, OperatorAction, OperatorStatement, ReceiptTime, SignedFile, StandingApproval,
    StandingApprovalBounds, verify_standing_approval,
};
use weaver_policy::{ArgumentPredicate, Pattern};
use weaver_types::{ApprovalRequestId, StandingApprovalId, Tenant};

use crate::approvals::{ALICE, Desk, OPERATOR, grant, key, keys, log, nonce, request};
use crate::support::NOW;

const GOLDEN: &str = include_str!("../data/approvals-v1.json");

fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn forms() -> Value {
    let standing = StandingApproval {
        v: APPROVAL_VERSION,
        id: StandingApprovalId::parse("std_1").unwrap(),
        log: log(),
        tenant: Tenant::default(),
        capability: vec![Pattern::parse("git.*").unwrap()],
        principals: vec![Pattern::parse("agent").unwrap()],
        agents: vec![Pattern::parse("a*").unwrap()],
        arguments: vec![
            serde_json::from_value::<ArgumentPredicate>(json!({ "at": "/n", "max": 1.5 })).unwrap(),
        ],
        folders: Vec::new(),
        expires: NOW.after(std::time::Duration::from_secs(3_600)),
        uses: 3,
        opened_at: NOW,
        nonce: nonce(5),
    };
    let envelope = standing.envelope(&key(ALICE), NOW).unwrap();
    let signed =
        weaver_policy::approval::SignedStandingApproval { standing, envelopes: vec![envelope] };
    let bounds = StandingApprovalBounds::default();
    let used =
        verify_standing_approval(&keys(), &log(), &signed, &bounds, ReceiptTime::at(NOW)).unwrap();
    let word = OperatorStatement {
        v: APPROVAL_VERSION,
        action: OperatorAction::RevokeRequest {
            request: ApprovalRequestId::parse("apr_1").unwrap(),
        },
        log: log(),
        approver: "operator".to_owned(),
        at: NOW,
        nonce: nonce(3),
    };
    let mut desk = Desk::open(request(1));
    let answer = grant(&desk.request, "alice", ALICE);
    desk.hear(&answer).unwrap();
    json!({
        "request": value(&request(1).to_bytes().unwrap()),
        "request_digest": request(1).digest().unwrap(),
        "resolution": value(&answer.to_json().unwrap()),
        "resolution_digest": answer.resolution.signed_digest().unwrap(),
        "state": serde_json::to_value(&desk.state).unwrap(),
        "standing": value(&signed.to_json().unwrap()),
        "standing_digest": signed.standing.signed_digest().unwrap(),
        "standing_use": serde_json::to_value(&used).unwrap(),
        "operator_statement": value(&word.clone().sign(&key(OPERATOR)).unwrap().to_json().unwrap()),
        "operator_statement_digest": word.signed_digest().unwrap(),
    })
}

#[test]
fn the_forms_of_version_1_are_as_they_were() {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    let forms = forms();
    for (name, form) in forms.as_object().unwrap() {
        assert_eq!(form, &golden[name], "{name} is now:\n{forms:#}");
    }
    for name in ["resolution", "standing", "operator_statement"] {
        assert!(SignedFile::parse(golden[name].to_string().as_bytes()).is_ok(), "{name}");
    }
    let state: weaver_policy::approval::ApprovalState =
        serde_json::from_value(golden["state"].clone()).unwrap();
    assert!(state.release(&request(1), &keys(), NOW).is_ok());
}
