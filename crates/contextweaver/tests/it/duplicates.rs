//! What counts as the same, and what never does.

use std::sync::Arc;

use contextweaver::compile::{
    CompileRequest, ContextItem, ContextLog, DropReason, Phase, ResultFirewall, ResultView,
    ToolOutput, build, item_from_output,
};
use contextweaver::error::ViewError;
use proptest::prelude::*;
use serde_json::Value;
use weaver_text::token::CharsPerFour;
use weaver_types::{Confidentiality, Frame, HandleId, Label, RawResult};

use crate::frames::{frame, log, tool_call};

fn pairs() -> Vec<Value> {
    let lines = include_str!("../data/statement_pairs.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn left(items: impl IntoIterator<Item = ContextItem>) -> (Vec<String>, usize) {
    let request = CompileRequest::new(Phase::Answer).with_budget(1_000_000);
    let pack = build(&log(items), &request).unwrap();
    let ids = pack.item_ids.iter().map(|id| id.to_string()).collect();
    let removed = pack.stats.dropped_items.iter();
    let removed = removed.filter(|d| d.reason == DropReason::Dedup).count();
    assert_eq!(removed, pack.stats.dedup_removed);
    (ids, removed)
}

/// Each pair differs in a negation, a number, a name, a date or a unit, in one word or one sign.
#[test]
fn statements_that_differ_in_one_point_are_both_kept() {
    let pairs = pairs();
    assert!(pairs.len() >= 300, "{}", pairs.len());
    let context =
        "On the state of the project, as of the last review of the whole team: ".repeat(4);
    for pair in &pairs {
        let (a, b) = (pair["a"].as_str().unwrap(), pair["b"].as_str().unwrap());
        for (before, after) in [("", ""), (context.as_str(), ". More follows."), ("please ", "!")] {
            let item = |id, text| ContextItem::doc(id, format!("{before}{text}{after}"));
            let (ids, removed) = left([item("a", a), item("b", b)]);
            assert_eq!((ids.len(), removed), (2, 0), "{pair}");
        }
    }
    // The same corpus as one log, with calls and results.
    let texts = pairs.iter().flat_map(|pair| [pair["a"].as_str(), pair["b"].as_str()]);
    let mut texts: Vec<&str> = texts.flatten().collect();
    texts.sort_unstable();
    texts.dedup();
    let count = texts.len();
    let items = texts
        .iter()
        .enumerate()
        .map(|(n, text)| ContextItem::agent_message(format!("m{n}"), *text));
    assert_eq!(left(items).0.len(), count);
}

#[test]
fn of_what_says_the_same_the_newest_stays() {
    for (older, newer) in [
        ("The deploy is done.", "The deploy is done."),
        ("The deploy  is\ndone", " The deploy is done!"),
        ("check the deploy", "please check the deploy"),
    ] {
        let (ids, removed) =
            left([ContextItem::agent_message("a", older), ContextItem::agent_message("b", newer)]);
        assert_eq!((ids, removed), (vec!["b".to_owned()], 1), "{older} | {newer}");
    }
    let many = (0..5).map(|n| ContextItem::doc(format!("d{n}"), "one and the same page"));
    assert_eq!(left(many), (vec!["d4".to_owned()], 4));
}

#[test]
fn what_the_user_repeats_stays() {
    let turns = (0..4).map(|n| ContextItem::user_turn(format!("u{n}"), "Are we there yet?"));
    assert_eq!(left(turns).0.len(), 4);
}

#[test]
fn what_is_pinned_stays() {
    let page = |id| ContextItem::doc(id, "one and the same page");
    assert_eq!(left([page("a").pin(), page("b"), page("c").pin()]).1, 0);
    assert_eq!(left([page("a").pin(), page("b"), page("c")]).0, ["a", "c"]);
}

#[test]
fn speakers_are_never_mixed_up() {
    let items = [
        ContextItem::agent_message("a", "We ship today"),
        ContextItem::doc("d", "We ship today"),
        ContextItem::memory_fact("m", "We ship today"),
        ContextItem::policy("p", "We ship today"),
    ];
    assert_eq!(left(items).0.len(), 4);
}

/// A repeated item stays as long as something hangs on it, and a call as long as its results differ.
#[test]
fn nothing_is_orphaned() {
    let output = |id: &str, call: &str, text: &str| {
        let output = ToolOutput {
            id: id.to_owned(),
            call: Some(call.to_owned()),
            result: RawResult::text(text),
            label: Label::clean(),
            metadata: Default::default(),
        };
        item_from_output(output, None)
    };
    let items = [
        ContextItem::agent_message("a1", "Shall I go on?"),
        ContextItem::user_turn("u1", "Yes.").with_parent("a1"),
        ContextItem::agent_message("a2", "Shall I go on?"),
        ContextItem::call_text("c1", "disk()"),
        output("r1", "c1", "50 % used"),
        ContextItem::call_text("c2", "disk()"),
        output("r2", "c2", "60 % used"),
        ContextItem::call_text("c3", "disk()"),
        output("r3", "c3", "60 % used"),
    ];
    // The stubs look alike; what lies behind them does not.
    assert_eq!(
        left(items),
        (["a1", "u1", "a2", "c1", "r1", "c3", "r3"].map(str::to_owned).into(), 2)
    );
}

/// One output that is shown in two ways is shown in both.
#[test]
fn what_is_shown_otherwise_is_no_duplicate() {
    struct Says(&'static str);
    impl ResultFirewall for Says {
        fn frame(&self, _: &ToolOutput) -> Option<Frame> {
            Some(frame(1, "summary", &[self.0]))
        }
        fn view(&self, _: &HandleId, _: &ResultView) -> Result<Frame, ViewError> {
            Err(ViewError::Refused { code: "none".to_owned(), message: "no views".to_owned() })
        }
    }
    let output = |n: usize, firewall| {
        let output = ToolOutput {
            id: format!("r{n}"),
            call: Some(format!("call:c{n}")),
            result: RawResult::text("three tickets, two of them urgent"),
            label: Label::clean(),
            metadata: Default::default(),
        };
        [
            tool_call(1, "open").with_id(format!("call:c{n}")),
            item_from_output(output, Some(firewall)),
        ]
    };
    let (three, two) = (&Says("three tickets") as _, &Says("two are urgent") as _);
    assert_eq!(left([output(1, three), output(2, two)].concat()).1, 0);
    assert_eq!(left([output(1, three), output(2, three)].concat()).1, 2);
}

proptest! {
    /// Whatever a text says, the same with another digit or a negation says something else.
    #[test]
    fn a_digit_or_a_negation_more_is_another_statement(
        words in prop::collection::vec("[a-z]{1,8}|[0-9]{1,4}|[A-Z][a-z]{2,5}", 1..20),
        at in 0usize..20,
        sign in prop::sample::select(vec!["not", "no", "never", "7", "Ann", "Monday", "kg"]),
    ) {
        let at = at % (words.len() + 1);
        let mut other = words.clone();
        other.insert(at, sign.to_owned());
        let (ids, _) = left([
            ContextItem::doc("a", words.join(" ")),
            ContextItem::doc("b", other.join(" ")),
        ]);
        prop_assert_eq!(ids.len(), 2);
    }
}

#[test]
fn a_log_of_repetitions_costs_no_more_than_its_length() {
    let mut log = ContextLog::new(Arc::new(CharsPerFour));
    for n in 0..20_000 {
        log.push(ContextItem::doc(format!("d{n}"), format!("page {}", n % 3))).unwrap();
    }
    let pack = build(&log, &CompileRequest::new(Phase::Answer)).unwrap();
    assert_eq!((pack.item_ids.len(), pack.stats.dedup_removed), (3, 19_997));
}

/// What stands between two that say the same, and says it under another label, parts them not.
#[test]
fn another_label_in_between_hides_no_duplicate() {
    let said = |id| ContextItem::doc(id, "The server is down");
    let secret = Label { confidentiality: Confidentiality::Internal, ..said("").label().clone() };
    let (ids, removed) = left([said("a"), said("b").with_label(secret), said("c")]);
    assert_eq!((ids, removed), (vec!["b".to_owned(), "c".to_owned()], 1));
}

/// What somebody else may have written never stands for what is trusted, nor the other way round.
#[test]
fn what_is_trusted_otherwise_is_no_duplicate() {
    let said = |id| ContextItem::doc(id, "The server is down");
    let trusted = |id| said(id).with_label(Label::clean());
    assert_eq!(left([trusted("a"), said("b")]).1, 0);
    assert_eq!(left([said("a"), trusted("b")]).1, 0);
    assert_eq!(left([trusted("a"), said("b"), trusted("c"), said("d")]).1, 2);
}
