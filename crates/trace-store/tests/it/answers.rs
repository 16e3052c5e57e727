//! Pages of an answer: how many events they hold, what was read for them, and lookups that are wrong.

use std::cell::RefCell;
use std::ops::Range;

use serde_json::json;
use weaver_trace_store::MemoryLedger;
use weaver_trace_store::query::{
    CandidateLookup, EventFilter, EventOrder, LogQuery, MAX_PAGE_EVENTS, PageCursor, QueryPage,
    run_query, run_query_with_progress,
};
use weaver_types::ledger::NewEvent;
use weaver_types::{EventKind, Timestamp};

use crate::support::{ledger_of, told};
use crate::verification::Copied;

/// A log in which every tenth event is a refusal, each a microsecond after the one before.
fn log(count: i64) -> MemoryLedger {
    let events: Vec<NewEvent> = (0..count)
        .map(|n| {
            let kind = if n % 10 == 0 { EventKind::Refused } else { EventKind::Intent };
            told(kind, n, ("run_1", ""), &json!({}))
        })
        .collect();
    ledger_of(&events)
}

fn refusals() -> EventFilter {
    EventFilter::parse(["event:call.refused"], Timestamp::default()).unwrap()
}

fn question(filter: EventFilter, order: EventOrder, limit: usize) -> LogQuery {
    LogQuery { filter, order, after: None, limit }
}

fn places(page: &QueryPage) -> Vec<u64> {
    page.events.iter().map(|facts| facts.seq).collect()
}

#[test]
fn a_page_holds_what_was_asked_for_and_names_the_next_only_where_there_is_one() {
    let log = log(100);
    for (order, limit, found, next) in [
        (EventOrder::Oldest, 3, vec![0, 10, 20], true),
        (EventOrder::Oldest, 9, (0..9).map(|n| n * 10).collect(), true),
        (EventOrder::Oldest, 10, (0..10).map(|n| n * 10).collect(), false),
        (EventOrder::Oldest, 11, (0..10).map(|n| n * 10).collect(), false),
        (EventOrder::Newest, 3, vec![90, 80, 70], true),
        (EventOrder::Newest, 10, (0..10).rev().map(|n| n * 10).collect(), false),
        // Less than one is one.
        (EventOrder::Newest, 0, vec![90], true),
    ] {
        let page = run_query(&log, None, &question(refusals(), order, limit)).unwrap();
        assert_eq!((places(&page), page.next.is_some()), (found, next), "{order:?} {limit}");
        assert_eq!((page.size, page.known), (100, 0));
    }
    assert_eq!((LogQuery::newest(refusals()).limit, LogQuery::oldest(refusals()).limit), (50, 50));
}

#[test]
fn no_page_is_longer_than_the_longest() {
    let log = log(1_100);
    let page =
        run_query(&log, None, &question(EventFilter::default(), EventOrder::Oldest, usize::MAX))
            .unwrap();
    assert_eq!((page.events.len(), page.next.is_some()), (MAX_PAGE_EVENTS, true));
}

#[test]
fn a_page_goes_on_after_its_cursor() {
    let log = log(100);
    for (order, after, found) in [
        (EventOrder::Oldest, 10, vec![20, 30]),
        (EventOrder::Oldest, 9, vec![10, 20]),
        (EventOrder::Newest, 90, vec![80, 70]),
        (EventOrder::Newest, 91, vec![90, 80]),
        (EventOrder::Oldest, 90, vec![]),
        (EventOrder::Newest, 0, vec![]),
        (EventOrder::Oldest, u64::MAX, vec![]),
        (EventOrder::Newest, u64::MAX, vec![90, 80]),
    ] {
        let filter = refusals();
        let after = Some(PageCursor::new(after, order, &filter));
        let asked = LogQuery { after, ..question(filter, order, 2) };
        assert_eq!(places(&run_query(&log, None, &asked).unwrap()), found, "{asked:?}");
    }
    let foreign = Some(PageCursor::new(3, EventOrder::Oldest, &EventFilter::default()));
    let asked = LogQuery { after: foreign.clone(), ..question(refusals(), EventOrder::Oldest, 2) };
    let said = run_query(&log, None, &asked).unwrap_err().to_string();
    assert_eq!(said, "the cursor belongs to another filter; ask without it to begin again");
    let asked =
        LogQuery { after: foreign, ..question(EventFilter::default(), EventOrder::Newest, 2) };
    let said = run_query(&log, None, &asked).unwrap_err().to_string();
    assert_eq!(
        said,
        "the cursor goes the other way through the log; ask without it to begin again"
    );
}

