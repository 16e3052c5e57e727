//! The edges of approvals: the last second of a key, the longest text, the people who just suffice.

use std::time::Duration;

use serde_json::{Value, json};
use weaver_policy::approval::{
    ApprovalRequest, ApprovalState, BeliefOutcome, MAX_SIGNED_FILE_BYTES, Nonce, NonceError,
    ReceiptTime, Rejection, Resolution, ResolutionVerdict, SignedFile, SignedResolution,
    verify_resolution,
};
use weaver_types::{
    ApprovalAuthority, CheckKind, CheckResult, Confidentiality, PrincipalId, ReasonCode, Remedy,
    Timestamp, Verdict,
};

use crate::approvals::{
    ALICE, BOB, CAROL, Desk, authority, grant, key, keys, keys_of, keys_text, nonce, request,
};
use crate::support::NOW;

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn malformed(error: Rejection) -> String {
    match error {
        Rejection::Malformed { problem } => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_signed_file_has_at_most_256_kib() {
    let mut file = grant(&request(1), "alice", ALICE).to_json().unwrap();
    file.resize(MAX_SIGNED_FILE_BYTES, b' ');
    assert!(SignedFile::parse(&file).is_ok());
    for more in [1, 1_000] {
        file.resize(MAX_SIGNED_FILE_BYTES + more, b' ');
        let problem = malformed(SignedFile::parse(&file).unwrap_err());
        assert_eq!(problem, "it has more than 256 KiB");
    }
}

#[test]
fn a_newer_version_is_told_from_one_that_never_was() {
    let file = grant(&request(1), "alice", ALICE).to_json().unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let newer = "its version 2 is newer than 1: use a release that reads it";
    for (version, words) in [
        (json!(2), newer),
        (json!(0), "`v` is not 1"),
        (json!("1"), "`v` is not 1"),
        (json!(null), "`v` is not 1"),
    ] {
        let mut file = file.clone();
        file["resolution"]["v"] = version.clone();
        let problem = malformed(SignedFile::parse(file.to_string().as_bytes()).unwrap_err());
        assert_eq!(problem, words, "{version}");
    }
}

#[test]
fn a_statement_stands_beside_its_own_kind_of_signature_alone() {
    let file = grant(&request(1), "alice", ALICE).to_json().unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let envelope = file["envelope"].clone();
    let one_of =
        "it must hold one of `resolution`, `standing`, `operator_statement` and its signature";
    for name in ["resolution", "standing", "operator_statement"] {
        let both = json!({
            name: file["resolution"], "envelope": envelope, "envelopes": [envelope],
        });
        let error = SignedFile::parse(both.to_string().as_bytes()).unwrap_err();
        assert_eq!(malformed(error), one_of, "{name}");
    }
    let two = json!({
        "resolution": file["resolution"], "standing": file["resolution"], "envelope": envelope,
    });
    assert_eq!(malformed(SignedFile::parse(two.to_string().as_bytes()).unwrap_err()), one_of);
    let unsigned = json!({ "resolution": file["resolution"] });
    let error = SignedFile::parse(unsigned.to_string().as_bytes());
    assert_eq!(error, Err(Rejection::Unsigned));
}

#[test]
fn a_nonce_is_32_lower_case_hexadecimal_digits() {
    assert!(Nonce::parse(&"0f".repeat(16)).is_ok());
    for text in
        ["", &"0".repeat(31), &"0".repeat(33), &"0F".repeat(16), &"0g".repeat(16), &" 0".repeat(16)]
    {
        assert_eq!(Nonce::parse(text), Err(NonceError), "{text:?}");
    }
}

#[test]
fn a_nonce_is_shown_as_it_was_read() {
    assert_eq!(nonce(0xab).as_str(), "ab".repeat(16));
    assert_eq!(nonce(0xab).to_string(), "ab".repeat(16));
    assert_eq!(NonceError.code(), "approval.nonce");
}

#[test]
fn keys_count_until_the_second_in_which_their_document_expires() {
    let until = |seconds| {
        let keys = keys_of(&format!("expires = {}\n{}", later(seconds).rfc3339(), keys_text()));
        let request = request(1);
        let signed = grant(&request, "alice", ALICE);
        let state = ApprovalState::new(&request);
        let moment = ReceiptTime::at(later(60));
        verify_resolution(&keys, &request, &state, &signed, moment).map(|vote| vote.received_at())
    };
    assert_eq!(until(61), Ok(later(60)));
    assert_eq!(until(60), Err(Rejection::KeyVoid));
    assert_eq!(until(59), Err(Rejection::KeyVoid));
}

#[test]
fn whose_answer_would_count_is_known_before_it_is_signed() {
    let keys = keys();
    let answer = |name: &str, now| keys.approvers[name].check_may_answer(name, &request(1), now);
    assert_eq!(answer("alice", NOW), Ok(()));
    assert_eq!(answer("retired", NOW), Err(Rejection::KeyVoid));
    assert_eq!(answer("retired", Timestamp::from_micros(NOW.micros() - 1)), Ok(()));
    assert_eq!(answer("low_trust", NOW), Err(Rejection::Trust));
    assert_eq!(answer("low_clearance", NOW), Err(Rejection::Clearance));
    assert_eq!(answer("no_scope", NOW), Err(Rejection::Scope));
    assert_eq!(answer("owner", NOW), Err(Rejection::Requester));
    let own = ApprovalRequest { principal: PrincipalId::parse("bob").unwrap(), ..request(1) };
    assert_eq!(keys.approvers["bob"].check_may_answer("bob", &own, NOW), Err(Rejection::Requester));
}

#[test]
fn an_approver_who_has_just_what_is_asked_for_suffices() {
    let exact = ApprovalAuthority {
        min_trust: Some(900),
        clearance: Some(Confidentiality::Confidential),
        ..authority(1)
    };
    let asks = |authority: ApprovalAuthority| {
        let request = ApprovalRequest { authority, ..request(1) };
        keys().approvers["alice"].check_may_answer("alice", &request, NOW)
    };
    assert_eq!(asks(exact.clone()), Ok(()));
    assert_eq!(
        asks(ApprovalAuthority { min_trust: Some(901), ..exact.clone() }),
        Err(Rejection::Trust)
    );
    let clearance = Some(Confidentiality::Restricted);
    assert_eq!(asks(ApprovalAuthority { clearance, ..exact }), Err(Rejection::Clearance));
}

/// What is said to an answer after this change, signed by Alice.
fn changed(change: impl FnOnce(&mut Resolution)) -> Result<(), Rejection> {
    let request = request(1);
    let mut said = Resolution::new(&request, ResolutionVerdict::Granted, "alice", NOW).unwrap();
    change(&mut said);
    let signed: SignedResolution = said.sign(&key(ALICE)).unwrap();
    let state = ApprovalState::new(&request);
    verify_resolution(&keys(), &request, &state, &signed, ReceiptTime::at(NOW)).map(|_| ())
}

#[test]
fn an_answer_has_a_known_version_and_bounded_texts() {
    assert_eq!(changed(|said| said.reason = "r".repeat(4_096)), Ok(()));
    let long = changed(|said| said.approver = "a".repeat(4_096)).unwrap_err();
    assert_eq!(long.code(), "unknown_approver");
    let out_of_bounds = "its version or a text in it is out of bounds";
    for error in [
        changed(|said| said.v = 0),
        changed(|said| said.v = 2),
        changed(|said| said.reason = "r".repeat(4_097)),
        changed(|said| said.reason = "r".repeat(9_000)),
        changed(|said| said.approver = "a".repeat(4_097)),
        changed(|said| said.approver = "a".repeat(9_000)),
    ] {
        assert_eq!(malformed(error.unwrap_err()), out_of_bounds);
    }
}

#[test]
fn an_answer_may_be_dated_as_far_ahead_as_clocks_differ() {
    let dated = |micros: i64| {
        let at = Timestamp::from_micros(NOW.micros() + micros);
        changed(|said| said.at = at)
    };
    assert_eq!(dated(30_000_000), Ok(()));
    assert_eq!(dated(30_000_001), Err(Rejection::TooLate));
    // The request was opened a minute ago.
    assert_eq!(dated(-90_000_000), Ok(()));
    assert_eq!(dated(-90_000_001), Err(Rejection::TooEarly));
}

#[test]
fn an_answer_comes_before_the_deadline() {
    let at = |now: Timestamp| {
        let request = request(1);
        let said = Resolution::new(&request, ResolutionVerdict::Granted, "alice", now).unwrap();
        let signed = said.sign(&key(ALICE)).unwrap();
        let state = ApprovalState::new(&request);
        verify_resolution(&keys(), &request, &state, &signed, ReceiptTime::at(now)).map(|_| ())
    };
    let deadline = request(1).deadline.micros();
    assert_eq!(at(Timestamp::from_micros(deadline - 1)), Ok(()));
    assert_eq!(at(Timestamp::from_micros(deadline)), Err(Rejection::TooLate));
    assert_eq!(at(Timestamp::from_micros(deadline + 1)), Err(Rejection::TooLate));
}

#[test]
fn a_release_covers_a_hold_by_check_reason_and_name_together() {
    let mut desk = Desk::open(request(1));
    desk.hear(&grant(&desk.request, "alice", ALICE)).unwrap();
    let release = desk.release().unwrap();
    let covers = |check, reason, detail: &str| {
        let hold = CheckResult::new(check, Verdict::Hold, reason, detail);
        release.releases(&hold.with_remedy(Remedy::Approval))
    };
    assert!(covers(CheckKind::Floor, ReasonCode::FloorHold, "in whatever words"));
    assert!(covers(CheckKind::Rule, ReasonCode::ApprovalRequired, "rule `push`"));
    for (check, reason, detail) in [
        (CheckKind::Floor, ReasonCode::ClearanceExceeded, ""),
        (CheckKind::Flow, ReasonCode::FloorHold, ""),
        (CheckKind::Rule, ReasonCode::FloorHold, "rule `push`"),
        (CheckKind::Signal, ReasonCode::ApprovalRequired, "rule `push`"),
        (CheckKind::Rule, ReasonCode::ApprovalRequired, "rule `other`"),
        (CheckKind::Rule, ReasonCode::ApprovalRequired, ""),
    ] {
        assert!(!covers(check, reason, detail), "{check:?} {reason:?} {detail}");
    }
    let denied = CheckResult::new(
        CheckKind::Floor,
        Verdict::Deny,
        ReasonCode::FloorHold,
        "in whatever words",
    );
    assert!(!release.releases(&denied.with_remedy(Remedy::Approval)));
}

#[test]
fn a_void_vote_is_skipped_while_the_others_suffice() {
    let request = request(2);
    let voted = |people: [(&str, u8); 2]| {
        let mut desk = Desk::open(request.clone());
        for (name, seed) in people {
            desk.hear(&grant(&request, name, seed)).unwrap();
        }
        serde_json::to_value(&desk.state).unwrap()
    };
    // A record with one vote more than are needed, as it may have been stored.
    let mut stored = voted([("alice", ALICE), ("bob", BOB)]);
    stored["votes"]["carol"] =
        voted([("alice", ALICE), ("carol", CAROL)])["votes"]["carol"].clone();
    let state: ApprovalState = serde_json::from_value(stored).unwrap();
    let without = |names: &[&str]| {
        let mut keys = keys();
        keys.approvers.retain(|name, _| !names.contains(&name.as_str()));
        let release = state.release(&request, &keys, NOW)?;
        Ok(release.approvers().into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let names = |all: &[&str]| Ok(all.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(without(&[]), names(&["alice", "bob", "carol"]));
    assert_eq!(without(&["alice"]), names(&["bob", "carol"]));
    let unknown = Rejection::UnknownApprover { approver: "alice".to_owned() };
    assert_eq!(without(&["alice", "bob"]), Err(unknown));
}

#[test]
fn one_person_counts_once_in_whatever_words() {
    let request = request(2);
    let mut desk = Desk::open(request.clone());
    desk.hear(&grant(&request, "alice", ALICE)).unwrap();
    assert_eq!(desk.state.votes().keys().collect::<Vec<_>>(), ["alice"]);
    let mut again = Resolution::new(&request, ResolutionVerdict::Granted, "alice", NOW).unwrap();
    again.reason = "once more".to_owned();
    assert_eq!(desk.hear(&again.sign(&key(ALICE)).unwrap()), Err(Rejection::Replayed));
    desk.hear(&grant(&request, "bob", BOB)).unwrap();
    assert_eq!(desk.state.votes().keys().collect::<Vec<_>>(), ["alice", "bob"]);
}

#[test]
fn an_outcome_is_a_sample_where_its_figures_make_one() {
    let outcome = |class: &str, confidence| BeliefOutcome {
        class: class.to_owned(),
        confidence,
        correct: true,
        call: None,
    };
    let sample = outcome("docs.read", 1_000).to_calibration_sample().unwrap();
    assert_eq!((sample.class.as_str(), sample.confidence.as_thousandths()), ("docs.read", 1_000));
    assert!(sample.correct && !sample.synthetic);
    assert_eq!(outcome("docs.read", 1_001).to_calibration_sample(), None);
    assert_eq!(outcome("docs read", 1_000).to_calibration_sample(), None);
}

#[test]
fn a_vote_says_when_it_was_received() {
    let request = request(1);
    let (state, signed) = (ApprovalState::new(&request), grant(&request, "alice", ALICE));
    let moment = ReceiptTime::at(later(7));
    let vote = verify_resolution(&keys(), &request, &state, &signed, moment).unwrap();
    assert_eq!(vote.received_at(), later(7));
    assert_eq!(vote.resolution().approver, "alice");
}
