//! Proofs of every released form are read for ever, and are still written to the byte.

use std::path::PathBuf;

use weaver_trace_store::Reader;
use weaver_trace_store::checkpoint::{
    CallReceipt, Checkpoint, EquivocationProof, KeyUse, SignedNote, TrustPolicy, VerifierKey,
    cosign, events_of_call,
};
use weaver_trace_store::verify::{LogProver, LogSource};
use weaver_types::ledger::TreeHead;
use weaver_types::signature::SigningKey;
use weaver_types::{CallId, Digest, Timestamp};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"))
}

fn log() -> (tempfile::TempDir, Reader) {
    let copy = tempfile::tempdir().unwrap();
    let path = copy.path().join("store");
    std::fs::copy(folder().join("store-v2.weaver"), &path).unwrap();
    let reader = Reader::open(path).unwrap();
    (copy, reader)
}

fn trust(log: &Reader) -> TrustPolicy {
    let origin = log.extent().unwrap().head.log;
    let key = |name: &str, usage, seed| {
        VerifierKey::new(name, usage, SigningKey::from_seed([seed; 32]).public()).unwrap()
    };
    let witnesses = vec![key("witness.example/1", KeyUse::Witness, 8)];
    TrustPolicy { witnesses, quorum: 1, ..TrustPolicy::new(key(origin.as_str(), KeyUse::Log, 7)) }
}

/// Checkpoint, receipt and equivocation proof from the golden store of format 2.
fn made(log: &Reader) -> [(&'static str, Vec<u8>); 3] {
    let (signer, witness) = (SigningKey::from_seed([7; 32]), SigningKey::from_seed([8; 32]));
    let head = log.extent().unwrap().head;
    let at = Timestamp::from_micros(1_700_000_000_000_000);
    let note = Checkpoint::from_head(&head).sign(&signer).unwrap();
    let note = cosign(note, "witness.example/1", &witness, at).unwrap();
    let call = CallId::parse("call_\u{e9}").unwrap();
    let places: Vec<u64> =
        events_of_call(log, &call, head.size).unwrap().into_iter().take(5).collect();
    let receipt = CallReceipt::make(log, &note, &call, &places, true).unwrap();
    let other = TreeHead { size: 300, root: Digest::from_bytes([9; 32]), ..head };
    let other = Checkpoint::from_head(&other).sign(&signer).unwrap();
    let key = trust(log).log;
    let proof =
        EquivocationProof::find(&key, other, note.clone(), Some(log as &dyn LogProver)).unwrap();
    [
        ("checkpoint.txt", note.to_string().into_bytes()),
        ("receipt.json", receipt.to_bytes().unwrap()),
        ("equivocation.json", proof.to_bytes().unwrap()),
    ]
}

/// Run by hand, once a form.
#[test]
#[ignore = "writes tests/data/proofs-v1"]
fn write_the_golden_proofs() {
    let (_copy, log) = log();
    std::fs::create_dir_all(folder().join("proofs-v1")).unwrap();
    for (name, bytes) in made(&log) {
        std::fs::write(folder().join("proofs-v1").join(name), bytes).unwrap();
    }
}

#[test]
fn proofs_of_version_1_are_read_and_written() {
    let (_copy, log) = log();
    let trust = trust(&log);
    let read = |name: &str| std::fs::read(folder().join("proofs-v1").join(name)).unwrap();
    for (name, bytes) in made(&log) {
        assert_eq!(bytes, read(name), "{name}");
    }
    let page = include_str!("../../../../docs/internals/trace-format.md");
    assert!(page.contains(&format!("\n{}\n{}\n", trust.log, trust.witnesses[0])), "{trust:?}");
    let note = SignedNote::parse(&read("checkpoint.txt")).unwrap();
    let opened = trust.open(&note).unwrap();
    assert_eq!((opened.checkpoint.size, opened.witnesses[0].at), (600, 1_700_000_000));
    let report = CallReceipt::parse(&read("receipt.json")).unwrap().verify(&trust).unwrap();
    assert_eq!(report.events.len(), 4, "and one key event");
    let proof = EquivocationProof::parse(&read("equivocation.json")).unwrap();
    assert_eq!(proof.verify(&trust.log).unwrap().first.size, 300);
}
