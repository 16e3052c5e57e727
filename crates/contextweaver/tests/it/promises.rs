//! What every build promises, whatever the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use contextweaver::compile::{
    CompileRequest, Compiler, ContextItem, ContextItemKind, ContextLog, ContextPack, DropReason,
    HeadAndTail, Phase, PhaseSpec, PromptFormat, RedactionHook, SensitivityAction, ToolOutput,
    build, item_from_output,
};
use proptest::prelude::*;
use weaver_text::token::{CharsPerFour, Count, Tiktoken, TokenCounter};
use weaver_types::{Confidentiality, Integrity, Label, RawResult};

use crate::frames::{frame, log_with, push, so_many_items, some_items, tool_call};

/// A counter for which the whole is more than its parts.
struct Superadditive;

impl TokenCounter for Superadditive {
    fn name(&self) -> &str {
        "superadditive"
    }

    fn count(&self, text: &str) -> Count {
        Count::Tokens(text.len() * text.len() / 500)
    }
}

/// One that says that a whole is the sum of its parts, and for which it is more.
struct Boastful;

impl TokenCounter for Boastful {
    fn name(&self) -> &str {
        "boastful"
    }

    fn count(&self, text: &str) -> Count {
        Superadditive.count(text)
    }

    fn is_additive(&self) -> bool {
        true
    }
}

/// A counter that fails on long text.
struct Failing;

impl TokenCounter for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn count(&self, text: &str) -> Count {
        if text.len() > 200 { Count::Over } else { Count::Tokens(text.len() / 50) }
    }
}

/// A counter for which a whole is the sum of its parts, as it is for a tokenizer, only quicker.
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> Count {
        Count::Tokens(text.len())
    }

    fn is_additive(&self) -> bool {
        true
    }
}

fn counter(which: usize) -> Arc<dyn TokenCounter> {
    match which {
        0 => Arc::new(CharsPerFour),
        1 => Arc::new(Tiktoken::CL100K),
        2 => Arc::new(Superadditive),
        3 => Arc::new(Bytes),
        4 => Arc::new(Boastful),
        _ => Arc::new(Failing),
    }
}

fn request(phase: Phase, budget: usize, how: usize) -> CompileRequest<'static> {
    let format = match how % 4 {
        0 => PromptFormat::OpenAi,
        1 => PromptFormat::Anthropic,
        2 => PromptFormat::Gemini,
        _ => PromptFormat::Text,
    };
    let action =
        if how.is_multiple_of(3) { SensitivityAction::mask() } else { SensitivityAction::Drop };
    let summariser = (how % 5 == 1).then_some(&HeadAndTail as _);
    CompileRequest {
        format,
        sensitivity_action: action,
        summariser,
        ..CompileRequest::new(phase).with_budget(budget)
    }
}

/// A text with the defaults, which is what the promises about tokens are made for.
fn plain(phase: Phase, budget: usize) -> CompileRequest<'static> {
    CompileRequest::new(phase).with_budget(budget)
}

fn budget_holds(log: &ContextLog, pack: &ContextPack, budget: usize) {
    assert!(log.counter().within(&pack.text, budget));
    let counted = log.counter().count(&pack.text);
    assert_eq!(counted, Count::Tokens(pack.stats.prompt_tokens));
}

fn counts_add_up(pack: &ContextPack) {
    let stats = &pack.stats;
    assert_eq!(stats.included_count + stats.dropped_count, stats.total_candidates);
    assert_eq!(stats.included_count, pack.item_ids.len());
    assert_eq!(stats.dropped_count, stats.dropped_items.len());
    assert_eq!(stats.dropped_count, stats.dropped_reasons.values().sum::<usize>());
    let mut all: BTreeSet<&str> = pack.item_ids.iter().map(|id| &**id).collect();
    all.extend(stats.dropped_items.iter().map(|d| &*d.item_id));
    assert_eq!(all.len(), stats.total_candidates);
}

