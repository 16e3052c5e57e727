//! Fits a frame into its character budget.
//!
//! Each row and each fact is measured once. What does not fit is dropped from the end: whole rows
//! first, then fields of the first row, then facts. The finished frame is measured exactly; if an
//! estimate was wrong, all content is dropped, so the budget is never exceeded by content.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use weaver_types::{Frame, ResponseMode, ResultStatus, Warning};

use super::json_size::{self, EscapeEstimate, json_chars};
use crate::spec::FrameSpec;
use crate::summary::{Facts, omission_marker};

/// Characters reserved for one more warning.
const WARNING_CHARS: usize = 64;
/// The length of `"table":[],` and `"facts":[],`.
const LIST_CHARS: usize = 11;

/// A frame before fitting.
pub(crate) struct FrameDraft {
    /// The frame without facts, rows and warnings.
    pub(crate) frame: Frame,
    pub(crate) facts: Facts,
    pub(crate) rows: Vec<Map<String, Value>>,
    pub(crate) counts: BTreeMap<String, u64>,
}

impl FrameDraft {
    pub(crate) fn new(frame: Frame) -> Self {
        Self { frame, facts: Facts::default(), rows: Vec::new(), counts: BTreeMap::new() }
    }
}

/// A frame with ids, handle, label and time only.
pub(crate) fn bare_frame(spec: &FrameSpec<'_>) -> Frame {
    Frame {
        call_id: spec.call.clone(),
        capability_id: spec.capability.id().clone(),
        mode: ResponseMode::HandleOnly,
        status: ResultStatus::Success,
        content: Vec::new(),
        structured: None,
        notes: Vec::new(),
        next: None,
        next_parts: Vec::new(),
        facts: Vec::new(),
        table: Vec::new(),
        raw: None,
        handle: spec.handle.cloned(),
        warnings: Vec::new(),
        provenance: None,
        label: spec.label.clone(),
        created_at: spec.now,
        is_final: true,
    }
}

/// The size of the smallest frame for this spec.
pub(crate) fn min_frame_chars(spec: &FrameSpec<'_>) -> usize {
    let mut frame = bare_frame(spec);
    frame.warnings = vec![omitted_warning(u64::MAX)];
    json_chars(&frame)
}

fn omitted_warning(count: u64) -> Warning {
    Warning { kind: "content_omitted".to_owned(), count }
}

/// The frame within `max` characters, or the smallest possible frame.
pub(crate) fn fit(mut draft: FrameDraft, max: usize) -> Frame {
    draft.frame.warnings = warnings(&draft.counts);
    // Cheap upper bounds come first: most frames are far smaller than their budget and need no
    // exact measurement.
    if ![EscapeEstimate::WorstCase, EscapeEstimate::SingleScan]
        .into_iter()
        .any(|look| fits_by_estimate(&draft, max, look))
    {
        return fit_exactly(draft, max);
    }
    let FrameDraft { frame, facts, rows, .. } = draft;
    Frame { table: rows, facts: facts.shown, ..frame }
}

/// True if everything fits by an upper bound.
fn fits_by_estimate(draft: &FrameDraft, max: usize, estimate: EscapeEstimate) -> bool {
    let FrameDraft { frame, facts, rows, .. } = draft;
    let listed: usize =
        facts.shown.iter().map(|fact| json_size::text_at_most(fact, estimate) + 1).sum();
    let rows: usize = rows.iter().map(|row| json_size::object_at_most(row, estimate) + 1).sum();
    facts.omitted == 0
        && json_size::warnings_at_most(&frame.warnings, estimate) <= max / 4
        && json_size::frame_at_most(frame, estimate) + listed + rows + 2 * LIST_CHARS <= max
}

/// Fits the frame by exact measurement.
fn fit_exactly(draft: FrameDraft, max: usize) -> Frame {
    let FrameDraft { mut frame, facts, rows, mut counts } = draft;
    if json_chars(&frame.warnings) > max / 4 {
        counts = merge_masked_kinds(counts);
        frame.warnings = warnings(&counts);
    }
    let left = max.saturating_sub(json_chars(&frame));
    let (rows, used) = fit_rows(rows, left, &mut counts);
    let facts = fit_facts(facts, left.saturating_sub(used), &mut counts);
    frame.table = rows;
    frame.facts = facts;
    frame.warnings = warnings(&counts);
    if json_chars(&frame) <= max { frame } else { without_content(frame, &counts, max) }
}

