//! Notes, keys, checkpoints and proofs as bytes: what just fits is read, and what does not is named.

use serde_json::{Value, json};
use weaver_trace_store::checkpoint::{
    CallReceipt, Checkpoint, CheckpointError, EquivocationProof, KeyUse, MAX_LOG_SIZE,
    MAX_NOTE_BYTES, MAX_PROOF_BYTES, SignedNote, TrustPolicy, VerifierKey, events_of_call,
    events_of_call_since,
};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, Ledger};
use weaver_types::{CallId, Digest, EventKind, LogId};

use crate::checkpoints::{change_key, key, signed, signer};
use crate::support::{fill, ledger_of, memory, told};

/// What is done to a form before it is read.
type Edit<T> = fn(&mut T);

const ROOT: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const EMPTY: &str = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

fn why(found: Result<impl std::fmt::Debug, CheckpointError>) -> String {
    found.unwrap_err().to_string()
}

#[test]
fn a_note_has_its_largest_size() {
    let line = "\n\u{2014} k AAAAAAA=\n";
    let sized = |bytes: usize| format!("{}\n{line}", "x".repeat(bytes - line.len() - 1));
    let most = sized(MAX_NOTE_BYTES);
    assert_eq!(most.len(), MAX_NOTE_BYTES);
    let note = SignedNote::parse(most.as_bytes()).unwrap();
    assert_eq!(note.to_string(), most);
    let said = why(SignedNote::parse(sized(MAX_NOTE_BYTES + 1).as_bytes()));
    assert_eq!(said, "this is not a signed note: it is larger than 64 KiB");
}

#[test]
fn what_is_no_note_is_told() {
    let line = "\u{2014} k AAAAAAA=\n";
    for (bytes, wanted) in [
        (b"\xff\n\n".to_vec(), "it is not UTF-8"),
        (format!("a\tb\n\n{line}").into_bytes(), "it holds a control character"),
        (format!("a\n{line}").into_bytes(), "no blank line stands between text and signatures"),
        (b"a\n\n\xe2\x80\x94 k AAAAAAA=".to_vec(), "its last line has no end"),
        (b"a\n\n\xe2\x80\x94 k AAAAAA==\n".to_vec(), "a signature line is malformed"),
        (b"a\n\n\xe2\x80\x94 k\n".to_vec(), "a signature line is malformed"),
        (b"a\n\nk AAAAAAA=\n".to_vec(), "a signature line is malformed"),
        (b"a\n\n\xe2\x80\x94  AAAAAAA=\n".to_vec(), "a signature line is malformed"),
        (b"a\n\n\xe2\x80\x94 k+ AAAAAAA=\n".to_vec(), "a signature line is malformed"),
        (format!("a\n\n{line}{line}").into_bytes(), "two signatures are of one key"),
    ] {
        let said = format!("this is not a signed note: {wanted}");
        assert_eq!(why(SignedNote::parse(&bytes)), said, "{}", String::from_utf8_lossy(&bytes));
    }
    // The same name with another key is another signer.
    let two = format!("a\n\n{line}{}", line.replace("AAAAAAA=", "AAAAAQA="));
    assert_eq!(SignedNote::parse(two.as_bytes()).unwrap().signatures().len(), 2);
    assert!(
        SignedNote::parse(format!("a b\u{7f}\n\n{line}").as_bytes()).is_ok(),
        "not below a blank"
    );
}

#[test]
fn a_signature_takes_the_place_of_an_earlier_one_by_the_same_key() {
    let line = "\u{2014} k AAAAAAA=\n\u{2014} k AAAAAQA=\n\u{2014} l AAAAAAA=\n";
    let note = SignedNote::parse(format!("a\n\n{line}").as_bytes()).unwrap();
    let mut again = note.signatures()[0].clone();
    again.bytes = vec![9];
    let note = note.with(again);
    let left: Vec<_> =
        note.signatures().iter().map(|s| (s.name.as_str(), s.key[3], s.bytes[0])).collect();
    assert_eq!(left, [("k", 1, 0), ("l", 0, 0), ("k", 0, 9)]);
}

