//! Signed checkpoints: the C2SP forms, who is believed, and keys that change.

use proptest::prelude::*;
use weaver_trace_store::MemoryLedger;
use weaver_trace_store::checkpoint::{
    Checkpoint, CheckpointError, KeyChange, KeyHistory, KeyUse, MAX_NOTE_BYTES, MAX_SIGNATURES,
    SignedNote, TrustPolicy, VerifierKey, Witness, cosign,
};
use weaver_trace_store::verify::{
    EventFault, LogProver, TrustAnchor, VerificationReport, VerifyError, verify_against,
};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent, TreeHead};
use weaver_types::signature::{DocumentKind, Envelope, SigningKey};
use weaver_types::{EventKind, KeyId, LogId, Timestamp};

use crate::support::{event, fill, memory};

pub(crate) fn signer(seed: u8) -> SigningKey {
    SigningKey::from_seed([seed; 32])
}

pub(crate) fn key(log: &LogId, seed: u8) -> VerifierKey {
    VerifierKey::log(log, signer(seed).public()).unwrap()
}

pub(crate) fn signed(ledger: &dyn Ledger, seed: u8) -> SignedNote {
    Checkpoint::from_head(&ledger.head().unwrap()).sign(&signer(seed)).unwrap()
}

pub(crate) fn change_key(ledger: &dyn Ledger, change: &KeyChange) {
    let payload = change.to_payload().unwrap();
    let event = NewEvent {
        kind: EventKind::LogKey,
        payload: payload.into(),
        ..event(1_000, String::new())
    };
    ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
}

fn verified(
    ledger: &MemoryLedger,
    note: &SignedNote,
    trust: &TrustPolicy,
) -> Result<VerificationReport, VerifyError> {
    verify_against(ledger, TrustAnchor::Checkpoint(note, trust), &mut |_, _| {})
}

/// The example of Go's package `note`.
const NEUMANN: &str = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
const NEUMANN_KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
/// The example of `tlog-cosignature`.
const SOFA: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n\u{2014} witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n";

#[test]
fn a_checkpoint_extends_the_one_signed_before_or_is_refused() {
    let (log, other) = (memory(), memory());
    let empty = Checkpoint::from_head(&log.head().unwrap());
    fill(&log, 5);
    let before = Checkpoint::from_head(&log.head().unwrap());
    fill(&log, 8);
    fill(&other, 13);
    let head = log.head().unwrap();
    for known in [&empty, &before, &Checkpoint::from_head(&head)] {
        let next = Checkpoint::extending(&log, &head, known).unwrap();
        assert_eq!((next.size, next.root), (13, head.root));
    }
    let why =
        |ledger: &MemoryLedger, head: &TreeHead, before: &Checkpoint| match Checkpoint::extending(
            ledger, head, before,
        ) {
            Err(CheckpointError::Fork { signed, why }) => (signed, why.to_owned()),
            other => panic!("{other:?}"),
        };
    // Restored and written on, so the same size has another root; and restored from an older copy.
    let fork = why(&other, &other.head().unwrap(), &before);
    assert!(fork.0 == 5 && fork.1.contains("beginning"), "{fork:?}");
    let fork = why(&other, &other.head().unwrap(), &Checkpoint::from_head(&head));
    assert!(fork.0 == 13 && fork.1.contains("beginning"), "{fork:?}");
    let cut = why(&log, &before.head(), &Checkpoint::from_head(&head));
    assert!(cut.0 == 13 && cut.1.contains("shorter"), "{cut:?}");
    let named = Checkpoint { origin: LogId::parse("log_other").unwrap(), ..before };
    assert!(why(&log, &head, &named).1.contains("another log"));
}

#[test]
fn a_change_of_the_key_is_seen_from_any_place_before_it() {
    let log = memory();
    fill(&log, 3);
    let id = log.head().unwrap().log;
    assert_eq!(KeyHistory::has_changed_since(&log, 0), Ok(false));
    change_key(&log, &KeyChange::declare(key(&id, 1), 3));
    fill(&log, 2);
    for (from, changed) in [(0, true), (3, true), (4, false), (6, false), (u64::MAX, false)] {
        assert_eq!(KeyHistory::has_changed_since(&log, from), Ok(changed), "from {from}");
    }
}

