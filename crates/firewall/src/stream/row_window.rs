//! Rows of a stream, held back until nothing that follows can turn what they show into a value.
//!
//! A tool may cut a text anywhere and send its pieces as the same field of consecutive rows. So the
//! cells of each field are read as one joined text ([`JoinedText`]), and a row is released once
//! every cell of it is decided. Within one row, fields are joined in the order of their names.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value};
use weaver_types::JsonPointer;

use crate::redact::field_names::FieldNameClassifier;
use crate::redact::value::FieldName;
use crate::redact::{Counts, JoinedText, MaskedPart, Redactor, count_kind};

/// The strings of a row that are joined, with their paths.
type StringsByPath<'v> = Vec<(String, &'v str)>;

/// The most fields that are joined across rows. The remaining fields of a row are redacted
/// separately, and counted.
pub(super) const MAX_JOINED_FIELDS: usize = 64;
/// The deepest field that is joined.
const MAX_DEPTH: usize = 8;
/// After this many rows without a field its text ends; a later cell begins a new one.
const MAX_GAP: u64 = 8;

/// A row that later rows cannot change.
#[derive(Debug)]
pub(super) enum SettledRow {
    /// As received; the renderer redacts it.
    Raw(Value),
    /// Masked, because values extend beyond one cell. It was redacted once.
    Masked(Value),
}

/// Rows that wait for those that follow.
///
/// At most 1 KiB of each field is held back, and nothing of a field that is missing for a while, so
/// the number of waiting rows is bounded.
#[derive(Debug)]
pub(super) struct RowWindow {
    redactor: Arc<Redactor>,
    names: FieldNameClassifier,
    /// Joined texts by path within a row.
    fields: BTreeMap<String, JoinedField>,
    waiting: VecDeque<WaitingRow>,
    /// How many of the waiting rows will be shown.
    visible_waiting: usize,
    /// How many rows arrived.
    row_count: u64,
    /// How many strings were not joined with those of neighbouring rows.
    unjoined_strings: u64,
    counts: Counts,
}

#[derive(Debug)]
struct JoinedField {
    text: JoinedText,
    /// The number of the last row that had the field.
    last_row: u64,
}

#[derive(Debug)]
struct WaitingRow {
    /// `None` for a row that will not be shown, of which only the text matters.
    row: Option<Value>,
    /// The paths of its cells.
    cells: Vec<String>,
}

impl RowWindow {
    pub(super) fn new(redactor: Arc<Redactor>, names: FieldNameClassifier) -> Self {
        Self {
            redactor,
            names,
            fields: BTreeMap::new(),
            waiting: VecDeque::new(),
            visible_waiting: 0,
            row_count: 0,
            unjoined_strings: 0,
            counts: Counts::new(),
        }
    }

    /// How many waiting rows will be shown.
    pub(super) fn visible_waiting(&self) -> usize {
        self.visible_waiting
    }

    /// How many values of each kind were masked here.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How many strings were redacted without neighbouring rows.
    pub(super) fn unjoined_strings(&self) -> u64 {
        self.unjoined_strings
    }

    /// Takes a row; returns the rows that are settled now.
    pub(super) fn push(&mut self, row: Value) -> Vec<SettledRow> {
        let cells = self.add_cells(&row);
        self.visible_waiting += 1;
        self.waiting.push_back(WaitingRow { row: Some(row), cells });
        self.take_settled()
    }

    /// Takes a row that will not be shown but may continue a value of an earlier row.
    pub(super) fn push_unseen(&mut self, row: &Value) -> Vec<SettledRow> {
        if self.visible_waiting == 0 {
            return Vec::new();
        }
        let cells = self.add_cells(row);
        self.waiting.push_back(WaitingRow { row: None, cells });
        self.take_settled()
    }

    /// Returns the rest; no more rows follow.
    pub(super) fn finish(&mut self) -> Vec<SettledRow> {
        self.fields.values_mut().for_each(|field| field.text.finish());
        let rows = self.take_settled();
        self.fields.clear();
        self.waiting.clear();
        rows
    }

    /// Adds the cells of a row to the texts of their fields; returns their paths.
    fn add_cells(&mut self, row: &Value) -> Vec<String> {
        self.row_count = self.row_count.saturating_add(1);
        let mut strings = Vec::new();
        StringCollector { names: &mut self.names, path: String::new() }
            .collect(row, None, 0, &mut strings);
        let mut cells = Vec::new();
        for (path, text) in strings {
            let is_new = !self.fields.contains_key(&path);
            if cells.len() >= MAX_JOINED_FIELDS || is_new && self.fields.len() >= MAX_JOINED_FIELDS
            {
                self.unjoined_strings = self.unjoined_strings.saturating_add(1);
                continue;
            }
            let field = self.fields.entry(path.clone()).or_insert_with(|| JoinedField {
                text: JoinedText::new(Arc::clone(&self.redactor)),
                last_row: self.row_count,
            });
            field.last_row = self.row_count;
            field.text.push(text);
            cells.push(path);
        }
        let rows = self.row_count;
        for field in self.fields.values_mut().filter(|field| rows - field.last_row == MAX_GAP) {
            field.text.finish();
        }
        self.fields
            .retain(|_, field| rows - field.last_row < MAX_GAP || field.text.has_waiting_cells());
        cells
    }

