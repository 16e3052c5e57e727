//! The story of one call: which events belong to it, and what it says that it lacks.

use serde_json::{Value, json};
use weaver_trace_store::project::{CallStory, MAX_STORY_EVENTS, StoryAspect, StorySubject};
use weaver_types::EventKind;
use weaver_types::ledger::NewEvent;

use crate::exports;
use crate::support::{ledger_of, told};
use crate::verification::Copied;

const HELD: &str = "call_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const RELEASED: &str = "call_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const LOOK: &str = "call_cccccccccccccccccccccccccccccccc";

fn story(subject: &StorySubject) -> Option<CallStory> {
    CallStory::from_log(&exports::log(), None, subject).unwrap()
}

fn steps(story: &CallStory) -> Vec<(u64, StoryAspect)> {
    story.steps.iter().map(|step| (step.seq, step.part)).collect()
}

fn missing(events: &[NewEvent]) -> Vec<String> {
    let subject = StorySubject::Call("call_1".to_owned());
    CallStory::from_log(&ledger_of(events), None, &subject).unwrap().unwrap().missing
}

#[test]
fn whoever_asks_about_any_part_of_a_call_is_told_all_of_it() {
    for subject in [
        StorySubject::Call(HELD.to_owned()),
        StorySubject::Call(RELEASED.to_owned()),
        StorySubject::Request("apr_1".to_owned()),
        StorySubject::Event(4),
        StorySubject::Event(5),
        StorySubject::Event(7),
    ] {
        let story = story(&subject).unwrap();
        assert_eq!(story.calls, [HELD, RELEASED, LOOK], "{subject:?}");
        assert_eq!(
            steps(&story),
            [
                (1, StoryAspect::Run),
                (2, StoryAspect::Shortlist),
                (3, StoryAspect::Approval),
                (4, StoryAspect::Goal),
                (4, StoryAspect::Decision),
                (5, StoryAspect::Approval),
                (6, StoryAspect::Goal),
                (6, StoryAspect::Decision),
                (6, StoryAspect::Approval),
                (6, StoryAspect::Token),
                (6, StoryAspect::Execution),
                (7, StoryAspect::Result),
                (7, StoryAspect::Shown),
                (8, StoryAspect::View),
            ],
            "{subject:?}"
        );
        assert_eq!(story.missing, [""; 0], "{subject:?}");
        assert_eq!(story.steps[0].call, None);
        assert_eq!(story.steps[5].call, None);
        assert_eq!(story.steps[6].call.as_deref(), Some(RELEASED));
        let times: Vec<_> = story.steps.iter().map(|step| step.at.unwrap().rfc3339()).collect();
        assert_eq!(times[0], "2026-11-21T10:00:01.000000Z");
    }
}

#[test]
fn a_handle_and_a_token_lead_to_their_call_and_a_look_leads_on_by_its_handle_alone() {
    for subject in [
        StorySubject::Handle("hdl_b".to_owned()),
        StorySubject::Token("tok_b".to_owned()),
        StorySubject::Event(8),
    ] {
        let story = story(&subject).unwrap();
        assert_eq!(story.calls, [HELD, RELEASED, LOOK], "{subject:?}");
    }
    let look = story(&StorySubject::Call(LOOK.to_owned())).unwrap();
    assert_eq!(look.calls, [HELD, RELEASED, LOOK]);
}

#[test]
fn what_the_log_knows_nothing_of_has_no_story() {
    for subject in [
        StorySubject::Call("call_none".to_owned()),
        StorySubject::Request("apr_none".to_owned()),
        StorySubject::Handle("hdl_none".to_owned()),
        StorySubject::Token("tok_none".to_owned()),
        StorySubject::Event(12),
        StorySubject::Event(u64::MAX),
    ] {
        assert_eq!(story(&subject), None, "{subject:?}");
    }
    let mut gap = Copied::from(&exports::log());
    gap.rows.remove(3);
    assert_eq!(
        CallStory::from_log(&gap, None, &StorySubject::Event(3)).unwrap(),
        None,
        "another event is none"
    );
}

#[test]
fn an_event_outside_of_calls_and_runs_stands_alone() {
    let story = story(&StorySubject::Event(0)).unwrap();
    assert_eq!((steps(&story), story.calls.len()), (vec![(0, StoryAspect::Other)], 0));
    assert_eq!((story.steps[0].text.as_str(), story.missing.len()), ("ledger.opened", 0));
}

#[test]
fn what_a_story_lacks_is_said() {
    let of = |seq| story(&StorySubject::Event(seq)).unwrap().missing;
    assert_eq!(of(9), ["nothing of a result was shown"]);
    assert_eq!(
        of(11),
        [
            "neither goal nor justification came with the call",
            "the end of the call is not recorded yet",
        ]
    );
    let event = |kind, run: &str, payload: &Value| told(kind, 1, (run, "call_1"), payload);
    let intent = event(EventKind::Intent, "run_1", &json!({"goal": "x"}));
    let unknown = event(EventKind::OutcomeUnknown, "run_1", &json!({}));
    let shortlist = told(EventKind::Routed, 1, ("run_2", ""), &json!({"shortlist": ["a"]}));
    let unrecorded = "no search for tools (`tool_browse`) was recorded in this run before the call";
    let open = [shortlist.clone(), intent.clone()];
    assert_eq!(missing(&open), [unrecorded, "the end of the call is not recorded yet"]);
    let ended = [shortlist.clone(), intent.clone(), unknown];
    assert_eq!(missing(&ended), [unrecorded, "nothing of a result was shown"]);
    // A shortlist of the same run that came later was not shown before the call.
    let later = told(EventKind::Routed, 1, ("run_1", ""), &json!({"shortlist": ["a"]}));
    let refused = event(EventKind::Refused, "run_1", &json!({"goal": "x"}));
    assert_eq!(missing(&[refused, later]), [unrecorded]);
}