#[test]
fn notes_and_keys_of_others_are_read() {
    let note = SignedNote::parse(NEUMANN.as_bytes()).unwrap();
    let key: VerifierKey = NEUMANN_KEY.parse().unwrap();
    assert_eq!((key.to_string().as_str(), key.usage()), (NEUMANN_KEY, KeyUse::Log));
    let signature = &note.signatures()[0];
    assert!(key.made(signature));
    let bytes = signature.bytes.as_slice().try_into().unwrap();
    assert_eq!(key.public().verify_text(note.text(), bytes), Ok(()));
    assert_eq!(note.to_string(), NEUMANN);
    let go = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
    assert_eq!(go.parse::<VerifierKey>().unwrap().to_string(), go);

    let sofa = SignedNote::parse(SOFA.as_bytes()).unwrap();
    assert_eq!(sofa.to_string(), SOFA);
    let checkpoint = Checkpoint::parse(sofa.text()).unwrap();
    assert_eq!(checkpoint.size, 20_852_163);
    assert_eq!(checkpoint.to_string(), sofa.text());
    let time = sofa.signatures()[1].bytes.first_chunk::<8>().unwrap();
    assert_eq!(u64::from_be_bytes(*time), 1_679_315_147);
}

#[test]
fn a_malformed_note_is_refused() {
    let line = NEUMANN.rsplit_once("\n\n").unwrap().1;
    let with = |lines: &str| format!("text\n\n{lines}");
    let many = |count: usize| {
        let lines: Vec<String> =
            (0..count).map(|n| line.replacen("PeterNeumann", &format!("p{n}"), 1)).collect();
        with(&lines.concat())
    };
    assert!(SignedNote::parse(with(line).as_bytes()).is_ok());
    assert!(SignedNote::parse(many(MAX_SIGNATURES).as_bytes()).is_ok());
    assert!(
        SignedNote::parse("a\n\nb\n\n\u{2014} k AAAAAAA=\n".as_bytes()).is_ok(),
        "texts have blank lines"
    );
    for bad in [
        String::new(),
        "text\n".to_owned(),
        "text\n\n".to_owned(),
        line.to_owned(),
        with(line.trim_end()),
        with(&format!("{line}\n")),
        with(&format!("{line}{line}")),
        with(&line.replace('\u{2014}', "-")),
        with(&line.replace("PeterNeumann ", "Peter Neumann ")),
        with(&line.replace("PeterNeumann ", "Peter\u{a0}Neumann ")),
        with(&line.replace("PeterNeumann ", "Peter+Neumann ")),
        with(&line.replace("PeterNeumann", "")),
        with(&line.replace("JnAM=", "JnAM")),
        with(&line.replace("JnAM=", "JnAN=")),
        with(&line.replace("JnAM=", "JnA=")),
        with(&line.replace("JnAM=", "Jn-M=")),
        with(&line.replace("JnAM=\n", "JnAM=\r\n")),
        with("\u{2014} k AAAAAA==\n"),
        with("\u{2014} k \n"),
        with("\u{2014} k\n"),
        many(MAX_SIGNATURES + 1),
        format!("te\txt\n\n{line}"),
        format!("{}\n\n{line}", "x".repeat(MAX_NOTE_BYTES)),
    ] {
        let read = SignedNote::parse(bad.as_bytes());
        assert!(matches!(read, Err(CheckpointError::Note(_))), "{bad:?}: {read:?}");
    }
    assert!(SignedNote::parse(b"te\xffxt\n\n").is_err());
}

