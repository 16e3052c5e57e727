use std::collections::BTreeSet;

use super::*;
use crate::match_conditions::MatchConditions;
use crate::pattern::Pattern;
use crate::rate_limit::RoleLimit;
use crate::rate_limit_windows::{MAX_LIMIT_GROUPS, MAX_REMEMBERED_CALLS};
use weaver_types::{
    Capability, CapabilityRequest, Effects, Principal, PrincipalId, RunId, Timestamp, ToolSpec,
};

struct World {
    tool: Capability,
    who: Principal,
    request: CapabilityRequest,
}

fn world(id: &str, who: &str) -> World {
    let tool = ToolSpec::new(format!("tool.{id}"), "Tool")
        .with_effects(Effects::READ_LOCAL)
        .build()
        .unwrap();
    let who = Principal::new(PrincipalId::parse(who).unwrap());
    World { request: CapabilityRequest::new(tool.id().clone(), "goal"), tool, who }
}

impl World {
    fn at(&self, micros: i64) -> PolicyQuery<'_> {
        let now = Timestamp::from_micros(1_000_000_000 + micros);
        PolicyQuery { now, ..PolicyQuery::new(&self.tool, &self.who, &self.request) }
    }
}

fn waits(windows: &RateLimitWindows, query: &PolicyQuery<'_>, limits: &[RateLimit]) -> Option<u64> {
    let said = windows.check(query, limits);
    assert!(said.iter().all(|one| one.reason == ReasonCode::RateLimited));
    said.first().map(|one| match one.discharge {
        Remedy::Wait { retry_after_ms } => retry_after_ms,
        _ => panic!("{one:?}"),
    })
}

#[test]
fn the_window_is_exact_to_the_microsecond() {
    let (world, limits) = (world("a", "ana"), [RateLimit::new("l", 2, 60)]);
    let mut windows = RateLimitWindows::new();
    windows.record(&world.at(0), &limits);
    assert_eq!(waits(&windows, &world.at(0), &limits), None);
    windows.record(&world.at(10_000_000), &limits);
    assert_eq!(waits(&windows, &world.at(10_000_000), &limits), Some(50_000));
    assert_eq!(waits(&windows, &world.at(59_999_999), &limits), Some(1));
    assert_eq!(waits(&windows, &world.at(60_000_000), &limits), None);
}

#[test]
fn what_is_taken_is_what_is_checked_and_recorded() {
    let world = world("a", "ana");
    let limits = [RateLimit::new("few", 3, 60), RateLimit::new("slow", 2, 10)];
    let (mut taking, mut recording) = (RateLimitWindows::new(), RateLimitWindows::new());
    for second in [0, 1, 2, 9, 10, 11, 12, 30, 61, 62, 63] {
        for operation in [Operation::Invoke, Operation::View] {
            let query = PolicyQuery { operation, ..world.at(second * 1_000_000) };
            let said = recording.check(&query, &limits).into_iter().next();
            if said.is_none() {
                recording.record(&query, &limits);
            }
            assert_eq!(taking.try_record(&query, &limits).err().map(|said| *said), said);
            assert_eq!(taking.check(&query, &limits), recording.check(&query, &limits));
            assert_eq!(taking.remembered_calls, recording.remembered_calls);
        }
    }
}

#[test]
fn calls_are_counted_by_what_the_limit_says() {
    let (a, b, c) = (world("a", "ana"), world("b", "ana"), world("a", "bo"));
    let mut windows = RateLimitWindows::new();
    let mut limits = [RateLimit::new("l", 1, 60)];
    windows.record(&a.at(0), &limits);
    assert!(waits(&windows, &a.at(1), &limits).is_some());
    assert!(waits(&windows, &b.at(1), &limits).is_none());
    assert!(waits(&windows, &c.at(1), &limits).is_none());
    limits[0].by = BTreeSet::from([LimitKey::Principal]);
    let mut windows = RateLimitWindows::new();
    windows.record(&a.at(0), &limits);
    assert!(waits(&windows, &b.at(1), &limits).is_some());
    assert!(waits(&windows, &c.at(1), &limits).is_none());
    let (one, two) = (RunId::parse("run_1").unwrap(), RunId::parse("run_2").unwrap());
    limits[0].by = BTreeSet::from([LimitKey::Run]);
    let mut windows = RateLimitWindows::new();
    windows.record(&PolicyQuery { run: Some(&one), ..a.at(0) }, &limits);
    assert!(waits(&windows, &PolicyQuery { run: Some(&one), ..c.at(1) }, &limits).is_some());
    assert!(waits(&windows, &PolicyQuery { run: Some(&two), ..a.at(1) }, &limits).is_none());
    assert!(waits(&windows, &a.at(1), &limits).is_none());
}

