//! Rows of a stream, held back until nothing that follows can make a value of what they show.
//!
//! A tool may cut a text anywhere and send its pieces as the same field of one row after the other.
//! So the cells of each field are read as the one text that they make ([`JoinedText`]), and a row
//! is given on once every cell of it is decided. Within one row the fields are read on in the order
//! of their names.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::redact::field::Names;
use crate::redact::value::FieldName;
use crate::redact::{Counts, JoinedText, MaskedPart, Redactor, count};

/// The strings of a row that are read on, with their paths.
type Strings<'v> = Vec<(String, &'v str)>;

/// The most fields that are read on from row to row. Of a row with more, the rest is redacted by
/// itself, and that is counted.
pub(super) const MAX_FIELDS: usize = 64;
/// The deepest field that is.
const MAX_DEPTH: usize = 8;
/// So many rows without a field end its text: what comes later is another one.
const MAX_GAP: u64 = 8;

/// A row that nothing can change any more.
#[derive(Debug)]
pub(super) enum SettledRow {
    /// As it came. Whoever shows it redacts it.
    Raw(Value),
    /// With masks of values that go beyond one cell. It went through the redactor once.
    Masked(Value),
}

/// Rows that wait for what follows.
///
/// At most 1 KiB of each field is held back, and of a field that rows leave out for a while nothing,
/// so that the number of rows that wait is bounded.
#[derive(Debug)]
pub(super) struct RowWindow {
    redactor: Arc<Redactor>,
    names: Names,
    /// By their paths in a row.
    fields: BTreeMap<String, JoinedField>,
    waiting: VecDeque<WaitingRow>,
    /// How many of them are to be shown.
    to_show: usize,
    /// How many rows came.
    rows: u64,
    /// How many strings were not read on with those of the rows around them.
    unjoined: u64,
    counts: Counts,
}

#[derive(Debug)]
struct JoinedField {
    text: JoinedText,
    /// The number of the last row that had it.
    last: u64,
}

#[derive(Debug)]
struct WaitingRow {
    /// None for a row of which only the texts matter: there is no room to show it.
    row: Option<Value>,
    /// Its cells, by their paths.
    cells: Vec<String>,
}

impl RowWindow {
    pub(super) fn new(redactor: Arc<Redactor>, names: Names) -> Self {
        Self {
            redactor,
            names,
            fields: BTreeMap::new(),
            waiting: VecDeque::new(),
            to_show: 0,
            rows: 0,
            unjoined: 0,
            counts: Counts::new(),
        }
    }

    /// How many rows wait that are to be shown.
    pub(super) fn to_show(&self) -> usize {
        self.to_show
    }

    /// How many values of each kind were masked in rows that were masked here.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How many strings were redacted without those of the rows around them.
    pub(super) fn unjoined(&self) -> u64 {
        self.unjoined
    }

    /// Takes a row; gives those that are settled by now.
    pub(super) fn push(&mut self, row: Value) -> Vec<SettledRow> {
        let cells = self.add(&row);
        self.to_show += 1;
        self.waiting.push_back(WaitingRow { row: Some(row), cells });
        self.settled()
    }

    /// Takes a row that will not be shown, but may go on with what one before it began.
    pub(super) fn push_unseen(&mut self, row: &Value) -> Vec<SettledRow> {
        if self.to_show == 0 {
            return Vec::new();
        }
        let cells = self.add(row);
        self.waiting.push_back(WaitingRow { row: None, cells });
        self.settled()
    }

    /// Gives the rest: no row follows on these.
    pub(super) fn finish(&mut self) -> Vec<SettledRow> {
        self.fields.values_mut().for_each(|field| field.text.finish());
        let rows = self.settled();
        self.fields.clear();
        self.waiting.clear();
        rows
    }

