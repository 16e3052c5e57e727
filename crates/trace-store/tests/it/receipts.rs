//! Receipts and equivocation proofs: verifiable with a public key alone, and not forgeable.

use proptest::prelude::*;
use weaver_trace_store::MemoryLedger;
use weaver_trace_store::checkpoint::{
    CallReceipt, CheckpointError, EquivocationProof, KeyChange, SignedNote, TrustPolicy,
    events_of_call,
};
use weaver_trace_store::verify::LogProver;
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::{CallId, EventKind, LogId};

use crate::checkpoints::{change_key, key, signed, signer};
use crate::support::{event, fill, memory};

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn add(ledger: &dyn Ledger, kind: EventKind, id: &str) -> u64 {
    let event =
        NewEvent { kind, call: Some(call(id)), ..event(1_000, format!("{{\"of\":\"{id}\"}}")) };
    ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap().first_seq.unwrap()
}

/// A log with two calls between other events.
fn log() -> (MemoryLedger, LogId) {
    let ledger = memory();
    let log = ledger.head().unwrap().log;
    fill(&ledger, 4);
    add(&ledger, EventKind::Intent, "call_1");
    add(&ledger, EventKind::Intent, "call_2");
    fill(&ledger, 3);
    add(&ledger, EventKind::Outcome, "call_1");
    fill(&ledger, 2);
    (ledger, log)
}

fn receipt(ledger: &MemoryLedger, id: &str, disclose: bool) -> CallReceipt {
    let note = signed(ledger, 1);
    let size = ledger.head().unwrap().size;
    let places = events_of_call(ledger, &call(id), size).unwrap();
    CallReceipt::make(ledger, &note, &call(id), &places, disclose).unwrap()
}

#[test]
fn a_receipt_proves_intent_and_outcome_offline() {
    let (ledger, log) = log();
    for disclose in [true, false] {
        let bytes = receipt(&ledger, "call_1", disclose).to_bytes().unwrap();
        let report =
            CallReceipt::parse(&bytes).unwrap().verify(&TrustPolicy::new(key(&log, 1))).unwrap();
        let events: Vec<_> = report.events.iter().map(|e| (e.header.seq, e.header.kind)).collect();
        assert_eq!(events, [(4, EventKind::Intent), (9, EventKind::Outcome)]);
        assert!(report.shows_end());
        let payload = disclose.then(|| b"{\"of\":\"call_1\"}".to_vec());
        assert_eq!(report.events[1].payload, payload);
    }
    let open = receipt(&ledger, "call_2", true).verify(&TrustPolicy::new(key(&log, 1))).unwrap();
    assert!(!open.shows_end());
    let other = TrustPolicy::new(key(&log, 2));
    let refused = receipt(&ledger, "call_1", true).verify(&other).unwrap_err();
    assert_eq!(refused.code(), "checkpoint.untrusted");
}

#[test]
fn a_receipt_is_made_for_what_its_checkpoint_covers_only() {
    let (ledger, _) = log();
    let early = signed(&ledger, 1);
    let late = add(&ledger, EventKind::Outcome, "call_2");
    let made = CallReceipt::make(&ledger, &early, &call("call_2"), &[5, late], true).unwrap_err();
    assert!(matches!(made, CheckpointError::Event { index: 1, .. }), "{made}");
    let fork = memory();
    fill(&fork, 12);
    let made = CallReceipt::make(&fork, &early, &call("call_2"), &[5], true).unwrap_err();
    assert!(matches!(made, CheckpointError::Inconsistent(_)), "{made}");
    // Events of another call, or none of this one's begin or end.
    let trust = TrustPolicy::new(key(&ledger.head().unwrap().log, 1));
    for places in [&[4_u64, 5][..], &[0], &[], &[9, 4], &[4, 4]] {
        let made =
            CallReceipt::make(&ledger, &signed(&ledger, 1), &call("call_1"), places, true).unwrap();
        assert!(made.verify(&trust).is_err(), "{places:?}");
    }
}

#[test]
fn a_receipt_carries_the_changes_of_the_key() {
    let ledger = memory();
    let log = ledger.head().unwrap().log;
    change_key(&ledger, &KeyChange::declare(key(&log, 1), 0));
    add(&ledger, EventKind::Intent, "call_1");
    change_key(&ledger, &KeyChange::sign(&log, &signer(1), Some(key(&log, 2)), 2).unwrap());
    add(&ledger, EventKind::Outcome, "call_1");
    let places = events_of_call(&ledger, &call("call_1"), 4).unwrap();
    assert_eq!(places, [0, 1, 2, 3]);
    let make = |seed, places: &[u64]| {
        CallReceipt::make(&ledger, &signed(&ledger, seed), &call("call_1"), places, false).unwrap()
    };
    let trust = TrustPolicy::new(key(&log, 1));
    let report = make(2, &places).verify(&trust).unwrap();
    assert_eq!((report.events.len(), report.verified.key), (2, key(&log, 2)));
    assert_eq!(make(1, &places).verify(&trust).unwrap_err().code(), "checkpoint.key_ended");
    assert!(make(2, &[1, 3]).verify(&trust).is_err(), "without the change the new key is unknown");
    assert!(make(2, &[1, 2, 3]).verify(&trust).is_err(), "a change without what it follows");
}

/// Restores a backup and appends differently.
fn fork(common: u64, one: u64, other: u64) -> (MemoryLedger, MemoryLedger) {
    let random = || std::sync::Arc::new(weaver_types::SeededRandom::new(1));
    let make = |more: u64, text: &str| {
        let ledger = MemoryLedger::new(LogId::parse("log_test").unwrap(), random());
        fill(&ledger, common);
        for n in 0..more {
            let event = event(2_000, format!("{{\"{text}\":{n}}}"));
            ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
        }
        ledger
    };
    (make(one, "a"), make(other, "b"))
}

