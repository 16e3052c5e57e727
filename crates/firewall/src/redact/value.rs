//! Structured values: keys, strings, numbers, and what a field's name says of its value.

use serde_json::{Map, Value};

use super::{Counts, MASK, Redactor, count, field};

/// The deepest nesting that is scanned; below it content is left out.
const MAX_DEPTH: usize = 128;
/// What stands in place of content below that depth.
const TOO_DEEP: &str = "[REDACTED: nested data beyond depth limit]";

impl Redactor {
    /// The value with keys, strings, numbers and sensitive fields masked.
    pub(crate) fn value(&self, value: &Value, counts: &mut Counts) -> Value {
        self.at(value, 0, counts)
    }

    fn at(&self, value: &Value, depth: usize, counts: &mut Counts) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) if self.hides_number(number) => {
                count(counts, "number");
                Value::String(MASK.to_owned())
            }
            Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.text(text, counts).into_owned()),
            Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => {
                count(counts, "depth");
                Value::String(TOO_DEEP.to_owned())
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.at(item, depth + 1, counts)).collect())
            }
            Value::Object(map) => Value::Object(self.fields(map, depth, counts)),
        }
    }

    fn fields(
        &self,
        map: &Map<String, Value>,
        depth: usize,
        counts: &mut Counts,
    ) -> Map<String, Value> {
        let mut out = Map::new();
        for (key, value) in map {
            let shown = if field::is_sensitive(key) {
                count(counts, "field");
                Value::String(MASK.to_owned())
            } else {
                self.at(value, depth + 1, counts)
            };
            let mut name = self.text(key, counts).into_owned();
            // Two masked keys stay two fields.
            while out.contains_key(&name) {
                name.push('\'');
            }
            out.insert(name, shown);
        }
        out
    }
}