    /// Adds the cells of a row to the texts of their fields; gives their paths.
    fn add(&mut self, row: &Value) -> Vec<String> {
        self.rows = self.rows.saturating_add(1);
        let mut strings = Vec::new();
        Collector { names: &mut self.names, path: String::new() }
            .collect(row, None, 0, &mut strings);
        let mut cells = Vec::new();
        for (path, text) in strings {
            let is_new = !self.fields.contains_key(&path);
            if cells.len() >= MAX_FIELDS || is_new && self.fields.len() >= MAX_FIELDS {
                self.unjoined = self.unjoined.saturating_add(1);
                continue;
            }
            let field = self.fields.entry(path.clone()).or_insert_with(|| JoinedField {
                text: JoinedText::new(Arc::clone(&self.redactor)),
                last: self.rows,
            });
            field.last = self.rows;
            field.text.push(text);
            cells.push(path);
        }
        let rows = self.rows;
        for field in self.fields.values_mut().filter(|field| rows - field.last == MAX_GAP) {
            field.text.finish();
        }
        self.fields.retain(|_, field| rows - field.last < MAX_GAP || field.text.waits());
        cells
    }

    /// The rows at the front of which every cell is decided.
    fn settled(&mut self) -> Vec<SettledRow> {
        let mut settled = Vec::new();
        while let Some(waiting) = self.waiting.pop_front_if(|waiting| {
            waiting
                .cells
                .iter()
                .all(|path| self.fields.get(path).is_none_or(|field| field.text.is_decided()))
        }) {
            let parts = waiting.cells.iter().map(|path| {
                self.fields.get_mut(path).map(|field| field.text.pop()).unwrap_or_default()
            });
            let parts: Vec<Vec<MaskedPart>> = parts.collect();
            if let Some(row) = waiting.row {
                self.to_show -= 1;
                settled.push(self.masked(row, &waiting.cells, parts));
            }
        }
        settled
    }

    fn masked(&mut self, row: Value, paths: &[String], joined: Vec<Vec<MaskedPart>>) -> SettledRow {
        let texts: Vec<&str> = paths
            .iter()
            .map(|path| row.pointer(path).and_then(Value::as_str).unwrap_or_default())
            .collect();
        let Some(parts) = self.redactor.row_parts(&texts, joined) else {
            return SettledRow::Raw(row);
        };
        let counts = &mut self.counts;
        let written = texts.iter().zip(parts).map(|(text, parts)| {
            self.redactor.write_parts(text, parts, |kind| count(counts, kind))
        });
        let written: Vec<String> = written.collect();
        let cells: BTreeMap<&str, String> = paths.iter().map(String::as_str).zip(written).collect();
        SettledRow::Masked(self.rewritten(&row, &mut String::new(), &cells))
    }

