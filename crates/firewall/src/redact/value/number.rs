//! Redaction of JSON numbers whose digits may be sensitive.

use serde_json::{Number, Value};

use super::{FieldName, Postprocess, ValueRedactor, redact_with_name};
use crate::redact::{Counts, MASK, count_kind};

/// The fewest digits of a number that is scanned.
const MIN_DIGITS: usize = 9;
/// The fewest digits of a number that is scanned under a name that suggests personal data.
pub(super) const MIN_DIGITS_IN_CONTEXT: usize = 4;

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

    /// True for a number that must not be shown; counts it.
    pub(crate) fn hides_number(&mut self, number: &Number, key: Option<FieldName<'_>>) -> bool {
        let hides = self.would_hide_number(number, key);
        if hides {
            count_kind(&mut self.masked, "number");
        }
        hides
    }

    /// Like [`Self::hides_number`], without counting.
    pub(crate) fn would_hide_number(&self, number: &Number, key: Option<FieldName<'_>>) -> bool {
        // A small number is masked only if it is a disclosed value.
        let may_hide = !is_small(number) || self.redactor.has_disclosed_values();
        may_hide && self.is_sensitive_number(&number.to_string(), key)
    }

    /// True if the digits of a number under this name form a value that is masked.
    pub(super) fn is_sensitive_number(&self, text: &str, key: Option<FieldName<'_>>) -> bool {
        if self.redactor.is_disclosed_value(text) {
            return true;
        }
        // A spreadsheet or data frame may have turned the integer into a float.
        let text = text.strip_suffix(".0").unwrap_or(text);
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        match key.filter(|key| key.meaning.has_context_word) {
            Some(key) if digits >= MIN_DIGITS_IN_CONTEXT => {
                redact_with_name(self.redactor, key.name, text).is_some()
            }
            _ => {
                digits >= MIN_DIGITS && self.redactor.redact_text(text, &mut Counts::new()) != text
            }
        }
    }
}

/// True for an integer with too few digits for any rule and any name.
pub(super) fn is_small(number: &Number) -> bool {
    number.as_i64().is_some_and(|whole| whole.unsigned_abs() < 1_000)
}
