//! A text that arrives as the cells of one field in consecutive rows. For each cell it reports
//! which parts belong to a value of the whole text.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::engine::ActiveRules;
use super::incremental_scanner::{IncrementalScanner, RedactionSink};
use super::{MASK, Redactor, ValueForm, fixpoint};

/// The longest value whose mask can be resolved, in bytes.
const MAX_RESOLVABLE_BYTES: usize = 4 * 1_024;
/// The longest row whose fields are scanned together, in bytes.
const MAX_JOINED_ROW_BYTES: usize = 16 * 1_024;

/// A range of a cell that is masked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MaskedPart {
    /// Where it is in the cell.
    range: Range<usize>,
    /// The rule number and the value, if it begins in this cell. A value that continues from the
    /// previous cell has its mask there.
    value: Option<(usize, String)>,
}

impl MaskedPart {
    /// A part with the value that begins in it, if any; an overlong value is not kept.
    fn new(range: Range<usize>, value: Option<&str>, rule: usize) -> Self {
        let short =
            |value: &str| if value.len() <= MAX_RESOLVABLE_BYTES { value } else { "" }.to_owned();
        Self { range, value: value.map(|value| (rule, short(value))) }
    }
}

/// The text that the cells of one field form when consecutive rows are joined.
///
/// Memory is bounded by the open tail ([`super::open_tail`]) and the cells that wait for it.
#[derive(Debug)]
pub(crate) struct JoinedText {
    redactor: Arc<Redactor>,
    scanner: IncrementalScanner,
    /// Input that is still needed.
    pending_text: String,
    pending_start: usize,
    cells: WaitingCells,
}

#[derive(Debug, Default)]
struct WaitingCells {
    /// The cells that wait, oldest first, with their ranges in the text.
    waiting: VecDeque<(Range<usize>, Vec<MaskedPart>)>,
    /// How much of the text is decided.
    decided_to: usize,
    /// The length of the text.
    length: usize,
}

impl JoinedText {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        let (scanner, cells) = (IncrementalScanner::default(), WaitingCells::default());
        Self { redactor, scanner, pending_text: String::new(), pending_start: 0, cells }
    }

    /// Adds a cell and decides what can be decided.
    pub(crate) fn push(&mut self, cell: &str) {
        let place = self.cells.length..self.cells.length + cell.len();
        self.cells.length = place.end;
        self.cells.waiting.push_back((place, Vec::new()));
        let Some(rules) = self.redactor.active_rules() else {
            // Without rules every text is masked as a whole anyway.
            self.cells.decided_to = self.cells.length;
            return;
        };
        self.pending_text.push_str(cell);
        let done = self
            .scanner
            .push_to_open_tail(rules, &self.pending_text, self.pending_start, &mut self.cells);
        self.pending_text.drain(..done);
        self.pending_start += done;
    }

    /// Decides everything: the text has ended, and another one begins.
    pub(crate) fn finish(&mut self) {
        if let Some(rules) = self.redactor.active_rules() {
            self.scanner.finish(rules, &self.pending_text, self.pending_start, &mut self.cells);
        }
        (self.scanner, self.pending_start) = (IncrementalScanner::default(), self.cells.length);
        self.scanner.begin_at(self.pending_start);
        self.pending_text.clear();
        self.cells.decided_to = self.cells.length;
    }

    /// True if the oldest waiting cell is decided.
    pub(crate) fn is_decided(&self) -> bool {
        self.cells.waiting.front().is_none_or(|(place, _)| place.end <= self.cells.decided_to)
    }

    /// True if cells are waiting.
    pub(crate) fn has_waiting_cells(&self) -> bool {
        !self.cells.waiting.is_empty()
    }

    /// Takes the oldest cell.
    pub(crate) fn pop_cell(&mut self) -> Vec<MaskedPart> {
        self.cells.waiting.pop_front().map(|(_, parts)| parts).unwrap_or_default()
    }
}

impl WaitingCells {
    /// Records a value, or the continuation of the last one, in every cell that it covers.
    fn mark_range(&mut self, at: Range<usize>, value: Option<(usize, &str)>) {
        let first = self.waiting.partition_point(|(place, _)| place.end <= at.start);
        for (place, parts) in self.waiting.iter_mut().skip(first) {
            if place.start >= at.end {
                break;
            }
            let begins = value.is_some() && at.start >= place.start;
            let range =
                at.start.max(place.start) - place.start..at.end.min(place.end) - place.start;
            let (rule, value) = value.unwrap_or_default();
            parts.push(MaskedPart::new(range, begins.then_some(value), rule));
        }
        self.decided_to = at.end;
    }
}

impl RedactionSink for WaitingCells {
    fn keep(&mut self, text: &str) {
        self.decided_to += text.len();
    }

    fn mask(&mut self, at: usize, value: &str, rule: usize) {
        self.mark_range(at..at + value.len(), Some((rule, value)));
    }

    fn extend_last_mask(&mut self, bytes: usize) {
        if bytes > 0 {
            self.mark_range(self.decided_to..self.decided_to + bytes, None);
        }
    }
}

