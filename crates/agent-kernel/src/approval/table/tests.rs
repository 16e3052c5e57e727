use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn golden(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// An open request of this run, with this text as its argument.
fn open(id: &str, run: &str, text: &str) -> OpenHold {
    let mut stored = golden(include_str!("../../../tests/data/hold_open.json"));
    let request = &mut stored["hold"]["open"]["request"];
    request["id"] = json!(id);
    request["run"] = json!(run);
    request["arguments"] = json!({ "text": text });
    serde_json::from_value(stored["hold"]["open"].take()).unwrap()
}

/// The same request once somebody refused it, or once it has ended otherwise.
fn ended(open: &OpenHold, phase: Phase) -> StoredHold {
    StoredHold::Ended(Box::new(EndedHold::of(&open.request, phase, NOW).unwrap()))
}

fn denied() -> Phase {
    Phase::Denied { by: "bob".to_owned(), reason: "not today".to_owned() }
}

fn id(text: &str) -> ApprovalRequestId {
    ApprovalRequestId::parse(text).unwrap()
}

fn reserve(table: &HoldTable, open: OpenHold) -> Result<(), HoldLimit> {
    table.reserve(open).map(|taken| assert!(matches!(taken, HoldReservation::New)))
}

fn found(table: &HoldTable, open: &OpenHold, now: Timestamp) -> &'static str {
    let arguments = CanonicalArguments::read(&open.request.arguments).unwrap();
    match table.find(&CallKey::of(&open.request), &arguments, now).unwrap() {
        HoldLookup::NotFound => "nothing",
        HoldLookup::Open(_) => "open",
        HoldLookup::Denied(_) => "denied",
        HoldLookup::TooManyDenied(_) => "too many denied",
    }
}

/// A request whose canonical form has exactly this number of bytes.
fn sized(id: &str, run: &str, bytes: usize) -> OpenHold {
    let around = open(id, run, "").request.to_bytes().unwrap().len();
    open(id, run, &"x".repeat(bytes - around))
}

#[test]
fn one_request_has_at_most_so_many_bytes() {
    let table = HoldTable::default();
    assert_eq!(reserve(&table, sized("apr_1", "run_1", 524_289)), Err(HoldLimit::TooLarge));
    assert_eq!(reserve(&table, sized("apr_2", "run_1", 524_288)), Ok(()));
    assert_eq!(table.open_requests(), [id("apr_2")]);
}

#[test]
fn all_requests_together_have_at_most_64_mebibytes_and_what_is_given_back_is_free() {
    let table = HoldTable::default();
    for n in 0..127 {
        let (id, run) = (format!("apr_{n}"), format!("run_{n}"));
        assert_eq!(reserve(&table, sized(&id, &run, 524_288)), Ok(()), "{n}");
    }
    // What is left are 512 KiB.
    assert_eq!(reserve(&table, sized("apr_small", "run_s", 4_096)), Ok(()));
    let last = sized("apr_last", "run_l", 524_288);
    assert_eq!(reserve(&table, last.clone()), Err(HoldLimit::Total));
    table.cancel_reservation(&id("apr_small"));
    assert_eq!(reserve(&table, last.clone()), Ok(()), "exactly as much as there is room for");
    assert_eq!(reserve(&table, open("apr_more", "run_m", "")), Err(HoldLimit::Total));
    table.apply_committed(1, ended(&last, Phase::Expired), NOW);
    assert_eq!(reserve(&table, open("apr_more", "run_m", "")), Ok(()));
}

#[test]
fn a_run_has_at_most_64_open_requests_and_another_run_its_own() {
    let table = HoldTable::default();
    for n in 0..64 {
        assert_eq!(reserve(&table, open(&format!("apr_{n}"), "run_1", &n.to_string())), Ok(()));
    }
    let more = || open("apr_more", "run_1", "more");
    assert_eq!(reserve(&table, more()), Err(HoldLimit::Run));
    assert_eq!(reserve(&table, open("apr_other", "run_2", "more")), Ok(()));
    table.cancel_reservation(&id("apr_unknown"));
    assert_eq!(reserve(&table, more()), Err(HoldLimit::Run), "nothing was given back");
    table.cancel_reservation(&id("apr_7"));
    assert_eq!(reserve(&table, more()), Ok(()));
    assert_eq!(reserve(&table, open("apr_again", "run_1", "again")), Err(HoldLimit::Run));
}

#[test]
fn a_kernel_has_at_most_1_024_open_requests() {
    let table = HoldTable::default();
    for n in 0..1_024 {
        let open = open(&format!("apr_{n}"), &format!("run_{}", n / 64), &n.to_string());
        assert_eq!(reserve(&table, open), Ok(()), "{n}");
    }
    assert_eq!(reserve(&table, open("apr_more", "run_more", "")), Err(HoldLimit::Total));
    table.cancel_reservation(&id("apr_0"));
    assert_eq!(reserve(&table, open("apr_more", "run_more", "")), Ok(()));
}