fn order_and_closure_hold(log: &ContextLog, pack: &ContextPack) {
    let order: Vec<&str> = log.iter().map(ContextItem::id).collect();
    let place = |id: &str| {
        let is_head = log.get(id).unwrap().kind().is_head();
        (!is_head, order.iter().position(|o| *o == id).unwrap())
    };
    assert!(pack.item_ids.windows(2).all(|pair| place(&pair[0]) < place(&pair[1])));
    let included: BTreeSet<&str> = pack.item_ids.iter().map(|id| &**id).collect();
    for id in &pack.item_ids {
        let item = log.get(id).unwrap();
        let parent = item.parent().filter(|parent| log.get(parent).is_some());
        assert!(parent.is_none_or(|parent| included.contains(parent)), "{id}");
        assert!(pack.label.confidentiality >= item.label().confidentiality);
        assert!(pack.label.integrity >= item.label().integrity);
    }
    // A call is never shown without the results that could be shown, nor they without it.
    let results = log.iter().filter(|item| item.kind() == ContextItemKind::ToolResult);
    for result in results.filter(|result| pack_knows(pack, result.id())) {
        let call = result.parent().and_then(|call| log.get(call));
        let is_call = call.is_some_and(|call| call.kind() == ContextItemKind::ToolCall);
        if let Some(call) = call.filter(|_| is_call) {
            assert_eq!(included.contains(call.id()), included.contains(result.id()));
        }
    }
}

fn pack_knows(pack: &ContextPack, id: &str) -> bool {
    pack.item_ids.iter().any(|known| &**known == id)
        || pack.stats.dropped_items.iter().any(|d| &*d.item_id == id)
}

/// What was dropped for want of room would not have fitted by the counts made at append.
fn nothing_more_would_fit(log: &ContextLog, pack: &ContextPack, budget: usize) {
    let left = budget - pack.stats.prompt_tokens;
    let dropped: Vec<&str> = pack
        .stats
        .dropped_items
        .iter()
        .filter(|d| d.reason == DropReason::Budget)
        .map(|d| &*d.item_id)
        .collect();
    for id in &dropped {
        let item = log.get(id).unwrap();
        let call = match item.kind() {
            ContextItemKind::ToolResult => item.parent().filter(|call| {
                log.get(call).is_some_and(|call| call.kind() == ContextItemKind::ToolCall)
            }),
            _ => None,
        };
        let call = call.unwrap_or(id);
        let members = log.iter().filter(|other| {
            other.id() == call
                || other.kind() == ContextItemKind::ToolResult && other.parent() == Some(call)
        });
        let cost: usize = members.map(|member| log.tokens(member.id()).unwrap()).sum();
        assert!(cost > left, "{id} costs {cost}, {left} are left");
    }
}

/// Everything is, down to the last byte; the smaller parts first, so that a failure is readable.
fn is_the_same(fresh: &ContextPack, carried: &ContextPack) {
    assert_eq!(fresh.item_ids, carried.item_ids);
    let dropped = |pack: &ContextPack| -> Vec<(String, DropReason)> {
        pack.stats.dropped_items.iter().map(|d| (d.item_id.to_string(), d.reason)).collect()
    };
    let differ: Vec<_> =
        dropped(fresh).into_iter().zip(dropped(carried)).filter(|(a, b)| a != b).collect();
    assert!(differ.is_empty(), "{differ:?}");
    assert_eq!(fresh.stats, carried.stats);
    assert_eq!(fresh, carried);
}

