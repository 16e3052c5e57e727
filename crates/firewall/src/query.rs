//! Questions about a stored result.

mod drill;

pub(crate) use drill::drill;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::HandleError;

/// The keys of a query.
const KEYS: [&str; 3] = ["fields", "limit", "offset"];
/// The most fields that one query names.
const MAX_FIELDS: usize = 256;

/// A question about a stored result: which rows, which fields.
///
/// ```
/// use serde_json::json;
/// use weaver_firewall::HandleQuery;
///
/// let query = HandleQuery::parse(&json!({ "offset": 10, "fields": ["id"] }))?;
/// assert_eq!((query.offset, query.limit), (10, None));
/// let wrong = HandleQuery::parse(&json!({ "ofset": 10 })).unwrap_err();
/// assert!(wrong.to_string().contains("`offset`"));
/// # Ok::<(), weaver_firewall::HandleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct HandleQuery {
    /// How many rows to pass over; 0 by default.
    pub offset: u64,
    /// How many rows at most; without it, as many as fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Only these fields; all that may be seen when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

impl HandleQuery {
    /// Reads a query. Nothing is guessed: an unknown key and a number that is no whole number
    /// from 0 on are errors.
    ///
    /// # Errors
    /// [`HandleError::Query`], naming the key, what it must be, and the key probably meant.
    pub fn parse(value: &Value) -> Result<Self, HandleError> {
        let Value::Object(map) = value else {
            return Err(wrong(format!("it must be an object with the keys {}", KEYS.join(", "))));
        };
        let mut query = Self::default();
        for (key, value) in map {
            match key.as_str() {
                "offset" => query.offset = whole(key, value)?,
                "limit" => query.limit = Some(whole(key, value)?),
                "fields" => query.fields = names(value)?,
                _ => return Err(unknown(key)),
            }
        }
        Ok(query)
    }
}

impl TryFrom<Value> for HandleQuery {
    type Error = HandleError;

    fn try_from(value: Value) -> Result<Self, HandleError> {
        Self::parse(&value)
    }
}

fn wrong(detail: String) -> HandleError {
    HandleError::Query { detail }
}

fn whole(key: &str, value: &Value) -> Result<u64, HandleError> {
    value.as_u64().ok_or_else(|| wrong(format!("`{key}` must be a whole number from 0 on")))
}

fn names(value: &Value) -> Result<Vec<String>, HandleError> {
    let problem = || wrong(format!("`fields` must be a list of at most {MAX_FIELDS} names"));
    let list = value.as_array().filter(|list| list.len() <= MAX_FIELDS).ok_or_else(problem)?;
    list.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(problem)).collect()
}

fn unknown(key: &str) -> HandleError {
    let shown = weaver_text::escape::line(weaver_text::escape::truncate(key, 64)).into_owned();
    wrong(match weaver_text::suggest::nearest(key, KEYS) {
        Some(meant) => format!("unknown key `{shown}`; did you mean `{meant}`?"),
        None => format!("unknown key `{shown}`; the keys are {}", KEYS.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_understood_is_refused() {
        for (query, says) in [
            (json!([]), "must be an object"),
            (json!({"offset": -1}), "`offset` must be a whole number"),
            (json!({"offset": 1.0}), "`offset` must be a whole number"),
            (json!({"limit": "5"}), "`limit` must be a whole number"),
            (json!({"limit": true}), "`limit` must be a whole number"),
            (json!({"fields": "id"}), "`fields` must be a list"),
            (json!({"fields": [1]}), "`fields` must be a list"),
            (json!({"filds": []}), "did you mean `fields`?"),
            (json!({"filter": {}}), "unknown key `filter`"),
        ] {
            let error = HandleQuery::parse(&query).unwrap_err();
            assert!(error.to_string().contains(says), "{query}: {error}");
            assert_eq!(error.code(), "invalid_constraint");
            assert!(serde_json::from_value::<HandleQuery>(query).is_err());
        }
    }

    #[test]
    fn a_query_round_trips() {
        let query = HandleQuery { offset: 3, limit: Some(0), fields: vec!["a".into(), "b".into()] };
        let text = serde_json::to_string(&query).unwrap();
        assert_eq!(serde_json::from_str::<HandleQuery>(&text).unwrap(), query);
        assert_eq!(HandleQuery::parse(&json!({})).unwrap(), HandleQuery::default());
    }
}
