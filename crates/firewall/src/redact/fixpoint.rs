//! Redaction to a fixpoint: redacting the output again changes nothing.
//!
//! Once a value is masked, its neighbours may read differently: the rest of a long run of digits
//! may be a phone number. So the neighbourhood of every fresh mask is scanned again, with the mask as
//! a barrier, until a round finds nothing: chaotic iteration to the least fixpoint (Cousot and Cousot,
//! 1977), which exists because masks only grow. What a place holds depends on the text near it
//! alone, so nothing farther off needs another look. A chain of values could take as many rounds as
//! it has links; after [`ROUNDS`] rounds the whole stretch between two masks is masked, where
//! nothing is left to find. That bounds the work by a constant for each byte.

use std::ops::Range;

use weaver_text::reveal::{self, Layers};

use super::engine::{ActiveRules, Anchor, Detection, LOOKS_LIKE_A_MASK, NEAR, union};
use super::mask_collapsed_text::{MaskCollapsedText, existing_masks};
use super::scan_window::ScanWindow;

/// How often a text is looked at.
const ROUNDS: usize = 5;

/// How near to a value, in bytes, something hidden may make it one: its keyword, say.
const BESIDE: usize = 64;

/// What values are looked for behind. Guesses at how a person might take a text apart, such as
/// reading it backwards, are not among them: they find what nobody wrote.
const LAYERS: Layers = Layers::ENCODED;

/// The text around a fresh mask: where values are accepted, and the wider stretch that is read to
/// find them as they would be found in the whole text.
struct Neighbourhood {
    accepted: Range<usize>,
    read: Range<usize>,
}

/// A part of a text that was scanned, and where it begins there.
struct ScannedPart<'s> {
    view: &'s MaskCollapsedText<'s>,
    window: &'s ScanWindow<'s>,
    accepted: Range<usize>,
    offset: usize,
}

/// Every value of `text`, in order and apart. `masked` are stretches that are masked already, in
/// order; they are not named again unless a value reaches beyond them.
pub(crate) fn find_values(
    rules: ActiveRules<'_>,
    text: &str,
    masked: &[Range<usize>],
) -> Vec<Detection> {
    let mut barriers = existing_masks(text, |kind| rules.engine.is_kind(kind));
    let lookalikes = if rules.escapes { barriers.clone() } else { Vec::new() };
    if !masked.is_empty() {
        barriers.extend_from_slice(masked);
        barriers = merge_overlaps(barriers);
    }
    let view = MaskCollapsedText::new(text, &barriers);
    let mut anchors = Vec::new();
    let mut all = union(first_look(rules, &view, &mut anchors));
    let mut fresh: Vec<Range<usize>> = all.iter().map(|f| f.range.clone()).collect();
    if !fresh.is_empty() {
        anchors.sort_unstable();
    }
    for round in 1..=ROUNDS {
        if fresh.is_empty() {
            break;
        }
        barriers.extend(fresh.iter().cloned());
        barriers = merge_overlaps(barriers);
        let view = MaskCollapsedText::new(text, &barriers);
        let mut more = Vec::new();
        for near in neighbourhoods(&view, &fresh) {
            look_again(rules, &view, near, &anchors, &mut more);
        }
        if round == ROUNDS {
            more.iter_mut().for_each(|f| f.range = piece(text, &barriers, &f.range));
        }
        fresh = merge_overlaps(more.iter().map(|f| f.range.clone()).collect());
        all.extend(more);
        all = union(all);
    }
    if !lookalikes.is_empty() {
        let rule = LOOKS_LIKE_A_MASK;
        all.extend(lookalikes.into_iter().map(|range| Detection { range, rule }));
        all = union(all);
    }
    all
}

/// What is found in the text. Its anchors go to `anchors`, by their places in the first text.
fn first_look(
    rules: ActiveRules<'_>,
    view: &MaskCollapsedText<'_>,
    anchors: &mut Vec<Anchor>,
) -> Vec<Detection> {
    let text = view.text();
    let mut window = ScanWindow::new(text);
    let mut found = Vec::new();
    rules.find(&mut window, &mut found, |anchor| {
        anchors.push(Anchor { at: view.original(&(anchor.at..anchor.at + 1)).start, ..anchor });
    });
    let mut out = Vec::new();
    let part = ScannedPart { view, window: &window, accepted: 0..text.len(), offset: 0 };
    accept(rules, &part, found, &mut out);
    out
}

