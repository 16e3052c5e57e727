//! Clocks that are wrong: set back, leaping, repeating a second, far in the future. The order of the
//! log is that of its sequence numbers, and no clock makes anything last longer.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, Ports, block_on, trusted_time};
use weaver_trace_store::verify::verify;
use weaver_types::{Effects, ManualClock, ReasonCode, ResponseMode, Tenant, Timestamp};

use crate::support::{Asked, START, World, ana, log, memory, open_policy, set, sqlite, succeeded};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// 2262-04-11T23:47:16.854775807Z: where nanoseconds in 64 bits end.
const YEAR_2262: Timestamp = Timestamp::from_micros(9_223_372_036_854_775);
/// What a wall clock may say.
const WALLS: [Timestamp; 7] = [
    Timestamp::from_micros(i64::MIN),
    Timestamp::from_micros(0),
    Timestamp::from_micros(1_700_000_000_000_000),
    START,
    Timestamp::from_micros(1_800_000_200_000_000),
    YEAR_2262,
    Timestamp::from_micros(i64::MAX),
];

#[test]
fn no_wall_clock_makes_a_token_last_longer() {
    for walls in WALLS.map(|first| WALLS.map(|second| [first, second])).into_iter().flatten() {
        let world = World::new(open_policy());
        world.tool("fs.read", Effects::READ_LOCAL);
        let (run, who) = (world.run(), ana());
        let caller = Caller { run: &run, principal: &who };
        let token = block_on(world.kernel.grant(caller, Asked::new("fs.read").call())).token;
        // In the whole an hour passes, which is longer than a token lasts, whatever the wall says.
        for wall in walls {
            world.clock.advance(HOUR / 2);
            world.clock.set(wall);
            world.call(&run, &who, &Asked::new("fs.read"));
        }
        let before = world.executed();
        let done =
            block_on(world.kernel.invoke(caller, &token.unwrap(), &json!({}), ResponseMode::Table));
        assert!(!succeeded(&done), "{walls:?}");
        let reason = done.decision.primary_reason();
        assert!(matches!(reason, ReasonCode::TokenExpired), "{walls:?}: {reason}");
        assert_eq!(world.executed(), before);
    }
}

#[test]
fn the_order_of_the_log_is_that_of_its_sequence() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = sqlite(&folder.path().join("ledger.db"));
    let world = World::on(ledger.clone(), open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let run = world.run();
    let mut wanted = Vec::new();
    let leap_second = [START.after(SECOND), START, START.after(SECOND)];
    let jumps = [START.after(DAY), START, Timestamp::from_micros(0), START.after(HOUR)];
    for wall in leap_second.into_iter().chain(jumps).chain(WALLS) {
        world.clock.advance(SECOND);
        world.clock.set(wall);
        let done = world.call(&run, &ana(), &Asked::new("fs.read"));
        assert!(succeeded(&done), "reads go on at {wall:?}: {done:?}");
        wanted.push(done.call.to_string());
    }
    let events = log(ledger.as_ref());
    let intents: Vec<&String> = events
        .iter()
        .filter(|event| event.kind == "call.intent")
        .filter_map(|event| event.call.as_ref())
        .collect();
    assert_eq!(intents, wanted.iter().collect::<Vec<_>>());
    let times: Vec<i64> = events
        .iter()
        .map(|event| serde_json::from_slice::<Value>(&event.stored.header).unwrap())
        .map(|header| header["at"].as_i64().unwrap())
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    // What was not believed is not in the log either.
    let limit = START.after(DAY + HOUR * 12).micros();
    assert!(times.iter().all(|at| *at <= limit), "{times:?}");
    assert!(verify(ledger.as_ref(), None).is_ok());
}

/// What is written beside the kernel is dated by its trusted time, also where no kernel is open.
#[test]
fn a_clock_that_nobody_confirmed_gives_no_time_to_write_with() {
    let world = World::on(memory(), open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    assert!(succeeded(&world.call(&world.run(), &ana(), &Asked::new("fs.read"))));
    let offline = |wall| {
        trusted_time(&Tenant::default(), world.ledger.as_ref(), &ManualClock::new(wall)).unwrap()
    };
    world.clock.set(START.after(DAY * 400));
    assert_eq!(world.kernel.trusted_time(), None);
    assert_eq!(offline(START.after(DAY * 400)), None);
    world.clock.set(START.after(HOUR));
    assert_eq!(world.kernel.trusted_time(), Some(START.after(HOUR)));
    assert_eq!(offline(START.after(DAY * 30)), Some(START.after(DAY * 30)));
    assert_eq!(offline(Timestamp::default()), Some(START), "never back");
}

/// A kernel that is opened in the year 2262 believes it, having nothing to compare with; the log
/// holds no time so late, so nothing is executed.
#[test]
fn in_a_time_that_the_log_cannot_hold_everything_is_denied() {
    let clock = Arc::new(ManualClock::new(YEAR_2262));
    let world = World::with(memory(), clock, set(open_policy()), Ports::default());
    world.tool("fs.read", Effects::READ_LOCAL).tool("fs.write", Effects::WRITE_LOCAL);
    let run = world.run();
    for id in ["fs.read", "fs.write"] {
        let done = world.call(&run, &ana(), &Asked::new(id));
        assert!(!succeeded(&done), "{done:?}");
    }
    assert_eq!(world.executed(), 0);
}
