//! Session budgets: the cases of agent-kernel, and what holds for any use.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_firewall::{Reservation, Session, SessionBudget};
use weaver_types::{Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, cases, spec};

const MODES: [ResponseMode; 4] =
    [ResponseMode::Raw, ResponseMode::Table, ResponseMode::Summary, ResponseMode::HandleOnly];

fn budget(total: u32) -> SessionBudget {
    SessionBudget::named("chars4").unwrap().with_total(total)
}

fn tokens(frame: &Frame) -> u64 {
    serde_json::to_string(frame).unwrap().chars().count().div_ceil(4) as u64
}

/// Cases: B01.
#[test]
fn the_modes_escalate_at_the_exact_boundaries() {
    let case = cases("B01");
    let session = budget(1_000).open(0);
    let (inputs, outputs) = (&case["input"]["cases"], &case["output"]["cases"]);
    for (remaining, expected) in inputs.as_array().unwrap().iter().zip(outputs.as_array().unwrap())
    {
        let remaining = u32::try_from(remaining.as_u64().unwrap()).unwrap();
        for mode in MODES {
            let escalated = session.mode_at(mode, remaining);
            assert_eq!(escalated.as_str(), expected[mode.as_str()], "{mode:?} at {remaining}");
        }
    }
}

/// Cases: B02.
#[test]
fn reserving_settling_and_giving_back() {
    let case = cases("B02");
    let session = budget(100).with_reservation(40).open(0);
    let mut held: Vec<Reservation> = Vec::new();
    let (inputs, outputs) = (&case["input"]["cases"][0], &case["output"]["cases"][0]);
    for (op, expected) in inputs.as_array().unwrap().iter().zip(outputs.as_array().unwrap()) {
        let number = op[1].as_i64();
        match (op[0].as_str().unwrap(), number) {
            // A reservation of less than nothing cannot be written.
            ("allocate", Some(-1)) => {}
            ("allocate", number) => {
                let reserved = match number {
                    None => session.reserve(),
                    Some(want) => session.reserve_up_to(u32::try_from(want).unwrap()),
                };
                let result =
                    reserved.as_ref().map_or(json!("BudgetExhausted"), |r| r.tokens().into());
                assert_eq!(result, expected["result"], "{op}");
                held.extend(reserved.filter(|r| r.tokens() > 0));
            }
            // One call ends and has used ten tokens of what it held.
            ("record_usage", Some(10)) => {
                drop(held.remove(0));
                session.charge(10);
            }
            ("record_usage", Some(used)) => session.charge(u64::try_from(used).unwrap()),
            ("release", _) => drop(held.remove(0)),
            _ => panic!("an unknown step: {op}"),
        }
        let state = json!({ "used": session.used(), "remaining": session.remaining() });
        let left = json!({ "used": expected["used"], "remaining": expected["remaining"] });
        assert_eq!(state, left, "after {op}");
    }
}

#[test]
fn an_unknown_counter_is_an_error_when_the_budget_is_made() {
    let error = SessionBudget::named("p50k_base").unwrap_err();
    assert!(error.to_string().contains("p50k_base"), "{error}");
}

fn rows(n: usize) -> RawResult {
    RawResult::json(Value::Array((0..n).map(|i| json!({"id": i, "name": "a name"})).collect()))
}

fn framed(session: &Session, raw: &RawResult, mode: ResponseMode) -> Option<Frame> {
    let mut reserved = session.reserve()?;
    let spec = spec(reserved.mode(mode));
    let first = FIREWALL.frame(raw, &spec);
    let frame = reserved.fit(first, &spec, |spec| Some(FIREWALL.frame(raw, spec)));
    assert_eq!(reserved.counted(), tokens(&frame));
    reserved.settle();
    Some(frame)
}

