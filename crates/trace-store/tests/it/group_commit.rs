//! Who commits: the caller that finds the writer free, or the writer's thread.

use std::collections::{BTreeSet, VecDeque};
use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use weaver_trace_store::verify::verify;
use weaver_types::ledger::{Durability, Ledger};

use crate::support::{numbered, open};

#[test]
fn a_lone_batch_that_is_not_synced_is_committed_by_whoever_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    // From here on the thread has nothing to look after: so many commits make no checkpoint due.
    while ledger.is_sweeping() || ledger.is_erasing() {
        std::thread::yield_now();
    }
    std::thread::sleep(std::time::Duration::from_millis(100));
    let mut yielded = 0;
    for n in 0..40 {
        let mut ticket = pin!(ledger.commit(numbered(n, Durability::Os)));
        let mut context = Context::from_waker(Waker::noop());
        // The first look commits it: nobody is there to wake this task later. Now and then the
        // first only finds out that no other task is there.
        let mut polled = ticket.as_mut().poll(&mut context);
        if polled.is_pending() {
            yielded += 1;
            polled = ticket.as_mut().poll(&mut context);
        }
        let Poll::Ready(Ok(receipt)) = polled else { panic!("{n}: {polled:?}") };
        assert_eq!(receipt.first_seq, Some(n));
        assert_eq!(ledger.head().unwrap().size, n + 1);
    }
    assert!(yielded <= 3, "a caller that is alone yielded {yielded} times in 40");
}

#[test]
fn tasks_that_share_a_thread_are_committed_together() {
    const TASKS: u64 = 16;
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    let mut context = Context::from_waker(Waker::noop());
    let mut commits = 0;
    for round in 0..20 {
        // What an executor of one thread does: each task submits and waits when its turn comes.
        let mut waiting = VecDeque::new();
        let mut heads = BTreeSet::new();
        for task in 0..TASKS {
            let batch = numbered(round * TASKS + task, Durability::Os);
            let mut ticket = Box::pin(ledger.commit(batch));
            match ticket.as_mut().poll(&mut context) {
                Poll::Ready(receipt) => drop(heads.insert(receipt.unwrap().head.size())),
                Poll::Pending => waiting.push_back(ticket),
            }
        }
        while let Some(mut ticket) = waiting.pop_front() {
            match ticket.as_mut().poll(&mut context) {
                Poll::Ready(receipt) => drop(heads.insert(receipt.unwrap().head.size())),
                Poll::Pending => waiting.push_back(ticket),
            }
        }
        commits += heads.len();
    }
    // Each is alone at first: it takes some commits to find out that others are there.
    assert!(commits <= 60, "320 batches of 16 tasks took {commits} commits");
    assert_eq!(verify(&ledger, None).unwrap().head.size, 20 * TASKS);
}

#[test]
fn a_batch_that_nobody_waits_for_is_committed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    drop(ledger.commit(numbered(1, Durability::Os)));
    while ledger.head().unwrap().size == 0 {
        std::thread::yield_now();
    }
    let kept = ledger.commit(numbered(2, Durability::Os));
    drop(ledger);
    assert!(kept.wait().is_ok(), "closing writes what waits");
}

#[test]
fn a_batch_that_is_deferred_goes_with_the_next_and_is_seen_by_whoever_reads() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    for n in 0..50 {
        let mut deferred = ledger.commit(numbered(2 * n, Durability::Os)).defer();
        if n % 5 == 0 {
            assert_eq!(ledger.head().unwrap().size, 2 * n + 1, "a read sees what was written");
            assert!(deferred.is_done());
        }
        let level = if n % 2 == 0 { Durability::Os } else { Durability::Disk };
        let next = ledger.commit(numbered(2 * n + 1, level)).wait().unwrap();
        assert_eq!(next.first_seq, Some(2 * n + 1));
        let receipt = deferred.try_take().expect("it was committed before the next").unwrap();
        assert_eq!(receipt.first_seq, Some(2 * n));
        assert!(deferred.try_take().is_none(), "given once");
    }
    assert_eq!(verify(&ledger, None).unwrap().head.size, 100);
}

