//! Parses the arguments of a view, with bounds and without unknown keys.

use serde_json::Value;

use crate::error::HandleError;
use crate::query::{ViewRequest, query_error, unknown_name_error};

/// The longest text in an argument, in bytes.
pub(super) const MAX_TEXT: usize = 1_000;
/// The most names in a list.
const MAX_NAMES: usize = 256;

/// The arguments of one request; only the known ones are accepted.
pub(super) struct ViewArgs<'a>(&'a ViewRequest);

impl<'a> ViewArgs<'a> {
    pub(super) fn of(request: &'a ViewRequest, known: &[&str]) -> Result<Self, HandleError> {
        match request.args.keys().find(|key| !known.contains(&key.as_str())) {
            Some(_) if known.is_empty() => {
                Err(query_error(format!("the view `{}` takes no `args`", request.name)))
            }
            Some(key) => Err(unknown_name_error("argument", key, known)),
            None => Ok(Self(request)),
        }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.args.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn integer(&self, key: &str) -> Result<Option<usize>, HandleError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_u64().ok_or_else(|| {
            query_error(format!("the argument `{key}` must be a whole number of at least 0"))
        })?;
        Ok(Some(usize::try_from(number).unwrap_or(usize::MAX)))
    }

    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>, HandleError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let problem = || query_error(format!("the argument `{key}` must be true or false"));
        value.as_bool().map(Some).ok_or_else(problem)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, HandleError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let text = value.as_str().filter(|text| text.len() <= MAX_TEXT);
        let problem = || {
            query_error(format!("the argument `{key}` must be a text of at most {MAX_TEXT} bytes"))
        };
        text.map(Some).ok_or_else(problem)
    }

    pub(super) fn names(&self, key: &str) -> Result<Option<Vec<&'a str>>, HandleError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let problem = || {
            query_error(format!("the argument `{key}` must be a list of at most {MAX_NAMES} names"))
        };
        let list = value.as_array().filter(|list| list.len() <= MAX_NAMES).ok_or_else(problem)?;
        let names: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
        names.map(Some).ok_or_else(problem)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(value: Value) -> ViewRequest {
        let args = json!({ "a": value }).as_object().unwrap().clone();
        ViewRequest { name: "view".to_owned(), args }
    }

    #[test]
    fn arguments_are_of_their_kind_and_within_their_bounds() {
        for (value, whole, truth, text, names) in [
            (json!(null), true, true, true, true),
            (json!(3), true, false, false, false),
            (json!(-3), false, false, false, false),
            (json!(1.5), false, false, false, false),
            (json!(true), false, true, false, false),
            (json!("a"), false, false, true, false),
            (json!("a".repeat(1_000)), false, false, true, false),
            (json!("a".repeat(1_001)), false, false, false, false),
            (json!(["a"]), false, false, false, true),
            (json!(["a", 1]), false, false, false, false),
            (json!(vec!["a"; 256]), false, false, false, true),
            (json!(vec!["a"; 257]), false, false, false, false),
        ] {
            let request = request(value);
            let args = ViewArgs::of(&request, &["a"]).unwrap();
            let read = [
                args.integer("a").is_ok(),
                args.boolean("a").is_ok(),
                args.text("a").is_ok(),
                args.names("a").is_ok(),
            ];
            assert_eq!(read, [whole, truth, text, names], "{:?}", request.args);
        }
        let three = request(json!(3));
        assert_eq!(ViewArgs::of(&three, &["a"]).unwrap().integer("a").unwrap(), Some(3));
        assert_eq!(ViewArgs::of(&three, &["a", "b"]).unwrap().integer("b").unwrap(), None);
    }

    #[test]
    fn an_argument_that_is_not_known_is_told() {
        let error =
            |known: &[&str]| ViewArgs::of(&request(json!(1)), known).err().unwrap().to_string();
        assert!(error(&[]).contains("the view `view` takes no `args`"), "{}", error(&[]));
        assert!(error(&["b"]).contains("argument"), "{}", error(&["b"]));
    }
}
