//! The file of the index: whose it is, which sums it gives, and what a check counts.

use weaver_trace_store::index::{Index, IndexCheck, IndexStatus};
use weaver_trace_store::query::CandidateLookup;

use crate::made_up::{self, Store};
use crate::support::change;

/// A store with so many events, and its index.
fn indexed(events: u64) -> (Store, Index) {
    let store = Store::of(events);
    let index = Index::open(store.path(), &store.ledger).unwrap();
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    (store, index)
}

/// Changes the index behind its back.
fn change_index(store: &Store, sql: &str) {
    change(&Index::path_of(store.path()), sql);
}

#[test]
fn an_index_that_names_another_log_leaf_or_place_is_not_used() {
    for (sql, is_used) in [
        ("UPDATE meta SET untidy = 0", true),
        ("UPDATE meta SET log = 'log_other'", false),
        ("UPDATE meta SET leaf = zeroblob(32)", false),
        ("UPDATE meta SET leaf = NULL", false),
        ("UPDATE meta SET position = 11", false),
        ("UPDATE meta SET position = 31, leaf = NULL", false),
        ("UPDATE meta SET position = 0", false),
        ("UPDATE meta SET position = 0, leaf = NULL", true),
        ("PRAGMA application_id = 1", false),
        ("PRAGMA user_version = 1", false),
        ("PRAGMA user_version = 3", false),
        ("DROP TABLE meta", false),
    ] {
        let (store, index) = indexed(30);
        drop(index);
        assert!(Index::find(store.path(), &store.ledger).is_some());
        change_index(&store, sql);
        assert_eq!(Index::find(store.path(), &store.ledger).is_some(), is_used, "{sql}");
    }
    let store = Store::of(3);
    assert!(Index::find(store.path(), &store.ledger).is_none(), "none is made");
    assert!(!Index::path_of(store.path()).exists());
    Index::remove(store.path()).unwrap();
}

#[test]
fn only_whole_blocks_have_sums() {
    let (store, index) = indexed(2_500);
    let status = index.status(&store.ledger).unwrap();
    assert_eq!(status, IndexStatus { position: 2_500, size: 2_500 });
    assert_eq!(index.position(), 2_500);
    for (first, wanted) in [
        (0, Some((1_000, 1_000))),
        (1_000, Some((1_000, 2_000))),
        (2_000, None),
        (3_000, None),
        (500, None),
        (1, None),
        (u64::MAX, None),
    ] {
        let found = index.sums(first).map(|(sums, end)| (sums.events, end));
        assert_eq!(found, wanted, "{first}");
    }
    made_up::fill(&store.ledger, 2_500..3_000);
    index.catch_up(&store.ledger, &mut |_, _| {}).unwrap();
    assert_eq!(index.sums(2_000).map(|(_, end)| end), Some(3_000));
}

#[test]
fn a_step_takes_in_no_more_than_one_block_and_catching_up_tells_how_far_it_is() {
    let store = Store::of(2_100);
    let index = Index::open(store.path(), &store.ledger).unwrap();
    let step = || index.step(&store.ledger).unwrap();
    assert_eq!(step(), IndexStatus { position: 1_000, size: 2_100 });
    let mut told = Vec::new();
    let done = index.catch_up(&store.ledger, &mut |at, aim| told.push((at, aim))).unwrap();
    assert_eq!(done, IndexStatus { position: 2_100, size: 2_100 });
    assert_eq!(told, [(2_000, 2_100), (2_100, 2_100)]);
    assert_eq!(step(), IndexStatus { position: 2_100, size: 2_100 });
}

#[test]
fn a_check_counts_terms_and_sums_that_only_one_side_has() {
    let (store, index) = indexed(1_200);
    let check = || index.check(&store.ledger, &mut |_, _| {}).unwrap();
    assert_eq!(check(), IndexCheck { events: 1_200, wrong: 0 });
    change_index(&store, "UPDATE blocks SET sums = sums || ' ' WHERE first = 0");
    assert_eq!(check(), IndexCheck { events: 1_200, wrong: 2 }, "one on either side");
    change_index(&store, "DELETE FROM blocks WHERE first = 0");
    assert_eq!(check(), IndexCheck { events: 1_200, wrong: 1 });
    let mut told = Vec::new();
    index.check(&store.ledger, &mut |at, aim| told.push((at, aim))).unwrap();
    assert_eq!(told, [(1_200, 1_200), (1_000, 1_200), (1_200, 1_200)]);
}
