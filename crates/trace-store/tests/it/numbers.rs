//! Sequence numbers from many threads at once.

use std::sync::Barrier;

use weaver_types::ledger::{Durability, Ledger, MAX_PAGE};

use crate::support::{memory, numbered};

const THREADS: u64 = 64;
/// Appends of each thread: more than 10^5 together.
const EACH: u64 = 1_563;

/// Appends from all threads, and gives for each number that was acknowledged who got it.
fn acknowledged(ledger: &dyn Ledger) -> Vec<Option<u64>> {
    let gate = Barrier::new(usize::try_from(THREADS).unwrap());
    let append = |thread: u64| {
        gate.wait();
        let numbers = (0..EACH).map(|n| thread * EACH + n);
        let receipts = numbers.map(|number| {
            let level = if number % 97 == 0 { Durability::Disk } else { Durability::Os };
            let receipt = ledger.commit(numbered(number, level)).wait().unwrap();
            (receipt.first_seq.unwrap(), number)
        });
        receipts.collect::<Vec<_>>()
    };
    let mut owners = vec![None; usize::try_from(THREADS * EACH).unwrap()];
    std::thread::scope(|scope| {
        let append = &append;
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || append(thread))).collect();
        for thread in threads {
            for (seq, number) in thread.join().unwrap() {
                let owner = &mut owners[usize::try_from(seq).unwrap()];
                assert_eq!(*owner, None, "{seq} was given twice");
                *owner = Some(number);
            }
        }
    });
    owners
}

fn each_number_is_given_once(ledger: &dyn Ledger) {
    let owners = acknowledged(ledger);
    assert!(owners.len() >= 100_000);
    assert!(owners.iter().all(Option::is_some), "a number was left out");
    assert_eq!(ledger.head().unwrap().size, owners.len() as u64);
    let mut seq = 0;
    while seq < owners.len() {
        for event in ledger.events(seq as u64, MAX_PAGE).unwrap() {
            let owner = owners[seq].unwrap();
            assert_eq!(event.seq, seq as u64);
            assert_eq!(event.payload.unwrap(), format!("{{\"n\":{owner}}}").into_bytes());
            seq += 1;
        }
    }
}

#[test]
fn of_a_hundred_thousand_appends_from_64_threads_each_has_its_own_number_in_memory() {
    each_number_is_given_once(&memory());
}

#[test]
fn of_a_hundred_thousand_appends_from_64_threads_each_has_its_own_number_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = crate::support::open(&folder.path().join("ledger.db"));
    each_number_is_given_once(&ledger);
    assert!(weaver_trace_store::verify::verify(&ledger, None).is_ok());
}
