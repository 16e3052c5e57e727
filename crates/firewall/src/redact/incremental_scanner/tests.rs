use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::redact::engine::DetectionEngine;
use crate::redact::{Redactor, rule_file};

fn machine(at: usize, run: usize) -> IncrementalScanner {
    IncrementalScanner { decided_to: at, run_len: run, ..IncrementalScanner::default() }
}

#[test]
fn within_a_long_run_the_cut_keeps_the_places_of_base64() {
    for (run, more) in [
        (0, 0),
        (LOOKBEHIND_BYTES, 0),
        (LOOKBEHIND_BYTES + 1, 1),
        (LOOKBEHIND_BYTES + 3, 3),
        (LOOKBEHIND_BYTES + 4, 0),
    ] {
        assert_eq!(machine(10_000, run).needed_from(), 10_000 - LOOKBEHIND_BYTES - more, "{run}");
    }
    assert_eq!(machine(LOOKBEHIND_BYTES, 0).needed_from(), 0);
    assert_eq!(machine(LOOKBEHIND_BYTES - 1, 0).needed_from(), 0);
    assert_eq!(machine(LOOKBEHIND_BYTES + 1, 0).needed_from(), 1);
}

#[test]
fn a_run_goes_on_over_what_is_decided() {
    let mut machine = machine(100, 7);
    machine.advance("abc");
    assert_eq!((machine.decided_to, machine.run_len), (103, 10));
    machine.advance("d ef");
    assert_eq!((machine.decided_to, machine.run_len), (107, 2));
    machine.advance("");
    assert_eq!((machine.decided_to, machine.run_len), (107, 2));
    machine.advance(" ");
    assert_eq!((machine.decided_to, machine.run_len), (108, 0));
}

#[test]
fn masks_are_remembered_as_long_as_they_are_near() {
    let mut machine = machine(1, 0);
    machine.recent_masks = vec![0..2, 0..3];
    machine.advance(&" ".repeat(LOOKBEHIND_BYTES + 1));
    let first = 0..3;
    assert_eq!((machine.needed_from(), machine.recent_masks), (2, vec![first]));
}

#[derive(Default)]
struct Written(String);

impl RedactionSink for Written {
    fn keep(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn mask(&mut self, at: usize, value: &str, _: usize) {
        self.0.push_str(&format!("<{at}:{value}>"));
    }

    fn extend_last_mask(&mut self, bytes: usize) {
        self.0.push_str(&format!("<+{bytes}>"));
    }
}

#[test]
fn a_part_is_written_with_its_values_in_their_places() {
    let found = [Detection { range: 3..5, rule: 0 }, Detection { range: 6..7, rule: 0 }];
    let mut out = Written::default();
    write_masked("0123456789", 2..9, 100, &found, &mut out);
    assert_eq!(out.0, "2<103:34>5<106:6>78");
}

/// Where a text is masked, as a sink is told.
#[derive(Default)]
struct MaskedRanges {
    at: usize,
    ranges: Vec<Range<usize>>,
}

impl RedactionSink for MaskedRanges {
    fn keep(&mut self, text: &str) {
        self.at += text.len();
    }

    fn mask(&mut self, at: usize, value: &str, _: usize) {
        assert_eq!(at, self.at, "a value follows on what was told before");
        self.at += value.len();
        self.ranges.push(at..self.at);
    }

    fn extend_last_mask(&mut self, bytes: usize) {
        self.at += bytes;
        let last = self.ranges.last_mut().expect("a mask goes on");
        last.end += bytes;
    }
}

/// The longest key.
const MAX_PEM_BYTES: usize = 64 * 1_024;

/// How a reader of a stream takes a piece.
#[derive(Debug, Clone, Copy)]
enum Push {
    Windows,
    OpenTail,
}

/// Where a text is masked that arrives in pieces of these sizes, over and over.
fn masked_in_pieces(
    rules: ActiveRules<'_>,
    text: &str,
    pieces: &[(usize, Push)],
) -> Vec<Range<usize>> {
    let (mut scanner, mut out) = (IncrementalScanner::default(), MaskedRanges::default());
    let (mut pending, mut start, mut rest) = (String::new(), 0, text);
    for (size, push) in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.ceil_char_boundary((*size).min(rest.len())));
        pending.push_str(piece);
        rest = after;
        let done = match push {
            Push::Windows => scanner.push(rules, &pending, start, &mut out),
            Push::OpenTail => scanner.push_to_open_tail(rules, &pending, start, &mut out),
        };
        pending.drain(..done);
        start += done;
        assert!(out.at <= start + pending.len(), "no more is decided than arrived");
    }
    scanner.finish(rules, &pending, start, &mut out);
    assert_eq!(out.at, text.len(), "the whole text is decided");
    out.ranges
}

