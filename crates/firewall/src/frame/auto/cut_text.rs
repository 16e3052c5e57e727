//! The text that an overview of JSON cuts, where it cuts nothing else.

use serde_json::{Map, Value, json};

use crate::redact::{Counts, Redactor};
use crate::spec::EffectiveLimits;
use crate::view::path;

/// The one part of a value that an overview cuts: a text.
pub(super) struct CutText<'v> {
    pub(super) path: String,
    /// The last key of the path.
    key: Option<&'v str>,
    /// The text before redaction, after it, and as the overview has it.
    original: &'v str,
    pub(super) full: &'v str,
    pub(super) shown: &'v str,
}

impl<'v> CutText<'v> {
    /// The only difference between a value as it is shown in full and its overview.
    pub(super) fn find(value: &'v Value, full: &'v Value, overview: &'v Value) -> Option<Self> {
        let (mut value, mut full, mut overview) = (value, full, overview);
        let (mut path, mut key) = (String::new(), None);
        loop {
            match (value, full, overview) {
                (Value::String(original), Value::String(full), Value::String(shown)) => {
                    return Some(Self { path, key, original, full, shown });
                }
                (Value::Object(fields), Value::Object(all), Value::Object(some))
                    if all.len() == some.len() =>
                {
                    let (name, inner) = only_difference(all, some)?;
                    (value, full, overview) = (fields.get(name)?, inner, some.get(name)?);
                    path = path::append_key(&path, name);
                    key = Some(name);
                }
                (Value::Array(items), Value::Array(all), Value::Array(some))
                    if all.len() == some.len() && items.len() == all.len() =>
                {
                    let mut differing = (0..all.len()).filter(|at| all.get(*at) != some.get(*at));
                    let at = differing.next().filter(|_| differing.next().is_none())?;
                    (value, full, overview) = (items.get(at)?, all.get(at)?, some.get(at)?);
                    path.push_str(&format!("[{at}]"));
                }
                _ => return None,
            }
        }
    }

    /// The redacted text, without any rendering.
    pub(super) fn redacted(&self, redactor: &Redactor, limits: &EffectiveLimits) -> Option<String> {
        let alone = match self.key {
            Some(key) => Value::Object(Map::from_iter([(key.to_owned(), self.original.into())])),
            None => json!([self.original]),
        };
        let names = limits.field_name_classifier();
        let redacted = redactor.redact_value_with_names(&alone, names, &mut Counts::new());
        let text = match &redacted {
            Value::Object(fields) => fields.values().next(),
            other => other.get(0),
        };
        text?.as_str().map(str::to_owned)
    }
}

/// The only field in which two objects differ.
fn only_difference<'v>(
    all: &'v Map<String, Value>,
    some: &Map<String, Value>,
) -> Option<(&'v str, &'v Value)> {
    let mut differing = all.iter().filter(|(name, value)| some.get(*name) != Some(*value));
    let (name, value) = differing.next().filter(|_| differing.next().is_none())?;
    Some((name, value))
}
