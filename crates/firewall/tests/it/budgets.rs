//! Session budgets: the cases of agent-kernel, and what holds for any use.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_firewall::{Reservation, Session, SessionBudget};
use weaver_text::token;
use weaver_types::{Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, cases, spec};

const MODES: [ResponseMode; 4] =
    [ResponseMode::Raw, ResponseMode::Table, ResponseMode::Summary, ResponseMode::HandleOnly];

fn budget(total: u32) -> SessionBudget {
    SessionBudget::from_counter_name("chars4").unwrap().with_total(total)
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
    let error = SessionBudget::from_counter_name("p50k_base").unwrap_err();
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
            assert_eq!(reserved.try_count(&frame, beside), fits, "{beside} beside, {total} in all");
            assert_eq!(reserved.counted(), if fits { own.into() } else { 0 });
        }
    }
    // A reservation grows by what stands beside, where the session has as much left.
    let session = budget(own + 100).with_reservation(own).open(0);
    let mut reserved = session.reserve().unwrap();
    assert!(reserved.try_count(&frame, 100));
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
                    if !reserved.try_count(&frame, 0) {
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

#[test]
fn budgets_are_equal_by_total_reservation_and_counter() {
    let plain = SessionBudget::from_counter_name("chars4").unwrap();
    assert_eq!(plain, SessionBudget::from_counter_name("chars4").unwrap());
    assert_ne!(plain, plain.clone().with_total(7));
    assert_ne!(plain, plain.clone().with_reservation(7));
    let other = Arc::new(token::Estimate);
    assert_ne!(plain, SessionBudget::new(other));
    let shown = format!("{:?}", plain.with_total(7).with_reservation(0));
    assert_eq!(shown, r#"SessionBudget { total: 7, reservation: 1, counter: "chars4" }"#);
}

#[test]
fn a_session_opens_with_what_it_used_before_and_no_store_lowers_it() {
    let session = budget(100).open(250);
    assert_eq!((session.total(), session.used(), session.remaining()), (100, 100, 0));
    let session = budget(100).open(10);
    for (known, used) in [(5, 10), (30, 30), (20, 30), (1_000, 100)] {
        session.raise_used(known);
        assert_eq!((session.used(), session.remaining()), (used, 100 - used), "{known}");
    }
    assert_eq!(budget(100).open(0).reservation_tokens(), 4_000);
}

/// A frame of mode `auto` with this content.
fn auto(content: Value, notes: &[&str]) -> Frame {
    Frame {
        content: content.as_array().unwrap().clone(),
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        ..FIREWALL.frame(&RawResult::text(""), &spec(ResponseMode::Auto))
    }
}

#[test]
fn of_a_frame_in_mode_auto_its_texts_and_notes_are_counted() {
    let counted = |frame: &Frame| {
        let mut reserved = budget(100_000).open(0).reserve().unwrap();
        assert!(reserved.try_count(frame, 0));
        reserved.counted()
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(counted(&auto(json!([text(&"a".repeat(40))]), &[])), 10);
    assert_eq!(counted(&auto(json!([text("abcd"), text("efgh")]), &["noted"])), 4);
    let link = json!({"type": "resource_link", "uri": "file:///a"});
    assert_eq!(counted(&auto(json!([link]), &[])), link.to_string().len().div_ceil(4) as u64);
    // A picture counts the same whatever its size, and so does what is embedded as bytes.
    let picture = |bytes: usize| json!({"type": "image", "data": "A".repeat(bytes)});
    let embedded = json!({"type": "resource", "resource": {"uri": "a", "blob": "AAAA"}});
    let media = (1_500 * " media".len() / 4) as u64;
    for block in [picture(4), picture(40_000), embedded] {
        assert_eq!(counted(&auto(json!([block]), &[])), media, "{block}");
    }
    let page = json!({"type": "resource", "resource": {"uri": "a", "text": "AAAA"}});
    assert_eq!(counted(&auto(json!([page]), &[])), page.to_string().len().div_ceil(4) as u64);
}

#[test]
fn a_reservation_may_grow_unless_it_is_at_most_what_was_granted() {
    let frame = FIREWALL.frame(&rows(3), &spec(ResponseMode::Table));
    let own = u32::try_from(tokens(&frame)).unwrap();
    for (granted, fits) in [(own, true), (own - 1, false)] {
        let session = budget(10_000).open(0);
        let mut fixed = session.reserve_at_most(granted).unwrap();
        assert_eq!((fixed.try_count(&frame, 0), fixed.tokens()), (fits, granted));
    }
    let session = budget(10_000).open(0);
    let mut reserved = session.reserve_up_to(own - 1).unwrap();
    assert!(reserved.try_count(&frame, 0) && reserved.try_count(&frame, 0));
    assert_eq!((reserved.tokens(), session.remaining()), (2 * own, 10_000 - 2 * own));
    drop(reserved);
    assert_eq!((session.used(), session.remaining()), (0, 10_000));
}

#[test]
fn what_is_spent_is_charged_at_once_and_the_rest_stays_set_aside() {
    let frame = FIREWALL.frame(&rows(3), &spec(ResponseMode::Table));
    let own = u32::try_from(tokens(&frame)).unwrap();
    let session = budget(10_000).with_reservation(1_000).open(0);
    let mut reserved = session.reserve().unwrap();
    assert!(reserved.try_count(&frame, 0));
    assert_eq!(session.used(), 0);
    reserved.charge_counted();
    assert_eq!((session.used(), reserved.tokens()), (own, 1_000 - own));
    assert_eq!((reserved.counted(), session.remaining()), (u64::from(own), 9_000));
    assert!(reserved.try_count(&frame, 0));
    assert_eq!(reserved.counted(), u64::from(2 * own));
    reserved.settle();
    assert_eq!((session.used(), session.remaining()), (2 * own, 10_000 - 2 * own));
}

#[test]
fn what_is_forced_is_counted_though_there_is_no_room() {
    let frame = FIREWALL.frame(&rows(30), &spec(ResponseMode::Table));
    let session = budget(10).open(0);
    let mut reserved = session.reserve().unwrap();
    reserved.count_unconditionally(&frame);
    assert_eq!(reserved.counted(), tokens(&frame));
    reserved.settle();
    assert_eq!((session.used(), session.remaining()), (10, 0));
}

/// The specs that a call which does not fit is tried with, when nothing fits.
fn tried(mode: ResponseMode, left: u32) -> Vec<(ResponseMode, u32, u32)> {
    let session = budget(100_000).open(u64::from(100_000 - left));
    let mut reserved = session.reserve_up_to(left).unwrap();
    let spec = spec(mode);
    let large = match mode {
        ResponseMode::Auto => auto(json!([{"type": "text", "text": "a".repeat(80_000)}]), &[]),
        _ => {
            let mut wide = crate::support::spec(ResponseMode::Table);
            wide.budget.max_chars = 1_000_000;
            wide.budget.max_rows = 1_000;
            FIREWALL.frame(&rows(1_000), &wide)
        }
    };
    let mut specs = Vec::new();
    let frame = reserved.fit(large.clone(), &spec, |spec| {
        specs.push((spec.mode, spec.budget.max_tokens, spec.budget.max_chars));
        Some(large.clone())
    });
    assert_eq!(frame, large, "the last of them is given out whatever it takes");
    assert_eq!(reserved.counted(), reserved_tokens(&frame));
    specs
}

fn reserved_tokens(frame: &Frame) -> u64 {
    let mut reserved = budget(1_000_000).open(0).reserve().unwrap();
    reserved.count_unconditionally(frame);
    reserved.counted()
}

#[test]
fn a_frame_that_does_not_fit_is_tried_smaller_and_smaller() {
    use ResponseMode::{Auto, HandleOnly, Summary, Table};
    let (chars, tokens) = (4_000, 8_000);
    assert_eq!(
        tried(Table, 100),
        [(Table, tokens, 300), (Summary, tokens, 300), (HandleOnly, tokens, 300)]
    );
    assert_eq!(
        tried(Summary, 5_000),
        [(Summary, tokens, chars), (Summary, tokens, chars), (HandleOnly, tokens, chars)]
    );
    let rest =
        |chars| [(Table, tokens, chars), (Summary, tokens, chars), (HandleOnly, tokens, chars)];
    // In mode `auto` first with what is left of the tokens, where that is something.
    for (left, max_tokens) in [(65, 1), (1_064, 1_000), (9_000, tokens)] {
        let all = tried(Auto, left);
        assert_eq!(all[0], (Auto, max_tokens, chars), "{left}");
        assert_eq!(all[1..], rest(chars.min(3 * left)), "{left}");
    }
    assert_eq!(tried(Auto, 64), rest(192));
}

#[test]
fn where_nothing_smaller_can_be_made_the_frame_is_emptied() {
    let session = budget(10).open(0);
    let mut reserved = session.reserve().unwrap();
    let table = FIREWALL.frame(&rows(9), &spec(ResponseMode::Table));
    let full = Frame {
        facts: vec!["a fact".to_owned()],
        content: vec![json!({"type": "text", "text": "words"})],
        structured: Some(json!({"a": 1})),
        raw: Some(json!(1)),
        ..table
    };
    let frame = reserved.fit(full.clone(), &spec(ResponseMode::Table), |_| None);
    assert!(frame.facts.is_empty() && frame.table.is_empty() && frame.content.is_empty());
    assert!(frame.structured.is_none() && frame.raw.is_none());
    assert_eq!(frame.call_id, full.call_id);
    assert_eq!(reserved.counted(), tokens(&frame));
}

#[test]
fn what_no_session_could_hold_is_not_taken_whatever_is_left() {
    let frame = FIREWALL.frame(&rows(3), &spec(ResponseMode::Table));
    let own = u32::try_from(tokens(&frame)).unwrap();
    let mut exact = budget(own).open(0).reserve().unwrap();
    assert!(exact.try_count(&frame, 0));
    let mut less = budget(own - 1).open(0).reserve().unwrap();
    assert!(!less.try_count(&frame, 0));
    assert_eq!(less.counted(), 0);
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

#[test]
fn a_structured_value_that_no_text_repeats_is_charged() {
    let value = json!({ "items": vec!["word"; 200] });
    let counted = |blocks: Value, structured: Option<Value>| {
        let raw = crate::auto::laid_out(blocks, structured);
        let mut reservation = budget(100_000).open(0).reserve().unwrap();
        assert!(reservation.try_count(&FIREWALL.frame(&raw, &crate::auto::auto()), 0));
        reservation.counted()
    };
    let alone = counted(json!([]), Some(value.clone()));
    assert!(alone >= 200, "{alone}");
    let text = json!([{ "type": "text", "text": value.to_string() }]);
    let repeated = counted(text.clone(), Some(value));
    assert_eq!(repeated, counted(text, None), "said twice, it is charged once");
}