proptest! {
    #[test]
    fn every_build_keeps_its_promises(
        items in some_items(),
        phase in prop::sample::select(Phase::ALL.to_vec()),
        budget in prop_oneof![Just(0usize), 1usize..40, 40usize..2000],
        which in 0usize..6,
        how in 0usize..60,
        query in "[a-z ]{0,20}",
    ) {
        let log = log_with(counter(which), items);
        let request = request(phase, budget, how).with_query(&query);
        let pack = build(&log, &request).unwrap();
        budget_holds(&log, &pack, budget);
        counts_add_up(&pack);
        order_and_closure_hold(&log, &pack);
        let redacts = matches!(request.sensitivity_action, SensitivityAction::Redact(_));
        for id in &pack.item_ids {
            let level = log.get(id).unwrap().label().confidentiality;
            prop_assert!(redacts || level < Confidentiality::Confidential);
        }
        if request.format == PromptFormat::Text {
            // No text passes for a heading.
            let headings = pack.text.lines().filter(|line| line.starts_with('[')).count();
            prop_assert_eq!(headings, pack.stats.included_count);
        }
        prop_assert_eq!(build(&log, &request).unwrap(), pack);
    }

    #[test]
    fn no_group_is_dropped_for_want_of_room_that_would_fit(
        items in some_items(),
        budget in 0usize..600,
        which in prop::sample::select(vec![0usize, 1, 3]),
    ) {
        let log = log_with(counter(which), items);
        let pack = build(&log, &plain(Phase::Answer, budget)).unwrap();
        nothing_more_would_fit(&log, &pack, budget);
        if which != 0 {
            // With a real tokenizer the whole is the sum of its parts.
            prop_assert_eq!(pack.stats.header_footer_tokens, 0);
            prop_assert_eq!(pack.stats.exact_counts, 1);
        }
    }

    /// A compiler that remembers gives what a fresh one does, after every item, with all that it
    /// says of each candidate, and whatever the budget and the form were before.
    #[test]
    fn a_rebuild_is_a_build(
        items in some_items(),
        phase in prop::sample::select(Phase::ALL.to_vec()),
        (which, budgets) in prop_oneof![
            (Just(0), (0usize..400, 0usize..400)),
            (Just(3), (0usize..4000, 0usize..4000)),
        ],
        how in (0usize..60, 0usize..60),
        query in "[a-z ]{0,20}",
    ) {
        let mut log = ContextLog::new(counter(which));
        let mut compiler = Compiler::new();
        let form = |how, budget| {
            let request = request(phase, budget, how).with_query(&query);
            CompileRequest { explain: how % 2 == 0, ..request }
        };
        let request = form(how.0, budgets.0);
        for (n, item) in items.into_iter().enumerate() {
            push(&mut log, item);
            let how = if n % 5 == 4 { how.1 } else { how.0 };
            let request = form(how, if n % 7 == 6 { budgets.1 } else { budgets.0 });
            let pack = compiler.build(&log, &request).unwrap();
            is_the_same(&build(&log, &request).unwrap(), &pack);
        }
        // A copy is another log.
        let mut copy = log.clone();
        copy.push(ContextItem::user_turn("copied", "only here")).unwrap();
        log.push(ContextItem::user_turn("own", "only there")).unwrap();
        for log in [&log, &copy, &log] {
            let pack = compiler.build(log, &request).unwrap();
            prop_assert_eq!(build(log, &request).unwrap(), pack);
        }
    }

    /// The same over longer logs, with several items between two builds.
    #[test]
    fn a_rebuild_of_a_long_log_is_a_build(
        items in so_many_items(100..260),
        phase in prop::sample::select(vec![Phase::Route, Phase::Answer]),
        (which, budget) in prop_oneof![
            (Just(0), 0usize..300),
            (Just(0), 300usize..4000),
            (Just(3), 3000usize..40_000),
        ],
        step in 1usize..9,
    ) {
        let mut log = ContextLog::new(counter(which));
        let mut compiler = Compiler::new();
        let request = plain(phase, budget).with_query("the same");
        for (n, item) in items.into_iter().enumerate() {
            push(&mut log, item);
            if n % step == 0 {
                let pack = compiler.build(&log, &request).unwrap();
                is_the_same(&build(&log, &request).unwrap(), &pack);
                counts_add_up(&pack);
            }
        }
    }

    /// What an item hangs on can only make it stricter.
    #[test]
    fn a_stricter_parent_never_shows_more(items in some_items(),
        at in 0usize..40,
    ) {
        let shown = |items: Vec<ContextItem>| {
            let log = log_with(counter(0), items);
            let pack = build(&log, &plain(Phase::Answer, 100_000)).unwrap();
            pack.item_ids.iter().map(|id| id.to_string()).collect::<BTreeSet<_>>()
        };
        let before = shown(items.clone());
        let mut stricter = items;
        if let Some(item) = stricter.get_mut(at) {
            let secret = Label::new(Confidentiality::Restricted, Integrity::Untrusted);
            *item = item.clone().with_label(secret);
            let after = shown(stricter.clone());
            // But for those that a later one stood for which is gone now.
            let log = log_with(counter(0), stricter);
            let words = |id: &String| {
                let text = log.get(id).unwrap().text();
                text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            };
            let stood_for =
                |id: &String| before.iter().any(|old| !after.contains(old) && words(old) == words(id));
            prop_assert!(after.iter().all(|id| before.contains(id) || stood_for(id)));
        }
    }
}

