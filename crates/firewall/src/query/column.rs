//! One field of all rows, as it is shown. Equal texts are redacted once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};

use super::cell::{Cell, is_plain};
use crate::content::{Rows, ValueRenderer, for_rows};
use crate::redact::Redactor;
use crate::redact::value::stands_alone;
use crate::spec::Limits;

/// The most columns that are remembered with a result.
const MAX_COLUMNS: usize = 16;
/// The name under which a row that is no object is shown.
pub(super) const VALUE: &str = "value";

/// One field of all rows.
#[derive(Debug)]
pub(crate) struct Column {
    /// For each row the number of its value.
    codes: Vec<u32>,
    /// The values; the first is [`Cell::Null`].
    cells: Vec<Cell>,
}

impl Column {
    /// A field of rows that hold only what may be seen.
    pub(super) fn plain(rows: &[Value], field: &str) -> Self {
        let mut column = Self { codes: Vec::with_capacity(rows.len()), cells: vec![Cell::Null] };
        for row in rows {
            let cell = row.get(field).map_or(Cell::Null, Cell::of);
            column.codes.push(u32::try_from(column.cells.len()).unwrap_or(u32::MAX));
            column.cells.push(cell);
        }
        column
    }

    /// The number of a row's value.
    pub(super) fn code(&self, row: u32) -> Option<usize> {
        self.codes.get(row as usize).map(|code| *code as usize)
    }

    pub(super) fn cell(&self, row: u32) -> &Cell {
        self.code(row).and_then(|code| self.cells.get(code)).unwrap_or(&Cell::Null)
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The place of each value among all of them; equal values have equal places.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<(usize, &Cell)> = self.cells.iter().enumerate().collect();
        order.sort_by(|a, b| a.1.cmp(b.1));
        let mut ranks = vec![0; self.cells.len()];
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

/// Shows single values as a frame of the capability would, whatever fields it may show.
pub(crate) struct CellViewer<'a> {
    redactor: &'a Redactor,
    limits: Limits,
}

impl<'a> CellViewer<'a> {
    pub(super) fn new(redactor: &'a Redactor, limits: &Limits) -> Self {
        let mut limits = limits.clone();
        limits.allowed = None;
        // Long texts are compared as far as any frame shows them.
        limits.chars = usize::MAX;
        limits.fields = usize::MAX;
        limits.depth = 3;
        Self { redactor, limits }
    }

    /// True for a name that is shown as it is.
    pub(super) fn is_name_visible(&self, name: &str) -> bool {
        ValueRenderer::new(self.redactor, &self.limits).key(name) == name
    }

    /// The field of a row, as it is shown.
    fn look(&self, row: &Map<String, Value>, field: &str) -> Cell {
        let mut shown = ValueRenderer::new(self.redactor, &self.limits).object(row, 0);
        shown.remove(field).map_or(Cell::Null, |value| Cell::of(&value))
    }

    /// A value, as it is shown under a name.
    fn alone(&self, field: &str, value: &Value) -> Cell {
        self.look(&Map::from_iter([(field.to_owned(), value.clone())]), field)
    }
}

/// Columns that were made already.
#[derive(Debug, Default)]
pub(crate) struct Columns(Mutex<BTreeMap<String, Arc<Column>>>);

impl Columns {
    /// The column of a field, made now if it is not there yet.
    pub(super) fn of(&self, field: &str, rows: Rows<'_>, viewer: &CellViewer<'_>) -> Arc<Column> {
        let known = self.0.lock().ok().and_then(|known| known.get(field).cloned());
        if let Some(column) = known {
            return column;
        }
        let column = Arc::new(ColumnBuilder::new(viewer, field, rows.len()).column(rows));
        if let Ok(mut known) = self.0.lock()
            && known.len() < MAX_COLUMNS
        {
            known.insert(field.to_owned(), Arc::clone(&column));
        }
        column
    }
}

/// Makes a column, one row after the other.
struct ColumnBuilder<'v, 'a> {
    viewer: &'v CellViewer<'v>,
    field: &'v str,
    /// True when what stands beside the field does not matter to it.
    stands_alone: bool,
    codes: Vec<u32>,
    cells: Vec<Cell>,
    /// The numbers of texts; the few that came first stand also in a list, which is searched first.
    texts: BTreeMap<Cow<'a, str>, u32>,
    first: Vec<(Cow<'a, str>, u32)>,
    /// The numbers of null, false and true.
    fixed: [Option<u32>; 3],
    /// Where in a row the field was last.
    place: usize,
}

/// How many texts are searched one after the other.
const FIRST: usize = 8;

impl<'v, 'a> ColumnBuilder<'v, 'a> {
    fn new(viewer: &'v CellViewer<'v>, field: &'v str, rows: usize) -> Self {
        Self {
            viewer,
            field,
            stands_alone: stands_alone(field),
            codes: Vec::with_capacity(rows),
            cells: vec![Cell::Null],
            texts: BTreeMap::new(),
            first: Vec::new(),
            fixed: [None; 3],
            place: 0,
        }
    }