    /// Takes the rows at the front whose cells are all decided.
    fn take_settled(&mut self) -> Vec<SettledRow> {
        let mut settled = Vec::new();
        while let Some(waiting) = self.waiting.pop_front_if(|waiting| {
            waiting
                .cells
                .iter()
                .all(|path| self.fields.get(path).is_none_or(|field| field.text.is_decided()))
        }) {
            let parts = waiting.cells.iter().map(|path| {
                self.fields.get_mut(path).map(|field| field.text.pop_cell()).unwrap_or_default()
            });
            let parts: Vec<Vec<MaskedPart>> = parts.collect();
            if let Some(row) = waiting.row {
                self.visible_waiting -= 1;
                settled.push(self.settle_row(row, &waiting.cells, parts));
            }
        }
        settled
    }

    fn settle_row(
        &mut self,
        row: Value,
        paths: &[String],
        joined: Vec<Vec<MaskedPart>>,
    ) -> SettledRow {
        let texts: Vec<&str> = paths
            .iter()
            .map(|path| row.pointer(path).and_then(Value::as_str).unwrap_or_default())
            .collect();
        let Some(parts) = self.redactor.masked_parts_of_row(&texts, joined) else {
            return SettledRow::Raw(row);
        };
        let counts = &mut self.counts;
        let written = texts.iter().zip(parts).map(|(text, parts)| {
            self.redactor.write_parts(text, parts, |kind| count_kind(counts, kind))
        });
        let written: Vec<String> = written.collect();
        let cells: BTreeMap<&str, String> = paths.iter().map(String::as_str).zip(written).collect();
        SettledRow::Masked(self.rewrite(&row, &mut String::new(), &cells))
    }

    /// The row with these cells. Everything else is redacted too, because the renderer keeps the
    /// masks of this row.
    fn rewrite(
        &mut self,
        value: &Value,
        path: &mut String,
        cells: &BTreeMap<&str, String>,
    ) -> Value {
        let length = path.len();
        match value {
            Value::String(text) => Value::String(match cells.get(path.as_str()) {
                Some(written) => written.clone(),
                None => self.redactor.redact_text(text, &mut self.counts).into_owned(),
            }),
            Value::Array(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (number, item) in items.iter().enumerate() {
                    push_pointer_step(path, &number.to_string());
                    list.push(self.rewrite(item, path, cells));
                    path.truncate(length);
                }
                Value::Array(list)
            }
            Value::Object(fields) => {
                let mut object = Map::new();
                for (key, field) in fields {
                    push_pointer_step(path, key);
                    let name = self.redactor.redact_text(key, &mut self.counts).into_owned();
                    let field = self.rewrite(field, path, cells);
                    path.truncate(length);
                    // Two fields whose names got the same mask stay two fields.
                    let mut unique_name = name.clone();
                    let mut number = object.len();
                    while object.contains_key(&unique_name) {
                        number += 1;
                        unique_name = format!("{name} ({number})");
                    }
                    object.insert(unique_name, field);
                }
                Value::Object(object)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Collects the strings of a row, sorted by name. Values hidden by their field name are skipped,
/// since they are never shown.
struct StringCollector<'n> {
    names: &'n mut FieldNameClassifier,
    path: String,
}

impl StringCollector<'_> {
    fn collect<'v>(
        &mut self,
        value: &'v Value,
        name: Option<&str>,
        depth: usize,
        strings: &mut StringsByPath<'v>,
    ) {
        if name
            .is_some_and(|name| FieldName::classify(name, self.names).hides_value(value).is_some())
        {
            return;
        }
        let length = self.path.len();
        match value {
            Value::String(text) if !text.is_empty() => strings.push((self.path.clone(), text)),
            Value::Array(items) if depth < MAX_DEPTH => {
                for (number, item) in items.iter().enumerate() {
                    push_pointer_step(&mut self.path, &number.to_string());
                    self.collect(item, name, depth + 1, strings);
                    self.path.truncate(length);
                }
            }
            Value::Object(fields) if depth < MAX_DEPTH => {
                for (key, field) in fields {
                    push_pointer_step(&mut self.path, key);
                    self.collect(field, Some(key), depth + 1, strings);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }
}

/// Appends one step to a JSON pointer.
fn push_pointer_step(path: &mut String, name: &str) {
    path.push('/');
    path.push_str(&JsonPointer::escape_step(name));
}

#[cfg(test)]
mod tests;