#[test]
fn the_same_call_has_one_request_and_other_arguments_have_another() {
    let table = HoldTable::default();
    let first = open("apr_1", "run_1", "a");
    assert_eq!(reserve(&table, first.clone()), Ok(()));
    let reservation = table.reserve(open("apr_2", "run_1", "a")).unwrap();
    let HoldReservation::Existing(known) = reservation else { panic!("{reservation:?}") };
    assert_eq!(known.open.request.id, id("apr_1"));
    assert_eq!(reserve(&table, open("apr_3", "run_1", "b")), Ok(()));
    assert_eq!(found(&table, &first, NOW), "open");
    assert_eq!(found(&table, &open("apr_x", "run_1", "c"), NOW), "nothing");
    assert_eq!(found(&table, &open("apr_x", "run_2", "a"), NOW), "nothing");
    table.cancel_reservation(&id("apr_1"));
    assert_eq!(found(&table, &first, NOW), "nothing");
    assert_eq!(found(&table, &open("apr_x", "run_1", "b"), NOW), "open", "the other one stays");
}

#[test]
fn open_requests_come_the_oldest_first_and_the_last_deadline_is_the_latest() {
    let table = HoldTable::default();
    assert_eq!(table.last_deadline(), None);
    for (id, opened_at, deadline) in [("apr_1", 30, 40), ("apr_2", 10, 90), ("apr_3", 10, 50)] {
        let mut open = open(id, "run_1", id);
        open.request.opened_at = Timestamp::from_micros(opened_at);
        open.request.deadline = Timestamp::from_micros(deadline);
        assert_eq!(reserve(&table, open), Ok(()));
    }
    let all: Vec<_> = table.all().iter().map(|hold| hold.open.request.id.to_string()).collect();
    assert_eq!(all, ["apr_2", "apr_3", "apr_1"]);
    assert_eq!(table.last_deadline(), Some(Timestamp::from_micros(90)));
    assert_eq!(table.first_opened(), Some(Timestamp::from_micros(10)));
}

#[test]
fn a_refusal_counts_for_the_same_call_until_its_deadline() {
    let table = HoldTable::default();
    let asked = open("apr_1", "run_1", "a");
    reserve(&table, asked.clone()).unwrap();
    table.apply_committed(2, ended(&asked, denied()), NOW);
    let deadline = asked.request.deadline;
    let before = Timestamp::from_micros(deadline.micros() - 1);
    assert_eq!(found(&table, &asked, before), "denied");
    assert_eq!(found(&table, &asked, deadline), "nothing");
    assert_eq!(found(&table, &open("apr_x", "run_1", "b"), NOW), "nothing", "another call");
    // Nor does one that was taken down after its time, or that ended in another way.
    let late = open("apr_2", "run_1", "late");
    reserve(&table, late.clone()).unwrap();
    table.apply_committed(2, ended(&late, denied()), deadline);
    assert_eq!(found(&table, &late, deadline), "nothing");
    let expired = open("apr_3", "run_1", "expired");
    table.apply_committed(2, ended(&expired, Phase::Expired), NOW);
    assert_eq!(found(&table, &expired, NOW), "nothing");
}

#[test]
fn where_16_calls_were_refused_every_call_is_until_one_refusal_is_over() {
    let table = HoldTable::default();
    let other = open("apr_x", "run_1", "other");
    for n in 0..16_u32 {
        assert_eq!(found(&table, &other, NOW), "nothing", "after {n} refusals");
        let mut asked = open(&format!("apr_{n}"), "run_1", &n.to_string());
        asked.request.deadline = NOW.after(Duration::from_secs(60 + u64::from(n)));
        table.apply_committed(2, ended(&asked, denied()), NOW);
    }
    assert_eq!(found(&table, &other, NOW), "too many denied");
    assert_eq!(found(&table, &open("apr_3", "run_1", "3"), NOW), "denied", "the very call");
    assert_eq!(found(&table, &open("apr_x", "run_2", "other"), NOW), "nothing", "elsewhere");
    assert_eq!(found(&table, &other, NOW.after(Duration::from_secs(60))), "nothing");
}

#[test]
fn refusals_whose_time_is_over_are_forgotten_and_others_are_not() {
    let table = HoldTable::default();
    for (n, run) in ["run_1", "run_1", "run_2"].into_iter().enumerate() {
        let mut asked = open(&format!("apr_{n}"), run, &n.to_string());
        let seconds = if n == 1 { 120 } else { 60 };
        asked.request.deadline = NOW.after(Duration::from_secs(seconds));
        table.apply_committed(2, ended(&asked, denied()), NOW);
    }
    let kept = || {
        let inner = table.0.lock().unwrap();
        let places = inner.denied.iter().map(|(place, all)| (place.run.to_string(), all.len()));
        places.collect::<Vec<_>>()
    };
    table.evict_expired_denials(NOW.after(Duration::from_secs(59)));
    assert_eq!(kept(), [("run_1".to_owned(), 2), ("run_2".to_owned(), 1)]);
    table.evict_expired_denials(NOW.after(Duration::from_secs(60)));
    assert_eq!(kept(), [("run_1".to_owned(), 1)]);
}

