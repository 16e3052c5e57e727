//! Verification finds every change of what is stored, and says what it cannot know.

use proptest::prelude::*;
use weaver_trace_store::EventRow;
use weaver_trace_store::merkle::{Frontier, leaf_hash};
use weaver_trace_store::verify::{
    EventFault, LogExtent, LogSource, VerifyError, verify, verify_with,
};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, LedgerError, TreeHead};
use weaver_types::{Digest, LogId};

use crate::support::{fill, memory};

/// A log that anybody may change.
#[derive(Clone)]
pub(crate) struct Copied {
    pub(crate) extent: LogExtent,
    pub(crate) rows: Vec<EventRow>,
}

impl Copied {
    fn of(count: u64) -> Self {
        let ledger = memory();
        fill(&ledger, count);
        Self::from(&ledger)
    }

    pub(crate) fn from(ledger: &dyn LogSource) -> Self {
        Self { extent: ledger.extent().unwrap(), rows: ledger.rows(0, 1000).unwrap() }
    }

    fn verify(&self, earlier: Option<&TreeHead>) -> Result<(), VerifyError> {
        verify(self, earlier).map(drop)
    }

    fn bad(&self) -> (u64, EventFault) {
        match self.verify(None) {
            Err(VerifyError::Event { seq, fault }) => (seq, fault),
            other => panic!("no bad event named: {other:?}"),
        }
    }
}

