//! Fitting a frame into its budget of characters.
//!
//! Each row and each fact is measured once; what does not fit is left out from the end: whole
//! rows, then fields of the first row, then facts. The result is measured once more, and if an
//! estimate was wrong, the content goes.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;
use serde_json::{Map, Value};
use weaver_types::{Frame, ResponseMode, Status, Warning};

use super::size::{self, EscapeEstimate};
use crate::spec::FrameSpec;
use crate::summary::{Facts, omission};

/// Room for one more warning, in characters.
const WARNING: usize = 64;
/// `"table":[],` and `"facts":[],`.
const LIST: usize = 11;

/// A frame before it is fitted.
pub(crate) struct Draft {
    /// Everything but facts, rows and warnings.
    pub(crate) frame: Frame,
    pub(crate) facts: Facts,
    pub(crate) rows: Vec<Map<String, Value>>,
    pub(crate) counts: BTreeMap<String, u64>,
}

impl Draft {
    pub(crate) fn of(frame: Frame) -> Self {
        Self { frame, facts: Facts::default(), rows: Vec::new(), counts: BTreeMap::new() }
    }
}

/// A frame with ids, handle, label and time only.
pub(crate) fn shell(spec: &FrameSpec<'_>) -> Frame {
    Frame {
        call_id: spec.call.clone(),
        capability_id: spec.capability.id().clone(),
        mode: ResponseMode::HandleOnly,
        status: Status::Success,
        content: Vec::new(),
        structured: None,
        notes: Vec::new(),
        next: None,
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
pub(crate) fn floor(spec: &FrameSpec<'_>) -> usize {
    let mut frame = shell(spec);
    frame.warnings = vec![omitted(u64::MAX)];
    chars(&frame)
}

fn omitted(count: u64) -> Warning {
    Warning { kind: "content_omitted".to_owned(), count }
}

/// The frame within `max` characters, or the smallest there is.
pub(crate) fn fit(mut draft: Draft, max: usize) -> Frame {
    draft.frame.warnings = warnings(&draft.counts);
    if ![EscapeEstimate::WorstCase, EscapeEstimate::SingleScan]
        .into_iter()
        .any(|look| surely_fits(&draft, max, look))
    {
        return fit_closely(draft, max);
    }
    let Draft { frame, facts, rows, .. } = draft;
    Frame { table: rows, facts: facts.shown, ..frame }
}

/// Whether all of it fits by a generous estimate. Most frames are small, and are not measured.
fn surely_fits(draft: &Draft, max: usize, look: EscapeEstimate) -> bool {
    let Draft { frame, facts, rows, .. } = draft;
    let listed: usize = facts.shown.iter().map(|fact| size::text_at_most(fact, look) + 1).sum();
    let rows: usize = rows.iter().map(|row| size::object_at_most(row, look) + 1).sum();
    facts.more == 0
        && size::warnings_at_most(&frame.warnings, look) <= max / 4
        && size::frame_at_most(frame, look) + listed + rows + 2 * LIST <= max
}

/// What fits, measured exactly.
fn fit_closely(draft: Draft, max: usize) -> Frame {
    let Draft { mut frame, facts, rows, mut counts } = draft;
    if chars(&frame.warnings) > max / 4 {
        counts = merged(counts);
        frame.warnings = warnings(&counts);
    }
    let left = max.saturating_sub(chars(&frame));
    let (rows, used) = fit_rows(rows, left, &mut counts);
    let facts = fit_facts(facts, left.saturating_sub(used), &mut counts);
    frame.table = rows;
    frame.facts = facts;
    frame.warnings = warnings(&counts);
    if chars(&frame) <= max { frame } else { smallest(frame, &counts, max) }
}

/// Rows that fit, and the characters they take.
fn fit_rows(
    rows: Vec<Map<String, Value>>,
    left: usize,
    counts: &mut BTreeMap<String, u64>,
) -> (Vec<Map<String, Value>>, usize) {
    let total = rows.len();
    let sizes: Vec<usize> = rows.iter().map(|row| size::object_chars(row) + 1).collect();
    if total == 0 || sizes.iter().sum::<usize>() + LIST <= left {
        return (rows, if total == 0 { 0 } else { sizes.iter().sum::<usize>() + LIST });
    }
    let left = left.saturating_sub(LIST + 2 * WARNING);
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
            add(counts, "fields_omitted", gone);
            used = size;
            rows.push(row);
        }
    }
    add(counts, "rows_omitted", total - rows.len());
    (rows, used + LIST + 2 * WARNING)
}

