//! The canonical JSON of a TOML document: what is hashed and signed.
//!
//! The form is that of RFC 8785. A signature covers what a document says and not how it is laid out:
//! comments, blanks and the order of keys may change, and every value is covered.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use weaver_types::canonical::{self, Profile};

/// Why a document has no canonical form, and where.
pub(super) struct CanonicalRefusal {
    pub(super) span: Range<usize>,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) remedy: &'static str,
}

/// The canonical bytes of the document, which may nest at most `max_depth` tables and lists.
///
/// Tables become objects, dates and times become their text. Comments, blanks and the order of
/// keys have no part in it: two texts that load and have equal bytes mean the same.
pub(super) fn bytes(
    root: &Spanned<DeTable<'_>>,
    max_depth: usize,
) -> Result<Vec<u8>, CanonicalRefusal> {
    let value = from_table(root.get_ref(), &root.span(), max_depth)?;
    canonical::to_bytes(&value, Profile::Document).map_err(|error| CanonicalRefusal {
        span: root.span(),
        code: "policy.canonical",
        message: format!("the document has no canonical form: {error}"),
        remedy: "use integers within 2^53 and finite numbers",
    })
}

fn from_table(
    table: &DeTable<'_>,
    span: &Range<usize>,
    depth: usize,
) -> Result<Value, CanonicalRefusal> {
    let depth = deeper(span, depth)?;
    let mut out = Map::new();
    for (key, item) in table {
        out.insert(key.get_ref().to_string(), plain(item.get_ref(), &item.span(), depth)?);
    }
    Ok(Value::Object(out))
}

fn deeper(span: &Range<usize>, depth: usize) -> Result<usize, CanonicalRefusal> {
    depth.checked_sub(1).ok_or_else(|| CanonicalRefusal {
        span: span.clone(),
        code: "policy.too_deep",
        message: "the document is nested too deeply".to_owned(),
        remedy: "nest at most 32 tables and lists",
    })
}

/// One value of a document as JSON.
pub(super) fn plain(
    value: &DeValue<'_>,
    span: &Range<usize>,
    depth: usize,
) -> Result<Value, CanonicalRefusal> {
    match value {
        DeValue::String(text) => Ok(Value::String(text.to_string())),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::from)
            .map_err(|_| unusable(span.clone())),
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| unusable(span.clone())),
        DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
        DeValue::Datetime(time) => Ok(Value::String(time.to_string())),
        DeValue::Array(items) => {
            let depth = deeper(span, depth)?;
            let all = items.iter().map(|item| plain(item.get_ref(), &item.span(), depth));
            all.collect::<Result<_, _>>().map(Value::Array)
        }
        DeValue::Table(inner) => from_table(inner, span, depth),
    }
}

fn unusable(span: Range<usize>) -> CanonicalRefusal {
    CanonicalRefusal {
        span,
        code: "policy.number",
        message: "the number cannot be written exactly".to_owned(),
        remedy: "use an integer within 2^53 or a finite number",
    }
}
