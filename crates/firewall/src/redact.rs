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
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Number;

use engine::{Engine, RuleError, Work};
use rule::Rule;

/// What stands in place of a masked value.
pub const MASK: &str = "[REDACTED]";

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
}

fn count(counts: &mut Counts, kind: &'static str) {
    let count = counts.entry(kind).or_default();
    *count = count.saturating_add(1);
}
