//! Where a log begins and ends, for verification: what stands beyond, and what is not there.

use serde_json::json;
use weaver_trace_store::merkle::{
    Frontier, MerkleTree, empty_root, leaf_hash, verify_consistency, verify_inclusion,
};
use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_trace_store::verify::{
    EventFault, JsonLinesLog, LogProver, LogSource, VerifyError, line, verify, verify_with,
};
use weaver_types::ledger::{Ledger, StoredEvent};
use weaver_types::{Digest, EventKind, Timestamp};

use crate::support::{fill, ledger_of, memory, told};
use crate::verification::Copied;

fn event(seq: u64, fault: EventFault) -> Result<(), VerifyError> {
    Err(VerifyError::Event { seq, fault })
}

fn found(copy: &Copied) -> Result<(), VerifyError> {
    verify(copy, None).map(drop)
}

fn copied(count: u64) -> Copied {
    let ledger = memory();
    fill(&ledger, count);
    Copied::from(&ledger)
}

#[test]
fn events_before_the_first_and_after_the_last_are_found_where_the_store_says_so() {
    for (size, first, last, wanted) in [
        (5, Some(0), Some(4), Ok(())),
        (5, None, None, Ok(())),
        (5, Some(1), Some(4), event(0, EventFault::Missing)),
        (5, Some(0), Some(5), event(5, EventFault::Extra)),
        (5, Some(0), Some(9), event(5, EventFault::Extra)),
        (0, None, None, Ok(())),
        (0, Some(3), Some(3), event(3, EventFault::Extra)),
        (0, Some(0), Some(0), event(0, EventFault::Extra)),
    ] {
        let mut copy = copied(size);
        (copy.extent.first, copy.extent.last) = (first, last);
        assert_eq!(found(&copy), wanted, "{size} events, {first:?} to {last:?}");
    }
}

#[test]
fn no_more_is_read_than_the_head_counts() {
    let mut copy = copied(300);
    copy.extent = copied_extent(&copy, 270);
    assert_eq!(found(&copy), Ok(()), "what came after the look is left alone");
    let mut told = Vec::new();
    verify_with(&copy, None, &mut |done, all| told.push((done, all))).unwrap();
    assert_eq!(told, [(256, 270), (270, 270)]);
}

/// The extent of the first events of a log, as it was when they were all.
fn copied_extent(copy: &Copied, size: u64) -> weaver_trace_store::verify::LogExtent {
    let mut frontier = Frontier::default();
    let rows = &copy.rows[..usize::try_from(size).unwrap()];
    rows.iter().for_each(|row| frontier.push(*row.leaf.as_bytes()));
    let mut extent = copy.extent.clone();
    extent.head.size = size;
    extent.head.root = Digest::from_bytes(frontier.root());
    extent.frontier = frontier;
    extent.last = Some(size - 1);
    extent
}

#[test]
fn what_the_store_says_of_its_end_must_be_that_of_the_events() {
    let mut copy = copied(6);
    copy.extent.latest_time = Timestamp::from_micros(999);
    let (stored, last) = (Timestamp::from_micros(999), Timestamp::from_micros(1_000));
    assert_eq!(found(&copy), Err(VerifyError::Highest { stored, last }));
    let mut copy = copied(6);
    copy.extent.frontier = Frontier::default();
    assert_eq!(found(&copy), Err(VerifyError::Frontier));
    let mut copy = copied(6);
    copy.extent.head.root = Digest::from_bytes([1; 32]);
    assert_eq!(found(&copy), Err(VerifyError::Root { from: 0, size: 6 }));
    let ledger = memory();
    fill(&ledger, 4);
    let early = ledger.head().unwrap();
    fill(&ledger, 2);
    let mut copy = Copied::from(&ledger);
    copy.extent.head.root = Digest::from_bytes([1; 32]);
    let found = verify(&copy, Some(&early)).map(drop);
    assert_eq!(found, Err(VerifyError::Root { from: 4, size: 6 }));
    copy.extent.synced = Some(1);
    copy.extent.head = ledger.head().unwrap();
    let found = verify(&copy, Some(&early)).map(drop);
    assert_eq!(found, Err(VerifyError::Synced { counted: 1, found: 0 }));
    copy.extent.synced = Some(0);
    assert!(verify(&copy, Some(&early)).is_ok());
}