#[test]
fn a_frame_is_made_smaller_until_it_fits_what_is_left() {
    let whole = tokens(&FIREWALL.frame(&rows(50), &spec(ResponseMode::Table)));
    let session = budget(100_000).open(0);
    let frame = framed(&session, &rows(50), ResponseMode::Table).unwrap();
    assert_eq!((frame.table.len(), u64::from(session.used())), (50, whole));

    // A small session, of which so much is left that the mode stays and the frame does not fit.
    let total = u32::try_from(whole).unwrap();
    let session = budget(total).open(u64::from(total / 4));
    let frame = framed(&session, &rows(50), ResponseMode::Table).unwrap();
    assert!(frame.table.len() < 50, "{frame:?}");
    assert!(session.used() <= total && session.used() > total / 4);
}

#[test]
fn a_frame_larger_than_the_reservation_is_given_when_the_session_has_room() {
    let session = budget(100_000).with_reservation(10).open(0);
    let frame = framed(&session, &rows(50), ResponseMode::Table).unwrap();
    assert_eq!(frame.table.len(), 50);
    assert_eq!(u64::from(session.used()), tokens(&frame));
}

#[test]
fn what_stands_beside_a_frame_needs_room_too() {
    let frame = FIREWALL.frame(&rows(3), &spec(ResponseMode::Table));
    let own = u32::try_from(tokens(&frame)).unwrap();
    for beside in [0, 1, 100] {
        for (total, fits) in [(own + beside, true), (own + beside - 1, false)] {
            let session = budget(total).with_reservation(total).open(0);
            let mut reserved = session.reserve().unwrap();
            assert_eq!(reserved.takes(&frame, beside), fits, "{beside} beside, {total} in all");
            assert_eq!(reserved.counted(), if fits { own.into() } else { 0 });
        }
    }
    // A reservation grows by what stands beside, where the session has as much left.
    let session = budget(own + 100).with_reservation(own).open(0);
    let mut reserved = session.reserve().unwrap();
    assert!(reserved.takes(&frame, 100));
    assert_eq!((reserved.tokens(), session.remaining()), (own + 100, 0));
}

#[test]
fn the_last_tokens_buy_a_handle_and_then_nothing() {
    let session = budget(1_000).open(999);
    let frame = framed(&session, &rows(50), ResponseMode::Raw).unwrap();
    assert_eq!((frame.mode, frame.table.len()), (ResponseMode::HandleOnly, 0));
    assert_eq!((session.used(), session.remaining()), (1_000, 0));
    assert!(framed(&session, &rows(1), ResponseMode::Table).is_none());
}

#[test]
fn threads_together_never_use_more_than_there_is() {
    let session = budget(5_000).with_reservation(400).open(0);
    let session = Arc::new(session);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let session = Arc::clone(&session);
            std::thread::spawn(move || {
                let mut used = 0;
                while let Some(mut reserved) = session.reserve() {
                    let spec = spec(reserved.mode(ResponseMode::HandleOnly));
                    let frame = FIREWALL.frame(&rows(1), &spec);
                    if !reserved.takes(&frame, 0) {
                        break;
                    }
                    used += reserved.counted();
                    reserved.settle();
                }
                used
            })
        })
        .collect();
    let used: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(u64::from(session.used()), used);
    assert!(used <= 5_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_sum_to_at_most_the_total_and_one_least_frame(
        total in 0_u32..6_000,
        calls in prop::collection::vec((0_usize..80, 0_usize..4), 1..12),
    ) {
        let session = budget(total).open(0);
        let least = tokens(&FIREWALL.frame(&rows(1), &spec(ResponseMode::HandleOnly))) + 32;
        let mut sum = 0;
        for (n, mode) in calls {
            let before = session.remaining();
            match framed(&session, &rows(n), MODES[mode]) {
                Some(frame) => sum += tokens(&frame),
                None => prop_assert_eq!(before, 0),
            }
        }
        prop_assert!(sum <= u64::from(total) + least, "{} of {}", sum, total);
        prop_assert!(session.used() <= total);
    }
}