#[test]
fn a_scan_reads_little_at_first_and_tells_how_far_it_is() {
    let log = log(1_000);
    let mut told = Vec::new();
    let asked = question(refusals(), EventOrder::Oldest, 200);
    let page = run_query_with_progress(&log, None, &asked, &mut |done, all| told.push((done, all)))
        .unwrap();
    assert_eq!(page.read, 1_000);
    assert_eq!(
        told,
        [
            (16, 1_000),
            (48, 1_000),
            (112, 1_000),
            (240, 1_000),
            (496, 1_000),
            (996, 1_000),
            (1_000, 1_000)
        ]
    );
    for (order, read) in [(EventOrder::Oldest, 21), (EventOrder::Newest, 30)] {
        let page = run_query(&log, None, &question(refusals(), order, 2)).unwrap();
        assert_eq!(page.read, read, "{order:?}");
    }
}

#[test]
fn a_scan_is_bounded_by_the_times_that_are_asked_for() {
    let log = log(100);
    let at = |micros| Some(Timestamp::from_micros(micros));
    for (since, until, found, read) in [
        (at(50), None, vec![50, 60, 70, 80, 90], 50),
        (at(51), at(80), vec![60, 70], 29),
        (at(51), at(81), vec![60, 70, 80], 30),
        (None, at(1), vec![0], 1),
        (None, at(0), vec![], 0),
        (at(100), None, vec![], 0),
        (at(60), at(40), vec![], 0),
    ] {
        let filter = refusals().within(since, until);
        let page = run_query(&log, None, &question(filter, EventOrder::Oldest, 50)).unwrap();
        assert_eq!((places(&page), page.read), (found, read), "{since:?} {until:?}");
    }
}

/// A lookup that answers as it is told, and notes what it was asked.
struct Scripted {
    position: u64,
    answers: RefCell<Vec<Option<Vec<u64>>>>,
    asked: RefCell<Vec<(Range<u64>, usize)>>,
}

impl Scripted {
    fn of(position: u64, mut answers: Vec<Option<Vec<u64>>>) -> Self {
        answers.reverse();
        Self { position, answers: RefCell::new(answers), asked: RefCell::default() }
    }
}

impl CandidateLookup for Scripted {
    fn position(&self) -> u64 {
        self.position
    }

    fn candidates(
        &self,
        _: &EventFilter,
        range: Range<u64>,
        _: EventOrder,
        limit: usize,
    ) -> Option<Vec<u64>> {
        self.asked.borrow_mut().push((range, limit));
        self.answers.borrow_mut().pop().flatten()
    }
}