#[test]
fn what_is_no_checkpoint_is_told() {
    let of = |size: &str| format!("log_1\n{size}\n{ROOT}\n");
    assert_eq!(Checkpoint::parse(&of("9007199254740992")).unwrap().size, MAX_LOG_SIZE);
    assert_eq!(Checkpoint::parse(&format!("log_1\n0\n{EMPTY}\n")).unwrap().size, 0);
    let more = Checkpoint::parse(&format!("log_1\n3\n{ROOT}\na\nb\n")).unwrap();
    assert_eq!(more.extensions, ["a", "b"]);
    let number = "its size is not a plain decimal number up to 2^53";
    for (text, wanted) in [
        (String::new(), "its last line has no end"),
        (format!("log_1\n3\n{ROOT}"), "its last line has no end"),
        ("log_1\n3\n".to_owned(), "it has fewer than three lines"),
        (format!("log 1\n3\n{ROOT}\n"), "its origin is not an id of a log"),
        (of("9007199254740993"), number),
        (of("03"), number),
        (of("+3"), number),
        (of("-3"), number),
        (of(""), number),
        ("log_1\n3\nAAAA\n".to_owned(), "its root is not base64 of 32 bytes"),
        ("log_1\n3\n?\n".to_owned(), "its root is not base64 of 32 bytes"),
        (of("0"), "its root is not that of the empty log"),
        (format!("log_1\n3\n{ROOT}\n\n"), "it has an empty line"),
        (format!("log_1\n3\n{ROOT}\na\n\nb\n"), "it has an empty line"),
    ] {
        let said = format!("the text of the note is not a checkpoint: {wanted}");
        assert_eq!(why(Checkpoint::parse(&text)), said, "{text}");
    }
}

#[test]
fn a_key_has_a_name_of_some_length_and_an_id_that_fits() {
    let named = |name: &str| VerifierKey::new(name, KeyUse::Log, signer(1).public());
    assert!(named(&"k".repeat(128)).is_ok());
    for bad in ["", "a b", "a+b", "a\u{a0}b", "a\u{7f}", &"k".repeat(129)] {
        let said = "this is not a verifier key (name+id+base64): a name has 1 to 128 bytes without blanks \
                    and plus signs";
        assert_eq!(why(named(bad)), said, "{bad:?}");
    }
    let text = named("k").unwrap().to_string();
    let (id, rest) = text.strip_prefix("k+").and_then(|rest| rest.split_once('+')).unwrap();
    let read = |text: &str| text.parse::<VerifierKey>();
    assert_eq!(read(&text).unwrap().to_string(), text);
    for (text, wanted) in [
        ("k".to_owned(), "it has not three parts"),
        ("k+00000000".to_owned(), "it has not three parts"),
        (format!("k+{id}+?"), "its key is not canonical base64"),
        (format!("k+{id}+"), "its type is neither 1 (Ed25519) nor 4 (cosignature)"),
        (format!("k+{id}+Ag=="), "its type is neither 1 (Ed25519) nor 4 (cosignature)"),
        (format!("k+{id}+AQ=="), "its key has not 32 bytes"),
        (format!("k+00000000+{rest}"), "its id is not that of name and key"),
        (format!("l+{id}+{rest}"), "its id is not that of name and key"),
    ] {
        let said = format!("this is not a verifier key (name+id+base64): {wanted}");
        assert_eq!(why(read(&text)), said, "{text}");
    }
}

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