impl LogSource for Copied {
    fn extent(&self) -> Result<LogExtent, LedgerError> {
        Ok(self.extent.clone())
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<EventRow>, LedgerError> {
        Ok(self.rows.iter().filter(|row| row.event.seq >= from).take(limit).cloned().collect())
    }
}

/// What a bit is flipped in.
#[derive(Debug, Clone, Copy)]
enum EventPart {
    Header,
    Payload,
    Salt,
}

fn flip(bytes: &mut [u8], bit: usize) {
    let bit = bit % (bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
}

proptest! {
    #[test]
    fn any_flipped_bit_of_header_payload_or_salt_is_named(
        count in 1..40_u64,
        place in any::<prop::sample::Index>(),
        bit in any::<usize>(),
        part in prop::sample::select(vec![EventPart::Header, EventPart::Payload, EventPart::Salt]),
    ) {
        let mut log = Copied::of(count);
        let seq = place.index(log.rows.len());
        let event = &mut log.rows[seq].event;
        match part {
            EventPart::Header => flip(&mut event.header, bit),
            EventPart::Payload => flip(event.payload.as_mut().unwrap(), bit),
            EventPart::Salt => flip(event.salt.as_mut().unwrap(), bit),
        }
        prop_assert_eq!(log.bad().0, seq as u64);
    }

    #[test]
    fn any_flipped_bit_of_head_or_leaf_is_found(
        count in 1..40_u64,
        place in any::<prop::sample::Index>(),
        bit in any::<usize>(),
        leaf in any::<bool>(),
    ) {
        let mut log = Copied::of(count);
        let seq = place.index(log.rows.len());
        let digest = if leaf { &mut log.rows[seq].leaf } else { &mut log.extent.head.root };
        let mut bytes = *digest.as_bytes();
        flip(&mut bytes, bit);
        *digest = weaver_types::Digest::from_bytes(bytes);
        let error = log.verify(None).unwrap_err();
        prop_assert_eq!(error.seq(), leaf.then_some(seq as u64));
    }
}

#[test]
fn every_bit_of_a_small_log_counts() {
    let log = Copied::of(3);
    for (seq, row) in log.rows.iter().enumerate() {
        for bit in 0..row.event.header.len() * 8 {
            let mut log = log.clone();
            flip(&mut log.rows[seq].event.header, bit);
            assert_eq!(log.bad(), (seq as u64, EventFault::Leaf));
        }
        for bit in 0..row.event.payload.as_ref().unwrap().len() * 8 {
            let mut log = log.clone();
            flip(log.rows[seq].event.payload.as_mut().unwrap(), bit);
            assert_eq!(log.bad(), (seq as u64, EventFault::Commitment));
        }
        for bit in 0..16 * 8 {
            let mut log = log.clone();
            flip(log.rows[seq].event.salt.as_mut().unwrap(), bit);
            assert_eq!(log.bad(), (seq as u64, EventFault::Commitment));
        }
    }
}

#[test]
fn a_header_rewritten_with_its_leaf_hash_breaks_the_root() {
    let mut log = Copied::of(9);
    let row = &mut log.rows[4];
    let text = String::from_utf8(row.event.header.clone()).unwrap();
    row.event.header = text.replace("call.intent", "run.started").into_bytes();
    let leaf = weaver_trace_store::merkle::leaf_hash(&row.event.header);
    row.leaf = weaver_types::Digest::from_bytes(leaf);
    assert_eq!(log.verify(None), Err(VerifyError::Root { from: 0, size: 9 }));
}

#[test]
fn removed_and_swapped_events_are_named() {
    for gone in 0..9 {
        let mut log = Copied::of(9);
        log.rows.remove(gone);
        assert_eq!(log.bad(), (gone as u64, EventFault::Missing));
    }
    let mut log = Copied::of(9);
    log.rows.swap(3, 6);
    log.rows[3].event.seq = 3;
    log.rows[6].event.seq = 6;
    assert_eq!(log.bad(), (3, EventFault::Misplaced { seq: 6 }));
    let mut log = Copied::of(9);
    let payload = log.rows[3].event.payload.clone();
    log.rows[3].event.payload = log.rows[6].event.payload.clone();
    log.rows[6].event.payload = payload;
    assert_eq!(log.bad(), (3, EventFault::Commitment));
}

#[test]
fn a_shorter_log_needs_an_earlier_head() {
    let ledger = memory();
    fill(&ledger, 5);
    let middle = ledger.head().unwrap();
    fill(&ledger, 4);
    let late = ledger.head().unwrap();
    let cut = Copied::of(7);
    let mut cut = Copied { extent: cut.extent, rows: LogSource::rows(&ledger, 0, 7).unwrap() };
    assert!(matches!(cut.verify(None), Err(VerifyError::Root { .. })));
    // Whoever can write the file can make a head that fits the shorter log.
    let mut shorter = weaver_trace_store::merkle::Frontier::default();
    cut.rows.iter().for_each(|row| shorter.push(*row.leaf.as_bytes()));
    cut.extent.head.root = weaver_types::Digest::from_bytes(shorter.root());
    cut.extent.frontier = shorter;
    assert_eq!(cut.verify(None), Ok(()));
    assert_eq!(cut.verify(Some(&middle)), Ok(()));
    let truncated = VerifyError::Truncated { earlier: 9, stored: 7 };
    assert_eq!(cut.verify(Some(&late)), Err(truncated.clone()));
    assert_eq!(truncated.seq(), Some(7));
    assert!(truncated.to_string().contains("the first that is missing is event 7"), "{truncated}");
    // A bad event before the cut is the first bad one.
    let mut worse = cut.clone();
    flip(worse.rows[3].event.payload.as_mut().unwrap(), 1);
    assert_eq!(
        worse.verify(Some(&late)),
        Err(VerifyError::Event { seq: 3, fault: EventFault::Commitment })
    );

    let alone = verify(&cut, None).unwrap().not_proven().join("; ");
    assert!(alone.contains("cannot rule out truncation"), "{alone}");
    let report = verify(&cut, Some(&middle)).unwrap();
    assert!(report.proven().join("; ").contains("first 5 events"), "{report:?}");
    assert!(report.not_proven().join("; ").contains("events from 5 on"), "{report:?}");
}

#[test]
fn another_history_or_another_log_is_no_extension() {
    let (one, two) = (memory(), memory());
    fill(&one, 6);
    fill(&two, 9);
    let earlier = one.head().unwrap();
    assert_eq!(verify(&two, Some(&earlier)), Err(VerifyError::Forked { size: 6 }));
    assert!(verify(&one, Some(&earlier)).is_ok());
    let other = TreeHead { log: LogId::parse("log_other").unwrap(), ..earlier };
    assert!(matches!(verify(&two, Some(&other)), Err(VerifyError::OtherLog { .. })));
    let mut forged = Copied::of(3);
    forged.extent.head.log = LogId::parse("log_other").unwrap();
    assert!(matches!(forged.bad(), (0, EventFault::OtherLog { .. })));
}

#[test]
fn the_empty_log_and_the_empty_head_are_proven_too() {
    let ledger = memory();
    let empty = ledger.head().unwrap();
    assert!(verify(&ledger, Some(&empty)).is_ok());
    fill(&ledger, 3);
    assert!(verify(&ledger, Some(&empty)).is_ok());
    let wrong = TreeHead { root: ledger.head().unwrap().root, ..empty };
    assert_eq!(verify(&ledger, Some(&wrong)), Err(VerifyError::Forked { size: 0 }));
}

#[test]
fn a_payload_that_is_gone_is_a_fault() {
    let mut log = Copied::of(5);
    let event = log.rows[2].event.clone();
    (log.rows[2].event.salt, log.rows[2].event.payload) = (None, None);
    assert_eq!(log.bad(), (2, EventFault::Gone));
    let text = log.verify(None).unwrap_err().to_string();
    assert!(text.contains("event 2") && text.contains("payload and salt are gone"), "{text}");
    log.rows[2].event.payload = event.payload;
    assert_eq!(log.bad(), (2, EventFault::HalfGone));
    (log.rows[2].event.salt, log.rows[2].event.payload) = (event.salt, None);
    assert_eq!(log.bad(), (2, EventFault::HalfGone));
}

#[test]
fn progress_is_told_and_ends_at_the_end() {
    let log = Copied::of(700);
    let mut told = Vec::new();
    verify_with(&log, None, &mut |done, all| told.push((done, all))).unwrap();
    assert_eq!(told, [(256, 700), (512, 700), (700, 700)]);
}

#[test]
fn an_event_dated_before_the_one_before_it_is_named() {
    let mut log = Copied::of(5);
    // Everything is made to fit: header, leaf, root and frontier. Only the order in time is wrong.
    let mut header: serde_json::Value = serde_json::from_slice(&log.rows[3].event.header).unwrap();
    let before: serde_json::Value = serde_json::from_slice(&log.rows[2].event.header).unwrap();
    for (at, fits) in
        [(before["at"].as_i64().unwrap(), true), (before["at"].as_i64().unwrap() - 1, false)]
    {
        header["at"] = at.into();
        let bytes = canonical::to_bytes(&header, Profile::Record).unwrap();
        log.rows[3].leaf = Digest::from_bytes(leaf_hash(&bytes));
        log.rows[3].event.header = bytes;
        let mut frontier = Frontier::default();
        log.rows.iter().for_each(|row| frontier.push(*row.leaf.as_bytes()));
        log.extent.head.root = Digest::from_bytes(frontier.root());
        log.extent.frontier = frontier;
        match fits {
            true => log.verify(None).unwrap(),
            false => assert_eq!(log.bad(), (3, EventFault::Time)),
        }
    }
}
