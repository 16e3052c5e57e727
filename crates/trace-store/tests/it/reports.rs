//! What a verification says that it proved, and what it could not.

use weaver_trace_store::checkpoint::{
    Checkpoint, Cosignature, KeyUse, TrustPolicy, VerifierKey, cosign,
};
use weaver_trace_store::verify::{TrustAnchor, VerificationReport, verify_against};
use weaver_types::ledger::{Ledger, TreeHead};
use weaver_types::{Digest, LogId, Timestamp};

use crate::checkpoints::{key, signed, signer};
use crate::support::{fill, memory};

const UNSYNCED: &str = "that 3 events were synced to disk is only what is written beside them: the root \
                        does not cover it";
const RECORDS: &str = "the records beside the log are not covered by its root";
const TRUNCATION: &str = "this cannot rule out truncation, nor that somebody rewrote the whole file: no \
                          checkpoint or head from elsewhere was given";

fn head(size: u64) -> TreeHead {
    TreeHead { log: LogId::parse("log_test").unwrap(), size, root: Digest::from_bytes([7; 32]) }
}

fn report(earlier: Option<u64>) -> VerificationReport {
    let earlier = earlier.map(head);
    VerificationReport {
        head: head(9),
        synced: 3,
        pruned: 0,
        last_at: None,
        earlier,
        checkpoint: None,
    }
}

#[test]
fn without_anything_from_elsewhere_truncation_is_not_ruled_out() {
    let report = report(None);
    let all = "all 9 events match their commitments, stand in order and hash to the stored root";
    assert_eq!(report.proven(), [all]);
    assert_eq!(report.not_proven(), [TRUNCATION, UNSYNCED, RECORDS]);
    let pruned = VerificationReport { pruned: 1, ..report };
    let gone = "1 of them are pruned, as `log.pruned` events say; their headers stand";
    assert_eq!(pruned.proven(), [all, gone]);
    let lost = "what the pruned payloads said cannot be checked any more";
    assert_eq!(pruned.not_proven(), [TRUNCATION, UNSYNCED, lost, RECORDS]);
}

#[test]
fn a_head_from_elsewhere_proves_what_stood_before_it_and_is_not_signed() {
    let unsigned = "the given head is not signed: it proves as much as the place where it was kept";
    let later = |size: u64| {
        format!(
            "events from {size} on came after the given head: that none of them was rewritten or cut \
             off since is not proven"
        )
    };
    let none = "events after the given head, if there ever were any, could have been cut off";
    for (size, after) in [(0, later(0)), (8, later(8)), (9, none.to_owned())] {
        let report = report(Some(size));
        let first = format!(
            "the first {size} events are those of the given head: none was changed, removed, reordered \
             or cut off"
        );
        assert_eq!(report.proven()[1..], [first]);
        assert_eq!(report.not_proven()[..2], [after, unsigned.to_owned()]);
        assert_eq!(report.not_proven().len(), 4);
    }
}

#[test]
fn a_signed_checkpoint_is_named_with_its_key_and_its_witnesses() {
    let ledger = memory();
    fill(&ledger, 4);
    let log = ledger.head().unwrap().log;
    let note = signed(&ledger, 1);
    fill(&ledger, 1);
    let own = key(&log, 1);
    let trust = TrustPolicy::new(own.clone());
    let report =
        verify_against(&ledger, TrustAnchor::Checkpoint(&note, &trust), &mut |_, _| {}).unwrap();
    let proven = report.proven();
    assert_eq!(proven.len(), 3);
    assert!(proven[1].starts_with("the first 4 events are those of the given checkpoint:"));
    assert_eq!(proven[2], format!("the checkpoint was signed by {own}, which counted at its size"));
    let not_proven = report.not_proven();
    assert!(not_proven[0].starts_with("events from 4 on came after the given checkpoint:"));
    let alone = "no witness was asked for: that others were shown the same log is not proven";
    assert_eq!((not_proven[1].as_str(), not_proven.len()), (alone, 4));

    let witness = VerifierKey::new("w1", KeyUse::Witness, signer(9).public()).unwrap();
    let at = Timestamp::from_micros(12_999_999);
    let note = cosign(note, "w1", &signer(9), at).unwrap();
    let trust = TrustPolicy { witnesses: vec![witness.clone()], quorum: 1, ..trust };
    let report =
        verify_against(&ledger, TrustAnchor::Checkpoint(&note, &trust), &mut |_, _| {}).unwrap();
    let cosigned = [Cosignature { key: witness, at: 12 }];
    assert_eq!(report.checkpoint.as_ref().unwrap().witnesses, cosigned);
    let said = "the witness w1 signed it, by its own clock 12 seconds after 1970";
    assert_eq!(report.proven()[3..], [said]);
    assert_eq!(report.not_proven().len(), 3, "{:?}", report.not_proven());

    // A checkpoint of all that there is leaves open what came after.
    let note = signed(&ledger, 1);
    let trust = TrustPolicy::new(own);
    let report =
        verify_against(&ledger, TrustAnchor::Checkpoint(&note, &trust), &mut |_, _| {}).unwrap();
    let none = "events after the given checkpoint, if there ever were any, could have been cut off";
    assert_eq!(report.not_proven()[0], none);
    assert_eq!(Checkpoint::parse(note.text()).unwrap().size, 5);
}