/// The rows that fit, and the characters they take.
fn fit_rows(
    rows: Vec<Map<String, Value>>,
    left: usize,
    counts: &mut BTreeMap<String, u64>,
) -> (Vec<Map<String, Value>>, usize) {
    let total = rows.len();
    let sizes: Vec<usize> = rows.iter().map(|row| json_chars(row) + 1).collect();
    if total == 0 || sizes.iter().sum::<usize>() + LIST_CHARS <= left {
        return (rows, if total == 0 { 0 } else { sizes.iter().sum::<usize>() + LIST_CHARS });
    }
    let left = left.saturating_sub(LIST_CHARS + 2 * WARNING_CHARS);
    let mut used = 0;
    let fitting = sizes.iter().take_while(|size| {
        used += **size;
        used <= left
    });
    let keep = fitting.count();
    let mut rows = rows;
    let mut used = sizes.iter().take(keep).sum::<usize>();
    let first = if keep == 0 { rows.first_mut().map(std::mem::take) } else { None };
    rows.truncate(keep);
    if let Some(first) = first {
        let (row, gone, size) = fit_fields(first, left);
        if !row.is_empty() {
            add_count(counts, "fields_omitted", gone);
            used = size;
            rows.push(row);
        }
    }
    add_count(counts, "rows_omitted", total - rows.len());
    (rows, used + LIST_CHARS + 2 * WARNING_CHARS)
}

/// The fields of a row that fit, the number of those that do not, and the size.
fn fit_fields(row: Map<String, Value>, left: usize) -> (Map<String, Value>, usize, usize) {
    let total = row.len();
    let mut fitting = Map::new();
    let mut used = 3;
    for (key, value) in row {
        let size = json_chars(&key) + json_chars(&value) + 2;
        if used + size <= left {
            used += size;
            fitting.insert(key, value);
        }
    }
    let dropped = total - fitting.len();
    (fitting, dropped, used)
}

/// The facts that fit; if some do not, the last one says how many.
fn fit_facts(facts: Facts, left: usize, counts: &mut BTreeMap<String, u64>) -> Vec<String> {
    let Facts { shown: mut facts, omitted } = facts;
    let total = facts.len() + omitted;
    let sizes: Vec<usize> = facts.iter().map(|fact| json_chars(fact) + 1).collect();
    if omitted == 0 && sizes.iter().sum::<usize>() + LIST_CHARS <= left {
        return facts;
    }
    let marker = json_chars(&omission_marker(total)) + 1;
    let Some(left) = left.checked_sub(LIST_CHARS + WARNING_CHARS + marker) else {
        add_count(counts, "facts_omitted", total);
        return Vec::new();
    };
    let mut used = 0;
    let fitting = sizes.iter().take_while(|size| {
        used += **size;
        used <= left
    });
    let keep = fitting.count();
    facts.truncate(keep);
    add_count(counts, "facts_omitted", total - keep);
    facts.push(omission_marker(total - keep));
    facts
}

/// The frame without content; without provenance too if it is still too large.
fn without_content(mut frame: Frame, counts: &BTreeMap<String, u64>, max: usize) -> Frame {
    frame.table.clear();
    frame.facts.clear();
    let total = counts.values().fold(0_u64, |sum, n| sum.saturating_add(*n));
    frame.warnings = vec![omitted_warning(total.max(1))];
    if json_chars(&frame) > max {
        frame.provenance = None;
    }
    frame
}

/// Merges the counts of all kinds of masked values into one.
fn merge_masked_kinds(counts: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for (kind, n) in counts {
        let kind = if kind.starts_with("redacted_") { "redacted".to_owned() } else { kind };
        let count: &mut u64 = out.entry(kind).or_default();
        *count = count.saturating_add(n);
    }
    out
}

fn add_count(counts: &mut BTreeMap<String, u64>, kind: &str, by: usize) {
    if by > 0 {
        let count = counts.entry(kind.to_owned()).or_default();
        *count = count.saturating_add(by as u64);
    }
}

fn warnings(counts: &BTreeMap<String, u64>) -> Vec<Warning> {
    counts.iter().map(|(kind, count)| Warning { kind: kind.clone(), count: *count }).collect()
}

#[cfg(test)]
mod tests;