#[test]
fn the_greatest_number_for_a_role_counts() {
    let (mut world, mut limits) = (world("a", "ana"), [RateLimit::new("l", 1, 60)]);
    let raised = |role: &str, max_calls| RoleLimit { any: [role.to_owned()].into(), max_calls };
    limits[0].for_roles = vec![raised("service", 3), raised("ops", 2)];
    world.who = world.who.with_roles(["service", "ops"]);
    let mut windows = RateLimitWindows::new();
    for n in 0..3 {
        assert_eq!(waits(&windows, &world.at(n), &limits), None);
        windows.record(&world.at(n), &limits);
    }
    assert!(waits(&windows, &world.at(3), &limits).is_some());
}

#[test]
fn the_order_of_recording_and_sweeping_do_not_matter() {
    let (world, limits) = (world("a", "ana"), [RateLimit::new("l", 3, 60)]);
    let (mut one, mut two) = (RateLimitWindows::new(), RateLimitWindows::new());
    for at in [5, 1, 3] {
        one.record(&world.at(at * 1_000_000), &limits);
    }
    for at in [1, 3, 5] {
        two.record(&world.at(at * 1_000_000), &limits);
    }
    for at in [6_000_000, 60_999_999] {
        assert_eq!(waits(&one, &world.at(at), &limits), waits(&two, &world.at(at), &limits));
        assert!(waits(&one, &world.at(at), &limits).is_some());
    }
    two.sweep(world.at(61_000_000).now);
    assert_eq!(two.remembered_calls, 2);
    for at in [61_000_000, 70_000_000] {
        assert_eq!(waits(&one, &world.at(at), &limits), None);
        assert_eq!(waits(&two, &world.at(at), &limits), None);
    }
}

#[test]
fn views_and_what_a_limit_does_not_speak_of_are_free() {
    let (world, mut limits) = (world("a", "ana"), [RateLimit::new("l", 1, 60)]);
    limits[0].matches = MatchConditions {
        capability: vec![Pattern::parse("tool.b").unwrap()],
        ..MatchConditions::default()
    };
    let mut windows = RateLimitWindows::new();
    windows.record(&world.at(0), &limits);
    assert_eq!(windows.remembered_calls, 0);
    limits[0].matches = MatchConditions::default();
    windows.record(&PolicyQuery { operation: Operation::View, ..world.at(0) }, &limits);
    assert_eq!(windows.remembered_calls, 0);
    windows.record(&world.at(0), &limits);
    assert!(
        windows
            .check(&PolicyQuery { operation: Operation::View, ..world.at(1) }, &limits)
            .is_empty()
    );
}

#[test]
fn a_full_table_denies_until_calls_leave_it() {
    let limits = [RateLimit::new("l", 2, 60)];
    let mut windows = RateLimitWindows::new();
    let mut world = world("a", "p");
    for n in 0..=MAX_LIMIT_GROUPS {
        world.who.id = PrincipalId::parse(format!("p{n}")).unwrap();
        windows.record(&world.at(0), &limits);
    }
    assert_eq!(windows.groups.len(), MAX_LIMIT_GROUPS);
    world.who.id = PrincipalId::parse("new").unwrap();
    assert_eq!(waits(&windows, &world.at(1), &limits), Some(60_000));
    world.who.id = PrincipalId::parse("p7").unwrap();
    assert_eq!(waits(&windows, &world.at(1), &limits), None);
    windows.record(&world.at(1), &limits);
    assert_eq!(waits(&windows, &world.at(2), &limits), Some(60_000));
    world.who.id = PrincipalId::parse("new").unwrap();
    windows.record(&world.at(2), &limits);
    assert_eq!(
        (windows.groups.len(), windows.remembered_calls),
        (MAX_LIMIT_GROUPS, MAX_LIMIT_GROUPS + 1)
    );
    assert_eq!(waits(&windows, &world.at(60_000_001), &limits), None);
    windows.record(&world.at(60_000_001), &limits);
    assert_eq!(windows.groups.len(), 1);
}