/// A group that is lost brings back what it stood for, in a build that follows as in the first.
#[test]
fn what_a_lost_group_stood_for_comes_back() {
    let pair = |n: usize, level| {
        let id = format!("call:c{n}");
        let output = ToolOutput {
            id: format!("r{n}"),
            call: Some(id.clone()),
            result: RawResult::text("three are open"),
            label: Label::new(level, Integrity::Untrusted),
            metadata: Default::default(),
        };
        [ContextItem::call_text(id, "tickets.list open"), item_from_output(output, None)]
    };
    let mut log = log_with(
        counter(0),
        [pair(1, Confidentiality::Internal), pair(2, Confidentiality::Internal)].concat(),
    );
    let mut compiler = Compiler::new();
    let request = plain(Phase::Answer, 1000);
    let shown =
        |pack: &ContextPack| pack.item_ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
    assert_eq!(shown(&compiler.build(&log, &request).unwrap()), ["call:c2", "r2"]);
    let secret = Label::new(Confidentiality::Restricted, Integrity::Untrusted);
    let [_, result] = pair(2, Confidentiality::Internal);
    log.push(result.with_id("r2b").with_label(secret)).unwrap();
    let pack = compiler.build(&log, &request).unwrap();
    assert_eq!(shown(&pack), ["call:c1", "r1"]);
    is_the_same(&build(&log, &request).unwrap(), &pack);
}

/// Why something was left out depends on the budget, also where it was left out before.
#[test]
fn a_reason_changes_with_the_budget() {
    let result = ContextItem::tool_result(&frame(1, "summary", &[&"x".repeat(400)]));
    let log =
        log_with(counter(0), [tool_call(1, "short"), result, ContextItem::user_turn("u", "hello")]);
    let reasons =
        |pack: &ContextPack| pack.stats.dropped_items.iter().map(|d| d.reason).collect::<Vec<_>>();
    let mut compiler = Compiler::new();
    let pack = compiler.build(&log, &plain(Phase::Answer, 60)).unwrap();
    assert_eq!(reasons(&pack), [DropReason::Group, DropReason::Budget]);
    let wider = log.tokens("result:c1").unwrap();
    let pack = compiler.build(&log, &plain(Phase::Answer, wider)).unwrap();
    assert_eq!(reasons(&pack), [DropReason::Budget; 2]);
}

/// What is given back because the whole was too much counts as dropped, not as made shorter.
#[test]
fn what_is_given_back_is_not_shown_shorter() {
    /// Each item behind another one costs more than either.
    struct Joined;
    impl TokenCounter for Joined {
        fn name(&self) -> &str {
            "joined"
        }
        fn count(&self, text: &str) -> Count {
            Count::Tokens(text.len() + 300 * text.matches("\n\n[").count())
        }
    }
    let items =
        [ContextItem::doc("d", "word ".repeat(200)), ContextItem::user_turn("u", "x".repeat(90))];
    let log = log_with(Arc::new(Joined), items);
    let request = CompileRequest {
        summariser: Some(&HeadAndTail),
        explain: true,
        ..plain(Phase::Answer, 400)
    };
    let pack = build(&log, &request).unwrap();
    assert_eq!((pack.stats.included_count, pack.stats.compressed_count), (1, 0));
    assert!(pack.explanations.iter().all(|item| !item.is_compressed));
    // With room for both it is.
    let pack = build(&log, &CompileRequest { ..request.with_budget(800) }).unwrap();
    assert_eq!((pack.stats.included_count, pack.stats.compressed_count), (2, 1));
}

/// Nothing makes a summary of what is redacted, however long the text is that stands in its place.
#[test]
fn what_is_redacted_is_never_summarised() {
    struct Wordy;
    impl RedactionHook for Wordy {
        fn redact(&self, _: &ContextItem, _: Confidentiality) -> String {
            "withheld ".repeat(200)
        }
    }
    let secret = Label::new(Confidentiality::Restricted, Integrity::Trusted);
    let text = format!("hunter2 {}", "and more of it ".repeat(200));
    let log = log_with(counter(0), [ContextItem::doc("d", text).with_label(secret)]);
    for budget in [100, 200, 400] {
        let request = CompileRequest {
            sensitivity_action: SensitivityAction::Redact(&Wordy),
            summariser: Some(&HeadAndTail),
            ..plain(Phase::Answer, budget)
        };
        let pack = build(&log, &request).unwrap();
        assert_eq!((pack.text.as_str(), pack.stats.compressed_count), ("", 0));
    }
}