#[test]
fn the_events_of_a_call_are_found_among_the_places_that_are_asked_for() {
    let events: Vec<_> = (0..2_300)
        .map(|n| {
            let id = if [5, 999, 1_000, 2_200].contains(&n) { "call_1" } else { "call_2" };
            told(EventKind::Late, n, ("", id), &json!({}))
        })
        .collect();
    let ledger = ledger_of(&events);
    let one = call("call_1");
    for (size, wanted) in [
        (0, vec![]),
        (5, vec![]),
        (6, vec![5]),
        (999, vec![5]),
        (1_000, vec![5, 999]),
        (1_001, vec![5, 999, 1_000]),
        (2_300, vec![5, 999, 1_000, 2_200]),
        (9_000, vec![5, 999, 1_000, 2_200]),
    ] {
        assert_eq!(events_of_call(&ledger, &one, size).unwrap(), wanted, "{size}");
    }
    for (places, wanted) in [
        (5..6, vec![5]),
        (6..1_000, vec![999]),
        (5..5, vec![]),
        (1_000..2_201, vec![1_000, 2_200]),
        (2_201..9_000, vec![]),
    ] {
        let found = events_of_call_since(&ledger, &one, places.clone()).unwrap();
        assert_eq!(found, wanted, "{places:?}");
    }
}

/// A log whose first event declares its key, with one call, and a receipt for it.
fn receipt() -> (LogId, CallReceipt) {
    let ledger = memory();
    let log = ledger.head().unwrap().log;
    for kind in [EventKind::Intent, EventKind::Outcome] {
        let event = told(kind, 1, ("", "call_1"), &json!({"n": 1}));
        ledger.commit(Batch::new(Durability::Os).with_event(event)).wait().unwrap();
        fill(&ledger, 2);
    }
    let note = signed(&ledger, 1);
    let places = events_of_call(&ledger, &call("call_1"), 6).unwrap();
    (log, CallReceipt::make(&ledger, &note, &call("call_1"), &places, true).unwrap())
}

#[test]
fn a_receipt_that_does_not_fit_says_which_event_and_why() {
    let (log, whole) = receipt();
    let trust = TrustPolicy::new(key(&log, 1));
    assert!(whole.verify(&trust).is_ok());
    let changed = |change: fn(&mut CallReceipt)| {
        let mut receipt = whole.clone();
        change(&mut receipt);
        why(receipt.verify(&trust))
    };
    let event =
        |index: usize, why: &str| format!("event {index} of the receipt does not fit: {why}");
    fn rewrite(receipt: &mut CallReceipt, from: &str, to: &str) {
        let text = String::from_utf8(receipt.events[1].header.clone()).unwrap();
        receipt.events[1].header = text.replace(from, to).into_bytes();
    }
    let commitment = "its payload is not the one its header commits to";
    let rows: [(Edit<CallReceipt>, String); 10] = [
        (|r| r.events[1].header.push(b' '), event(1, "its header cannot be read")),
        (|r| rewrite(r, "log_test", "log_best"), event(1, "its header is of another log")),
        (|r| r.call = call("call_2"), event(0, "it is not of this call")),
        (
            |r| rewrite(r, "\"at\":1000,", "\"at\":1001,"),
            event(1, "its proof does not lead to the checkpoint"),
        ),
        (
            |r| {
                r.events[1].path.pop();
            },
            event(1, "its proof does not lead to the checkpoint"),
        ),
        (|r| r.events[1].disclosed.as_mut().unwrap().1.push(b' '), event(1, commitment)),
        (|r| r.events[1].disclosed.as_mut().unwrap().0.truncate(15), event(1, commitment)),
        (|r| r.events.reverse(), event(1, "it does not stand in the order of the log")),
        (
            |r| r.events.push(r.events[1].clone()),
            event(2, "it does not stand in the order of the log"),
        ),
        (
            |r| r.events.clear(),
            "the receipt is malformed: it holds neither the intent of the call nor its end"
                .to_owned(),
        ),
    ];
    for (change, wanted) in rows {
        assert_eq!(changed(change), wanted);
    }
    let mut closed = whole.clone();
    closed.events.iter_mut().for_each(|event| event.disclosed = None);
    let report = closed.verify(&trust).unwrap();
    assert!(report.shows_end() && report.events.iter().all(|event| event.payload.is_none()));
    // Without its outcome it still proves the intent, and says that no end is shown.
    let mut open = whole;
    open.events.pop();
    assert!(!open.verify(&trust).unwrap().shows_end());
}

