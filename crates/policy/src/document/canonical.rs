//! Converts a TOML document to the canonical JSON that is hashed and signed.
//!
//! The format is RFC 8785. A signature covers every value of a document but not its layout:
//! comments, whitespace and the order of keys may change.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weaver_types::canonical::{self, Profile};

/// Why a document has no canonical form, and the position.
pub(super) struct CanonicalFailure {
    pub(super) span: Range<usize>,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) remedy: &'static str,
}

/// The canonical bytes of a document that nests at most `max_depth` tables and lists.
///
/// Tables become objects; dates and times become texts. Two documents that load and have equal
/// canonical bytes mean the same.
pub(super) fn canonical_bytes(
    root: &Spanned<DeTable<'_>>,
    max_depth: usize,
) -> Result<Vec<u8>, CanonicalFailure> {
    let value = table_to_json(root.get_ref(), &root.span(), max_depth)?;
    canonical::to_bytes(&value, Profile::Document).map_err(|error| CanonicalFailure {
        span: root.span(),
        code: "policy.canonical",
        message: format!("the document has no canonical form: {error}"),
        remedy: "use integers within 2^53 and finite numbers",
    })
}

fn table_to_json(
    table: &DeTable<'_>,
    span: &Range<usize>,
    depth: usize,
) -> Result<Value, CanonicalFailure> {
    let depth = enter_level(span, depth)?;
    let mut out = Map::new();
    for (key, item) in table {
        out.insert(key.get_ref().to_string(), to_json(item.get_ref(), &item.span(), depth)?);
    }
    Ok(Value::Object(out))
}

fn enter_level(span: &Range<usize>, depth: usize) -> Result<usize, CanonicalFailure> {
    depth.checked_sub(1).ok_or_else(|| CanonicalFailure {
        span: span.clone(),
        code: "policy.too_deep",
        message: "the document is nested too deeply".to_owned(),
        remedy: "nest at most 32 tables and lists",
    })
}

/// Converts one value of a document to JSON.
pub(super) fn to_json(
    value: &DeValue<'_>,
    span: &Range<usize>,
    depth: usize,
) -> Result<Value, CanonicalFailure> {
    match value {
        DeValue::String(text) => Ok(Value::String(text.to_string())),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::from)
            .map_err(|_| inexact_number(span.clone())),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| inexact_number(span.clone())),
        DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
        DeValue::Datetime(time) => Ok(Value::String(time.to_string())),
        DeValue::Array(items) => {
            let depth = enter_level(span, depth)?;
            let all = items.iter().map(|item| to_json(item.get_ref(), &item.span(), depth));
            all.collect::<Result<_, _>>().map(Value::Array)
        }
        DeValue::Table(inner) => table_to_json(inner, span, depth),
    }
}

fn inexact_number(span: Range<usize>) -> CanonicalFailure {
    CanonicalFailure {
        span,
        code: "policy.number",
        message: "the number cannot be written exactly".to_owned(),
        remedy: "use an integer within 2^53 or a finite number",
    }
}