#[test]
fn the_last_shortlist_and_the_beginning_of_the_run_stand_before_the_call() {
    let routed = |run: &str, name: &str| {
        told(EventKind::Routed, 1, (run, ""), &json!({"shortlist": [name]}))
    };
    let began = told(EventKind::RunStarted, 1, ("run_1", ""), &json!({"principal": "ann"}));
    let call = told(EventKind::Refused, 1, ("run_1", "call_1"), &json!({"goal": "x"}));
    let log = ledger_of(&[
        began,
        routed("run_1", "first"),
        routed("run_1", "last"),
        routed("run_2", "other"),
        call,
        routed("run_1", "later"),
    ]);
    let story =
        CallStory::from_log(&log, None, &StorySubject::Call("call_1".to_owned())).unwrap().unwrap();
    let places: Vec<u64> = story.steps.iter().map(|step| step.seq).collect();
    assert_eq!(places, [0, 2, 4, 4]);
}

/// Events of a call, a request and a handle, of which the last of each leads to the next.
fn long(lengths: [usize; 3]) -> Vec<NewEvent> {
    let [calls, requests, handles] = lengths;
    let late = |call: &str, payload: &Value| told(EventKind::Late, 1, ("", call), payload);
    let mut events = vec![late("call_1", &json!({})); calls - 1];
    events.push(late("call_1", &json!({"request": "apr_1"})));
    events.extend(vec![late("", &json!({"request": "apr_1"})); requests]);
    events.push(late("", &json!({"request": "apr_1", "handle": "hdl_1"})));
    events.extend(vec![late("", &json!({"handle": "hdl_1"})); handles]);
    events
}

#[test]
fn a_long_story_is_cut_and_says_so() {
    let cut = "the story is longer than 2000 events; the rest is left out";
    assert_eq!(MAX_STORY_EVENTS, 2_000);
    for (lengths, told, is_cut) in [
        ([1_000, 998, 1], 2_000, false),
        ([1_000, 998, 2], 2_000, true),
        ([1_000, 900, 500], 2_000, true),
        // More of one call than are looked for at once.
        ([1_001, 1, 1], 1_004, false),
        ([2_000, 0, 0], 2_000, true),
    ] {
        let log = ledger_of(&long(lengths));
        let story = CallStory::from_log(&log, None, &StorySubject::Call("call_1".to_owned()))
            .unwrap()
            .unwrap();
        assert_eq!(story.steps.len(), told, "{lengths:?}");
        let wanted: &[&str] = if is_cut { &[cut] } else { &[] };
        assert_eq!(story.missing, wanted, "{lengths:?}");
    }
    // Events that are met again when the story is full are not left out.
    let log = ledger_of(&long([1_998, 0, 1]));
    let handle = StorySubject::Handle("hdl_1".to_owned());
    let story = CallStory::from_log(&log, None, &handle).unwrap().unwrap();
    assert_eq!((story.steps.len(), story.missing.len()), (2_000, 0));
    // Two answers that are cut each.
    let mut events = long([1, 1_000, 1]);
    events.extend(vec![events[0].clone(); 1_000]);
    let log = ledger_of(&events);
    let story =
        CallStory::from_log(&log, None, &StorySubject::Call("call_1".to_owned())).unwrap().unwrap();
    assert_eq!(story.missing, [cut]);
}

#[test]
fn a_subject_is_a_number_or_an_id_of_a_kind_that_is_known() {
    for (text, wanted) in [
        ("0", Some(StorySubject::Event(0))),
        ("12", Some(StorySubject::Event(12))),
        ("call_1", Some(StorySubject::Call("call_1".to_owned()))),
        ("apr_1", Some(StorySubject::Request("apr_1".to_owned()))),
        ("hdl_1", Some(StorySubject::Handle("hdl_1".to_owned()))),
        ("tok_1_2", Some(StorySubject::Token("tok_1_2".to_owned()))),
        ("run_1", None),
        ("_1", None),
        ("-1", None),
        ("twelve", None),
        ("", None),
    ] {
        assert_eq!(StorySubject::parse(text), wanted, "{text}");
    }
}

#[test]
fn every_part_has_its_name() {
    let names = [
        (StoryAspect::Run, "run"),
        (StoryAspect::Shortlist, "shortlist"),
        (StoryAspect::Goal, "goal"),
        (StoryAspect::Decision, "decision"),
        (StoryAspect::Approval, "approval"),
        (StoryAspect::Token, "token"),
        (StoryAspect::Execution, "execution"),
        (StoryAspect::Signal, "signal"),
        (StoryAspect::Result, "result"),
        (StoryAspect::Shown, "shown"),
        (StoryAspect::View, "view"),
        (StoryAspect::Other, "other"),
    ];
    for (part, name) in names {
        assert_eq!(part.as_str(), name);
    }
    assert!(names.is_sorted_by_key(|(part, _)| *part), "in the order of a call");
}
