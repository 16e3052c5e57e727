use super::*;

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
