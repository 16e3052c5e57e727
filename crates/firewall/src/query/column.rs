//! One field of all rows, as it is shown, dictionary-encoded: equal texts are redacted and stored
//! once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};

use super::cell::{Cell, is_plain};
use super::number_style::numbers_of_column;
use crate::content::{Rows, ValueRenderer, for_rows};
use crate::redact::Redactor;
use crate::redact::value::{WalkBounds, is_independent_of_siblings};
use crate::spec::EffectiveLimits;

/// The most columns that are cached with a result.
const MAX_CACHED_COLUMNS: usize = 16;
/// The name under which a row that is not an object is shown.
pub(super) const VALUE_FIELD: &str = "value";

/// One dictionary-encoded field of all rows.
#[derive(Debug)]
pub(crate) struct Column {
    /// For each row, the index of its value in the dictionary.
    codes: Vec<u32>,
    /// The distinct values; the first is [`Cell::Null`].
    dictionary: Vec<Cell>,
}

impl Column {
    /// A field of rows that contain only what may be seen.
    pub(super) fn from_visible_rows(rows: &[Value], field: &str) -> Self {
        let (mut codes, mut dictionary) = (Vec::with_capacity(rows.len()), vec![Cell::Null]);
        for row in rows {
            codes.push(u32::try_from(dictionary.len()).unwrap_or(u32::MAX));
            dictionary.push(row.get(field).map_or(Cell::Null, Cell::from_value));
        }
        Self::new(codes, dictionary)
    }

    /// Texts become numbers where each of them writes one. A single other text shows that the
    /// texts are names or numbers of things.
    fn new(codes: Vec<u32>, mut dictionary: Vec<Cell>) -> Self {
        let texts = dictionary.iter().filter_map(|cell| match cell {
            Cell::Text(text) => Some(text.as_str()),
            _ => None,
        });
        if let Some(decimals) = numbers_of_column(&texts.collect::<Vec<_>>()) {
            let mut decimals = decimals.into_iter();
            for cell in dictionary.iter_mut().filter(|cell| matches!(cell, Cell::Text(_))) {
                if let Some(decimal) = decimals.next() {
                    *cell = decimal;
                }
            }
        }
        Self { codes, dictionary }
    }

    /// The dictionary index of a row's value.
    pub(super) fn code(&self, row: u32) -> Option<usize> {
        self.codes.get(row as usize).map(|code| *code as usize)
    }

    pub(super) fn cell(&self, row: u32) -> &Cell {
        self.code(row).and_then(|code| self.dictionary.get(code)).unwrap_or(&Cell::Null)
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.dictionary
    }

    /// The rank of each dictionary value; equal values have equal ranks.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<(usize, &Cell)> = self.dictionary.iter().enumerate().collect();
        order.sort_by(|a, b| a.1.cmp(b.1));
        let mut ranks = vec![0; self.dictionary.len()];
        let (mut rank, mut before) = (0, None);
        for (at, cell) in order {
            if before.is_some_and(|before| before != cell) {
                rank += 1;
            }
            before = Some(cell);
            if let Some(place) = ranks.get_mut(at) {
                *place = rank;
            }
        }
        ranks
    }
}

/// Renders single values as a frame of the capability would, regardless of the allowed fields.
pub(crate) struct CellRenderer<'a> {
    redactor: &'a Redactor,
    limits: EffectiveLimits,
}

impl<'a> CellRenderer<'a> {
    pub(super) fn new(redactor: &'a Redactor, limits: &EffectiveLimits) -> Self {
        let mut limits = limits.clone();
        (limits.allowed, limits.requested) = (None, None);
        Self { redactor, limits }
    }

    /// True for a name that is shown unchanged.
    pub(super) fn is_name_visible(&self, name: &str) -> bool {
        ValueRenderer::new(self.redactor, &self.limits).key(name) == name
    }

    fn renderer(&self) -> ValueRenderer<'_> {
        // Texts are compared whole, since views show all of them part by part.
        let bounds = WalkBounds {
            depth: 3,
            fields: usize::MAX,
            items: self.limits.max_cell_items(),
            marks_in_place: false,
        };
        ValueRenderer::with_bounds(self.redactor, &self.limits, bounds, usize::MAX)
    }

    /// A row that is a list, as it is shown.
    fn list_row(&self, row: &Value) -> Cell {
        Cell::from_value(&self.renderer().item(row, 1))
    }

    /// The field of a row, as it is shown.
    fn field_in_row(&self, row: &Map<String, Value>, field: &str) -> Cell {
        let mut shown = self.renderer().object(row, 0);
        shown.remove(field).map_or(Cell::Null, |value| Cell::from_value(&value))
    }

    /// A single value, as it is shown under a name.
    fn field_alone(&self, field: &str, value: &Value) -> Cell {
        self.field_in_row(&Map::from_iter([(field.to_owned(), value.clone())]), field)
    }
}

/// Columns that were already built.
#[derive(Debug, Default)]
pub(crate) struct ColumnCache(Mutex<BTreeMap<String, Arc<Column>>>);