/// What is found in one part of a text of which every anchor is known.
fn look_again(
    rules: ActiveRules<'_>,
    view: &MaskCollapsedText<'_>,
    near: Neighbourhood,
    anchors: &[Anchor],
    out: &mut Vec<Detection>,
) {
    let Neighbourhood { accepted, read } = near;
    let Some(text) = view.text().get(read.clone()) else { return };
    let within = view.original(&read);
    let from = anchors.partition_point(|anchor| anchor.at < within.start);
    let near = anchors.iter().skip(from).take_while(|anchor| anchor.at < within.end);
    let near = near.filter_map(|anchor| {
        let at = view.visible(anchor.at)?.checked_sub(read.start)?;
        Some(Anchor { at, ..*anchor })
    });
    let mut window = ScanWindow::new(text);
    let mut found = Vec::new();
    rules.find_again(&mut window, near, &mut found);
    let part = ScannedPart { view, window: &window, accepted, offset: read.start };
    accept(rules, &part, found, out);
}

/// The text around fresh masks, in order and apart.
fn neighbourhoods(view: &MaskCollapsedText<'_>, fresh: &[Range<usize>]) -> Vec<Neighbourhood> {
    let text = view.text();
    let mut all: Vec<Neighbourhood> = Vec::new();
    for mask in fresh {
        let at = view.offset(mask.start);
        let accepted = text.floor_char_boundary(at.saturating_sub(NEAR))
            ..text.ceil_char_boundary(text.len().min(at + 1 + NEAR));
        let read = text.floor_char_boundary(at.saturating_sub(2 * NEAR))
            ..text.ceil_char_boundary(text.len().min(at + 1 + 2 * NEAR));
        match all.last_mut() {
            Some(last) if read.start <= last.accepted.end => {
                last.accepted.end = last.accepted.end.max(accepted.end);
                last.read.end = last.read.end.max(read.end);
            }
            _ => all.push(Neighbourhood { accepted, read }),
        }
    }
    all
}

/// Adds the values of the decoded views of a part, and keeps those that begin in its accepted stretch,
/// as ranges of the original text.
fn accept(
    rules: ActiveRules<'_>,
    part: &ScannedPart<'_>,
    mut found: Vec<Detection>,
    out: &mut Vec<Detection>,
) {
    let ScannedPart { view, accepted, offset, .. } = part;
    if !find_in_decoded_views(rules, part.window, &mut found) {
        // More is hidden than can be read: nothing of it is shown.
        out.push(Detection { range: view.original(accepted), rule: rules.engine.unread() });
    }
    out.extend(found.into_iter().filter_map(|f| {
        let range = f.range.start + offset..f.range.end + offset;
        let inside = range.start >= accepted.start && range.start < accepted.end;
        (inside && !view.is_masked(&range))
            .then(|| Detection { range: view.original(&range), rule: f.rule })
    }));
}

/// What is found in the other readings of a text: values that stand there encoded or hidden. False
/// when there are more readings than room.
fn find_in_decoded_views(
    rules: ActiveRules<'_>,
    window: &ScanWindow<'_>,
    found: &mut Vec<Detection>,
) -> bool {
    let mut views = Vec::new();
    let complete = reveal::views_of(window.source(), LAYERS, &mut views);
    let mut seen = Vec::new();
    for view in &views {
        rules.find(&mut ScanWindow::new(&view.text), &mut seen, |_| {});
        // What has nothing hidden in or near it was found in the text itself.
        let hidden = seen
            .drain(..)
            .filter(|f| view.touches(f.range.start.saturating_sub(BESIDE)..f.range.end + BESIDE));
        found.extend(
            hidden.map(|f| Detection { range: view.original(f.range.clone()), rule: f.rule }),
        );
    }
    complete
}

/// The stretch between two masks in which a value stands.
fn piece(text: &str, barriers: &[Range<usize>], value: &Range<usize>) -> Range<usize> {
    let before = barriers.partition_point(|b| b.end <= value.start);
    let start = before.checked_sub(1).and_then(|i| barriers.get(i)).map_or(0, |b| b.end);
    let after = barriers.partition_point(|b| b.start < value.end);
    let end = barriers.get(after).map_or(text.len(), |b| b.start);
    start.min(value.start)..end.max(value.end)
}

/// The same stretches in order, those that overlap merged into one.
fn merge_overlaps(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|r| r.start);
    let mut out: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::engine::Engine;
    use super::super::file;
    use super::*;

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

    fn left(text: &str) -> String {
        let engine = Engine::new(file::read(CHAINED).unwrap(), &[], &BTreeSet::new()).unwrap();
        let mut out = text.to_owned();
        for found in find_values(engine.all(), text, &[]).into_iter().rev() {
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
            assert_eq!(piece(text, &masks, &value), expected, "{value:?}");
        }
        assert_eq!(piece(text, &[], &(4..5)), 0..10);
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
            assert_eq!(left.ends_with(" and on"), links < 1 + ROUNDS, "{links} links: {left}");
        }
    }
}
