//! Redaction of JSON numbers whose digits may be sensitive.

use serde_json::{Number, Value};

use super::{FieldName, Postprocess, ValueRedactor, in_context};
use crate::redact::{Counts, MASK, count};

/// The fewest digits of a number that is scanned: without, and with a field name that suggests
/// personal data.
pub(super) const MIN_DIGITS: (usize, usize) = (9, 4);

impl<F: Postprocess> ValueRedactor<'_, F> {
    /// A number, or its mask.
    pub(crate) fn number(&mut self, number: &Number, key: Option<FieldName<'_>>) -> Value {
        if self.hides_number(number, key) {
            let mask = self.redactor.mask_number(number);
            Value::String(mask.unwrap_or_else(|| MASK.to_owned()))
        } else {
            Value::Number(number.clone())
        }
    }

    /// True for a number that is not shown; counts it.
    pub(crate) fn hides_number(&mut self, number: &Number, key: Option<FieldName<'_>>) -> bool {
        let hides = self.would_hide_number(number, key);
        if hides {
            count(&mut self.masked, "number");
        }
        hides
    }

    /// The same without being counted.
    pub(crate) fn would_hide_number(&self, number: &Number, key: Option<FieldName<'_>>) -> bool {
        // Of the small ones only those that were given out are masked.
        let may_hide = !is_small(number) || self.redactor.looks_for_values();
        may_hide && self.is_sensitive_number(&number.to_string(), key)
    }

    /// True when the digits of a number under this name are a value that is masked.
    pub(super) fn is_sensitive_number(&self, text: &str, key: Option<FieldName<'_>>) -> bool {
        if self.redactor.is_given_out(text) {
            return true;
        }
        // A spreadsheet or data frame may have turned an integer into a float.
        let text = text.strip_suffix(".0").unwrap_or(text);
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        match key.filter(|key| key.meaning.context) {
            Some(key) if digits >= MIN_DIGITS.1 => {
                in_context(self.redactor, key.name, text).is_some()
            }
            _ => digits >= MIN_DIGITS.0 && self.redactor.text(text, &mut Counts::new()) != text,
        }
    }
}

/// True for a whole number with too few digits for any rule and any name.
pub(super) fn is_small(number: &Number) -> bool {
    number.as_i64().is_some_and(|whole| whole.unsigned_abs() < 1_000)
}
