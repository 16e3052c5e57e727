//! Redacts to a fixpoint: redacting the output again changes nothing.
//!
//! Once a value is masked, its neighbours may read differently; for example, the rest of a long
//! digit run may be a phone number. So the neighbourhood of every new mask is scanned again, with
//! the mask as a barrier, until a round finds nothing. This is chaotic iteration to a least
//! fixpoint (Cousot and Cousot, 1977), which exists because the masked ranges only grow. A
//! detection depends only on nearby text, so nothing farther away needs another scan. A chain of
//! values could take as many rounds as it has links; in round [`MAX_ROUNDS`] the whole stretch
//! between two masks is masked, after which nothing is left to find. That bounds the work by a
//! constant per byte.

use std::ops::Range;

use weaver_text::reveal::{self, Layers};

use super::engine::{
    ActiveRules, AnchorHit, CONTEXT_BYTES, Detection, MASK_LOOKALIKE_RULE, merge_detections,
};
use super::mask_collapsed_text::{MaskCollapsedText, existing_masks};
use super::scan_window::{ScanWindow, TextStart};
use super::{Lookalikes, MASK};

/// The most rounds.
const MAX_ROUNDS: usize = 5;

/// How close to a value, in bytes, hidden text may be what makes it one, such as its keyword.
const HIDDEN_CONTEXT_BYTES: usize = 64;

/// Encodings behind which values are looked for. Guesses at how text may have been disguised, such
/// as reversing it, are excluded: they find values that nobody wrote.
const DECODED_LAYERS: Layers = Layers::ENCODED;

/// The text around a new mask: the range in which detections are accepted, and the wider range that
/// is scanned so that detections are the same as in the whole text.
struct Neighbourhood {
    accepted: Range<usize>,
    read: Range<usize>,
}

/// A part of a text that was scanned, and its offset in the text.
struct ScannedPart<'s> {
    collapsed: &'s MaskCollapsedText<'s>,
    window: &'s ScanWindow<'s>,
    accepted: Range<usize>,
    offset: usize,
}

/// Finds every value of `text`, sorted and disjoint. `masked` are ranges that are already masked,
/// in order; they are not returned again unless a value extends beyond them.
pub(crate) fn find_values(
    rules: ActiveRules<'_>,
    text: &str,
    masked: &[Range<usize>],
) -> Vec<Detection> {
    find_values_from(rules, text, TextStart::Anywhere, masked)
}

/// Like [`find_values`], for a part of a longer text that may begin within a token run.
pub(crate) fn find_values_from(
    rules: ActiveRules<'_>,
    text: &str,
    start: TextStart,
    masked: &[Range<usize>],
) -> Vec<Detection> {
    let mut barriers = existing_masks(text, |kind| rules.engine.is_known_kind(kind));
    let mut lookalikes = match rules.lookalikes {
        Lookalikes::All | Lookalikes::AllButPlain => barriers.clone(),
        Lookalikes::None => Vec::new(),
    };
    if rules.lookalikes == Lookalikes::AllButPlain {
        lookalikes.retain(|range| text.get(range.clone()) != Some(MASK));
    }
    if !masked.is_empty() {
        barriers.extend_from_slice(masked);
        barriers = merge_overlaps(barriers);
    }
    let view = MaskCollapsedText::new(text, &barriers);
    let mut anchors = Vec::new();
    let mut all = merge_detections(scan_whole(rules, &view, start, &mut anchors));
    let mut new_masks: Vec<Range<usize>> = all.iter().map(|f| f.range.clone()).collect();
    if !new_masks.is_empty() {
        anchors.sort_unstable();
    }
    for round in 1..=MAX_ROUNDS {
        if new_masks.is_empty() {
            break;
        }
        barriers.extend(new_masks.iter().cloned());
        barriers = merge_overlaps(barriers);
        let view = MaskCollapsedText::new(text, &barriers);
        let mut more = Vec::new();
        for near in neighbourhoods(&view, &new_masks) {
            rescan(rules, &view, near, &anchors, &mut more);
        }
        if round == MAX_ROUNDS {
            more.iter_mut()
                .for_each(|f| f.range = stretch_between_masks(text, &barriers, &f.range));
        }
        new_masks = merge_overlaps(more.iter().map(|f| f.range.clone()).collect());
        all.extend(more);
        all = merge_detections(all);
    }
    if !lookalikes.is_empty() {
        let rule = MASK_LOOKALIKE_RULE;
        all.extend(lookalikes.into_iter().map(|range| Detection { range, rule }));
        all = merge_detections(all);
    }
    all
}

