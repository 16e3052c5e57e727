//! Every bit of headers, leaves, salts and payloads, each flipped in a log of its own rows.

use weaver_faults::story;
use weaver_trace_store::verify::{Extent, Source, verify};
use weaver_trace_store::{OpenOptions, Reader, Row, SqliteLedger};
use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, LedgerError, MAX_PAGE};

use crate::store::{Store, flip};
use crate::support::{Draw, LEDGER, folder, long};

const EVENTS: u64 = 200;

/// A log that anybody may change, beside its file.
struct Copied {
    extent: Extent,
    rows: Vec<Row>,
}

impl Source for Copied {
    fn extent(&self) -> Result<Extent, LedgerError> {
        Ok(self.extent.clone())
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, LedgerError> {
        let from = usize::try_from(from).unwrap();
        Ok(self.rows.iter().skip(from).take(limit).cloned().collect())
    }
}

/// What of an event is changed.
#[derive(Debug, Clone, Copy)]
enum Part {
    Header,
    Leaf,
    Salt,
    Payload,
}

const PARTS: [Part; 4] = [Part::Header, Part::Leaf, Part::Salt, Part::Payload];

/// The number of bits of a part; none of a payload that was pruned.
fn bits(row: &Row, part: Part) -> usize {
    let event = &row.event;
    8 * match part {
        Part::Header => event.header.len(),
        Part::Leaf => 32,
        Part::Salt => event.salt.as_ref().map_or(0, Vec::len),
        Part::Payload => event.payload.as_ref().map_or(0, Vec::len),
    }
}

fn flip_part(row: &mut Row, part: Part, bit: usize) {
    match part {
        Part::Header => flip(&mut row.event.header, bit),
        Part::Salt => flip(row.event.salt.as_mut().unwrap(), bit),
        Part::Payload => flip(row.event.payload.as_mut().unwrap(), bit),
        Part::Leaf => {
            let mut leaf = *row.leaf.as_bytes();
            flip(&mut leaf, bit);
            row.leaf = Digest::from_bytes(leaf);
        }
    }
}

/// Verification stops at the first bad event, so the normal run takes every bit of the first few
/// events, where it is quick, and draws bits of the others.
#[test]
fn every_bit_of_leaf_header_salt_and_payload_counts() {
    let folder = folder();
    let path = folder.path().join(LEDGER);
    let ledger = SqliteLedger::open(&path, OpenOptions::default()).unwrap();
    (0..EVENTS).for_each(|number| drop(story::append(&ledger, number).unwrap()));
    let rows = Source::rows(&ledger, 0, MAX_PAGE).unwrap();
    let mut log = Copied { extent: ledger.extent().unwrap(), rows };
    assert!(verify(&log, None).is_ok());
    let (mut draw, mut count) = (Draw(7), 0);
    for seq in 0..log.rows.len() {
        for part in PARTS {
            let all = bits(&log.rows[seq], part);
            let chosen: Vec<usize> = match () {
                () if long() || seq < 6 => (0..all).collect(),
                () if all == 0 => Vec::new(),
                () => (0..2).map(|_| draw.below(all)).collect(),
            };
            for bit in chosen {
                flip_part(&mut log.rows[seq], part, bit);
                let error = verify(&log, None).expect_err("a flipped bit was not seen");
                assert_eq!(error.seq(), Some(seq as u64), "{part:?} bit {bit}: {error}");
                flip_part(&mut log.rows[seq], part, bit);
                count += 1;
            }
        }
    }
    println!("{count} bits of {EVENTS} events, all found and named");
}

/// Whether an event was synced is in no hash, but in a count.
#[test]
fn a_changed_durability_is_found() {
    let store = Store::new(EVENTS, false);
    let reader = Reader::open(store.path()).unwrap();
    let rows = Source::rows(&reader, 0, MAX_PAGE).unwrap();
    let mut log = Copied { extent: reader.extent().unwrap(), rows };
    for seq in 0..log.rows.len() {
        let before = log.rows[seq].event.durability;
        log.rows[seq].event.durability = match before {
            Durability::Os => Durability::Disk,
            Durability::Disk => Durability::Os,
        };
        assert!(verify(&log, None).is_err(), "event {seq} was {before:?}");
        log.rows[seq].event.durability = before;
    }
}