    fn column(mut self, rows: Rows<'a>) -> Column {
        for_rows!(rows, |row, keep| self.add(row, keep));
        Column { codes: self.codes, cells: self.cells }
    }

    /// Adds the value of one row. `keep` keeps a text of it for as long as the column is made.
    fn add<'r>(&mut self, row: &'r Value, keep: impl Fn(&'r str) -> Cow<'a, str>) {
        let code = match row {
            Value::Object(map) => {
                self.field_of(map).map_or(0, |value| self.code(value, Some(map), keep))
            }
            other if self.field == VALUE => self.code(other, None, keep),
            _ => 0,
        };
        self.codes.push(code);
    }

    fn field_of<'r>(&mut self, map: &'r Map<String, Value>) -> Option<&'r Value> {
        // Rows mostly have the same fields, so the field stands where it stood before.
        match map.iter().nth(self.place) {
            Some((key, value)) if key == self.field => Some(value),
            _ => match map.iter().enumerate().find(|(_, (key, _))| *key == self.field) {
                Some((place, (_, value))) => {
                    self.place = place;
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
        if !self.stands_alone
            && let Some(row) = row
        {
            let cell = self.viewer.look(row, self.field);
            return self.push(cell);
        }
        match value {
            Value::Null => self.fixed(0, value),
            Value::Bool(truth) => self.fixed(1 + usize::from(*truth), value),
            Value::String(text) => self.text(text, value, keep),
            Value::Array(items) if !is_plain(items) => self.push(Cell::Nested),
            Value::Object(_) => self.push(Cell::Nested),
            Value::Number(_) | Value::Array(_) => {
                let cell = self.viewer.alone(self.field, value);
                self.push(cell)
            }
        }
    }

    fn fixed(&mut self, which: usize, value: &Value) -> u32 {
        if let Some(code) = self.fixed.get(which).copied().flatten() {
            return code;
        }
        let cell = self.viewer.alone(self.field, value);
        let code = if cell == Cell::Null { 0 } else { self.push(cell) };
        if let Some(place) = self.fixed.get_mut(which) {
            *place = Some(code);
        }
        code
    }

    fn text<'r>(
        &mut self,
        text: &'r str,
        value: &Value,
        keep: impl Fn(&'r str) -> Cow<'a, str>,
    ) -> u32 {
        if let Some((_, code)) = self.first.iter().find(|(known, _)| *known == text) {
            return *code;
        }
        if let Some(code) = self.texts.get(text) {
            return *code;
        }
        let cell = self.viewer.alone(self.field, value);
        let code = self.push(cell);
        let text = keep(text);
        if self.first.len() < FIRST {
            self.first.push((text.clone(), code));
        }
        self.texts.insert(text, code);
        code
    }

    fn push(&mut self, cell: Cell) -> u32 {
        let code = u32::try_from(self.cells.len()).unwrap_or(u32::MAX);
        self.cells.push(cell);
        code
    }
}