#[test]
fn half_an_event_a_short_salt_and_a_bad_note_are_faults() {
    let change = |act: fn(&mut StoredEvent)| {
        let mut copy = copied(3);
        act(&mut copy.rows[1].event);
        found(&copy)
    };
    assert_eq!(change(|event| event.salt = None), event(1, EventFault::HalfGone));
    assert_eq!(change(|event| event.payload = None), event(1, EventFault::HalfGone));
    let short = change(|event| event.salt.as_mut().unwrap().truncate(15));
    assert_eq!(short, event(1, EventFault::Commitment));
    // One that is never pruned is missed at once, whatever stands behind it.
    let loaded = ledger_of(&[told(EventKind::PolicyLoaded, 1, ("", ""), &json!({}))]);
    let mut copy = Copied::from(&loaded);
    (copy.rows[0].event.salt, copy.rows[0].event.payload) = (None, None);
    assert_eq!(found(&copy), event(0, EventFault::Gone));
}

#[test]
fn a_note_tells_of_events_before_it_alone() {
    let note = |seqs: Vec<u64>| {
        let bytes = PruningNote::new(seqs, PruneReason::Age, "x").unwrap().to_bytes().unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let log = |notes: &[Vec<u64>]| {
        let mut batch = Vec::new();
        batch.extend((0..4).map(|_| told(EventKind::Late, 1, ("", ""), &json!({}))));
        let ledger = ledger_of(&batch);
        for seqs in notes {
            let event = told(EventKind::Pruned, 1, ("", ""), &note(seqs.clone()));
            let batch = weaver_types::ledger::Batch {
                prune: seqs.clone(),
                ..weaver_types::ledger::Batch::new(weaver_types::ledger::Durability::Os)
            };
            ledger.commit(batch.with_event(event)).wait().unwrap();
        }
        ledger
    };
    let pruned = log(&[vec![1, 2], vec![0]]);
    let report = verify(&pruned, None).unwrap();
    assert_eq!((report.pruned, report.last_at), (3, Some(Timestamp::from_micros(1))));
    let mut copy = Copied::from(&pruned);
    (copy.rows[3].event.salt, copy.rows[3].event.payload) = (None, None);
    assert_eq!(found(&copy), event(3, EventFault::Gone), "no note names it");
}

#[test]
fn a_store_that_keeps_nothing_beside_its_log_says_so() {
    let copy = copied(2);
    assert_eq!(copy.tile(0, 0), Ok(None));
    assert_eq!(copy.mismatched_table(), Ok(None));
    assert_eq!(copy.foreign_objects(), Ok(None));
    assert_eq!(copy.keeps_tiles(), Ok(false));
    let mut seen = Vec::new();
    assert_eq!(copy.visit(1, 9, &mut |row| seen.push(row.to_row())), Ok(1));
    assert_eq!(seen, copy.rows[1..]);
}

#[test]
fn the_empty_tree_is_the_beginning_of_every_tree_and_of_no_other() {
    let (empty, other) = (empty_root(), leaf_hash(b"x"));
    for (old, new, path, old_root, new_root, holds) in [
        (0, 0, vec![], empty, empty, true),
        (0, 0, vec![], empty, other, false),
        (0, 0, vec![], other, other, false),
        (0, 1, vec![], empty, other, true),
        (0, 1, vec![other], empty, other, false),
        (0, 1, vec![], other, other, false),
        (1, 1, vec![], other, other, true),
        (1, 1, vec![other], other, other, false),
        (1, 1, vec![], other, empty, false),
        (2, 1, vec![], other, other, false),
        (1, 0, vec![], other, other, false),
        (3, 4, vec![], other, other, false),
    ] {
        let found = verify_consistency(old, new, &path, &old_root, &new_root);
        assert_eq!(found, holds, "{old} {new} {path:?}");
    }
    assert!(!verify_inclusion(&other, 0, 0, &[], &other));
    assert!(verify_inclusion(&other, 0, 1, &[], &other));
    assert!(!verify_inclusion(&other, 0, 1, &[other], &other));
    assert!(!verify_inclusion(&other, 1, 1, &[], &other));
}

#[test]
fn a_proof_with_a_hash_too_many_or_too_few_proves_nothing() {
    let mut tree = MerkleTree::default();
    (0..13_u64).for_each(|n| tree.push(leaf_hash(&n.to_be_bytes())));
    let root = tree.root(13).unwrap();
    for index in 0..13_u64 {
        let leaf = leaf_hash(&index.to_be_bytes());
        let path = tree.inclusion(index, 13).unwrap();
        assert!(!verify_inclusion(&leaf, index, 13, &[path.clone(), vec![leaf]].concat(), &root));
        assert!(!verify_inclusion(&leaf, index, 13, &path[1..], &root));
    }
    for old in 1..13 {
        let (before, path) = (tree.root(old).unwrap(), tree.consistency(old, 13).unwrap());
        let more = [path.clone(), vec![root]].concat();
        assert!(!verify_consistency(old, 13, &more, &before, &root));
        assert!(!verify_consistency(old, 13, &path[1..], &before, &root));
        assert!(!verify_consistency(old, 13, &[], &before, &root));
    }
}

#[test]
fn the_frontier_knows_its_last_subtree() {
    let mut frontier = Frontier::default();
    assert_eq!((frontier.last(), frontier.root(), frontier.size()), (None, empty_root(), 0));
    for (count, leaves) in [(1, 1), (2, 2), (3, 1), (4, 4), (5, 1), (6, 2), (7, 1), (8, 8)] {
        frontier.push(leaf_hash(b"x"));
        assert_eq!(frontier.last().map(|(_, leaves)| leaves), Some(leaves), "{count}");
    }
    assert_eq!(frontier.last().unwrap().0, frontier.root());
}

#[test]
fn what_is_no_export_is_named_by_its_line() {
    let ledger = memory();
    fill(&ledger, 3);
    let lines: Vec<Vec<u8>> =
        ledger.events(0, 9).unwrap().iter().map(|event| line(event).unwrap()).collect();
    let whole = lines.join(&b'\n');
    let read = |bytes: &[u8]| JsonLinesLog::read(bytes).map_err(|error| error.to_string());
    let back = read(&whole).unwrap();
    assert_eq!(back.extent().unwrap().head, ledger.head().unwrap());
    assert_eq!(back.extent().unwrap().last, Some(2));
    assert_eq!(back.rows(1, 1).unwrap()[0].event.seq, 1);
    assert_eq!(back.rows(0, 2).unwrap().len(), 2);
    assert!(back.rows(3, 9).unwrap().is_empty());
    let none = "the batch is malformed: the first line has no header of an event";
    assert_eq!(read(b"").unwrap_err(), none);
    assert_eq!(read(b"{\"header\":\"{}\"}").unwrap_err(), none);
    let bad: [&[u8]; 6] = [
        b"{}",
        b"[]",
        b"{\"header\":7}",
        b"{\"header\":\"x\",\"salt\":7}",
        b"{\"header\":\"x\",\"salt\":\"?\"}",
        b"\n",
    ];
    for bad in bad {
        let said = read(&[&whole[..], b"\n", bad].concat()).unwrap_err();
        assert_eq!(said, "the batch is malformed: line 4 is none of an export");
    }
    let other = b"{\"header\":\"x\",\"more\":7,\"payload\":null}";
    assert_eq!(read(&[&whole[..], b"\n", other].concat()).unwrap().extent().unwrap().head.size, 4);
    let mut broken = ledger.events(0, 1).unwrap().remove(0);
    broken.payload = Some(vec![0xff]);
    let said = line(&broken).unwrap_err().to_string();
    assert_eq!(said, "the batch is malformed: event 0 is not UTF-8");
    assert!(
        ledger.inclusion(3, 3).unwrap_err().to_string().contains("no proof of 3 in a log of 3")
    );
}

#[test]
fn the_largest_payload_is_read_back_whatever_its_characters() {
    // Each quotation mark takes two bytes of the payload, and four of the line.
    let text = "\"".repeat(weaver_types::ledger::MAX_PAYLOAD / 2 - 1);
    let ledger = ledger_of(&[told(EventKind::Late, 1, ("", ""), &json!(text))]);
    let event = ledger.events(0, 1).unwrap().remove(0);
    assert_eq!(event.payload.as_ref().unwrap().len(), weaver_types::ledger::MAX_PAYLOAD);
    let line = line(&event).unwrap();
    let lines = JsonLinesLog::read(line.as_slice()).unwrap();
    assert_eq!(lines.extent().unwrap().head, ledger.head().unwrap());
    assert!(verify(&lines, None).is_ok());
}