impl Redactor {
    /// The masked parts of the fields of one row: values within a field, those known from joining
    /// rows (`joined`), and those that continue from one field to the next. `None` if redacting
    /// each field by itself already masks everything.
    ///
    /// Neither a value that lies within one field nor a number is joined with the neighbouring
    /// fields, because most rows have fields of digits side by side.
    pub(crate) fn masked_parts_of_row(
        &self,
        fields: &[&str],
        joined: Vec<Vec<MaskedPart>>,
    ) -> Option<Vec<Vec<MaskedPart>>> {
        let field_parts: Vec<Vec<MaskedPart>> =
            fields.iter().map(|text| self.parts_of_field(text)).collect();
        let mut all = field_parts.clone();
        let mut found = false;
        for ((parts, own), joined) in all.iter_mut().zip(&field_parts).zip(joined) {
            let more = joined.into_iter().filter(|part| !covers(own, &part.range));
            let before = parts.len();
            parts.extend(more);
            found |= parts.len() > before;
        }
        for (field, part) in self.parts_across_fields(fields, &all) {
            if let Some(parts) = all.get_mut(field) {
                parts.push(part);
                found = true;
            }
        }
        found.then_some(all)
    }

    /// Redacts a text that follows `before`. The rest of a value that began there gets a mask of
    /// its own. A word after an address that was whole is no rest of it: the text is another one.
    pub(crate) fn redact_continued(&self, before: &str, text: &str) -> String {
        let Some(rules) = self.active_rules() else { return MASK.to_owned() };
        let whole = [before, text].concat();
        let mut parts = self.parts_of_field(text);
        for found in fixpoint::find_values(rules, &whole, &[]) {
            if found.range.end <= before.len() {
                continue;
            }
            let rest = whole.get(before.len()..found.range.end).unwrap_or_default();
            if self.is_email(found.rule)
                && rest.bytes().all(|b| b.is_ascii_alphabetic())
                && self.ends_with_email(rules, before, found.range.start)
            {
                continue;
            }
            let start = found.range.start.saturating_sub(before.len());
            let range = start..found.range.end - before.len();
            if covers(&parts, &range) {
                continue;
            }
            let begins = found.range.start >= before.len();
            let value = text.get(range.clone()).filter(|_| begins).unwrap_or_default();
            parts.push(MaskedPart::new(range, Some(value), found.rule));
        }
        self.write_parts(text, parts, |_| {})
    }

    fn is_email(&self, rule: usize) -> bool {
        &**self.kind_of_rule(rule) == "email"
    }

    /// True if an address that begins there is whole at the end of the text.
    fn ends_with_email(&self, rules: ActiveRules<'_>, text: &str, start: usize) -> bool {
        let found = fixpoint::find_values(rules, text, &[]);
        let whole = start..text.len();
        found.iter().any(|found| found.range == whole && self.is_email(found.rule))
    }

    fn parts_of_field(&self, text: &str) -> Vec<MaskedPart> {
        if self.plain_words(text).is_some() {
            return Vec::new();
        }
        let found = self.detect_in_short_text(text).into_iter();
        let part = |range: Range<usize>, rule| {
            let value = text.get(range.clone()).unwrap_or_default();
            MaskedPart::new(range, Some(value), rule)
        };
        found.map(|found| part(found.range, found.rule)).collect()
    }

    /// Values that continue from one field of a row to the next.
    fn parts_across_fields(
        &self,
        fields: &[&str],
        known: &[Vec<MaskedPart>],
    ) -> Vec<(usize, MaskedPart)> {
        let length: usize = fields.iter().map(|text| text.len()).sum();
        let (Some(rules), 2.., ..=MAX_JOINED_ROW_BYTES) =
            (self.active_rules(), fields.len(), length)
        else {
            return Vec::new();
        };
        let text = fields.concat();
        let mut starts = Vec::with_capacity(fields.len());
        let mut masked = Vec::new();
        let mut at = 0;
        for (field, parts) in fields.iter().zip(known) {
            starts.push(at);
            masked.extend(parts.iter().map(|part| at + part.range.start..at + part.range.end));
            at += field.len();
        }
        masked.sort_by_key(|range| range.start);
        let mut parts = Vec::new();
        for found in fixpoint::find_values(rules, &text, &masked) {
            let value = text.get(found.range.clone()).unwrap_or_default();
            let crosses = starts.iter().any(|at| found.range.start < *at && *at < found.range.end);
            if !crosses || !value.bytes().any(|b| b.is_ascii_alphabetic() || b == b'@') {
                continue;
            }
            for (number, (start, field)) in starts.iter().zip(fields).enumerate() {
                let (from, to) = (found.range.start.max(*start), found.range.end);
                let to = to.min(start + field.len());
                if from < to {
                    let begins = found.range.start >= *start;
                    let part = MaskedPart::new(
                        from - start..to - start,
                        begins.then_some(value),
                        found.rule,
                    );
                    parts.push((number, part));
                }
            }
        }
        parts
    }

    /// A field with these parts masked. The rest of a value from the previous field is removed,
    /// since its mask is there.
    pub(crate) fn write_parts(
        &self,
        text: &str,
        mut parts: Vec<MaskedPart>,
        mut count: impl FnMut(&str),
    ) -> String {
        parts.sort_by(|a, b| a.range.start.cmp(&b.range.start).then(b.range.end.cmp(&a.range.end)));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for part in parts {
            if part.range.start >= at {
                out.push_str(text.get(at..part.range.start).unwrap_or_default());
                if let Some((rule, value)) = &part.value {
                    count(self.kind_of_rule(*rule));
                    let whole = Some(value).filter(|value| !value.is_empty());
                    let mask = whole.and_then(|value| self.mask_for(*rule, ValueForm::Text, value));
                    out.push_str(mask.as_deref().unwrap_or(MASK));
                }
            }
            at = at.max(part.range.end);
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

fn covers(parts: &[MaskedPart], range: &Range<usize>) -> bool {
    parts.iter().any(|part| part.range.start <= range.start && range.end <= part.range.end)
}

#[cfg(test)]
mod tests;