/// What cannot be counted goes in nowhere, and takes no room from what can.
#[test]
fn what_cannot_be_counted_is_left_out() {
    let items = [
        ContextItem::doc("d", "x".repeat(300)).pin(),
        ContextItem::user_turn("u1", "hello"),
        ContextItem::user_turn("u2", "are you there?"),
    ];
    let log = log_with(Arc::new(Failing), items);
    assert_eq!(log.tokens("d"), None);
    let pack = build(&log, &plain(Phase::Answer, 1000)).unwrap();
    assert_eq!(pack.item_ids, ["u1", "u2"].map(Into::into));
}

/// Whatever a compiler was asked for before, it answers like one that was asked for nothing yet.
#[test]
fn another_request_takes_nothing_over() {
    let secret = Label::new(Confidentiality::Confidential, Integrity::Trusted);
    let filler = "x ".repeat(40);
    let all = log_with(
        counter(0),
        [
            ContextItem::doc("d1", format!("invoices of March {filler}")),
            ContextItem::doc("d2", format!("holiday plans {filler}")),
            ContextItem::doc("d3", "what nobody should know").with_label(secret),
            ContextItem::agent_message("a", format!("lunch menu {filler}")),
        ],
    );
    let tags = ["holiday".to_owned()];
    let usual = plain(Phase::Answer, 40);
    let talk = PhaseSpec::new("talk", 40).with_kind(ContextItemKind::AgentMessage, 100);
    let requests = [
        usual.clone(),
        usual.clone().with_query("invoice"),
        CompileRequest { tags: &tags, ..usual.clone() },
        CompileRequest { sensitivity_floor: Confidentiality::Restricted, ..usual.clone() },
        CompileRequest { sensitivity_action: SensitivityAction::mask(), ..usual },
        CompileRequest::new(talk),
    ];
    let fresh = requests.each_ref().map(|request| build(&all, request).unwrap());
    for (n, pack) in fresh.iter().enumerate() {
        let others = fresh.iter().enumerate().filter(|(m, _)| *m != n);
        assert!(others.map(|(_, other)| other).all(|other| pack != other), "{n}");
    }
    let mut compiler = Compiler::new();
    for before in &requests {
        for (now, fresh) in requests.iter().zip(&fresh) {
            compiler.build(&all, before).unwrap();
            is_the_same(fresh, &compiler.build(&all, now).unwrap());
        }
    }
}

/// The texts that have broken budgets elsewhere: one character each, emoji, ideographs, blanks by
/// the megabyte. The tokenizer is exact.
#[test]
fn the_budget_holds_for_hard_texts() {
    type Text = fn(usize) -> String;
    let texts: [(usize, Text); 6] = [
        (40, |n| format!("x{n:02}")),
        (300, |_| "x".to_owned()),
        (200, |n| "👩🏽‍🚀🇺🇳".repeat(n % 7)),
        (200, |n| "昨天晚上政府公布了一份报告".repeat(n % 5)),
        (3, |n| " ".repeat(1_000_000 + n)),
        (60, |n| "\n".repeat(n * 10)),
    ];
    for (count, text) in texts {
        let items = (0..count).map(|n| ContextItem::user_turn(format!("u{n}"), text(n)));
        let log = log_with(counter(1), items);
        for budget in [0, 1, 2, 5, 17, 100, 1000, 50_000] {
            let pack = build(&log, &plain(Phase::Answer, budget)).unwrap();
            budget_holds(&log, &pack, budget);
            counts_add_up(&pack);
            nothing_more_would_fit(&log, &pack, budget);
        }
    }
}

/// What is too long for the budget comes shortened instead of not at all.
#[test]
fn what_is_too_long_is_made_shorter_first() {
    let long = format!("The end of the story: {}Nobody won.", "and then ".repeat(3000));
    let items = [ContextItem::doc("d", long), ContextItem::user_turn("u", "Who won?")];
    let log = log_with(counter(1), items);
    let usual = plain(Phase::Answer, 400);
    let without = build(&log, &usual).unwrap();
    assert_eq!((without.stats.included_count, without.stats.compressed_count), (1, 0));
    let pack = build(&log, &CompileRequest { summariser: Some(&HeadAndTail), ..usual }).unwrap();
    budget_holds(&log, &pack, 400);
    assert_eq!((pack.stats.included_count, pack.stats.compressed_count), (2, 1));
    assert!(pack.text.contains("The end of the story") && pack.text.contains("Nobody won."));
}
