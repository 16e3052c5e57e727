//! One text that comes as the cells of neighbouring rows: each cell is told what of it belongs to a
//! value of the text as a whole.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::incremental_scanner::{IncrementalScanner, Sink};
use super::{Form, MASK, Redactor, fixpoint};

/// The longest value that gets a mask which leads back to it, in bytes.
const MAX_VALUE: usize = 4 * 1_024;
/// The longest row whose fields are looked at together, in bytes.
const MAX_ROW: usize = 16 * 1_024;

/// A stretch of a cell that is masked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MaskedPart {
    /// Where it stands in the cell.
    range: Range<usize>,
    /// The value and the number of its rule, where it begins in this cell; what goes on from the
    /// cell before has its mask there.
    value: Option<(usize, String)>,
}

impl MaskedPart {
    /// A part with the value that begins in it, if one does; one that is too long is not kept.
    fn new(range: Range<usize>, value: Option<&str>, rule: usize) -> Self {
        let short = |value: &str| if value.len() <= MAX_VALUE { value } else { "" }.to_owned();
        Self { range, value: value.map(|value| (rule, short(value))) }
    }
}

/// The text that one field of neighbouring rows makes when its cells are read on.
///
/// Memory is bounded by the open tail ([`super::open_tail`]) and by the cells that wait for it.
#[derive(Debug)]
pub(crate) struct JoinedText {
    redactor: Arc<Redactor>,
    machine: IncrementalScanner,
    /// Input that is still needed, and the place of its first byte.
    held: String,
    origin: usize,
    cells: Cells,
}

#[derive(Debug, Default)]
struct Cells {
    /// The cells that wait, the oldest first, by their places in the text.
    waiting: VecDeque<(Range<usize>, Vec<MaskedPart>)>,
    /// How much of the text is decided.
    decided: usize,
    /// How long it is.
    length: usize,
}

impl JoinedText {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        let (machine, cells) = (IncrementalScanner::default(), Cells::default());
        Self { redactor, machine, held: String::new(), origin: 0, cells }
    }

    /// Adds a cell, and decides what can be decided.
    pub(crate) fn push(&mut self, cell: &str) {
        let place = self.cells.length..self.cells.length + cell.len();
        self.cells.length = place.end;
        self.cells.waiting.push_back((place, Vec::new()));
        let Some(rules) = self.redactor.active() else {
            // Without rules every text is masked as a whole, wherever it stands.
            self.cells.decided = self.cells.length;
            return;
        };
        self.held.push_str(cell);
        let done = self.machine.push_to_open_tail(rules, &self.held, self.origin, &mut self.cells);
        self.held.drain(..done);
        self.origin += done;
    }

    /// Decides about all of it: the text is over, and another one begins.
    pub(crate) fn finish(&mut self) {
        if let Some(rules) = self.redactor.active() {
            self.machine.finish(rules, &self.held, self.origin, &mut self.cells);
        }
        (self.machine, self.origin) = (IncrementalScanner::default(), self.cells.length);
        self.machine.begin_at(self.origin);
        self.held.clear();
        self.cells.decided = self.cells.length;
    }

    /// Whether the oldest cell that waits is decided.
    pub(crate) fn is_decided(&self) -> bool {
        self.cells.waiting.front().is_none_or(|(place, _)| place.end <= self.cells.decided)
    }

    /// Whether cells wait to be taken.
    pub(crate) fn waits(&self) -> bool {
        !self.cells.waiting.is_empty()
    }

    /// Takes the oldest cell.
    pub(crate) fn pop(&mut self) -> Vec<MaskedPart> {
        self.cells.waiting.pop_front().map(|(_, parts)| parts).unwrap_or_default()
    }
}

impl Cells {
    /// Notes a value, or more of the last one, in every cell in which it stands.
    fn mark(&mut self, at: Range<usize>, value: Option<(usize, &str)>) {
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
        self.decided = at.end;
    }
}

impl Sink for Cells {
    fn keep(&mut self, text: &str) {
        self.decided += text.len();
    }

    fn mask(&mut self, at: usize, value: &str, rule: usize) {
        self.mark(at..at + value.len(), Some((rule, value)));
    }

    fn more(&mut self, bytes: usize) {
        if bytes > 0 {
            self.mark(self.decided..self.decided + bytes, None);
        }
    }
}