/// Cases: T6.
#[test]
fn two_histories_under_one_key_are_proven() {
    for (common, one, other) in
        [(5, 3, 3), (5, 1, 9), (5, 9, 1), (0, 1, 2), (8, 8, 16), (7, 1, 250), (1, 63, 1)]
    {
        let (first, second) = fork(common, one, other);
        let log = first.head().unwrap().log;
        let (a, b) = (signed(&first, 1), signed(&second, 1));
        let larger: &dyn LogProver = if one > other { &first } else { &second };
        let proof =
            EquivocationProof::find(&key(&log, 1), a.clone(), b.clone(), Some(larger)).unwrap();
        let bytes = proof.to_bytes().unwrap();
        let conflict = EquivocationProof::parse(&bytes).unwrap().verify(&key(&log, 1)).unwrap();
        assert!(conflict.first.size <= conflict.second.size);
        assert_eq!(proof.prefix.is_some(), one != other);
        // Another key signed nothing.
        assert!(proof.verify(&key(&log, 2)).is_err());
        if one != other {
            let without = EquivocationProof::find(&key(&log, 1), a, b, None);
            assert!(matches!(without, Err(CheckpointError::NoConflict(_))), "{without:?}");
        }
    }
}

#[test]
fn an_honest_log_is_never_convicted() {
    let (ledger, _) = fork(20, 0, 0);
    let log = ledger.head().unwrap().log;
    let mut notes: Vec<SignedNote> = Vec::new();
    for size in 0..=20 {
        let root = weaver_types::Digest::from_bytes(ledger.root(size).unwrap());
        let head = weaver_types::ledger::TreeHead { log: log.clone(), size, root };
        notes.push(
            weaver_trace_store::checkpoint::Checkpoint::from_head(&head).sign(&signer(1)).unwrap(),
        );
    }
    let (other, _) = fork(3, 40, 0);
    for (old, first) in notes.iter().enumerate() {
        for (new, second) in notes.iter().enumerate() {
            for larger in [None, Some(&ledger as &dyn LogProver), Some(&other)] {
                let found =
                    EquivocationProof::find(&key(&log, 1), first.clone(), second.clone(), larger);
                assert!(matches!(found, Err(CheckpointError::NoConflict(_))), "{old} {new}");
            }
            // Roots and paths that an accuser makes up.
            for size in 1..=20_u64 {
                let (low, high) = (old.min(new) as u64, old.max(new) as u64);
                let prefix = match ledger.consistency(low.min(size).max(1), high.max(1)) {
                    Ok(path) => {
                        Some((weaver_types::Digest::from_bytes(ledger.root(size).unwrap()), path))
                    }
                    Err(_) => None,
                };
                let made =
                    EquivocationProof { first: first.clone(), second: second.clone(), prefix };
                assert!(made.verify(&key(&log, 1)).is_err(), "{old} {new} {size}");
            }
        }
    }
}

/// The bytes with one change.
fn mutated(bytes: &[u8], place: usize, with: u8, how: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = place % bytes.len();
    match how {
        0 => bytes[place] ^= with.max(1),
        1 => {
            bytes.remove(place);
        }
        2 => bytes.insert(place, with),
        _ => bytes.truncate(place),
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]
    #[test]
    fn every_mutation_of_a_receipt_or_proof_is_refused(place in any::<usize>(), with in any::<u8>(), how in 0..4_u8) {
        let (ledger, log) = log();
        let whole = receipt(&ledger, "call_1", true).to_bytes().unwrap();
        let changed = mutated(&whole, place, with, how);
        // A line feed at the end is no part of the form.
        let inert = changed.strip_suffix(b"\n") == Some(&whole) || changed == whole;
        let read = CallReceipt::parse(&changed).and_then(|receipt| receipt.verify(&TrustPolicy::new(key(&log, 1))));
        prop_assert!(inert || read.is_err(), "{}", String::from_utf8_lossy(&changed));

        let (first, second) = fork(5, 2, 6);
        let proof = EquivocationProof::find(&key(&log, 1), signed(&first, 1), signed(&second, 1), Some(&second)).unwrap();
        let whole = proof.to_bytes().unwrap();
        let changed = mutated(&whole, place, with, how);
        let inert = changed.strip_suffix(b"\n") == Some(&whole) || changed == whole;
        let read = EquivocationProof::parse(&changed).and_then(|proof| proof.verify(&key(&log, 1)));
        prop_assert!(inert || read.is_err(), "{}", String::from_utf8_lossy(&changed));
    }
}

#[test]
fn a_form_of_another_kind_or_version_is_refused() {
    let (ledger, _) = log();
    let text = String::from_utf8(receipt(&ledger, "call_1", false).to_bytes().unwrap()).unwrap();
    assert!(EquivocationProof::parse(text.as_bytes()).is_err());
    let newer = CallReceipt::parse(text.replace("\"v\":1}", "\"v\":2}").as_bytes()).unwrap_err();
    assert!(matches!(newer, CheckpointError::Newer { found: 2, known: 1, .. }), "{newer}");
    assert!(CallReceipt::parse(text.replace("\"v\":1}", "\"v\":1,\"w\":1}").as_bytes()).is_err());
    assert!(CallReceipt::parse(format!("{text}\n").as_bytes()).is_ok());
    assert!(CallReceipt::parse(format!(" {text}").as_bytes()).is_err());
}
