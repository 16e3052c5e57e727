//! Every bit of headers, leaves, salts and payloads, each flipped in a log of its own rows.

use weaver_faults::workload;
use weaver_trace_store::verify::{LogExtent, LogSource, verify};
use weaver_trace_store::{EventRow, OpenOptions, Reader, SqliteLedger};
use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, LedgerError, MAX_PAGE};

use crate::store::{Store, flip};
use crate::support::{LEDGER, SplitMix64, folder, is_long_run};

const EVENTS: u64 = 200;

/// A log that anybody may change, beside its file.
struct Copied {
    extent: LogExtent,
    rows: Vec<EventRow>,
}

impl LogSource for Copied {
    fn extent(&self) -> Result<LogExtent, LedgerError> {
        Ok(self.extent.clone())
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<EventRow>, LedgerError> {
        let from = usize::try_from(from).unwrap();
        Ok(self.rows.iter().skip(from).take(limit).cloned().collect())
    }
}

/// What of an event is changed.
#[derive(Debug, Clone, Copy)]
enum EventPart {
    Header,
    Leaf,
    Salt,
    Payload,
}

const PARTS: [EventPart; 4] =
    [EventPart::Header, EventPart::Leaf, EventPart::Salt, EventPart::Payload];

/// The number of bits of a part; none of a payload that was pruned.
fn bits(row: &EventRow, part: EventPart) -> usize {
    let event = &row.event;
    8 * match part {
        EventPart::Header => event.header.len(),
        EventPart::Leaf => 32,
        EventPart::Salt => event.salt.as_ref().map_or(0, Vec::len),
        EventPart::Payload => event.payload.as_ref().map_or(0, Vec::len),
    }
}

fn flip_part(row: &mut EventRow, part: EventPart, bit: usize) {
    match part {
        EventPart::Header => flip(&mut row.event.header, bit),
        EventPart::Salt => flip(row.event.salt.as_mut().unwrap(), bit),
        EventPart::Payload => flip(row.event.payload.as_mut().unwrap(), bit),
        EventPart::Leaf => {
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
    (0..EVENTS).for_each(|number| drop(workload::append(&ledger, number).unwrap()));
    let rows = LogSource::rows(&ledger, 0, MAX_PAGE).unwrap();
    let mut log = Copied { extent: ledger.extent().unwrap(), rows };
    assert!(verify(&log, None).is_ok());
    let (mut draw, mut count) = (SplitMix64(7), 0);
    for seq in 0..log.rows.len() {
        for part in PARTS {
            let all = bits(&log.rows[seq], part);
            let chosen: Vec<usize> = match () {
                () if is_long_run() || seq < 6 => (0..all).collect(),
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
    let rows = LogSource::rows(&reader, 0, MAX_PAGE).unwrap();
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