impl ColumnCache {
    /// The column of a field, built on first use.
    pub(super) fn get_or_build(
        &self,
        field: &str,
        rows: Rows<'_>,
        viewer: &CellRenderer<'_>,
    ) -> Arc<Column> {
        let known = self.0.lock().ok().and_then(|known| known.get(field).cloned());
        if let Some(column) = known {
            return column;
        }
        let column = Arc::new(ColumnBuilder::new(viewer, field, rows.len()).build(rows));
        // Provisional masks mean nothing to the next query.
        if !viewer.redactor.has_provisional_masks()
            && let Ok(mut known) = self.0.lock()
            && known.len() < MAX_CACHED_COLUMNS
        {
            known.insert(field.to_owned(), Arc::clone(&column));
        }
        column
    }
}

/// Builds a column row by row.
struct ColumnBuilder<'v, 'a> {
    viewer: &'v CellRenderer<'v>,
    field: &'v str,
    /// True if sibling fields never change how this field is redacted.
    is_independent: bool,
    codes: Vec<u32>,
    cells: Vec<Cell>,
    /// Dictionary indices by text. The first few texts are also in a list that is searched first,
    /// which is faster for columns with few values.
    texts: BTreeMap<Cow<'a, str>, u32>,
    first_texts: Vec<(Cow<'a, str>, u32)>,
    /// Dictionary indices of null, false and true.
    literal_codes: [Option<u32>; 3],
    /// The position of the field in the last row.
    last_position: usize,
}

/// How many texts are searched linearly.
const MAX_FIRST_TEXTS: usize = 8;

impl<'v, 'a> ColumnBuilder<'v, 'a> {
    fn new(viewer: &'v CellRenderer<'v>, field: &'v str, rows: usize) -> Self {
        Self {
            viewer,
            field,
            is_independent: is_independent_of_siblings(field),
            codes: Vec::with_capacity(rows),
            cells: vec![Cell::Null],
            texts: BTreeMap::new(),
            first_texts: Vec::new(),
            literal_codes: [None; 3],
            last_position: 0,
        }
    }

    fn build(mut self, rows: Rows<'a>) -> Column {
        for_rows!(rows, |row, keep| self.add(row, keep));
        Column::new(self.codes, self.cells)
    }

    /// Adds the value of one row. `keep` makes a text live as long as the column is built.
    fn add<'r>(&mut self, row: &'r Value, keep: impl Fn(&'r str) -> Cow<'a, str>) {
        let code = match row {
            Value::Object(map) => {
                self.field_of(map).map_or(0, |value| self.code(value, Some(map), keep))
            }
            Value::Array(items) if self.field == VALUE_FIELD && is_plain(items) => {
                let cell = self.viewer.list_row(row);
                self.push_cell(cell)
            }
            other if self.field == VALUE_FIELD => self.code(other, None, keep),
            _ => 0,
        };
        self.codes.push(code);
    }

    fn field_of<'r>(&mut self, map: &'r Map<String, Value>) -> Option<&'r Value> {
        // Rows mostly have the same fields, so try the last position first.
        match map.iter().nth(self.last_position) {
            Some((key, value)) if key == self.field => Some(value),
            _ => match map.iter().enumerate().find(|(_, (key, _))| *key == self.field) {
                Some((place, (_, value))) => {
                    self.last_position = place;
                    Some(value)
                }
                None => None,
            },
        }
    }

    fn code<'r>(
        &mut self,
        value: &'r Value,
        row: Option<&Map<String, Value>>,
        keep: impl Fn(&'r str) -> Cow<'a, str>,
    ) -> u32 {
        if !self.is_independent
            && let Some(row) = row
        {
            let cell = self.viewer.field_in_row(row, self.field);
            return self.push_cell(cell);
        }
        match value {
            Value::Null => self.literal_code(0, value),
            Value::Bool(truth) => self.literal_code(1 + usize::from(*truth), value),
            Value::String(text) => self.text_code(text, value, keep),
            Value::Array(items) if !is_plain(items) => self.push_cell(Cell::Nested),
            Value::Object(_) => self.push_cell(Cell::Nested),
            Value::Number(_) | Value::Array(_) => {
                let cell = self.viewer.field_alone(self.field, value);
                self.push_cell(cell)
            }
        }
    }

    fn literal_code(&mut self, which: usize, value: &Value) -> u32 {
        if let Some(code) = self.literal_codes.get(which).copied().flatten() {
            return code;
        }
        let cell = self.viewer.field_alone(self.field, value);
        let code = if cell == Cell::Null { 0 } else { self.push_cell(cell) };
        if let Some(place) = self.literal_codes.get_mut(which) {
            *place = Some(code);
        }
        code
    }

    fn text_code<'r>(
        &mut self,
        text: &'r str,
        value: &Value,
        keep: impl Fn(&'r str) -> Cow<'a, str>,
    ) -> u32 {
        if let Some((_, code)) = self.first_texts.iter().find(|(known, _)| *known == text) {
            return *code;
        }
        if let Some(code) = self.texts.get(text) {
            return *code;
        }
        let cell = self.viewer.field_alone(self.field, value);
        let code = self.push_cell(cell);
        let text = keep(text);
        if self.first_texts.len() < MAX_FIRST_TEXTS {
            self.first_texts.push((text.clone(), code));
        }
        self.texts.insert(text, code);
        code
    }

    fn push_cell(&mut self, cell: Cell) -> u32 {
        let code = u32::try_from(self.cells.len()).unwrap_or(u32::MAX);
        self.cells.push(cell);
        code
    }
}