#[test]
fn a_key_event_in_a_receipt_shows_its_payload() {
    let ledger = memory();
    let log = ledger.head().unwrap().log;
    change_key(&ledger, &weaver_trace_store::checkpoint::KeyChange::declare(key(&log, 1), 0));
    let event = told(EventKind::Refused, 1_000, ("", "call_1"), &json!({}));
    ledger.commit(Batch::new(Durability::Os).with_event(event)).wait().unwrap();
    let places = events_of_call(&ledger, &call("call_1"), 2).unwrap();
    let note = signed(&ledger, 1);
    let mut receipt = CallReceipt::make(&ledger, &note, &call("call_1"), &places, false).unwrap();
    assert!(receipt.events[0].disclosed.is_some() && receipt.events[1].disclosed.is_none());
    let trust = TrustPolicy::new(key(&log, 1));
    assert!(receipt.verify(&trust).unwrap().shows_end());
    receipt.events[0].disclosed = None;
    let said = "event 0 of the receipt does not fit: a key event does not disclose its payload";
    assert_eq!(why(receipt.verify(&trust)), said);
}

fn bytes(value: &Value) -> Vec<u8> {
    canonical::to_bytes(value, Profile::Record).unwrap()
}

#[test]
fn a_receipt_as_bytes_has_so_many_events_and_hashes_and_no_other_fields() {
    let (_, receipt) = receipt();
    let whole: Value = serde_json::from_slice(&receipt.to_bytes().unwrap()).unwrap();
    assert_eq!(CallReceipt::parse(&bytes(&whole)).unwrap(), receipt);
    let changed = |change: fn(&mut Value)| {
        let mut value = whole.clone();
        change(&mut value);
        CallReceipt::parse(&bytes(&value)).map(drop).map_err(|error| error.to_string())
    };
    fn hashes(count: usize) -> Value {
        vec![Value::from(ROOT); count].into()
    }
    fn events(value: &mut Value, count: usize) {
        let one = value["events"][0].clone();
        value["events"] = vec![one; count].into();
    }
    let malformed = |why: &str| Err(format!("the receipt is malformed: {why}"));
    let list = malformed("`events` is not a list of at most 1,024 events");
    let path = malformed("a proof is not a list of at most 64 hashes");
    let rows: [(Edit<Value>, Result<(), String>); 19] = [
        (|v| events(v, 1_024), Ok(())),
        (|v| events(v, 1_025), list.clone()),
        (|v| v["events"] = json!({}), list),
        (|v| v["events"][0]["path"] = hashes(64), Ok(())),
        (|v| v["events"][0]["path"] = hashes(65), path.clone()),
        (|v| v["events"][0]["path"] = json!("x"), path),
        (
            |v| v["events"][0]["path"] = json!(["AAAA"]),
            malformed("a hash is not canonical base64 of 32 bytes"),
        ),
        (
            |v| v["events"][0]["path"] = json!([7]),
            malformed("a hash is not canonical base64 of 32 bytes"),
        ),
        (|v| v["events"][0] = json!(7), malformed("an event is not an object")),
        (|v| v["events"][0]["more"] = json!(7), malformed("field `more` is unknown")),
        (
            |v| drop(v["events"][0].as_object_mut().unwrap().remove("salt")),
            malformed("salt and payload do not stand together"),
        ),
        (
            |v| drop(v["events"][0].as_object_mut().unwrap().remove("payload")),
            malformed("salt and payload do not stand together"),
        ),
        (|v| v["events"][0]["salt"] = json!("?"), malformed("a value is not canonical base64")),
        (|v| v["events"][0]["header"] = json!(7), malformed("`header` is missing or no text")),
        (|v| v["call"] = json!("call 1"), malformed("`call` is not an id of a call")),
        (|v| v["more"] = json!(7), malformed("field `more` is unknown")),
        (|v| v["kind"] = json!("weaver-other"), malformed("its `kind` is not `weaver-receipt`")),
        (|v| v["v"] = json!(0), malformed("it has no version")),
        (
            |v| v["v"] = json!(2),
            Err("the receipt has version 2, this build knows up to 1; use a newer build".to_owned()),
        ),
    ];
    for (at, (change, wanted)) in rows.into_iter().enumerate() {
        assert_eq!(changed(change), wanted, "row {at}");
    }
    let written = receipt.to_bytes().unwrap();
    assert!(CallReceipt::parse(&[&written[..], b"\n"].concat()).is_ok());
    let spaced = [b"{ ", &written[1..]].concat();
    let said = "the receipt is malformed: it is not canonical JSON";
    assert_eq!(why(CallReceipt::parse(&spaced)), said);
    assert_eq!(why(CallReceipt::parse(b"[]")), "the receipt is malformed: it is not a JSON object");
    let said = "the receipt is malformed: it is larger than 16 MiB";
    assert_eq!(why(CallReceipt::parse(&vec![b' '; MAX_PROOF_BYTES + 1])), said);
    assert_ne!(why(CallReceipt::parse(&vec![b' '; MAX_PROOF_BYTES])), said);
    let mut binary = receipt;
    binary.events[0].header.push(0xff);
    let said = "the receipt is malformed: a header or payload is not UTF-8";
    assert_eq!(why(binary.to_bytes()), said);
}

