//! Witnesses: what they remember, what they refuse to sign, and whose signatures count.

use std::path::Path;

use weaver_trace_store::MemoryLedger;
use weaver_trace_store::checkpoint::{
    Checkpoint, CheckpointError, KeyUse, SignedNote, TrustPolicy, VerifierKey, Witness, cosign,
};
use weaver_trace_store::verify::LogProver;
use weaver_types::Timestamp;
use weaver_types::ledger::Ledger;

use crate::checkpoints::{key, signed, signer};
use crate::support::{fill, memory};

const AT: Timestamp = Timestamp::from_micros(7_000_000);

fn trust(ledger: &MemoryLedger) -> TrustPolicy {
    TrustPolicy::new(key(&ledger.head().unwrap().log, 1))
}

fn signs(
    witness: &mut Witness,
    ledger: &MemoryLedger,
    note: &SignedNote,
    from: u64,
) -> Result<SignedNote, CheckpointError> {
    let size = Checkpoint::parse(note.text()).unwrap().size;
    let path = match from {
        0 => Vec::new(),
        _ => ledger.consistency(from, size).unwrap(),
    };
    witness.cosign(note, &path, &trust(ledger), "w1", &signer(9), AT)
}

fn code<T: std::fmt::Debug>(found: Result<T, CheckpointError>) -> &'static str {
    found.unwrap_err().code()
}

#[test]
fn a_witness_follows_a_log_and_remembers_it_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let ledger = memory();
    fill(&ledger, 3);
    let early = signed(&ledger, 1);
    let mut witness = Witness::open(&path).unwrap();
    assert_eq!(witness.seen("log_test"), None);
    assert_eq!(signs(&mut witness, &ledger, &early, 0).unwrap().signatures().len(), 2);
    fill(&ledger, 4);
    let late = signed(&ledger, 1);
    assert_eq!(code(signs(&mut witness, &ledger, &late, 0)), "witness.inconsistent");
    assert_eq!(code(signs(&mut witness, &ledger, &late, 2)), "witness.inconsistent");
    assert_eq!(witness.seen("log_test").unwrap().0, 3, "a refusal changes nothing");
    signs(&mut witness, &ledger, &late, 3).unwrap();
    signs(&mut witness, &ledger, &late, 0).unwrap();
    assert_eq!(code(signs(&mut witness, &ledger, &early, 0)), "witness.inconsistent");
    drop(witness);
    let witness = Witness::open(&path).unwrap();
    let head = ledger.head().unwrap();
    assert_eq!(witness.seen("log_test"), Some((7, head.root)));
    assert_eq!(witness.seen("log_other"), None);
}

#[test]
fn the_first_checkpoint_of_a_log_comes_without_a_proof() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = memory();
    fill(&ledger, 3);
    let note = signed(&ledger, 1);
    let mut witness = Witness::open(folder.path().join("witness")).unwrap();
    let found = witness.cosign(&note, &[[0; 32]], &trust(&ledger), "w1", &signer(9), AT);
    let said = "the witness does not sign: there is a proof, but no checkpoint was signed before";
    assert_eq!(found.unwrap_err().to_string(), said);
    let other = TrustPolicy::new(key(&ledger.head().unwrap().log, 2));
    let found = witness.cosign(&note, &[], &other, "w1", &signer(9), AT);
    assert_eq!(code(found), "checkpoint.untrusted");
    assert_eq!(witness.seen("log_test"), None);
}

