//! Redaction: what is masked, and where.

mod builtin;
mod checksum;
mod engine;
pub(crate) mod field;
mod numeric;
mod pem;
mod phone;
mod pieces;
mod rule;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use engine::{Engine, RuleError, Work};
use rule::Rule;

/// What stands in place of a masked value.
pub const MASK: &str = "[REDACTED]";
/// The deepest nesting that is scanned; below it content is left out.
const MAX_DEPTH: usize = 128;
/// What stands in place of content below that depth.
const TOO_DEEP: &str = "[REDACTED: nested data beyond depth limit]";

/// Counts of masked values, by kind.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// All rules, ready to run. Without rules it masks every text: better nothing than a secret.
#[derive(Debug)]
pub(crate) struct Redactor {
    engine: Option<Engine>,
}

impl Redactor {
    /// The built-in rules. That they compile is tested; if they did not, all text would be masked.
    pub(crate) fn builtin() -> Self {
        Self { engine: Self::compiled(builtin::rules()).ok() }
    }

    fn compiled(rules: Vec<Rule>) -> Result<Engine, RuleError> {
        Engine::new(rules)
    }

    /// The text with every value masked.
    pub(crate) fn text<'t>(&self, text: &'t str, counts: &mut Counts) -> Cow<'t, str> {
        self.measured(text, counts, &mut Work::default())
    }

    fn measured<'t>(&self, text: &'t str, counts: &mut Counts, work: &mut Work) -> Cow<'t, str> {
        match &self.engine {
            Some(engine) => pieces::mask(engine, text, counts, work),
            None if text.is_empty() => Cow::Borrowed(text),
            None => {
                count(counts, "unscanned");
                Cow::Borrowed(MASK)
            }
        }
    }

    /// True for a number whose digits are a value that a rule knows.
    pub(crate) fn hides_number(&self, number: &Number) -> bool {
        let text = number.to_string();
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits >= 9 && self.text(&text, &mut Counts::new()) != text
    }

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

fn count(counts: &mut Counts, kind: &'static str) {
    let count = counts.entry(kind).or_default();
    *count = count.saturating_add(1);
}
