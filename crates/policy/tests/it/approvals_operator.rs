//! What operators confirm and take back.

use std::time::Duration;

use serde_json::{Value, json};
use weaver_policy::approval::{
    APPROVAL_VERSION, BeliefOutcome, OperatorAction, OperatorStatement, ReceiptTime, Rejection,
    SignedFile, verify_operator_statement,
};
use weaver_types::{ApprovalRequestId, Digest, LogId, RunId, StandingApprovalId, Timestamp};

use crate::approvals::{ALICE, OPERATOR, STRANGER, key, keys, log, nonce};
use crate::support::NOW;

fn word(word: OperatorAction, approver: &str) -> OperatorStatement {
    let approver = approver.to_owned();
    OperatorStatement {
        v: APPROVAL_VERSION,
        action: word,
        log: log(),
        approver,
        at: NOW,
        nonce: nonce(3),
    }
}

fn words() -> [OperatorAction; 5] {
    [
        OperatorAction::ConfirmClock { until: NOW },
        OperatorAction::EndRun { run: RunId::parse("run_1").unwrap() },
        OperatorAction::RevokeRequest { request: ApprovalRequestId::parse("apr_1").unwrap() },
        OperatorAction::RevokeStanding { standing: StandingApprovalId::parse("std_1").unwrap() },
        OperatorAction::Outcome(BeliefOutcome {
            class: "web.search".to_owned(),
            confidence: 500,
            correct: false,
            call: None,
        }),
    ]
}

fn hear(
    file: &[u8],
    now: Timestamp,
    seen: impl FnOnce(&Digest) -> bool,
) -> Result<Digest, Rejection> {
    let SignedFile::OperatorStatement(signed) = SignedFile::parse(file)? else {
        panic!("another file");
    };
    verify_operator_statement(&keys(), &log(), &signed, ReceiptTime::at(now), seen)
}

fn file(said: OperatorStatement, seed: u8) -> Vec<u8> {
    said.sign(&key(seed)).unwrap().to_json().unwrap()
}

#[test]
fn an_operator_is_heard_once() {
    for said in words() {
        let bytes = file(word(said, "operator"), OPERATOR);
        let digest = hear(&bytes, NOW, |_| false).unwrap();
        assert_eq!(hear(&bytes, NOW, |seen| *seen == digest), Err(Rejection::Replayed));
    }
}

#[test]
fn nobody_else_is_heard() {
    for said in words() {
        let code = |said: OperatorStatement, seed: u8| {
            hear(&file(said, seed), NOW, |_| false).unwrap_err().code()
        };
        // An approver with all the trust there is, without the word `operator` beside the name.
        assert_eq!(code(word(said.clone(), "alice"), ALICE), "not_operator");
        assert_eq!(code(word(said.clone(), "operator"), ALICE), "wrong_key");
        assert_eq!(code(word(said.clone(), "nobody"), STRANGER), "unknown_approver");
        let log = LogId::parse("log_2").unwrap();
        assert_eq!(
            code(OperatorStatement { log, ..word(said.clone(), "operator") }, OPERATOR),
            "wrong_log"
        );
        let newer = OperatorStatement { v: 2, ..word(said, "operator") };
        assert_eq!(code(newer, OPERATOR), "malformed");
    }
}

#[test]
fn a_word_is_good_for_a_quarter_of_an_hour() {
    let bytes = file(word(words()[0].clone(), "operator"), OPERATOR);
    let at = |seconds: i64| Timestamp::from_micros(NOW.micros() + seconds * 1_000_000);
    let code = |seconds| hear(&bytes, at(seconds), |_| false).err().map(|r| r.code());
    assert_eq!(code(0), None);
    assert_eq!(code(-30), None);
    assert_eq!(code(-31), Some("too_late"));
    assert_eq!(code(899), None);
    assert_eq!(code(900), Some("too_late"));
    let mut expired = keys();
    expired.expires = Some(NOW.after(Duration::ZERO));
    let SignedFile::OperatorStatement(signed) = SignedFile::parse(&bytes).unwrap() else {
        panic!()
    };
    let refused =
        verify_operator_statement(&expired, &log(), &signed, ReceiptTime::at(NOW), |_| false);
    assert_eq!(refused, Err(Rejection::KeyVoid));
}

#[test]
fn a_changed_word_is_refused() {
    let honest = file(word(words()[2].clone(), "operator"), OPERATOR);
    let wire: Value = serde_json::from_slice(&honest).unwrap();
    for (place, value) in [
        ("/operator_statement/action/revoke_request/request", json!("apr_2")),
        ("/operator_statement/nonce", json!(nonce(4))),
        ("/operator_statement/at", json!(NOW.micros() + 1)),
        ("/envelope/signed_at", json!(NOW.micros() + 1)),
        ("/envelope/kind", json!("resolution")),
        ("/envelope/alg", json!("rsa")),
    ] {
        let mut changed = wire.clone();
        *changed.pointer_mut(place).unwrap() = value;
        let refused = hear(changed.to_string().as_bytes(), NOW, |_| false).unwrap_err();
        assert_eq!(refused.code(), "signature_invalid", "{place}");
    }
}
