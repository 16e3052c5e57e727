use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::redact::engine::DetectionEngine;
use crate::redact::rule_file;

/// A value that counts only where no letter or digit stands before it: of a chain of them each
/// is one only once the one before it is masked.
const CHAINED: &str = r#"
    [[rule]]
    id = "link"
    type = "link"
    anchors = ["kvx"]
    pattern = 'kvx[0-9]{2}'
    boundary = true
    reach = 16
    masks = [["kvx10", "kvx10"]]
    keeps = ["akvx10"]
"#;

fn engine(rules: &str) -> DetectionEngine {
    DetectionEngine::new(rule_file::parse_rules(rules).unwrap(), &[], &BTreeSet::new()).unwrap()
}

fn left(text: &str) -> String {
    let engine = engine(CHAINED);
    let mut out = text.to_owned();
    for found in find_values(engine.all_rules(), text, &[]).into_iter().rev() {
        out.replace_range(found.range, "#");
    }
    out
}

fn chain(links: usize) -> String {
    (0..links).map(|n| format!("kvx{}", n + 10)).collect()
}

#[test]
fn a_piece_lies_between_the_masks_around_a_value() {
    let (text, masks) = ("0123456789", [2..3, 6..7]);
    for (value, expected) in [
        (4..5, 3..6),
        (3..4, 3..6),
        (5..6, 3..6),
        (0..1, 0..2),
        (8..9, 7..10),
        (1..8, 0..10),
        (2..5, 0..6),
        (5..7, 3..10),
    ] {
        assert_eq!(stretch_between_masks(text, &masks, &value), expected, "{value:?}");
    }
    assert_eq!(stretch_between_masks(text, &[], &(4..5)), 0..10);
}

#[test]
fn stretches_that_overlap_are_one_and_those_that_touch_are_two() {
    assert_eq!(merge_overlaps(vec![3..5, 0..2, 1..3]), [0..3, 3..5]);
    let whole = 0..10;
    assert_eq!(merge_overlaps(vec![0..9, 2..3, 8..10]), [whole]);
    assert!(merge_overlaps(Vec::new()).is_empty());
}

#[test]
fn of_a_chain_of_values_nothing_is_left_however_long_it_is() {
    for links in 1..40 {
        let left = left(&format!("see {} and on", chain(links)));
        assert!(!left.contains("kvx"), "{links} links: {left}");
        assert!(left.starts_with("see #"), "{left}");
        // What fits into the rounds is masked exactly; beyond them the rest of the stretch goes.
        assert_eq!(left.ends_with(" and on"), links < 1 + MAX_ROUNDS, "{links} links: {left}");
    }
}

/// Two digits count as far as 1,024 bytes before `stop`, with nothing but words and masks between;
/// and a value may be as long as a rule reads.
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
    id = "wide"
    type = "wide"
    anchors = ["WID"]
    pattern = 'WID[.]+'
    boundary = false
    reach = 1024
    masks = [["WID..", "WID.."]]
    keeps = ["WID"]
"#;

fn ranges(found: Vec<Detection>) -> Vec<Range<usize>> {
    found.into_iter().map(|found| found.range).collect()
}

/// The values of a text: the whole of it is scanned until nothing more is found. Also how often
/// something was.
fn values_by_whole_scans(rules: ActiveRules<'_>, text: &str) -> (Vec<Range<usize>>, usize) {
    let mut all: Vec<Detection> = Vec::new();
    let mut scans = 0;
    loop {
        let mut masks = existing_masks(text, |kind| rules.engine.is_known_kind(kind));
        masks.extend(all.iter().map(|found| found.range.clone()));
        let masks = merge_overlaps(masks);
        let view = MaskCollapsedText::new(text, &masks);
        let more = scan_whole(rules, &view, TextStart::Anywhere, &mut Vec::new());
        if more.is_empty() {
            return (ranges(all), scans);
        }
        all.extend(more);
        all = merge_detections(all);
        scans += 1;
    }
}

/// Words of this many bytes.
fn words(bytes: usize) -> String {
    "lorem ipsum ".chars().cycle().take(bytes).collect()
}

#[test]
fn what_a_mask_brings_within_reach_is_found_however_far_apart_it_was() {
    let engine = engine(DISTANT);
    let rules = engine.all_rules();
    for around in [0, 10, 3_000] {
        for (before, after) in
            [(0, 1_014), (1_014, 0), (500, 514), (0, 1_015), (1_015, 0), (500, 515)]
        {
            for wide in [1, 600, 1_021] {
                let (head, wide) = (words(around), format!("WID{}", ".".repeat(wide)));
                let text = format!("{head}kvx10{}{wide}{}stop{head}", words(before), words(after));
                let place = around + 5 + before;
                let place = place..place + wide.len();
                let digits = (before + after <= 1_014).then_some(around + 3..around + 5);
                let wanted: Vec<Range<usize>> = digits.into_iter().chain([place]).collect();
                assert_eq!(ranges(find_values(rules, &text, &[])), wanted, "{before} {after}");
            }
        }
    }
}

#[test]
fn what_is_masked_already_is_a_barrier_and_not_found_again() {
    let engine = engine(DISTANT);
    let found =
        |text: &str, masked: &[Range<usize>]| ranges(find_values(engine.all_rules(), text, masked));
    let (wide, digits, sign, more) = (0..5, 3..5, 6..7, 4..7);
    assert_eq!(found("WID..", &[]), std::slice::from_ref(&wide));
    assert!(found("WID..", std::slice::from_ref(&wide)).is_empty());
    let most = 0..4;
    assert!(found("WID..", &[most]).is_empty());
    assert_eq!(found("kvx10 A stop", std::slice::from_ref(&sign)), std::slice::from_ref(&digits));
    assert!(found("kvx10 A stop", &[]).is_empty() && found("kvx10 A stop", &[more]).is_empty());
    assert_eq!(found("kvx10 AB stop", &[sign, 6..8]), [digits]);
}

/// Texts of words and of what the rules need, the parts as far from each other as counts.
fn distant_texts() -> impl Strategy<Value = String> {
    let filler = prop_oneof![0_usize..40, 480_usize..560, 990_usize..1_040, 1_980_usize..2_100];
    let part = prop_oneof![
        3 => filler.prop_map(words),
        1 => (0_usize..600).prop_map(|letters| "\u{e9}".repeat(letters)),
        3 => Just("kvx10".to_owned()),
        2 => Just("stop".to_owned()),
        1 => Just("kvx1".to_owned()),
        2 => (1_usize..1_030).prop_map(|points| format!("WID{}", ".".repeat(points))),
        1 => Just("[REDACTED]".to_owned()),
    ];
    prop::collection::vec(part, 0..16).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn neighbourhoods_of_masks_give_what_scans_of_the_whole_text_give(text in distant_texts()) {
        let engine = engine(DISTANT);
        let rules = engine.all_rules();
        let (wanted, scans) = values_by_whole_scans(rules, &text);
        prop_assume!(scans <= MAX_ROUNDS);
        prop_assert_eq!(ranges(find_values(rules, &text, &[])), wanted);
    }
}
