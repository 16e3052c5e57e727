//! Proofs from stored tiles, and their verification.

use proptest::prelude::*;
use weaver_trace_store::merkle::{MerkleTree, TILE_BYTES, verify_consistency, verify_inclusion};
use weaver_trace_store::verify::{LogProver, LogSource, VerifyError, verify};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, LedgerError, MAX_BATCH_EVENTS};

use crate::support::{change, event, memory, open};

/// Appends events in batches of a thousand.
fn bulk(ledger: &dyn Ledger, count: u64) {
    let mut left = usize::try_from(count).unwrap();
    while left > 0 {
        let size = left.min(MAX_BATCH_EVENTS);
        let events = (0..size).map(|n| event(1_000, format!("{{\"n\":{n}}}"))).collect();
        ledger.commit(Batch { events, ..Batch::new(Durability::Os) }).wait().unwrap();
        left -= size;
    }
}

/// The tree over the leaves of a log.
fn tree(log: &dyn LogSource) -> MerkleTree {
    let mut tree = MerkleTree::default();
    loop {
        let rows = log.rows(tree.size(), 1_000).unwrap();
        if rows.is_empty() {
            return tree;
        }
        rows.iter().for_each(|row| tree.push(*row.leaf.as_bytes()));
    }
}

/// The log proves what the whole tree proves, at these places and sizes.
fn agrees(log: &dyn LogProver, tree: &MerkleTree, pairs: &[(u64, u64)]) {
    for (small, size) in pairs.iter().copied() {
        assert_eq!(Some(log.root(size).unwrap()), tree.root(size), "root of {size}");
        if small < size {
            let path = log.inclusion(small, size).unwrap();
            assert_eq!(Some(path), tree.inclusion(small, size), "{small} in {size}");
        }
        if small > 0 {
            let path = log.consistency(small, size).unwrap();
            assert_eq!(Some(path), tree.consistency(small, size), "{small} to {size}");
        }
    }
}

/// The sizes at which something new happens, and their neighbours.
fn edges(size: u64) -> Vec<(u64, u64)> {
    let near = [0, 1, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, size - 1, size];
    let near: Vec<u64> = near.into_iter().filter(|n| *n <= size).collect();
    near.iter()
        .flat_map(|new| near.iter().map(move |old| (*old, *new)))
        .filter(|(old, new)| old <= new)
        .collect()
}

#[test]
fn stored_tiles_prove_what_the_whole_tree_proves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut ledger = open(&path);
    for more in [1, 254, 1, 1, 255, 300, 65_000, 725] {
        bulk(&ledger, more);
        // A new process goes on with the tiles of the one before.
        drop(ledger);
        ledger = open(&path);
        let size = ledger.head().unwrap().size;
        if !(1_000..=65_536).contains(&size) {
            agrees(&ledger, &tree(&ledger), &edges(size));
        }
    }
    let reader = Reader::open(&path).unwrap();
    agrees(&reader, &tree(&reader), &edges(66_537));
    verify(&reader, None).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn both_ledgers_prove_every_place_of_every_size(
        batches in proptest::collection::vec(1..400_u64, 1..5),
        picks in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (sqlite, memory) = (open(&folder.path().join("store")), memory());
        for count in &batches {
            bulk(&sqlite, *count);
            bulk(&memory, *count);
        }
        for log in [&sqlite as &dyn LogProver, &memory] {
            let tree = tree(log);
            let pairs: Vec<(u64, u64)> = picks.iter().map(|(a, b)| {
                let new = b.index(usize::try_from(tree.size()).unwrap()) as u64 + 1;
                (a.index(usize::try_from(new).unwrap()) as u64, new)
            }).collect();
            agrees(log, &tree, &pairs);
        }
    }
}

#[test]
fn what_is_not_there_is_not_proven() {
    let folder = tempfile::tempdir().unwrap();
    let (sqlite, memory) = (open(&folder.path().join("store")), memory());
    bulk(&sqlite, 5);
    bulk(&memory, 5);
    for log in [&sqlite as &dyn LogProver, &memory] {
        for refused in [
            log.root(6).map(drop),
            log.inclusion(5, 5).map(drop),
            log.inclusion(0, 6).map(drop),
            log.consistency(0, 5).map(drop),
            log.consistency(4, 3).map(drop),
            log.consistency(4, 6).map(drop),
        ] {
            assert!(matches!(refused, Err(LedgerError::Malformed(_))), "{refused:?}");
        }
    }
}

#[test]
fn verification_finds_a_changed_or_missing_tile_and_proofs_from_it_fail() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let ledger = open(&path);
    bulk(&ledger, 1_100);
    drop(ledger);
    assert!(verify(&Reader::open(&path).unwrap(), None).is_ok());
    for (level, place) in [(0, 0), (0, 3), (1, 0)] {
        let copy = folder.path().join("copy");
        let bad = Err(VerifyError::Tile { level, index: place });
        let of = format!("WHERE level = {level} AND place = {place}");
        // The hash over the first 512, 128 or 2 events, by the slot.
        let slot = if level == 1 { 127 } else { 1 };
        for sql in [
            format!("DELETE FROM tiles {of}"),
            format!(
                "UPDATE tiles SET nodes = CAST(substr(nodes, 1, {} * 32) || zeroblob(32) || substr(nodes, {} * 32 + 1) AS BLOB) {of}",
                slot,
                slot + 1
            ),
            format!("UPDATE tiles SET nodes = substr(nodes, 1, 8159) {of}"),
        ] {
            std::fs::copy(&path, &copy).unwrap();
            change(&copy, &sql);
            let reader = Reader::open(&copy).unwrap();
            assert_eq!(verify(&reader, None).map(drop), bad, "{sql}");
        }
        let reader = Reader::open(&copy).unwrap();
        assert_eq!(reader.tile(level, place).unwrap().unwrap().len(), TILE_BYTES - 1);
    }
    change(&path, "UPDATE tiles SET nodes = randomblob(8160)");
    let reader = Reader::open(&path).unwrap();
    let root = *reader.head().unwrap().root.as_bytes();
    let leaf = *reader.rows(700, 1).unwrap()[0].leaf.as_bytes();
    let path = reader.inclusion(700, 1_100).unwrap();
    assert!(!verify_inclusion(&leaf, 700, 1_100, &path, &root));
    let path = reader.consistency(700, 1_100).unwrap();
    let old = reader.root(700).unwrap();
    assert!(!verify_consistency(700, 1_100, &path, &old, &root));
}

#[test]
fn a_zeroed_tile_at_the_end_of_the_log_is_found_at_opening_and_any_by_verification() {
    for (events, level, at_end) in [(256, 0, true), (1_100, 1, true), (1_100, 0, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        bulk(&open(&path), events);
        drop(open(&path));
        let zero = "UPDATE tiles SET nodes = zeroblob(8160) WHERE place = 0 AND level";
        change(&path, &format!("{zero} = {level}"));
        let error = verify(&Reader::open(&path).unwrap(), None).unwrap_err();
        assert_eq!(error, VerifyError::Tile { level, index: 0 });
        let opened = SqliteLedger::open(&path, OpenOptions::default()).map(drop);
        assert_eq!(matches!(opened, Err(LedgerError::Damaged(_))), at_end, "{opened:?}");
    }
}