fn masked_whole(rules: ActiveRules<'_>, text: &str) -> Vec<Range<usize>> {
    let mut out = MaskedRanges::default();
    IncrementalScanner::scan_whole(rules, text, &mut out);
    assert_eq!(out.at, text.len());
    out.ranges
}

/// Two digits count up to 1,024 bytes before `stop`, a word up to 512 bytes from `start`.
const DISTANT: &str = r#"
    [[rule]]
    id = "far"
    type = "far"
    anchors = ["kvx"]
    pattern = 'kvx([0-9]{2})[a-z \x1f\x80-\xff]{0,1015}stop'
    boundary = false
    reach = 1024
    masks = [["kvx10 stop", "10"]]
    keeps = ["kvx10"]

    [[rule]]
    id = "named"
    type = "named"
    anchors = ["kvy"]
    pattern = 'kvy[0-9]{2}'
    boundary = false
    reach = 16
    context = ["start"]
    within = 512
    masks = [["start kvy10", "kvy10"]]
    keeps = ["kvy10"]

    [[rule]]
    id = "wide"
    type = "wide"
    anchors = ["WID"]
    pattern = 'WID[.]+'
    boundary = false
    reach = 1024
    masks = [["WID..", "WID.."]]
    keeps = ["WID"]
"#;

/// Words of this many bytes, none of which means anything.
fn words(bytes: usize) -> String {
    "lorem ipsum ".chars().cycle().take(bytes).collect()
}

/// How far the parts of a value are from each other.
fn distance() -> impl Strategy<Value = usize> {
    prop_oneof![0_usize..30, 490_usize..520, 990_usize..1_030]
}

/// Digits that count once what stands behind them is masked.
fn nested_value() -> impl Strategy<Value = String> {
    (distance(), distance(), 1_usize..1_022).prop_map(|(before, after, wide)| {
        let wide = format!("WID{}", ".".repeat(wide));
        format!("kvx10{}{wide}{}stop", words(before), words(after))
    })
}

/// A value that counts by what stands before or behind it.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        distance().prop_map(|between| format!("kvx10{}stop", words(between))),
        distance().prop_map(|between| format!("start{}kvy10", words(between))),
        distance().prop_map(|between| format!("kvy10{}start", words(between))),
        (1_usize..1_022).prop_map(|wide| format!("WID{}", ".".repeat(wide))),
        (1_usize..600).prop_map(|letters| "\u{e9}".repeat(letters)),
    ]
}

/// Texts of several steps with these values, which begin wherever a step does, and elsewhere.
fn long_texts(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let gap = prop_oneof![
        3 => 1_030_usize..3_000,
        1 => 10_000_usize..STEP_BYTES + LOOKAHEAD_BYTES,
        1 => STEP_BYTES - LOOKAHEAD_BYTES..STEP_BYTES + LOOKAHEAD_BYTES,
    ];
    prop::collection::vec((gap, value), 1..6).prop_map(|parts| {
        parts.into_iter().map(|(gap, value)| format!("{} Z {value} Z ", words(gap))).collect()
    })
}

fn cuts(push: impl Strategy<Value = Push>) -> impl Strategy<Value = Vec<(usize, Push)>> {
    let size = prop_oneof![30_usize..200, 500_usize..3_000, 10_000_usize..40_000];
    prop::collection::vec((size, push), 1..5)
}

fn any_push() -> impl Strategy<Value = Push> {
    prop_oneof![Just(Push::Windows), Just(Push::OpenTail)]
}

/// Where a text is masked if it is scanned as one.
fn masked_at_once(rules: ActiveRules<'_>, text: &str) -> Vec<Range<usize>> {
    fixpoint::find_values(rules, text, &[]).into_iter().map(|found| found.range).collect()
}