#[test]
fn two_checkpoints_that_do_not_conflict_prove_nothing() {
    let (one, other) = (memory(), memory());
    let own = key(&one.head().unwrap().log, 1);
    let empty = signed(&one, 1);
    fill(&one, 3);
    fill(&other, 3);
    let (early, rival) = (signed(&one, 1), signed(&other, 1));
    fill(&one, 2);
    fill(&other, 2);
    let (late, rival_late) = (signed(&one, 1), signed(&other, 1));
    let find = |a: &SignedNote, b: &SignedNote, log: Option<&weaver_trace_store::MemoryLedger>| {
        let log = log.map(|log| log as &dyn weaver_trace_store::verify::LogProver);
        EquivocationProof::find(&own, a.clone(), b.clone(), log)
    };
    let none = |why: &str| format!("no equivocation is proven: {why}");
    assert_eq!(why(find(&early, &early, None)), none("the checkpoints agree"));
    let sizes = none("two checkpoints of two sizes need the log of the larger one");
    assert_eq!(why(find(&early, &late, None)), sizes);
    assert_eq!(why(find(&early, &late, Some(&one))), none("the checkpoints agree"));
    assert_eq!(why(find(&late, &early, Some(&one))), none("the checkpoints agree"));
    let path = none("the proof does not lead to the larger checkpoint");
    assert_eq!(why(find(&early, &late, Some(&other))), path);
    assert_eq!(why(find(&empty, &late, Some(&one))), none("two sizes need a proof"));
    for (a, b, log) in [
        (&early, &rival, None),
        (&early, &rival_late, Some(&other)),
        (&rival_late, &early, Some(&other)),
        (&rival, &late, Some(&one)),
    ] {
        let proof = find(a, b, log).unwrap();
        let conflict = proof.verify(&own).unwrap();
        assert!(conflict.first.size == 3 && conflict.second.size >= 3);
        assert_eq!(EquivocationProof::parse(&proof.to_bytes().unwrap()).unwrap(), proof);
        // Turned round it proves nothing, unless both are of one size.
        let (first, second) = (proof.second.clone(), proof.first.clone());
        let turned = EquivocationProof { first, second, ..proof };
        match log {
            None => assert!(turned.verify(&own).is_ok()),
            Some(_) => {
                let said = none("the first checkpoint is not the smaller one");
                assert_eq!(why(turned.verify(&own)), said);
            }
        }
    }
    let same = find(&rival, &late, Some(&one)).unwrap();
    let agreed = EquivocationProof { first: early.clone(), ..same.clone() };
    assert_eq!(why(agreed.verify(&own)), none("the checkpoints agree"));
    let bare = EquivocationProof { prefix: None, ..same.clone() };
    assert_eq!(why(bare.verify(&own)), none("two sizes need a proof"));
    let zero = EquivocationProof {
        first: empty,
        prefix: Some((Digest::from_bytes([1; 32]), vec![])),
        ..same
    };
    assert_eq!(why(zero.verify(&own)), none("the first checkpoint is not the smaller one"));
}