    /// The row with these cells. Everything else goes through the redactor too, since whoever shows
    /// the row takes the masks in it for masks.
    fn rewritten(
        &mut self,
        value: &Value,
        path: &mut String,
        cells: &BTreeMap<&str, String>,
    ) -> Value {
        let length = path.len();
        match value {
            Value::String(text) => Value::String(match cells.get(path.as_str()) {
                Some(written) => written.clone(),
                None => self.redactor.text(text, &mut self.counts).into_owned(),
            }),
            Value::Array(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (number, item) in items.iter().enumerate() {
                    step(path, &number.to_string());
                    list.push(self.rewritten(item, path, cells));
                    path.truncate(length);
                }
                Value::Array(list)
            }
            Value::Object(fields) => {
                let mut object = Map::new();
                for (key, field) in fields {
                    step(path, key);
                    let name = self.redactor.text(key, &mut self.counts).into_owned();
                    let field = self.rewritten(field, path, cells);
                    path.truncate(length);
                    // Two masked names stay two fields.
                    let mut own = name.clone();
                    let mut number = object.len();
                    while object.contains_key(&own) {
                        number += 1;
                        own = format!("{name} ({number})");
                    }
                    object.insert(own, field);
                }
                Value::Object(object)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Collects the strings of a row, in the order of their names. What the name of its field hides is
/// never seen, whatever stands around it.
struct Collector<'n> {
    names: &'n mut Names,
    path: String,
}

impl Collector<'_> {
    fn collect<'v>(
        &mut self,
        value: &'v Value,
        name: Option<&str>,
        depth: usize,
        strings: &mut Strings<'v>,
    ) {
        if name.is_some_and(|name| FieldName::of(name, self.names).hides(value).is_some()) {
            return;
        }
        let length = self.path.len();
        match value {
            Value::String(text) if !text.is_empty() => strings.push((self.path.clone(), text)),
            Value::Array(items) if depth < MAX_DEPTH => {
                for (number, item) in items.iter().enumerate() {
                    step(&mut self.path, &number.to_string());
                    self.collect(item, name, depth + 1, strings);
                    self.path.truncate(length);
                }
            }
            Value::Object(fields) if depth < MAX_DEPTH => {
                for (key, field) in fields {
                    step(&mut self.path, key);
                    self.collect(field, Some(key), depth + 1, strings);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }
}

/// Goes one step down a JSON pointer.
fn step(path: &mut String, name: &str) {
    path.push('/');
    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn window() -> RowWindow {
        RowWindow::new(Arc::new(Redactor::builtin()), Names::default())
    }

    fn strings(value: &Value) -> Vec<(String, String)> {
        let mut names = Names::default();
        let mut found = Vec::new();
        Collector { names: &mut names, path: String::new() }.collect(value, None, 0, &mut found);
        found.into_iter().map(|(path, text)| (path, text.to_owned())).collect()
    }

    #[test]
    fn the_strings_of_a_row_are_found_by_their_paths() {
        let row = json!({
            "a": "x", "b": ["y", { "c": "z" }, 1], "e": "", "n": 1, "p/q~r": "w",
            "password": "plover", "token": { "a": "heron" },
        });
        let expected = [("/a", "x"), ("/b/0", "y"), ("/b/1/c", "z"), ("/p~1q~0r", "w")];
        assert_eq!(strings(&row), expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    }

    #[test]
    fn strings_are_read_on_to_eight_levels() {
        let lists = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
        assert_eq!((strings(&lists(8)).len(), strings(&lists(9)).len()), (1, 0));
        let maps = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!({ "a": inner }));
        assert_eq!((strings(&maps(8)).len(), strings(&maps(9)).len()), (1, 0));
    }

    #[test]
    fn of_64_fields_the_texts_are_read_on_and_of_more_the_rest_is_counted() {
        let row = |from: usize, to: usize| -> Value {
            (from..to).map(|n| (format!("f{n:03}"), json!("word"))).collect()
        };
        for (rows, unjoined) in [
            (vec![row(0, 64)], 0),
            (vec![row(0, 65)], 1),
            (vec![row(0, 70), row(0, 64)], 6),
            (vec![row(0, 64), row(0, 64)], 0),
            (vec![row(0, 64), row(64, 66)], 2),
        ] {
            let mut window = window();
            rows.into_iter().for_each(|row| drop(window.push(row)));
            assert_eq!(window.unjoined(), unjoined);
        }
    }

    #[test]
    fn a_value_in_two_rows_is_masked_in_both() {
        let mut window = window();
        let mut rows = window.push(json!({ "t": "mail jane.roe@co" }));
        assert!(rows.is_empty() && window.to_show() == 1);
        rows.extend(window.push_unseen(&json!({ "t": "rp.net now" })));
        rows.extend(window.push(json!({ "t": "and more" })));
        rows.extend(window.finish());
        assert_eq!(window.to_show(), 0);
        let shown: Vec<Value> = rows
            .into_iter()
            .map(|row| match row {
                SettledRow::Raw(row) => json!({ "raw": row }),
                SettledRow::Masked(row) => row,
            })
            .collect();
        let expected = [json!({ "t": "mail [REDACTED]" }), json!({ "raw": { "t": "and more" } })];
        assert_eq!(shown, expected);
        assert_eq!(window.counts().get("email"), Some(&1));
    }

    #[test]
    fn a_row_that_nobody_waits_for_is_not_read() {
        let mut window = window();
        assert!(window.push_unseen(&json!({ "t": "word" })).is_empty());
        assert!(window.fields.is_empty() && window.waiting.is_empty());
    }

    #[test]
    fn a_field_that_rows_leave_out_for_a_while_ends() {
        let mut window = window();
        window.push(json!({ "a": "word" }));
        for _ in 0..7 {
            window.push(json!({ "b": "word" }));
        }
        assert_eq!(window.fields.len(), 2);
        for _ in 0..4 {
            window.push(json!({ "b": "word" }));
        }
        assert_eq!(window.fields.len(), 1);
    }
}