#[test]
fn a_text_that_is_no_checkpoint_is_refused() {
    let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
    let empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    assert!(Checkpoint::parse(&format!("log_1\n0\n{empty}\n")).is_ok());
    let more = Checkpoint::parse(&format!("log_1\n3\n{root}\none more\n")).unwrap();
    assert_eq!(more.extensions, ["one more"]);
    for bad in [
        format!("log_1\n3\n{root}"),
        format!("log_1\n3\n{root}\n\n"),
        format!("\n3\n{root}\n"),
        format!("log 1\n3\n{root}\n"),
        "log_1\n3\n".to_owned(),
        format!("log_1\n03\n{root}\n"),
        format!("log_1\n+3\n{root}\n"),
        format!("log_1\n-3\n{root}\n"),
        format!("log_1\n3.0\n{root}\n"),
        format!("log_1\n0x3\n{root}\n"),
        format!("log_1\n9007199254740993\n{root}\n"),
        format!("log_1\n99999999999999999999\n{root}\n"),
        format!("log_1\n3\n{}\n", root.trim_end_matches('=')),
        format!("log_1\n3\n{}\n", root.replace("2I=", "2J=")),
        format!("log_1\n3\n{root} \n"),
        format!("log_1\n0\n{root}\n"),
    ] {
        let read = Checkpoint::parse(&bad);
        assert!(matches!(read, Err(CheckpointError::Body(_))), "{bad:?}: {read:?}");
    }
}