#[test]
fn a_batch_that_is_deferred_behind_many_is_seen_too() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    for round in 1..=3 {
        let first = (round - 1) * 2_001;
        let before: Vec<_> =
            (0..2_000).map(|n| ledger.commit(numbered(first + n, Durability::Os))).collect();
        let deferred = ledger.commit(numbered(first + 2_000, Durability::Os)).defer();
        assert_eq!(ledger.head().unwrap().size, round * 2_001, "of all groups before it");
        // A second thread answers large groups, so a ticket may be done a moment later.
        for ticket in before.into_iter().chain([deferred]) {
            ticket.wait().unwrap();
        }
    }
}

#[test]
fn a_batch_that_is_deferred_is_committed_when_nothing_comes_and_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = open(&path);
    let deferred = ledger.commit(numbered(1, Durability::Os)).defer();
    while !deferred.is_done() {
        std::thread::yield_now();
    }
    let mut last = ledger.commit(numbered(2, Durability::Os)).defer();
    drop(ledger.commit(numbered(3, Durability::Os)).defer());
    drop(ledger);
    assert!(last.try_take().expect("closing writes what waits").is_ok());
    assert_eq!(open(&path).head().unwrap().size, 3);
}

#[test]
fn each_of_many_callers_reads_what_it_deferred() {
    const EACH: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    std::thread::scope(|scope| {
        for caller in 0..4 {
            let ledger = &ledger;
            scope.spawn(move || {
                for n in 0..EACH {
                    let number = (caller * EACH + n) as u64;
                    let mut deferred = ledger.commit(numbered(number, Durability::Os)).defer();
                    let head = ledger.head().unwrap().size;
                    let receipt = deferred.try_take().expect("read after it").unwrap();
                    assert!(receipt.first_seq.unwrap() < head);
                }
            });
        }
    });
    assert_eq!(verify(&ledger, None).unwrap().head.size, 4 * EACH as u64);
}

#[test]
fn batches_keep_their_order_whoever_commits_them() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    let levels = [Durability::Os, Durability::Disk, Durability::Os, Durability::Os];
    for round in 0..20_u64 {
        let place = |at: usize| round * levels.len() as u64 + at as u64;
        let submit = |(at, level): (usize, &Durability)| ledger.commit(numbered(place(at), *level));
        let tickets: Vec<_> = levels.iter().enumerate().map(submit).collect();
        // The last one leads, or finds that somebody does.
        for (at, ticket) in tickets.into_iter().enumerate().rev() {
            let receipt = ticket.wait().unwrap();
            assert_eq!(receipt.first_seq, Some(place(at)));
            assert!(receipt.durability >= levels[at]);
        }
    }
    assert!(ledger.synced_head().unwrap().size >= 78);
}

#[test]
fn callers_of_both_levels_get_a_place_each() {
    const EACH: u64 = 200;
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder.path().join("ledger.db"));
    let seqs = std::thread::scope(|scope| {
        let caller = |n: u64| {
            let ledger = &ledger;
            scope.spawn(move || {
                let level = |k: u64| match (k + n) % 8 {
                    0 => Durability::Disk,
                    _ => Durability::Os,
                };
                let commit = |k| ledger.commit(numbered(n * EACH + k, level(k))).wait().unwrap();
                (0..EACH).map(|k| commit(k).first_seq.unwrap()).collect::<Vec<_>>()
            })
        };
        let callers: Vec<_> = (0..6).map(caller).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect::<Vec<u64>>()
    });
    let distinct: std::collections::BTreeSet<u64> = seqs.into_iter().collect();
    assert_eq!(distinct, (0..6 * EACH).collect());
    assert_eq!(verify(&ledger, None).unwrap().head.size, 6 * EACH);
}
