//! The arguments of a view: read with bounds, none unknown.

use serde_json::Value;

use crate::error::HandleError;
use crate::query::{ViewRequest, unknown, wrong};

/// The longest text in an argument, in bytes.
const MAX_TEXT: usize = 1_000;
/// The most names in a list.
const MAX_NAMES: usize = 256;

/// The arguments of one request, of which only `known` exist.
pub(super) struct Args<'a>(&'a ViewRequest);

impl<'a> Args<'a> {
    pub(super) fn of(request: &'a ViewRequest, known: &[&str]) -> Result<Self, HandleError> {
        match request.args.keys().find(|key| !known.contains(&key.as_str())) {
            Some(_) if known.is_empty() => {
                Err(wrong(format!("the view `{}` takes no `args`", request.name)))
            }
            Some(key) => Err(unknown("argument", key, known)),
            None => Ok(Self(request)),
        }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.args.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn whole(&self, key: &str) -> Result<Option<usize>, HandleError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_u64().ok_or_else(|| {
            wrong(format!("the argument `{key}` must be a whole number from 0 on"))
        })?;
        Ok(Some(usize::try_from(number).unwrap_or(usize::MAX)))
    }

    pub(super) fn truth(&self, key: &str) -> Result<Option<bool>, HandleError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let problem = || wrong(format!("the argument `{key}` must be true or false"));
        value.as_bool().map(Some).ok_or_else(problem)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, HandleError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let text = value.as_str().filter(|text| text.len() <= MAX_TEXT);
        let problem =
            || wrong(format!("the argument `{key}` must be a text of at most {MAX_TEXT} bytes"));
        text.map(Some).ok_or_else(problem)
    }

    pub(super) fn names(&self, key: &str) -> Result<Option<Vec<&'a str>>, HandleError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let problem =
            || wrong(format!("the argument `{key}` must be a list of at most {MAX_NAMES} names"));
        let list = value.as_array().filter(|list| list.len() <= MAX_NAMES).ok_or_else(problem)?;
        let names: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
        names.map(Some).ok_or_else(problem)
    }
}