fn distant_rules() -> DetectionEngine {
    let rules = rule_file::parse_rules(DISTANT).unwrap();
    DetectionEngine::new(rules, &[], &BTreeSet::new()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn steps_find_what_a_scan_of_the_whole_text_finds_however_it_is_cut(
        text in long_texts(prop_oneof![value(), nested_value()]),
        cuts in cuts(Just(Push::Windows)),
    ) {
        let engine = distant_rules();
        let wanted = masked_at_once(engine.all_rules(), &text);
        prop_assert_eq!(&masked_whole(engine.all_rules(), &text), &wanted);
        prop_assert_eq!(masked_in_pieces(engine.all_rules(), &text, &cuts), wanted);
    }

    #[test]
    fn up_to_the_open_tail_is_found_what_a_scan_of_the_whole_text_finds(
        text in long_texts(prop_oneof![value(), nested_value()]),
        cuts in cuts(any_push()),
    ) {
        let engine = distant_rules();
        let wanted = masked_at_once(engine.all_rules(), &text);
        prop_assert_eq!(masked_in_pieces(engine.all_rules(), &text, &cuts), wanted);
    }

    #[test]
    fn a_run_is_shown_and_a_value_in_it_is_found_wherever_it_is_and_however_it_is_cut(
        before in 0_usize..STEP_BYTES + LOOKAHEAD_BYTES,
        inside in 0_usize..40_000,
        rest in 0_usize..40_000,
        after in 0_usize..2 * STEP_BYTES,
        cuts in cuts(any_push()),
    ) {
        let (head, tail) = ("x".repeat(inside), "x".repeat(rest));
        let token = "ghp_0123456789abcdefghij0123456789abcdef";
        let text = format!("{} {head}-{token}.{tail} {}", words(before), words(after));
        let start = before + 1 + inside + 1;
        let redactor = Redactor::builtin();
        let rules = redactor.active_rules().unwrap();
        let masked = masked_whole(rules, &text);
        prop_assert_eq!(&masked, &masked_at_once(rules, &text));
        prop_assert_eq!(masked.len(), 1);
        prop_assert!(masked[0].start <= start && start + token.len() <= masked[0].end);
        prop_assert_eq!(masked_in_pieces(rules, &text, &cuts), masked);
    }

    /// What is masked of a base64 text that holds a long key; no part of the key is shown.
    #[test]
    fn a_key_in_base64_never_loses_its_end(
        before in 0_usize..STEP_BYTES,
        lines in 1_usize..60,
        cuts in cuts(any_push()),
    ) {
        use base64::Engine as _;
        let body = format!("{}\n", "MIIEowIBAAKCAQEA".repeat(4)).repeat(lines);
        let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n");
        let plain = format!("{} {key}", words(before));
        let text = base64::engine::general_purpose::STANDARD_NO_PAD.encode(&plain);
        let from = (before + 1).div_ceil(3) * 4;
        let redactor = Redactor::builtin();
        let rules = redactor.active_rules().unwrap();
        for masked in [masked_whole(rules, &text), masked_in_pieces(rules, &text, &cuts)] {
            let mut at = from;
            for range in masked {
                prop_assert!(range.start <= at, "{at} is shown up to {}", range.start);
                at = at.max(range.end);
            }
            prop_assert!(at + 8 >= text.len(), "{at} of {}", text.len());
        }
    }

    #[test]
    fn a_key_is_masked_as_one_wherever_it_begins_and_however_it_is_cut(
        before in 0_usize..STEP_BYTES + LOOKAHEAD_BYTES,
        lines in prop_oneof![1_usize..40, 200_usize..1_000],
        cuts in cuts(any_push()),
    ) {
        let body = format!("{}\n", "MIIEowIBAAKCAQEA".repeat(4)).repeat(lines);
        let (head, tail) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
        let key = format!("{head}\n{body}{tail}");
        let text = format!("{}\n{key}\nthe end", words(before));
        let whole = before + 1..before + 1 + key.len();
        let redactor = Redactor::builtin();
        let rules = redactor.active_rules().unwrap();
        prop_assert_eq!(&masked_whole(rules, &text), std::slice::from_ref(&whole));
        prop_assert_eq!(masked_in_pieces(rules, &text, &cuts), [whole]);
    }

    #[test]
    fn of_a_key_without_an_end_64_kibibytes_are_masked_and_the_rest_of_a_step(
        before in 0_usize..STEP_BYTES + LOOKAHEAD_BYTES,
        cuts in cuts(Just(Push::Windows)),
    ) {
        let body = format!("{}\n", "MIIEowIBAAKCAQEA".repeat(4)).repeat(2_000);
        let text = format!("{}\n-----BEGIN RSA PRIVATE KEY-----\n{body}", words(before));
        let redactor = Redactor::builtin();
        let masked = masked_whole(redactor.active_rules().unwrap(), &text);
        prop_assert_eq!(masked.len(), 1);
        prop_assert_eq!(masked[0].start, before + 1);
        let most = MAX_PEM_BYTES + STEP_BYTES + LOOKAHEAD_BYTES;
        prop_assert!((MAX_PEM_BYTES..most).contains(&masked[0].len()), "{}", masked[0].len());
        prop_assert_eq!(masked_in_pieces(redactor.active_rules().unwrap(), &text, &cuts), masked);
    }
}