#[test]
fn a_malformed_key_is_refused() {
    let witness = VerifierKey::new("w", KeyUse::Witness, signer(3).public()).unwrap();
    assert_eq!(witness.to_string().parse::<VerifierKey>().unwrap(), witness);
    let log = VerifierKey::new("w", KeyUse::Log, signer(3).public()).unwrap();
    assert_ne!(log.id(), witness.id(), "the use is part of the id");
    for bad in [
        "".to_owned(),
        NEUMANN_KEY.replace("+c74f20a3", ""),
        NEUMANN_KEY.replace("c74f20a3", "C74F20A3"),
        NEUMANN_KEY.replace("c74f20a3", "c74f20a4"),
        NEUMANN_KEY.replace("c74f20a3", "0c74f20a3"),
        NEUMANN_KEY.replace("PeterNeumann", "PeterNeuman"),
        NEUMANN_KEY.replace("PeterNeumann", ""),
        NEUMANN_KEY.replace("+ARpc", "+AhpC"),
        NEUMANN_KEY.replace("10TW", "10T"),
        format!("{NEUMANN_KEY} "),
    ] {
        assert!(matches!(bad.parse::<VerifierKey>(), Err(CheckpointError::Key(_))), "{bad}");
    }
    assert!(VerifierKey::new("a+b", KeyUse::Log, signer(3).public()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn the_parsers_are_total_and_write_what_they_read(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[ -~\u{2014}\n]{0,200}") {
        for bytes in [bytes.as_slice(), text.as_bytes()] {
            if let Ok(note) = SignedNote::parse(bytes) {
                prop_assert_eq!(note.to_string().into_bytes(), bytes);
            }
        }
        if let Ok(checkpoint) = Checkpoint::parse(&text) {
            prop_assert_eq!(checkpoint.to_string(), text.clone());
        }
        if let Ok(key) = text.parse::<VerifierKey>() {
            prop_assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn no_mutation_of_a_checkpoint_is_believed(at in any::<prop::sample::Index>(), with in any::<u8>(), how in 0..3_u8) {
        let ledger = memory();
        fill(&ledger, 5);
        let log = ledger.head().unwrap().log;
        let note = signed(&ledger, 1).to_string();
        let mut bytes = note.clone().into_bytes();
        let place = at.index(bytes.len());
        match how {
            0 => bytes[place] ^= with,
            1 => { bytes.remove(place); }
            _ => bytes.insert(place, with),
        }
        prop_assume!(bytes != note.as_bytes());
        let trust = TrustPolicy::new(key(&log, 1));
        let opened = SignedNote::parse(&bytes).and_then(|note| trust.open(&note));
        prop_assert!(opened.is_err(), "{}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn only_the_trusted_key_is_believed() {
    let ledger = memory();
    fill(&ledger, 5);
    let log = ledger.head().unwrap().log;
    let (note, other) = (signed(&ledger, 1), signed(&ledger, 2));
    let trust = TrustPolicy::new(key(&log, 1));
    assert_eq!(trust.open(&note).unwrap().checkpoint.head(), ledger.head().unwrap());
    assert!(matches!(trust.open(&other), Err(CheckpointError::Untrusted { .. })));
    // A signature of a stranger beside it changes nothing, a bad one under its name refuses all.
    let both = note.clone().with(other.signatures()[0].clone());
    assert!(trust.open(&both).is_ok());
    let mut forged = note.signatures()[0].clone();
    forged.bytes[5] ^= 1;
    let forged = other.clone().with(forged);
    assert!(matches!(trust.open(&forged), Err(CheckpointError::Signature { .. })));
    let short = {
        let mut s = note.signatures()[0].clone();
        s.bytes.pop();
        note.clone().with(s)
    };
    assert!(matches!(trust.open(&short), Err(CheckpointError::Signature { .. })));
    // The key of one log does not sign for another, whatever its name.
    let elsewhere = LogId::parse("log_other").unwrap();
    let head = TreeHead { log: elsewhere.clone(), ..ledger.head().unwrap() };
    let foreign = Checkpoint::from_head(&head).sign(&signer(1)).unwrap();
    assert!(trust.open(&foreign).is_err());
    // Nor does it sign a text that names the other log.
    let mut misnamed = note.signatures()[0].clone();
    misnamed.bytes = signer(1).sign_text(foreign.text()).unwrap().to_vec();
    let refused = trust.open(&foreign.with(misnamed));
    assert!(matches!(refused, Err(CheckpointError::KeyEnded { .. })), "{refused:?}");
    let renamed = TrustPolicy::new(key(&elsewhere, 1));
    assert!(renamed.open(&note).is_err());
    let ended = TrustPolicy { until: Some(4), ..trust.clone() };
    assert!(matches!(ended.open(&note), Err(CheckpointError::KeyEnded { size: 5, .. })));
    assert!(TrustPolicy { until: Some(5), ..trust }.open(&note).is_ok());
}

#[test]
fn signatures_of_other_forms_are_no_checkpoints_and_the_reverse() {
    let ledger = memory();
    fill(&ledger, 3);
    let log = ledger.head().unwrap().log;
    let trust = TrustPolicy::new(key(&log, 1));
    let note = signed(&ledger, 1);
    let text = note.text().as_bytes();
    let as_note = |bytes: &[u8]| {
        let mut signature = note.signatures()[0].clone();
        signature.bytes = bytes.to_vec();
        note.clone().with(signature)
    };
    // The same key over the same text under any tag of ours.
    for tag in DomainTag::ALL {
        let signature = signer(1).sign(tag, text);
        assert!(trust.open(&as_note(&signature)).is_err(), "{}", tag.as_str());
        let own: [u8; 64] = note.signatures()[0].bytes.as_slice().try_into().unwrap();
        assert!(signer(1).public().verify(tag, text, &own).is_err(), "{}", tag.as_str());
    }
    // An envelope's signature.
    let digest = DocumentKind::Policy.digest(text);
    let envelope =
        Envelope::sign(DocumentKind::Policy, digest, KeyId::parse("root").unwrap(), &signer(1), 1)
            .unwrap();
    let json: serde_json::Value = serde_json::from_str(&envelope.to_json().unwrap()).unwrap();
    let signature = base64(json["signature"].as_str().unwrap());
    assert!(trust.open(&as_note(&signature)).is_err());
    // A cosignature by the same key, as the log's signature, and the reverse.
    let cosigned =
        cosign(note.clone(), log.as_str(), &signer(1), Timestamp::from_micros(9_000_000)).unwrap();
    let witness = cosigned.signatures()[1].bytes.clone();
    assert!(trust.open(&as_note(&witness)).is_err());
    assert!(trust.open(&as_note(&witness[8..])).is_err());
    let mut claimed = cosigned.signatures()[1].clone();
    claimed.bytes = [&[0; 8], note.signatures()[0].bytes.as_slice()].concat();
    let witness = VerifierKey::new(log.as_str(), KeyUse::Witness, signer(1).public()).unwrap();
    let quorum = TrustPolicy { witnesses: vec![witness], quorum: 1, ..trust };
    assert!(quorum.open(&cosigned).is_ok());
    assert!(quorum.open(&note.with(claimed)).is_err());
}

fn base64(text: &str) -> Vec<u8> {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

#[test]
fn a_log_is_held_against_a_checkpoint_and_the_report_says_what_that_proves() {
    let ledger = memory();
    fill(&ledger, 5);
    let log = ledger.head().unwrap().log;
    let note = signed(&ledger, 1);
    fill(&ledger, 4);
    let trust = TrustPolicy::new(key(&log, 1));
    let report = verified(&ledger, &note, &trust).unwrap();
    let (proven, open) = (report.proven().join("; "), report.not_proven().join("; "));
    assert!(proven.contains("first 5 events are those of the given checkpoint"), "{proven}");
    assert!(proven.contains(&key(&log, 1).to_string()), "{proven}");
    assert!(open.contains("events from 5 on") && open.contains("no witness"), "{open}");
    let late = signed(&ledger, 1);
    // A fork: the same size, other events.
    let fork = memory();
    fill(&fork, 9);
    assert_eq!(verified(&fork, &note, &trust), Err(VerifyError::Forked { size: 5 }));
    // A cut, and an older snapshot.
    let short = memory();
    fill(&short, 2);
    let head = short.head().unwrap();
    assert_eq!(
        verified(&short, &late, &trust),
        Err(VerifyError::Truncated { earlier: 9, stored: head.size })
    );
    // Not signed by whom we trust: refused, whatever the log says.
    let refused = verified(&ledger, &signed(&ledger, 2), &trust).unwrap_err();
    assert_eq!(refused.code(), "checkpoint.untrusted");
}

#[test]
fn a_checkpoint_whose_signature_is_wrong_is_refused_before_the_log_is_read() {
    let ledger = memory();
    fill(&ledger, 5);
    let note = signed(&ledger, 1);
    let trust = TrustPolicy::new(key(&ledger.head().unwrap().log, 1));
    let mut signature = note.signatures()[0].clone();
    signature.bytes[0] ^= 1;
    let forged = note.with(signature);
    let mut pages = 0;
    let found =
        verify_against(&ledger, TrustAnchor::Checkpoint(&forged, &trust), &mut |_, _| pages += 1);
    assert_eq!((found.unwrap_err().code(), pages), ("checkpoint.signature", 0));
}

#[test]
fn keys_change_through_events_and_an_old_one_counts_up_to_its_end() {
    let ledger = memory();
    let log = ledger.head().unwrap().log;
    fill(&ledger, 3);
    change_key(&ledger, &KeyChange::declare(key(&log, 1), 3));
    fill(&ledger, 2);
    let before = signed(&ledger, 1);
    let rotation = KeyChange::sign(&log, &signer(1), Some(key(&log, 2)), 5).unwrap();
    change_key(&ledger, &rotation);
    let at = ledger.head().unwrap().size - 1;
    let (old, new) = (signed(&ledger, 1), signed(&ledger, 2));
    fill(&ledger, 3);
    let trust = TrustPolicy::new(key(&log, 1));
    assert_eq!(at, 6);
    assert!(verified(&ledger, &before, &trust).is_ok(), "up to its end the old key counts");
    let report = verified(&ledger, &new, &trust).unwrap();
    assert_eq!(report.checkpoint.unwrap().key, key(&log, 2));
    let refused = verified(&ledger, &old, &trust).unwrap_err();
    assert_eq!(refused.code(), "checkpoint.key_ended", "{refused}");
    // Whoever trusts the new key alone does not believe the old one.
    assert_eq!(KeyHistory::from_log(&ledger).unwrap().current(), Some(&key(&log, 2)));
    let late = TrustPolicy::new(key(&log, 2));
    assert!(verified(&ledger, &new, &late).is_ok());
    assert_eq!(verified(&ledger, &before, &late).unwrap_err().code(), "checkpoint.key_ended");
    // A third key, and an end without a successor.
    let third = KeyChange::sign(&log, &signer(2), Some(key(&log, 3)), 8).unwrap();
    change_key(&ledger, &third);
    assert!(verified(&ledger, &signed(&ledger, 3), &trust).is_ok());
    change_key(&ledger, &KeyChange::sign(&log, &signer(3), None, 9).unwrap());
    fill(&ledger, 1);
    let keys = KeyHistory::from_log(&ledger).unwrap();
    assert_eq!((keys.keys().count(), keys.current()), (3, None));
    let revoked = verified(&ledger, &signed(&ledger, 3), &trust).unwrap_err();
    assert_eq!(revoked.code(), "checkpoint.key_ended", "{revoked}");
    // A key declared after that counts for those who bring it.
    change_key(&ledger, &KeyChange::declare(key(&log, 4), 9));
    let fresh = signed(&ledger, 4);
    assert_eq!(verified(&ledger, &fresh, &trust).unwrap_err().code(), "checkpoint.key_ended");
    assert!(verified(&ledger, &fresh, &TrustPolicy::new(key(&log, 4))).is_ok());
}

/// Cases: T7.
#[test]
fn a_log_rewritten_with_an_attackers_key_is_refused() {
    let honest = memory();
    let log = honest.head().unwrap().log;
    change_key(&honest, &KeyChange::declare(key(&log, 1), 0));
    fill(&honest, 6);
    let kept = signed(&honest, 1);
    let trust = TrustPolicy::new(key(&log, 1));
    let (mine, theirs) = (key(&log, 1), key(&log, 9));
    // The attacker declares a key of their own.
    let rewritten = memory();
    change_key(&rewritten, &KeyChange::declare(theirs.clone(), 0));
    fill(&rewritten, 6);
    let forged = signed(&rewritten, 9);
    assert_eq!(verified(&rewritten, &forged, &trust).unwrap_err().code(), "checkpoint.key_ended");
    assert_eq!(verified(&rewritten, &kept, &trust), Err(VerifyError::Forked { size: 7 }));
    // They declare nothing.
    let silent = memory();
    fill(&silent, 7);
    let refused = verified(&silent, &signed(&silent, 9), &trust).unwrap_err();
    assert_eq!(refused.code(), "checkpoint.untrusted");
    // They declare the operator's key, and hand over from it with a signature of their own.
    for change in [
        KeyChange {
            previous: Some((mine.clone(), signer(9).sign(DomainTag::LOG_KEY, b"x"))),
            ..KeyChange::declare(theirs.clone(), 1)
        },
        KeyChange::sign(&log, &signer(9), Some(theirs.clone()), 1).unwrap(),
        KeyChange::declare(theirs.clone(), 1),
    ] {
        let handed = memory();
        change_key(&handed, &KeyChange::declare(mine.clone(), 0));
        change_key(&handed, &change);
        let found = verified(&handed, &signed(&handed, 9), &trust).unwrap_err();
        assert!(
            matches!(found, VerifyError::Event { seq: 1, fault: EventFault::Key { .. } }),
            "{found}"
        );
        assert!(weaver_trace_store::verify::verify(&handed, None).is_err());
    }
}

#[test]
fn a_key_event_that_is_not_valid_is_a_fault_of_the_log() {
    let log = memory().head().unwrap().log;
    let other = LogId::parse("log_other").unwrap();
    let first = KeyChange::declare(key(&log, 1), 0);
    let next = KeyChange::sign(&log, &signer(1), Some(key(&log, 2)), 1).unwrap();
    let cases: Vec<(&str, Vec<KeyChange>)> = vec![
        ("a key of another log", vec![KeyChange::declare(key(&other, 1), 0)]),
        (
            "a witness's key",
            vec![KeyChange::declare(
                VerifierKey::new(log.as_str(), KeyUse::Witness, signer(1).public()).unwrap(),
                0,
            )],
        ),
        ("from the future", vec![KeyChange::declare(key(&log, 1), 1)]),
        ("a successor of none", vec![next.clone()]),
        (
            "one that comes back",
            vec![
                first.clone(),
                next.clone(),
                KeyChange::sign(&log, &signer(2), Some(key(&log, 1)), 2).unwrap(),
            ],
        ),
        ("the same once more", vec![first.clone(), next.clone(), next.clone()]),
        (
            "signed for another log",
            vec![
                first.clone(),
                KeyChange::sign(&other, &signer(1), Some(key(&log, 2)), 1).unwrap(),
            ],
        ),
        ("another `from` than signed", vec![first.clone(), KeyChange { from: 0, ..next.clone() }]),
        ("nothing", vec![KeyChange { key: None, from: 0, previous: None }]),
    ];
    for (name, changes) in cases {
        let ledger = memory();
        changes.iter().for_each(|change| change_key(&ledger, change));
        let last = changes.len() as u64 - 1;
        let found = weaver_trace_store::verify::verify(&ledger, None).unwrap_err();
        assert!(
            matches!(found, VerifyError::Event { seq, fault: EventFault::Key { .. } } if seq == last),
            "{name}: {found}"
        );
    }
    let good = String::from_utf8(first.to_payload().unwrap()).unwrap();
    for (from, to) in
        [("\"v\":1", "\"v\":2"), ("\"v\":1", "\"v\":1,\"x\":1"), ("\"from\":0,", ""), ("+0", "+1")]
    {
        let ledger = memory();
        let payload = good.replace(from, to).into_bytes();
        let event = NewEvent {
            kind: EventKind::LogKey,
            payload: payload.into(),
            ..event(1_000, String::new())
        };
        ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
        let same = good.replace(from, to) == good;
        assert!(same || weaver_trace_store::verify::verify(&ledger, None).is_err(), "{to}");
    }
}

#[test]
fn a_checkpoint_covers_synced_events_only() {
    let ledger = memory();
    fill(&ledger, 3);
    let size = || Checkpoint::synced(&ledger).unwrap().size;
    assert_eq!(size(), 0, "what is not synced is not covered");
    ledger.commit(Batch::new(Durability::Disk)).wait().unwrap();
    assert_eq!(size(), 3, "a barrier covers what stands before it");
    fill(&ledger, 2);
    assert_eq!(size(), 3);
    assert_eq!(Checkpoint::synced(&ledger).unwrap().head(), ledger.synced_head().unwrap());
}

#[test]
fn witnesses_count_once_each_and_only_trusted_ones() {
    let ledger = memory();
    fill(&ledger, 5);
    let log = ledger.head().unwrap().log;
    let at = Timestamp::from_micros(1_700_000_000_999_999);
    let witness =
        |name: &str, seed| VerifierKey::new(name, KeyUse::Witness, signer(seed).public()).unwrap();
    let note = cosign(signed(&ledger, 1), "w1", &signer(11), at).unwrap();
    let note = cosign(note, "w2", &signer(12), at).unwrap();
    let stranger = cosign(note.clone(), "w3", &signer(13), at).unwrap();
    let trust = |witnesses: Vec<VerifierKey>, quorum| TrustPolicy {
        witnesses,
        quorum,
        ..TrustPolicy::new(key(&log, 1))
    };
    let (one, two) = (witness("w1", 11), witness("w2", 12));
    let opened = trust(vec![one.clone(), two.clone()], 2).open(&stranger).unwrap();
    let seen: Vec<_> = opened.witnesses.iter().map(|seen| (seen.key.name(), seen.at)).collect();
    assert_eq!(seen, [("w1", 1_700_000_000), ("w2", 1_700_000_000)]);
    for (witnesses, found) in [
        (vec![one.clone(), witness("w4", 14)], 1),
        (vec![one.clone(), one.clone()], 1),
        (vec![witness("w1", 12), witness("w2", 11)], 0),
        (vec![key(&log, 1)], 0),
    ] {
        let refused = trust(witnesses, 2).open(&stranger);
        assert_eq!(refused, Err(CheckpointError::Witnesses { found, wanted: 2 }));
    }
    // One key under two names is one witness.
    let twice = cosign(note.clone(), "w5", &signer(11), at).unwrap();
    let refused = trust(vec![one.clone(), witness("w5", 11)], 2).open(&twice);
    assert_eq!(refused, Err(CheckpointError::Witnesses { found: 1, wanted: 2 }));
    // Every bit of a cosignature counts, its time included.
    for bit in 0..72 * 8 {
        let mut signature = note.signatures()[1].clone();
        signature.bytes[bit / 8] ^= 1 << (bit % 8);
        let refused = trust(vec![one.clone()], 1).open(&note.clone().with(signature));
        assert!(matches!(refused, Err(CheckpointError::Signature { .. })), "bit {bit}");
    }
}

#[test]
fn a_witness_signs_one_history_also_after_it_was_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness.json");
    let ledger = memory();
    fill(&ledger, 3);
    let log = ledger.head().unwrap().log;
    let trust = TrustPolicy::new(key(&log, 1));
    let by = signer(11);
    let now = Timestamp::from_micros(5_000_000);
    let mut witness = Witness::open(&path).unwrap();
    assert!(matches!(Witness::open(&path), Err(CheckpointError::File(_))), "one at a time");
    let small = signed(&ledger, 1);
    assert!(witness.cosign(&small, &[], &trust, "w1", &by, now).is_ok());
    assert!(witness.cosign(&small, &[], &trust, "w1", &by, now).is_ok(), "the same again");
    fill(&ledger, 4);
    let large = signed(&ledger, 1);
    let proof = ledger.consistency(3, 7).unwrap();
    let refused = |witness: &mut Witness, note: &SignedNote, proof: &[_]| {
        witness.cosign(note, proof, &trust, "w1", &by, now).unwrap_err().code()
    };
    assert_eq!(refused(&mut witness, &large, &[]), "witness.inconsistent");
    assert_eq!(refused(&mut witness, &signed(&ledger, 2), &proof), "checkpoint.untrusted");
    drop(witness);
    let mut witness = Witness::open(&path).unwrap();
    assert_eq!(witness.seen(log.as_str()).unwrap().0, 3);
    let note = witness.cosign(&large, &proof, &trust, "w1", &by, now).unwrap();
    let key = VerifierKey::new("w1", KeyUse::Witness, by.public()).unwrap();
    assert!(TrustPolicy { witnesses: vec![key], quorum: 1, ..trust.clone() }.open(&note).is_ok());
    assert_eq!(refused(&mut witness, &small, &[]), "witness.inconsistent");
    let fork = memory();
    fill(&fork, 9);
    let proof = fork.consistency(7, 9).unwrap();
    assert_eq!(refused(&mut witness, &signed(&fork, 1), &proof), "witness.inconsistent");
    assert_eq!(witness.seen(log.as_str()).unwrap(), (7, ledger.head().unwrap().root));
    drop(witness);
    // What it cannot remember it does not sign.
    std::fs::write(&path, "{}").unwrap();
    assert!(Witness::open(&path).is_err());
    std::fs::remove_file(&path).unwrap();
    let mut witness = Witness::open(&path).unwrap();
    std::fs::create_dir(path.with_extension("json.new")).unwrap();
    assert_eq!(refused(&mut witness, &large, &[]), "witness.file");
    assert_eq!(witness.seen(log.as_str()), None);
    assert_ne!(Digest::from_bytes([0; 32]), ledger.head().unwrap().root);
}
