//! Redacts rows whose columns are named in a sibling field.

use serde_json::Value;

use super::{Postprocess, ValueRedactor};

impl<F: Postprocess> ValueRedactor<'_, F> {
    /// Rows whose column names are given elsewhere.
    pub(super) fn columnar_rows(&mut self, rows: &Value, columns: &[&str], depth: usize) -> Value {
        match rows {
            Value::Array(rows) if depth < self.bounds.depth => {
                self.redact_items(rows, |walk, _, row| walk.columnar_row(row, columns, depth + 1))
            }
            other => self.value(other, None, depth),
        }
    }

    fn columnar_row(&mut self, row: &Value, columns: &[&str], depth: usize) -> Value {
        match row {
            Value::Array(cells) if depth < self.bounds.depth => {
                self.redact_items(cells, |walk, at, cell| match columns.get(at) {
                    Some(name) => {
                        let named = walk.field_name(name);
                        walk.value_under(named, cell, depth + 1)
                    }
                    None => walk.value(cell, None, depth + 1),
                })
            }
            other => self.value(other, None, depth),
        }
    }
}