#[test]
fn no_more_calls_are_remembered_than_the_bound_says() {
    let (other, world) = (world("a", "bo"), world("a", "ana"));
    let limits = [RateLimit::new("l", u32::MAX, 60)];
    let mut windows = RateLimitWindows::new();
    windows.record(&world.at(0), &limits);
    let filled = |windows: &RateLimitWindows, count: usize| {
        let mut windows = windows.clone();
        let query = world.at(0);
        windows.groups.update(GroupKey::for_query(&limits[0], &query), |times| {
            times.calls = std::iter::repeat_n(query.now, count).collect();
        });
        windows.remembered_calls = count;
        windows
    };
    let mut windows = filled(&windows, MAX_REMEMBERED_CALLS - 1);
    assert_eq!(waits(&windows, &world.at(1), &limits), None);
    windows.record(&world.at(1), &limits);
    assert_eq!(windows.remembered_calls, MAX_REMEMBERED_CALLS);
    // Full, for a group that is known as for another.
    assert_eq!(waits(&windows, &world.at(2), &limits), Some(60_000));
    assert_eq!(waits(&windows, &other.at(2), &limits), Some(60_000));
    windows.record(&world.at(2), &limits);
    windows.record(&other.at(2), &limits);
    assert_eq!(windows.remembered_calls, MAX_REMEMBERED_CALLS);
    // What no longer counts makes room again.
    assert_eq!(waits(&windows, &world.at(60_000_000), &limits), None);
    windows.record(&world.at(60_000_000), &limits);
    assert_eq!(windows.remembered_calls, 2);
}

#[test]
fn a_call_goes_on_only_if_each_of_its_limits_can_count_it() {
    let world = world("a", "ana");
    let limits = [RateLimit::new("l", u32::MAX, 60), RateLimit::new("m", u32::MAX, 60)];
    let mut windows = RateLimitWindows::new();
    let query = world.at(0);
    windows.record(&query, &limits);
    windows.groups.update(GroupKey::for_query(&limits[0], &query), |times| {
        times.calls = std::iter::repeat_n(query.now, MAX_REMEMBERED_CALLS - 3).collect();
    });
    windows.remembered_calls = MAX_REMEMBERED_CALLS - 2;
    let counted = |windows: &RateLimitWindows, limit: &RateLimit| {
        windows.groups.get(GroupKey::for_query(limit, &query)).map_or(0, |times| times.calls.len())
    };
    assert_eq!(waits(&windows, &world.at(1), &limits), None, "there is space for two");
    assert!(windows.clone().try_record(&world.at(1), &limits).is_ok());
    windows.record(&world.at(1), &limits[..1]);
    assert_eq!(windows.remembered_calls, MAX_REMEMBERED_CALLS - 1);
    assert_eq!(waits(&windows, &world.at(2), &limits[..1]), None, "there is space for one");
    assert_eq!(waits(&windows, &world.at(2), &limits), Some(60_000), "and not for two");
    let before = (counted(&windows, &limits[0]), counted(&windows, &limits[1]));
    assert!(windows.try_record(&world.at(2), &limits).is_err());
    assert_eq!((counted(&windows, &limits[0]), counted(&windows, &limits[1])), before);
}

#[test]
fn a_limit_that_is_gone_counts_nothing_any_more() {
    let (world, limits) =
        (world("a", "ana"), [RateLimit::new("l", 1, 60), RateLimit::new("m", 1, 60)]);
    let mut windows = RateLimitWindows::new();
    windows.record(&world.at(0), &limits);
    assert_eq!((windows.groups.len(), windows.remembered_calls), (2, 2));
    windows.retain_limits(&limits[..1]);
    assert_eq!((windows.groups.len(), windows.remembered_calls), (1, 1));
    assert!(waits(&windows, &world.at(1), &limits[..1]).is_some());
    assert!(waits(&windows, &world.at(1), &limits[1..]).is_none());
}

#[test]
fn forgotten_calls_are_cleared_away_once_a_minute() {
    let (world, limits) = (world("a", "ana"), [RateLimit::new("l", 9, 1)]);
    let after = |last| {
        let mut windows = RateLimitWindows::new();
        for at in [0, 30_000_000, last] {
            windows.record(&world.at(at), &limits);
        }
        windows.remembered_calls
    };
    assert_eq!(after(59_999_999), 3);
    assert_eq!(after(60_000_000), 1);
}
