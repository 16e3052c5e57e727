use proptest::prelude::*;

use super::*;
use crate::redact::MaskTable;

fn cells(lengths: &[usize]) -> WaitingCells {
    let mut cells = WaitingCells::default();
    for length in lengths {
        let place = cells.length..cells.length + length;
        cells.length = place.end;
        cells.waiting.push_back((place, Vec::new()));
    }
    cells
}

/// The parts of each cell: where they are, and the value that begins there.
fn parts(cells: &WaitingCells) -> Vec<Vec<(Range<usize>, Option<&'static str>)>> {
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
        cells.mark_range(at.clone(), Some((7, "a value")));
        assert_eq!((parts(&cells), cells.decided_to), (marked.to_vec(), at.end), "{at:?}");
    }
    // What goes on has no value of its own anywhere.
    let mut cells = cells(&[3, 5]);
    cells.decided_to = 1;
    cells.extend_last_mask(0);
    assert_eq!((parts(&cells), cells.decided_to), (vec![vec![], vec![]], 1));
    cells.extend_last_mask(4);
    assert_eq!(parts(&cells), [[(1..3, None)], [(0..2, None)]]);
    cells.keep("ab");
    assert_eq!(cells.decided_to, 7);
}

#[test]
fn a_value_that_is_too_long_is_masked_and_not_kept() {
    for (length, kept) in
        [(MAX_RESOLVABLE_BYTES, MAX_RESOLVABLE_BYTES), (MAX_RESOLVABLE_BYTES + 1, 0)]
    {
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
    assert!(!text.has_waiting_cells() && text.is_decided());
    text.push("mail jane.roe@co");
    assert!(text.has_waiting_cells() && !text.is_decided());
    text.push("rp.net and so on");
    text.finish();
    let range = |parts: Vec<MaskedPart>| -> Vec<Range<usize>> {
        parts.into_iter().map(|part| part.range).collect()
    };
    let (front, back) = (5..16, 0..6);
    assert_eq!(range(text.pop_cell()), [front]);
    assert!(text.has_waiting_cells() && text.is_decided());
    assert_eq!(range(text.pop_cell()), [back]);
    assert!(!text.has_waiting_cells() && text.pop_cell().is_empty());
    // Another text begins: what stood before it makes no value of it.
    text.push("corp.net");
    text.finish();
    assert!(text.is_decided() && text.pop_cell().is_empty());
}

#[test]
fn a_value_is_read_on_over_the_fields_of_one_row() {
    let redactor = Redactor::builtin();
    let ranges = |fields: &[&str]| -> Option<Vec<Vec<Range<usize>>>> {
        let joined = vec![Vec::new(); fields.len()];
        let parts = redactor.masked_parts_of_row(fields, joined)?;
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
    let (most, more) = (filled(MAX_JOINED_ROW_BYTES - 8), filled(MAX_JOINED_ROW_BYTES - 7));
    assert!(ranges(&[most.as_str(), "corp.com"]).is_some());
    assert_eq!(ranges(&[more.as_str(), "corp.com"]), None);
}

/// The parts of each field of a row, and whether a value begins in them; `None` if no field is
/// masked because of another.
fn parts_of_row(fields: &[&str], joined: Vec<Vec<MaskedPart>>) -> Option<Vec<Vec<Shown>>> {
    let parts = Redactor::builtin().masked_parts_of_row(fields, joined)?;
    Some(parts.into_iter().map(|parts| parts.iter().map(Shown::of).collect()).collect())
}

/// A part as a test writes it.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    range: Range<usize>,
    value: Option<String>,
}

impl Shown {
    fn of(part: &MaskedPart) -> Self {
        let value = part.value.as_ref().map(|(_, value)| value.clone());
        Self { range: part.range.clone(), value }
    }

    fn new(range: Range<usize>, value: Option<&str>) -> Self {
        Self { range, value: value.map(str::to_owned) }
    }
}

#[test]
fn a_value_over_three_fields_has_its_mask_in_the_first() {
    let mail = Some("bob@corp.com");
    let rest = |range| vec![Shown::new(range, None)];
    for (fields, parts) in [
        (
            vec!["mail bo", "b@co", "rp.com x"],
            vec![vec![Shown::new(5..7, mail)], rest(0..4), rest(0..6)],
        ),
        (
            vec!["x ", "bob@", "", "corp.com"],
            vec![vec![], vec![Shown::new(0..4, mail)], vec![], rest(0..8)],
        ),
        (
            vec!["ann@corp.net; bob@", "corp.com", " y"],
            vec![
                vec![Shown::new(0..12, Some("ann@corp.net")), Shown::new(14..18, mail)],
                rest(0..8),
                vec![],
            ],
        ),
        (
            vec!["word ", "ann@corp.net; bob@", "corp.com"],
            vec![
                vec![],
                vec![Shown::new(0..12, Some("ann@corp.net")), Shown::new(14..18, mail)],
                rest(0..8),
            ],
        ),
        (
            vec!["mail bob@", "corp.com ann@corp.net"],
            vec![
                vec![Shown::new(5..9, mail)],
                vec![Shown::new(9..21, Some("ann@corp.net")), Shown::new(0..8, None)],
            ],
        ),
    ] {
        let none = vec![Vec::new(); fields.len()];
        assert_eq!(parts_of_row(&fields, none), Some(parts), "{fields:?}");
    }
}

#[test]
fn a_value_that_fills_its_field_is_not_read_on() {
    // The name in the field before it would make it one.
    for fields in [["password: ", "hunter2", " end"], ["x ", "password: ", "hunter2"]] {
        assert_eq!(parts_of_row(&fields, vec![Vec::new(); 3]), None, "{fields:?}");
    }
}

#[test]
fn what_joined_rows_know_of_a_field_is_masked_unless_it_is_anyway() {
    let fields = ["hunter2 bob@corp.com", "x"];
    let known = |range: Range<usize>| vec![vec![MaskedPart::new(range, None, 0)], vec![]];
    let own = Shown::new(8..20, Some("bob@corp.com"));
    for (range, is_new) in [(0..7, true), (7..20, true), (8..20, false), (9..12, false)] {
        let parts = parts_of_row(&fields, known(range.clone()));
        let wanted = vec![vec![own.clone(), Shown::new(range.clone(), None)], vec![]];
        assert_eq!(parts, is_new.then_some(wanted), "{range:?}");
    }
}

#[test]
fn a_text_that_goes_on_is_masked_as_the_text_before_it_says() {
    let masks = Redactor::builtin().with_masks(Arc::new(MaskTable::new()), None);
    for (before, text, plain, numbered) in [
        ("", "plain", "plain", "plain"),
        ("mail bob@", "corp.com done", "[REDACTED] done", "[REDACTED] done"),
        ("mail bob@corp.com", " done", " done", " done"),
        ("x ", "mail bob@corp.com", "mail [REDACTED]", "mail [EMAIL_1]"),
        ("password: ", "hunter2 ok", "[REDACTED] ok", "[PASSWORD_1] ok"),
        ("password: \"a ", "b\" bob@corp.com", "[REDACTED]\" [REDACTED]", "[REDACTED]\" [EMAIL_1]"),
    ] {
        assert_eq!(Redactor::builtin().redact_continued(before, text), plain, "{before}|{text}");
        assert_eq!(masks.redact_continued(before, text), numbered, "{before}|{text}");
    }
}

/// Cells whose texts, one after the other, hold values.
fn cells_of_text() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        Just("jane.roe@corp.example.com"),
        Just("password=hunter2!"),
        Just("4539 1488 0343 6467"),
        Just("plain words which hold no value and only fill a line of the text"),
        Just("gr\u{f6}\u{df}e"),
    ];
    let words = prop::collection::vec(word, 0..100);
    (words, prop::collection::vec(prop_oneof![0_usize..40, 100_usize..900], 1..12)).prop_map(
        |(words, cuts)| {
            let (text, mut cells) = (words.join(" and then "), Vec::new());
            let mut rest = text.as_str();
            for cut in cuts.iter().chain([&1]).cycle() {
                if rest.is_empty() {
                    break;
                }
                let (cell, after) = rest.split_at(rest.ceil_char_boundary((*cut).min(rest.len())));
                cells.push(cell.to_owned());
                rest = after;
            }
            cells
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_parts_of_all_cells_are_the_values_of_the_text_that_they_form(cells in cells_of_text()) {
        let redactor = Redactor::builtin();
        let text = cells.concat();
        let found = fixpoint::find_values(redactor.active_rules().unwrap(), &text, &[]);
        let mut joined = JoinedText::new(Arc::new(redactor));
        let mut parts = Vec::new();
        for cell in &cells {
            joined.push(cell);
            while joined.has_waiting_cells() && joined.is_decided() {
                parts.push(joined.pop_cell());
            }
        }
        joined.finish();
        while joined.has_waiting_cells() {
            prop_assert!(joined.is_decided());
            parts.push(joined.pop_cell());
        }
        prop_assert_eq!(parts.len(), cells.len());
        let mut at = 0;
        for (cell, parts) in cells.iter().zip(&parts) {
            let here = at..at + cell.len();
            let of_cell = found.iter().filter_map(|found| {
                let (start, end) = (found.range.start.max(at), found.range.end.min(here.end));
                let value = text.get(found.range.clone()).filter(|_| found.range.start >= at);
                (start < end).then(|| Shown::new(start - at..end - at, value))
            });
            let wanted: Vec<Shown> = of_cell.collect();
            let shown: Vec<Shown> = parts.iter().map(Shown::of).collect();
            // A value that was still growing when its first cell was read is told in two parts.
            prop_assert_eq!(covered(&shown), covered(&wanted), "{:?} in {:?}", cell, text);
            let begins = |parts: &[Shown]| parts.iter().filter(|part| part.value.is_some()).count();
            prop_assert_eq!(begins(&shown), begins(&wanted));
            at = here.end;
        }
    }
}

/// The places that parts cover.
fn covered(parts: &[Shown]) -> Vec<usize> {
    let mut places: Vec<usize> = parts.iter().flat_map(|part| part.range.clone()).collect();
    places.sort_unstable();
    places
}