#[test]
fn what_a_lookup_proposes_is_read_and_what_it_does_not_know_is_scanned() {
    let log = log(100);
    // Known up to 50: what it proposes there, and the rest event by event.
    let lookup = Scripted::of(50, vec![Some(vec![0, 10, 20, 30, 40])]);
    let page =
        run_query(&log, Some(&lookup), &question(refusals(), EventOrder::Oldest, 20)).unwrap();
    assert_eq!(places(&page), (0..10).map(|n| n * 10).collect::<Vec<_>>());
    assert_eq!((page.known, page.size, page.read), (50, 100, 5 + 50));
    assert_eq!(*lookup.asked.borrow(), [(0..50, 21)]);
    // The other way round the tail comes first.
    let lookup = Scripted::of(50, vec![Some(vec![40, 30])]);
    let page =
        run_query(&log, Some(&lookup), &question(refusals(), EventOrder::Newest, 6)).unwrap();
    assert_eq!(places(&page), [90, 80, 70, 60, 50, 40]);
    assert_eq!((page.read, page.next.is_some()), (52, true));
    // One that knows more than the log is taken for no more than that.
    let lookup = Scripted::of(500, vec![Some(vec![90])]);
    let page =
        run_query(&log, Some(&lookup), &question(refusals(), EventOrder::Newest, 6)).unwrap();
    assert_eq!((places(&page), page.known, page.read), (vec![90], 100, 1));
    // A question about the time alone is none for a lookup.
    let lookup = Scripted::of(50, vec![]);
    let page =
        run_query(&log, Some(&lookup), &question(EventFilter::default(), EventOrder::Oldest, 6))
            .unwrap();
    assert_eq!((page.known, lookup.asked.borrow().len()), (0, 0));
}

#[test]
fn a_lookup_that_proposes_too_much_or_nonsense_makes_no_event_up_and_ends() {
    let log = log(100);
    let all: Vec<u64> = (0..10).map(|n| n * 10).collect();
    for (answers, found) in [
        // It cannot say.
        (vec![None], all.clone()),
        // Events that do not fit.
        (vec![Some(vec![0, 1, 2, 10])], vec![0, 10]),
        // Places out of order, twice, and beyond the log.
        (vec![Some(vec![20, 10, 20, 500, 30])], vec![20, 30]),
        // As many as were asked for, none of which is in the range: it is not asked for ever.
        (vec![Some(vec![500; 21])], all.clone()),
        // As many as were asked for, few of which fit, and then the rest.
        (vec![Some((1..22).collect()), Some(vec![30, 40])], vec![10, 20, 30, 40]),
        (vec![Some((1..22).collect()), None], all[1..].to_vec()),
    ] {
        let lookup = Scripted::of(100, answers.clone());
        let page =
            run_query(&log, Some(&lookup), &question(refusals(), EventOrder::Oldest, 20)).unwrap();
        assert_eq!(places(&page), found, "{answers:?}");
    }
    // The range that is left after a page of proposals is asked for anew.
    let lookup = Scripted::of(100, vec![Some((1..22).collect()), Some(vec![30])]);
    run_query(&log, Some(&lookup), &question(refusals(), EventOrder::Oldest, 20)).unwrap();
    assert_eq!(*lookup.asked.borrow(), [(0..100, 21), (22..100, 21)]);
    let lookup = Scripted::of(100, vec![Some((79..100).rev().collect()), Some(vec![70])]);
    let page =
        run_query(&log, Some(&lookup), &question(refusals(), EventOrder::Newest, 20)).unwrap();
    assert_eq!(*lookup.asked.borrow(), [(0..100, 21), (0..79, 21)]);
    assert_eq!(places(&page), [90, 80, 70]);
    // Once a page is full nothing more is read.
    let lookup = Scripted::of(100, vec![Some(vec![0, 10, 20, 30])]);
    let page =
        run_query(&log, Some(&lookup), &question(refusals(), EventOrder::Oldest, 2)).unwrap();
    assert_eq!((places(&page), page.read, page.next.is_some()), (vec![0, 10], 3, true));
}

#[test]
fn places_where_no_event_is_stored_are_passed_over() {
    let mut copy = Copied::from(&log(40));
    copy.rows.drain(10..20);
    let lookup = Scripted::of(40, vec![Some(vec![0, 10, 20])]);
    let page =
        run_query(&copy, Some(&lookup), &question(refusals(), EventOrder::Oldest, 9)).unwrap();
    assert_eq!((places(&page), page.read), (vec![0, 20], 3));
    let page = run_query(&copy, None, &question(refusals(), EventOrder::Oldest, 9)).unwrap();
    assert_eq!(places(&page), [0, 20, 30]);
}