#[test]
fn an_older_or_a_foreign_record_changes_nothing() {
    let table = HoldTable::default();
    let asked = open("apr_1", "run_1", "a");
    reserve(&table, asked.clone()).unwrap();
    let take = |version, open: &OpenHold| {
        table.apply_committed(version, StoredHold::Open(Box::new(open.clone())), NOW);
        table.get(&id("apr_1")).unwrap().version
    };
    assert_eq!(take(3, &asked), 3);
    assert_eq!(take(2, &asked), 3);
    let mut edited = asked.clone();
    edited.request.detail = "something else".to_owned();
    assert_eq!(take(4, &edited), 3, "what was asked never changes");
    let mut again = asked.clone();
    again.held_request.principal.roles.clear();
    assert_eq!(take(3, &again), 3);
    assert_eq!(*table.get(&id("apr_1")).unwrap().open, asked, "of the same version");
    // One that is not open here does not come in by a record.
    let other = open("apr_2", "run_1", "b");
    table.apply_committed(1, StoredHold::Open(Box::new(other)), NOW);
    assert!(table.get(&id("apr_2")).is_none());
}

#[test]
fn the_ends_of_the_last_4_096_requests_are_told_from_memory() {
    let table = HoldTable::default();
    let phase = |n: usize| table.phase(&id(&format!("apr_{n}")), None);
    let end = |n: usize, phase| {
        let open = open(&format!("apr_{n}"), "run_1", "");
        table.apply_committed(2, ended(&open, phase), NOW);
    };
    end(0, Phase::Expired);
    end(0, Phase::Consumed);
    assert_eq!(phase(0), Some(Phase::Consumed), "told anew, and no second time");
    for n in 1..4_096 {
        end(n, Phase::Expired);
    }
    assert_eq!(phase(0), Some(Phase::Consumed));
    assert_eq!(phase(1), Some(Phase::Expired));
    end(4_096, Phase::Expired);
    assert_eq!((phase(0), phase(1).is_some()), (None, true), "the oldest is forgotten");
    assert_eq!(phase(4_096), Some(Phase::Expired));
    assert_eq!(table.0.lock().unwrap().ended_phases.len(), 4_096);
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn whoever_waits_is_woken_once_and_whoever_left_is_not() {
    let table = HoldTable::default();
    let asked = open("apr_1", "run_1", "a");
    reserve(&table, asked.clone()).unwrap();
    let counts: Vec<Arc<Count>> = (0..3).map(|_| Arc::default()).collect();
    let mut numbers = [None; 3];
    for (number, count) in numbers.iter_mut().zip(&counts) {
        let waker = Waker::from(Arc::clone(count));
        for _ in 0..2 {
            let phase = table.phase(&id("apr_1"), Some(Waiter { id: number, waker: &waker }));
            assert_eq!(phase, Some(Phase::Requested));
        }
    }
    assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
    table.remove_waiter(&id("apr_1"), 2);
    table.remove_waiter(&id("apr_unknown"), 1);
    assert!(table.mark_granted_in_process(&id("apr_1"), ["ben".to_owned()].into()));
    let woken = || counts.iter().map(|count| count.0.load(Ordering::SeqCst)).collect::<Vec<_>>();
    assert_eq!(woken(), [1, 0, 1]);
    let mut number = None;
    let waker = Waker::from(Arc::clone(&counts[1]));
    let phase = table.phase(&id("apr_1"), Some(Waiter { id: &mut number, waker: &waker }));
    assert_eq!((phase, number), (Some(Phase::Granted), None), "nobody waits for what is granted");
    table.apply_committed(2, ended(&asked, Phase::Expired), NOW);
    assert_eq!(woken(), [1, 0, 1]);
    assert!(!table.mark_granted_in_process(&id("apr_1"), BTreeSet::new()), "it is open no more");
}

#[test]
fn the_last_who_leaves_leaves_nothing_behind() {
    let table = HoldTable::default();
    reserve(&table, open("apr_1", "run_1", "a")).unwrap();
    let mut numbers = [None; 2];
    for number in &mut numbers {
        table.phase(&id("apr_1"), Some(Waiter { id: number, waker: Waker::noop() }));
    }
    let waiting = || table.0.lock().unwrap().waiters.count(&id("apr_1"));
    assert_eq!(waiting(), Some(2));
    table.remove_waiter(&id("apr_1"), numbers[0].unwrap());
    assert_eq!(waiting(), Some(1));
    table.remove_waiter(&id("apr_1"), numbers[1].unwrap());
    assert_eq!(waiting(), None);
}

#[test]
fn one_at_a_time_asks_the_resolver_about_a_request() {
    let table = HoldTable::default();
    assert!(table.claim_resolver(&id("apr_1")));
    assert!(!table.claim_resolver(&id("apr_1")));
    assert!(table.claim_resolver(&id("apr_2")));
    table.release_resolver(&id("apr_1"));
    assert!(table.claim_resolver(&id("apr_1")));
    assert!(!table.claim_resolver(&id("apr_2")));
}