impl Redactor {
    /// What is masked in the fields of one row, of which `joined` is known from the rows around it:
    /// values that a field holds by itself, and those that go on from one field to the next. Nothing
    /// where each field by itself masks all of it.
    ///
    /// A value that stands whole in one field is not read on into its neighbours, and neither is a
    /// number: fields of digits stand side by side in most rows.
    pub(crate) fn row_parts(
        &self,
        fields: &[&str],
        joined: Vec<Vec<MaskedPart>>,
    ) -> Option<Vec<Vec<MaskedPart>>> {
        let own: Vec<Vec<MaskedPart>> = fields.iter().map(|text| self.own_parts(text)).collect();
        let mut all = own.clone();
        let mut found = false;
        for ((parts, own), joined) in all.iter_mut().zip(&own).zip(joined) {
            let more = joined.into_iter().filter(|part| !covers(own, &part.range));
            let before = parts.len();
            parts.extend(more);
            found |= parts.len() > before;
        }
        for (field, part) in self.across(fields, &all) {
            if let Some(parts) = all.get_mut(field) {
                parts.push(part);
                found = true;
            }
        }
        found.then_some(all)
    }

    /// A text masked with what stands before it. What goes on from there has a mask of its own here.
    pub(crate) fn continued(&self, before: &str, text: &str) -> String {
        let Some(rules) = self.active() else { return MASK.to_owned() };
        let whole = [before, text].concat();
        let mut parts = self.own_parts(text);
        for found in fixpoint::find_values(rules, &whole, &[]) {
            if found.range.end <= before.len() {
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

    fn own_parts(&self, text: &str) -> Vec<MaskedPart> {
        if self.plain_words(text).is_some() {
            return Vec::new();
        }
        let found = self.spans_by_rule(text).into_iter();
        let part = |range: Range<usize>, rule| {
            let value = text.get(range.clone()).unwrap_or_default();
            MaskedPart::new(range, Some(value), rule)
        };
        found.map(|found| part(found.range, found.rule)).collect()
    }

    /// Values that go on from one field of a row to the next.
    fn across(&self, fields: &[&str], known: &[Vec<MaskedPart>]) -> Vec<(usize, MaskedPart)> {
        let length: usize = fields.iter().map(|text| text.len()).sum();
        let (Some(rules), 2.., ..=MAX_ROW) = (self.active(), fields.len(), length) else {
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

    /// A field with these parts masked. A value that goes on from the field before leaves nothing
    /// here, since its mask stands there.
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
                    count(self.kind(*rule));
                    let whole = Some(value).filter(|value| !value.is_empty());
                    let mask = whole.and_then(|value| self.mask(*rule, Form::Text, value));
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
mod tests {
    use super::*;

    fn cells(lengths: &[usize]) -> Cells {
        let mut cells = Cells::default();
        for length in lengths {
            let place = cells.length..cells.length + length;
            cells.length = place.end;
            cells.waiting.push_back((place, Vec::new()));
        }
        cells
    }

    /// The parts of each cell: where they are, and the value that begins there.
    fn parts(cells: &Cells) -> Vec<Vec<(Range<usize>, Option<&'static str>)>> {
        let of_cell = |parts: &Vec<MaskedPart>| {
            let shown =
                |part: &MaskedPart| (part.range.clone(), part.value.is_some().then_some("value"));
            parts.iter().map(shown).collect()
        };
        cells.waiting.iter().map(|(_, parts)| of_cell(parts)).collect()
    }

    #[test]
    fn a_value_over_several_cells_begins_in_the_first_and_goes_on_in_the_others() {
        let value = Some("value");
        let (whole, last) = (0..5, 0..1);
        for (at, marked) in [
            (2..9, [vec![(2..3, value)], vec![(whole.clone(), None)], vec![(last, None)]]),
            (3..5, [vec![], vec![(0..2, value)], vec![]]),
            (0..3, [vec![(0..3, value)], vec![], vec![]]),
            (4..8, [vec![], vec![(1..5, value)], vec![]]),
            (8..10, [vec![], vec![], vec![(0..2, value)]]),
        ] {
            let mut cells = cells(&[3, 5, 2]);
            cells.mark(at.clone(), Some((7, "a value")));
            assert_eq!((parts(&cells), cells.decided), (marked.to_vec(), at.end), "{at:?}");
        }
        // What goes on has no value of its own anywhere.
        let mut cells = cells(&[3, 5]);
        cells.decided = 1;
        cells.more(0);
        assert_eq!((parts(&cells), cells.decided), (vec![vec![], vec![]], 1));
        cells.more(4);
        assert_eq!(parts(&cells), [[(1..3, None)], [(0..2, None)]]);
        cells.keep("ab");
        assert_eq!(cells.decided, 7);
    }

    #[test]
    fn a_value_that_is_too_long_is_masked_and_not_kept() {
        for (length, kept) in [(MAX_VALUE, MAX_VALUE), (MAX_VALUE + 1, 0)] {
            let part = MaskedPart::new(0..1, Some(&"x".repeat(length)), 0);
            assert_eq!(part.value.map(|(_, value)| value.len()), Some(kept));
        }
    }

    #[test]
    fn a_part_is_covered_by_one_that_reaches_as_far() {
        let parts = [MaskedPart::new(2..6, None, 0)];
        for (range, is_covered) in
            [(2..6, true), (3..5, true), (2..5, true), (1..6, false), (2..7, false), (7..8, false)]
        {
            assert_eq!(covers(&parts, &range), is_covered, "{range:?}");
        }
    }

    #[test]
    fn parts_are_written_in_order_and_what_overlaps_once() {
        let redactor = Redactor::builtin();
        let new = |range, begins: bool| MaskedPart::new(range, begins.then_some("v"), 0);
        for (parts, written, values) in [
            (vec![], "0123456789", 0),
            (vec![new(2..4, true)], "01[REDACTED]456789", 1),
            (vec![new(6..8, true), new(0..2, false)], "2345[REDACTED]89", 1),
            (vec![new(2..4, true), new(4..6, true)], "01[REDACTED][REDACTED]6789", 2),
            (vec![new(2..6, true), new(3..5, true)], "01[REDACTED]6789", 1),
            (vec![new(2..4, true), new(2..8, true)], "01[REDACTED]89", 1),
            (vec![new(2..5, true), new(4..8, true)], "01[REDACTED]89", 1),
            (vec![new(8..10, false)], "01234567", 0),
        ] {
            let mut counted = 0;
            let out = redactor.write_parts("0123456789", parts, |_| counted += 1);
            assert_eq!((out.as_str(), counted), (written, values));
        }
    }

    #[test]
    fn cells_are_taken_in_their_order_once_they_are_decided() {
        let mut text = JoinedText::new(Arc::new(Redactor::builtin()));
        assert!(!text.waits() && text.is_decided());
        text.push("mail jane.roe@co");
        assert!(text.waits() && !text.is_decided());
        text.push("rp.net and so on");
        text.finish();
        let range = |parts: Vec<MaskedPart>| -> Vec<Range<usize>> {
            parts.into_iter().map(|part| part.range).collect()
        };
        let (front, back) = (5..16, 0..6);
        assert_eq!(range(text.pop()), [front]);
        assert!(text.waits() && text.is_decided());
        assert_eq!(range(text.pop()), [back]);
        assert!(!text.waits() && text.pop().is_empty());
        // Another text begins: what stood before it makes no value of it.
        text.push("corp.net");
        text.finish();
        assert!(text.is_decided() && text.pop().is_empty());
    }

    #[test]
    fn a_value_is_read_on_over_the_fields_of_one_row() {
        let redactor = Redactor::builtin();
        let ranges = |fields: &[&str]| -> Option<Vec<Vec<Range<usize>>>> {
            let joined = vec![Vec::new(); fields.len()];
            let parts = redactor.row_parts(fields, joined)?;
            let of_field = |parts: Vec<MaskedPart>| parts.into_iter().map(|part| part.range);
            Some(parts.into_iter().map(|parts| of_field(parts).collect()).collect())
        };
        let (front, back) = (5..9, 0..8);
        assert_eq!(
            ranges(&["mail bob@", "corp.com done", "x"]),
            Some(vec![vec![front], vec![back], vec![]])
        );
        // One field, a value in one of them alone, digits side by side, and a row that is too long.
        assert_eq!(ranges(&["mail bob@"]), None);
        assert_eq!(ranges(&["mail", "bob@corp.com"]), None);
        assert_eq!(ranges(&["4539 1488", "0343 6467"]), None);
        let filled = |length: usize| format!("{}mail bob@", " ".repeat(length - 9));
        let (most, more) = (filled(MAX_ROW - 8), filled(MAX_ROW - 7));
        assert!(ranges(&[most.as_str(), "corp.com"]).is_some());
        assert_eq!(ranges(&[more.as_str(), "corp.com"]), None);
    }
}
