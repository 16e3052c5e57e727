//! Statistics: what each event counts for, sums that are joined, and sums that a lookup keeps.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Value, json};
use weaver_trace_store::project::{HoldStats, LogStats};
use weaver_trace_store::query::{CandidateLookup, EventFacts, EventFilter, EventOrder};
use weaver_trace_store::verify::LogSource;
use weaver_types::{EventKind, Timestamp};

use crate::support::{ledger_of, told};

fn facts(kind: EventKind, at: i64, payload: &Value) -> EventFacts {
    let log = ledger_of(&[told(kind, at, ("run_1", "call_1"), payload)]);
    EventFacts::from_event(&log.rows(0, 1).unwrap()[0].event)
}

fn stats<'p>(events: impl IntoIterator<Item = (EventKind, &'p Value)>) -> LogStats {
    let mut stats = LogStats::default();
    events.into_iter().for_each(|(kind, payload)| stats.add(&facts(kind, 100, payload)));
    stats
}

fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn each_event_counts_for_what_it_is() {
    let charged =
        json!({"run": {"tool_calls": 1, "latency_us": 20, "prompt_tokens": 3}, "retries": 2});
    let failed = json!({
        "success": false, "reason": "timeout", "frame": {"handle": "hdl_1", "warnings": [
            {"kind": "redacted_email", "count": 2}, {"kind": "redacted"}, {"kind": "rows_omitted", "count": 9},
        ]},
    });
    let look = json!({"handle": "hdl_1", "warnings": [{"kind": "redacted_email", "count": 5}]});
    let found = stats([
        (EventKind::Intent, &charged),
        (EventKind::Intent, &charged),
        (EventKind::Intent, &json!({})),
        (EventKind::Refused, &json!({"verdict": "deny", "reason": "no_matching_rule"})),
        (EventKind::Refused, &json!({"verdict": "deny", "reason": "rate_limited"})),
        (EventKind::Refused, &json!({})),
        (EventKind::Outcome, &json!({"success": true, "frame": {"handle": "hdl_2"}})),
        (EventKind::Outcome, &failed),
        (EventKind::Outcome, &json!({})),
        (EventKind::OutcomeUnknown, &json!({})),
        (EventKind::HandleResolved, &look),
        (EventKind::HandleResolved, &json!({})),
        (EventKind::UpstreamLost, &json!({})),
    ]);
    let wanted = LogStats {
        events: 13,
        pruned: 0,
        kinds: counts(&[
            ("call.intent", 3),
            ("call.outcome", 3),
            ("call.outcome_unknown", 1),
            ("call.refused", 3),
            ("handle.resolved", 2),
            ("upstream.lost", 1),
        ]),
        grants: 3,
        refusals: counts(&[("deny", 2), ("unknown", 1)]),
        denials_by_reason: counts(&[("no_matching_rule", 1), ("rate_limited", 1), ("unknown", 1)]),
        outcomes: counts(&[("failure", 1), ("success", 1), ("unknown", 2)]),
        failures_by_reason: counts(&[("timeout", 1), ("unknown", 2)]),
        redactions: counts(&[("redacted", 1), ("redacted_email", 7)]),
        holds: HoldStats::default(),
        handles: 2,
        views: 2,
        tool_calls: 2,
        retries: 4,
        latency_us: 40,
        prompt_tokens: 6,
    };
    assert_eq!(found, wanted);
}

#[test]
fn what_is_pruned_or_cannot_be_read_counts_as_an_event_and_nothing_more() {
    let mut gone = facts(EventKind::Intent, 1, &json!({"run": {"tool_calls": 1}}));
    gone.payload = None;
    let mut stats = LogStats::default();
    stats.add(&gone);
    stats.add(&gone);
    gone.header = None;
    stats.add(&gone);
    let kinds = counts(&[("call.intent", 2), ("unreadable", 1)]);
    assert_eq!(stats, LogStats { events: 3, pruned: 2, kinds, ..LogStats::default() });
}

#[test]
fn requests_count_by_what_came_of_them_and_by_how_long_they_waited() {
    let opened = |at: i64| json!({"opened_at": at, "request": "apr_1"});
    let mut stats = LogStats::default();
    for (kind, at, payload) in [
        (EventKind::ApprovalRequested, 100, opened(0)),
        (EventKind::ApprovalRequested, 100, opened(0)),
        (EventKind::ApprovalGranted, 150, opened(100)),
        (EventKind::ApprovalGranted, 130, opened(100)),
        (EventKind::ApprovalDenied, 120, opened(100)),
        (EventKind::ApprovalExpired, 90, opened(100)),
        (EventKind::ApprovalExpired, 90, json!({})),
        (EventKind::ApprovalRevoked, 500, opened(100)),
        (EventKind::ApprovalSuperseded, 500, opened(100)),
        (EventKind::ApprovalEndorsed, 500, opened(100)),
        (EventKind::ApprovalRejected, 500, opened(100)),
    ] {
        stats.add(&facts(kind, at, &payload));
    }
    let wanted = HoldStats {
        requested: 2,
        granted: 2,
        denied: 1,
        expired: 2,
        revoked: 1,
        superseded: 1,
        answered: 4,
        waited_us: 50 + 30 + 20,
        longest_us: 50,
    };
    assert_eq!((stats.holds.clone(), stats.events), (wanted, 11));
}