#[test]
fn a_memory_has_one_witness_and_one_that_cannot_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let witness = Witness::open(&path).unwrap();
    let said = Witness::open(&path).unwrap_err().to_string();
    assert_eq!(said, format!("{} is in use", path.display()));
    drop(witness);
    let open = |place: &Path| code(Witness::open(place));
    let root = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let of = |logs: &str| format!(r#"{{"kind":"weaver-witness","logs":{logs},"v":1}}"#);
    let known = of(&format!(r#"{{"log_1":{{"root":"{root}","size":3}}}}"#));
    std::fs::write(&path, &known).unwrap();
    assert_eq!(Witness::open(&path).unwrap().seen("log_1").unwrap().0, 3);
    std::fs::write(&path, format!("{known}\n")).unwrap();
    assert!(Witness::open(&path).is_ok(), "a line feed may follow");
    for (bytes, wanted) in [
        (String::new(), "proof.form"),
        (of("[]"), "proof.form"),
        (of(&format!(r#"{{"log_1":{{"root":"{root}"}}}}"#)), "proof.form"),
        (of(r#"{"log_1":{"root":"AAAA","size":3}}"#), "proof.form"),
        (of(r#"{"log_1":{"size":3}}"#), "proof.form"),
        (known.replace("weaver-witness", "weaver-receipt"), "proof.form"),
        (known.replace("\"v\":1", "\"v\":2"), "proof.newer"),
        (known.replace("\"v\":1", "\"v\":0"), "proof.form"),
        (known.replace("\"v\":1", "\"v\":1,\"w\":1"), "proof.form"),
        (known.replace("\"v\":1", "\"v\": 1"), "proof.form"),
        (format!("{known}\n\n"), "proof.form"),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(open(&path), wanted, "{bytes}");
    }
    // What stands in the place of the memory is no memory that is missing.
    let taken = folder.path().join("folder");
    std::fs::create_dir(&taken).unwrap();
    assert_eq!(open(&taken), "witness.file");
    assert_eq!(open(&folder.path().join("none").join("witness")), "witness.file");
}

#[test]
fn a_memory_that_cannot_be_written_keeps_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let ledger = memory();
    fill(&ledger, 3);
    let early = signed(&ledger, 1);
    let mut witness = Witness::open(&path).unwrap();
    // A folder where the new memory would be written.
    let fresh = folder.path().join("witness.new");
    std::fs::create_dir(&fresh).unwrap();
    assert_eq!(code(signs(&mut witness, &ledger, &early, 0)), "witness.file");
    assert_eq!(witness.seen("log_test"), None);
    std::fs::remove_dir(&fresh).unwrap();
    signs(&mut witness, &ledger, &early, 0).unwrap();
    fill(&ledger, 2);
    std::fs::create_dir(&fresh).unwrap();
    assert_eq!(code(signs(&mut witness, &ledger, &signed(&ledger, 1), 3)), "witness.file");
    assert_eq!(witness.seen("log_test").unwrap().0, 3);
}

#[test]
fn each_witness_counts_once_and_only_for_what_it_signed() {
    let ledger = memory();
    fill(&ledger, 3);
    let plain = signed(&ledger, 1);
    let named =
        |name: &str, seed: u8, usage| VerifierKey::new(name, usage, signer(seed).public()).unwrap();
    let witness = |name: &str, seed: u8| named(name, seed, KeyUse::Witness);
    let note = cosign(plain.clone(), "w1", &signer(8), AT).unwrap();
    let note = cosign(note, "w2", &signer(9), AT).unwrap();
    let note = cosign(note, "again", &signer(8), AT).unwrap();
    let count = |note: &SignedNote, witnesses: Vec<VerifierKey>, quorum| {
        let trust = TrustPolicy { witnesses, quorum, ..trust(&ledger) };
        trust.open(note).map(|verified| verified.witnesses.len())
    };
    let too_few = |found, wanted| Err(CheckpointError::Witnesses { found, wanted });
    for (witnesses, quorum, wanted) in [
        (vec![], 0, Ok(0)),
        (vec![], 1, too_few(0, 1)),
        (vec![witness("w1", 8)], 1, Ok(1)),
        (vec![witness("w1", 8), witness("w2", 9)], 2, Ok(2)),
        (vec![witness("w1", 8), witness("w2", 9)], 3, too_few(2, 3)),
        // One key under two names, one name with another key, and a key of another use.
        (vec![witness("w1", 8), witness("again", 8)], 2, too_few(1, 2)),
        (vec![witness("w1", 9)], 1, too_few(0, 1)),
        (vec![named("w1", 8, KeyUse::Log)], 1, too_few(0, 1)),
    ] {
        assert_eq!(count(&note, witnesses.clone(), quorum), wanted, "{witnesses:?}");
    }
    // A time that was changed, and a signature that is cut.
    let changes: [fn(&mut Vec<u8>); 3] =
        [|bytes| bytes[7] ^= 1, |bytes| bytes.truncate(71), |bytes| bytes.truncate(7)];
    for change in changes {
        let mut signature = note.signatures()[1].clone();
        change(&mut signature.bytes);
        let changed = plain.clone().with(signature);
        let found = count(&changed, vec![witness("w1", 8)], 0);
        assert_eq!(found, Err(CheckpointError::Signature { name: "w1".to_owned() }));
    }
}

#[test]
fn a_cosignature_has_a_time_that_a_clock_can_show() {
    let ledger = memory();
    fill(&ledger, 3);
    let note = signed(&ledger, 1);
    let witness = VerifierKey::new("w1", KeyUse::Witness, signer(8).public()).unwrap();
    let trust = TrustPolicy { witnesses: vec![witness.clone()], quorum: 1, ..trust(&ledger) };
    let latest = i64::MAX.unsigned_abs();
    for (at, counts) in [(latest, true), (latest + 1, false), (u64::MAX, false)] {
        let message = format!("cosignature/v1\ntime {at}\n{}", note.text());
        let signature = signer(8).sign_text(&message).unwrap();
        let mut cosignature =
            cosign(note.clone(), "w1", &signer(8), AT).unwrap().signatures()[1].clone();
        cosignature.bytes = [at.to_be_bytes().as_slice(), &signature].concat();
        let opened = trust.open(&note.clone().with(cosignature));
        assert_eq!(opened.map(|found| found.witnesses[0].at).ok(), counts.then_some(at), "{at}");
    }
}

#[test]
fn a_witness_signs_with_whole_seconds_of_its_clock() {
    let note = || {
        let ledger = memory();
        signed(&ledger, 1)
    };
    for (micros, seconds) in [(0, 0_u64), (999_999, 0), (1_000_000, 1), (7_999_999, 7)] {
        let note = cosign(note(), "w1", &signer(9), Timestamp::from_micros(micros)).unwrap();
        let time = note.signatures()[1].bytes.first_chunk::<8>().unwrap();
        assert_eq!(u64::from_be_bytes(*time), seconds, "{micros}");
    }
    let found = cosign(note(), "w1", &signer(9), Timestamp::from_micros(-1)).unwrap_err();
    assert_eq!(found.to_string(), "the witness does not sign: its clock stands before 1970");
    assert_eq!(code(cosign(note(), "w 1", &signer(9), AT)), "checkpoint.key");
}