/// Scans the whole text. Its anchors are collected, with positions in the original text.
fn scan_whole(
    rules: ActiveRules<'_>,
    collapsed: &MaskCollapsedText<'_>,
    start: TextStart,
    anchors: &mut Vec<AnchorHit>,
) -> Vec<Detection> {
    let text = collapsed.text();
    let mut window = ScanWindow::new(text);
    window.start = start;
    let mut found = Vec::new();
    rules.find_all(&mut window, &mut found, |anchor| {
        anchors.push(AnchorHit {
            at: collapsed.to_original(&(anchor.at..anchor.at + 1)).start,
            ..anchor
        });
    });
    let mut out = Vec::new();
    let part = ScannedPart { collapsed, window: &window, accepted: 0..text.len(), offset: 0 };
    accept_detections(rules, &part, found, &mut out);
    out
}

/// Scans one part of a text whose anchors are known.
fn rescan(
    rules: ActiveRules<'_>,
    collapsed: &MaskCollapsedText<'_>,
    near: Neighbourhood,
    anchors: &[AnchorHit],
    out: &mut Vec<Detection>,
) {
    let Neighbourhood { accepted, read } = near;
    let Some(text) = collapsed.text().get(read.clone()) else { return };
    let within = collapsed.to_original(&read);
    let from = anchors.partition_point(|anchor| anchor.at < within.start);
    let near = anchors.iter().skip(from).take_while(|anchor| anchor.at < within.end);
    let near = near.filter_map(|anchor| {
        let at = collapsed.to_collapsed_if_visible(anchor.at)?.checked_sub(read.start)?;
        Some(AnchorHit { at, ..*anchor })
    });
    let mut window = ScanWindow::new(text);
    let mut found = Vec::new();
    rules.find_at_anchors(&mut window, near, &mut found);
    let part = ScannedPart { collapsed, window: &window, accepted, offset: read.start };
    accept_detections(rules, &part, found, out);
}

/// The neighbourhoods of new masks, merged where they overlap.
fn neighbourhoods(
    collapsed: &MaskCollapsedText<'_>,
    new_masks: &[Range<usize>],
) -> Vec<Neighbourhood> {
    let text = collapsed.text();
    let mut all: Vec<Neighbourhood> = Vec::new();
    for mask in new_masks {
        let at = collapsed.to_collapsed(mask.start);
        let accepted = text.floor_char_boundary(at.saturating_sub(CONTEXT_BYTES))
            ..text.ceil_char_boundary(text.len().min(at + 1 + CONTEXT_BYTES));
        let read = text.floor_char_boundary(at.saturating_sub(2 * CONTEXT_BYTES))
            ..text.ceil_char_boundary(text.len().min(at + 1 + 2 * CONTEXT_BYTES));
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

/// Adds values from decoded views of a part. Keeps those that begin in its accepted range and maps
/// them back to the original text.
fn accept_detections(
    rules: ActiveRules<'_>,
    part: &ScannedPart<'_>,
    mut found: Vec<Detection>,
    out: &mut Vec<Detection>,
) {
    let ScannedPart { collapsed, accepted, offset, .. } = part;
    if !find_in_decoded_views(rules, part.window, &mut found) {
        // There is more encoded text than can be decoded, so all of it is masked.
        out.push(Detection {
            range: collapsed.to_original(accepted),
            rule: rules.engine.unread_rule(),
        });
    }
    out.extend(found.into_iter().filter_map(|f| {
        let range = f.range.start + offset..f.range.end + offset;
        let inside = range.start >= accepted.start && range.start < accepted.end;
        (inside && !collapsed.is_masked(&range))
            .then(|| Detection { range: collapsed.to_original(&range), rule: f.rule })
    }));
}

/// Finds values in decoded views of the text. False if there are more views than the limit.
fn find_in_decoded_views(
    rules: ActiveRules<'_>,
    window: &ScanWindow<'_>,
    found: &mut Vec<Detection>,
) -> bool {
    let mut views = Vec::new();
    let complete = reveal::views_of_classified(window.reveal_source(), DECODED_LAYERS, &mut views);
    let mut seen = Vec::new();
    for view in &views {
        rules.find_all(&mut ScanWindow::new(&view.text), &mut seen, |_| {});
        // A value with nothing encoded in or near it was already found in the text itself.
        let hidden = seen.drain(..).filter(|f| {
            view.touches(
                f.range.start.saturating_sub(HIDDEN_CONTEXT_BYTES)
                    ..f.range.end + HIDDEN_CONTEXT_BYTES,
            )
        });
        found.extend(
            hidden.map(|f| Detection { range: view.original(f.range.clone()), rule: f.rule }),
        );
    }
    complete
}

/// The stretch between the two masks around a value.
fn stretch_between_masks(
    text: &str,
    barriers: &[Range<usize>],
    value: &Range<usize>,
) -> Range<usize> {
    let before = barriers.partition_point(|b| b.end <= value.start);
    let start = before.checked_sub(1).and_then(|i| barriers.get(i)).map_or(0, |b| b.end);
    let after = barriers.partition_point(|b| b.start < value.end);
    let end = barriers.get(after).map_or(text.len(), |b| b.start);
    start.min(value.start)..end.max(value.end)
}

/// Sorts ranges and merges those that overlap.
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
mod tests;