/// The fields of a row that fit, how many do not, and the size.
fn fit_fields(row: Map<String, Value>, left: usize) -> (Map<String, Value>, usize, usize) {
    let total = row.len();
    let mut kept = Map::new();
    let mut used = 3;
    for (key, value) in row {
        let size = size::text_chars(&key) + size::value_chars(&value) + 2;
        if used + size <= left {
            used += size;
            kept.insert(key, value);
        }
    }
    let gone = total - kept.len();
    (kept, gone, used)
}

/// Facts that fit; where there are more, the last says how many.
fn fit_facts(facts: Facts, left: usize, counts: &mut BTreeMap<String, u64>) -> Vec<String> {
    let Facts { shown: mut facts, more } = facts;
    let total = facts.len() + more;
    let sizes: Vec<usize> = facts.iter().map(|fact| size::text_chars(fact) + 1).collect();
    if more == 0 && sizes.iter().sum::<usize>() + LIST <= left {
        return facts;
    }
    let marker = size::text_chars(&omission(total)) + 1;
    let Some(left) = left.checked_sub(LIST + WARNING + marker) else {
        add(counts, "facts_omitted", total);
        return Vec::new();
    };
    let mut used = 0;
    let fitting = sizes.iter().take_while(|size| {
        used += **size;
        used <= left
    });
    let keep = fitting.count();
    facts.truncate(keep);
    add(counts, "facts_omitted", total - keep);
    facts.push(omission(total - keep));
    facts
}

/// The frame with less and less in it, until it fits or nothing is left to take.
fn smallest(mut frame: Frame, counts: &BTreeMap<String, u64>, max: usize) -> Frame {
    frame.table.clear();
    frame.facts.clear();
    let total = counts.values().fold(0_u64, |sum, n| sum.saturating_add(*n));
    frame.warnings = vec![omitted(total.max(1))];
    if chars(&frame) > max {
        frame.provenance = None;
    }
    frame
}

/// All kinds of masked values as one.
fn merged(counts: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for (kind, n) in counts {
        let kind = if kind.starts_with("redacted_") { "redacted".to_owned() } else { kind };
        let count: &mut u64 = out.entry(kind).or_default();
        *count = count.saturating_add(n);
    }
    out
}

fn add(counts: &mut BTreeMap<String, u64>, kind: &str, by: usize) {
    if by > 0 {
        let count = counts.entry(kind.to_owned()).or_default();
        *count = count.saturating_add(by as u64);
    }
}

fn warnings(counts: &BTreeMap<String, u64>) -> Vec<Warning> {
    counts.iter().map(|(kind, count)| Warning { kind: kind.clone(), count: *count }).collect()
}

/// The characters of the JSON form, counted without keeping it.
fn chars(value: &impl Serialize) -> usize {
    let mut counter = Counter(0);
    // What cannot be written is larger than any budget.
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX / 4, |()| counter.0)
}

/// The bytes of the JSON form, never fewer than its characters.
pub(crate) fn json_len(value: &impl Serialize) -> usize {
    let mut counter = Bytes(0);
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX / 4, |()| counter.0)
}

struct Bytes(usize);

impl io::Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.iter().filter(|b| **b & 0xc0 != 0x80).count();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