#[test]
fn joined_sums_are_those_of_all_their_events() {
    let payload = json!({
        "verdict": "deny", "reason": "timeout", "success": false, "opened_at": 40, "retries": 1,
        "run": {"tool_calls": 1, "latency_us": 5, "prompt_tokens": 7}, "handle": "hdl_1",
        "warnings": [{"kind": "redacted"}],
    });
    // A note on what was pruned has a form of its own.
    let kinds = || EventKind::ALL.iter().filter(|kind| **kind != EventKind::Pruned);
    let all = |times: usize| {
        let kinds = (0..times).flat_map(|_| kinds());
        stats(kinds.map(|kind| (*kind, &payload)))
    };
    let (one, two) = (all(1), all(2));
    let mut joined = one.clone();
    joined.join(&one);
    assert_eq!(joined, two);
    // The longest wait is not added up, whichever side it stands on.
    let longest = |us| LogStats {
        holds: HoldStats { longest_us: us, ..HoldStats::default() },
        ..LogStats::default()
    };
    for (own, other) in [(5, 9), (9, 5)] {
        let mut joined = longest(own);
        joined.join(&longest(other));
        assert_eq!(joined, longest(9));
    }
    let mut pruned = LogStats { pruned: 2, ..LogStats::default() };
    pruned.join(&LogStats { pruned: 3, ..LogStats::default() });
    assert_eq!(pruned.pruned, 5);
}

#[test]
fn so_many_names_are_told_apart_and_the_rest_counts_as_other() {
    let reasons: Vec<Value> = (0..258).map(|n| json!({"reason": format!("r{n:03}")})).collect();
    let found =
        stats(reasons.iter().chain([&reasons[0]]).map(|payload| (EventKind::Refused, payload)));
    let reasons = &found.denials_by_reason;
    assert_eq!((reasons.len(), reasons["other"], reasons["r000"], reasons["r255"]), (257, 2, 2, 1));
}

fn log(count: i64) -> impl LogSource {
    let events: Vec<_> =
        (0..count).map(|n| told(EventKind::Intent, n, ("", ""), &json!({"n": n}))).collect();
    ledger_of(&events)
}

fn since(at: i64) -> EventFilter {
    EventFilter::default().within(Some(Timestamp::from_micros(at)), None)
}

#[test]
fn sums_are_taken_stride_by_stride_and_progress_is_told() {
    let log = log(1_200);
    for (filter, events, progress) in [
        (EventFilter::default(), 1_200, vec![(500, 1_200), (1_000, 1_200), (1_200, 1_200)]),
        (since(700), 500, vec![(300, 500), (500, 500)]),
        (since(1_000), 200, vec![(200, 200)]),
        (since(1_200), 0, vec![]),
    ] {
        let mut told = Vec::new();
        let stats =
            LogStats::from_log(&log, None, &filter, &mut |done, all| told.push((done, all)))
                .unwrap();
        assert_eq!((stats.events, told), (events, progress));
    }
    let refusals = EventFilter::parse(["event:call.refused"], Timestamp::default()).unwrap();
    let stats = LogStats::from_log(&log, None, &refusals, &mut |_, _| {}).unwrap();
    assert_eq!(stats, LogStats::default());
}

/// A lookup that keeps the sums of one block, and counts a hundred refusals in it.
struct OneBlock(Range<u64>);

/// The part of a lookup that finds no events.
macro_rules! finds_nothing {
    () => {
        fn position(&self) -> u64 {
            0
        }

        fn candidates(
            &self,
            _: &EventFilter,
            _: Range<u64>,
            _: EventOrder,
            _: usize,
        ) -> Option<Vec<u64>> {
            None
        }
    };
}

impl CandidateLookup for OneBlock {
    finds_nothing!();

    fn sums(&self, first: u64) -> Option<(LogStats, u64)> {
        let kept = LogStats { refusals: counts(&[("deny", 100)]), ..LogStats::default() };
        (first == self.0.start).then_some((kept, self.0.end))
    }
}

#[test]
fn sums_that_a_lookup_keeps_serve_where_their_block_lies_within_what_is_asked() {
    let log = log(1_200);
    for (block, filter, events, used) in [
        (0..1_000, EventFilter::default(), 200, true),
        (0..1_200, EventFilter::default(), 0, true),
        (0..1, EventFilter::default(), 1_199, true),
        (500..1_000, EventFilter::default(), 700, true),
        (1_000..1_200, EventFilter::default(), 1_000, true),
        // Beyond the end, without any event, and where nobody asks.
        (0..1_201, EventFilter::default(), 1_200, false),
        (0..0, EventFilter::default(), 1_200, false),
        (1_000..1_201, EventFilter::default(), 1_200, false),
        (250..500, EventFilter::default(), 1_200, false),
        (0..1_000, since(1), 1_199, false),
        (500..1_000, since(1), 699, true),
    ] {
        let lookup = OneBlock(block.clone());
        let found = LogStats::from_log(&log, Some(&lookup), &filter, &mut |_, _| {}).unwrap();
        let refused = found.refusals.get("deny").copied().unwrap_or_default();
        assert_eq!((found.events, refused), (events, if used { 100 } else { 0 }), "{block:?}");
    }
}

#[test]
fn a_lookup_that_keeps_no_sums_says_so() {
    struct Plain;
    impl CandidateLookup for Plain {
        finds_nothing!();
    }
    assert_eq!(Plain.sums(0), None);
    let found =
        LogStats::from_log(&log(3), Some(&Plain), &EventFilter::default(), &mut |_, _| {}).unwrap();
    assert_eq!(found.events, 3);
}
