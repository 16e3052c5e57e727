//! The form of a query: read with bounds, nothing guessed.

use serde_json::{Map, Value, json};

use super::{Aggregate, Condition, Function, HandleQuery, Predicate, SortKey, ViewRequest};
use crate::error::HandleError;

/// The keys of a query.
const KEYS: [&str; 9] =
    ["aggregate", "args", "fields", "filter", "group_by", "limit", "offset", "sort", "view"];
/// The tests of a condition.
const TESTS: [&str; 8] = ["contains", "eq", "gt", "gte", "in", "lt", "lte", "ne"];
/// The most fields that one query names.
const MAX_FIELDS: usize = 256;
/// The longest name of a field, in bytes.
const MAX_NAME: usize = 256;
/// The most conditions.
const MAX_CONDITIONS: usize = 32;
/// The most values after `in`.
const MAX_VALUES: usize = 100;
/// The longest text in a condition, in bytes.
const MAX_TEXT: usize = 1_000;
/// The most keys of an order.
const MAX_SORT: usize = 8;
/// The most aggregates.
const MAX_AGGREGATES: usize = 16;
/// The most arguments of a view.
const MAX_ARGS: usize = 16;

type FormResult<T> = Result<T, HandleError>;

pub(super) fn parse(value: &Value) -> FormResult<HandleQuery> {
    let Value::Object(map) = value else {
        return Err(wrong(format!("it must be an object with the keys {}", KEYS.join(", "))));
    };
    let mut query = HandleQuery::default();
    let mut args = None;
    for (key, value) in map {
        match key.as_str() {
            "offset" => query.offset = whole(key, value)?,
            "limit" => query.limit = Some(whole(key, value)?),
            "fields" => query.fields = names(value)?,
            "filter" => query.filter = filter(value)?,
            "sort" => query.sort = sort(value)?,
            "aggregate" => query.aggregate = aggregates(value)?,
            "group_by" => query.group_by = Some(name(key, value)?),
            "view" => query.view = Some(ViewRequest::new(name(key, value)?)),
            "args" => args = Some(arguments(value)?),
            _ => return Err(unknown("key", key, &KEYS)),
        }
    }
    match (&mut query.view, args) {
        (Some(view), Some(args)) => view.args = args,
        (None, Some(_)) => return Err(wrong("`args` belongs to a `view`; name one".to_owned())),
        _ => {}
    }
    if !query.fields.is_empty() && query.is_aggregated() {
        let problem = "`fields` does not go with `aggregate` or `group_by`: these make the fields";
        return Err(wrong(problem.to_owned()));
    }
    Ok(query)
}

/// The query as [`parse`] reads it.
pub(super) fn write(query: &HandleQuery) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value, is_empty: bool| {
        if !is_empty {
            out.insert(key.to_owned(), value);
        }
    };
    put("offset", json!(query.offset), query.offset == 0);
    put("limit", json!(query.limit), query.limit.is_none());
    put("fields", json!(query.fields), query.fields.is_empty());
    let conditions: Vec<Value> = query
        .filter
        .iter()
        .map(|Condition { field, test }| json!({ field: { test.word(): test.operand() } }))
        .collect();
    put("filter", Value::Array(conditions), query.filter.is_empty());
    let order = |key: &SortKey| json!({ "field": key.field, "order": order_word(key) });
    let sort: Vec<Value> = query.sort.iter().map(order).collect();
    put("sort", Value::Array(sort), query.sort.is_empty());
    let aggregates: Vec<String> = query.aggregate.iter().map(Aggregate::name).collect();
    put("aggregate", json!(aggregates), query.aggregate.is_empty());
    put("group_by", json!(query.group_by), query.group_by.is_none());
    if let Some(view) = &query.view {
        put("view", json!(view.name), false);
        put("args", Value::Object(view.args.clone()), view.args.is_empty());
    }
    Value::Object(out)
}

pub(crate) fn wrong(detail: String) -> HandleError {
    HandleError::Query { detail }
}

/// What is not known, with what was probably meant, or all that is known.
pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> HandleError {
    let shown = shown(word);
    wrong(match weaver_text::suggest::nearest(word, known.iter().copied()) {
        Some(meant) => format!("unknown {what} `{shown}`; did you mean `{meant}`?"),
        None => format!("unknown {what} `{shown}`; there is {}", known.join(", ")),
    })
}

fn shown(word: &str) -> String {
    weaver_text::escape::line(weaver_text::escape::truncate(word, 64)).into_owned()
}

fn whole(key: &str, value: &Value) -> FormResult<u64> {
    value.as_u64().ok_or_else(|| wrong(format!("`{key}` must be a whole number from 0 on")))
}

fn name(key: &str, value: &Value) -> FormResult<String> {
    let name = value.as_str().filter(|name| !name.is_empty() && name.len() <= MAX_NAME);
    let problem = || wrong(format!("`{key}` must be a name of at most {MAX_NAME} bytes"));
    name.map(str::to_owned).ok_or_else(problem)
}

fn names(value: &Value) -> FormResult<Vec<String>> {
    let problem = || wrong(format!("`fields` must be a list of at most {MAX_FIELDS} names"));
    let list = value.as_array().filter(|list| list.len() <= MAX_FIELDS).ok_or_else(problem)?;
    list.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(problem)).collect()
}

fn arguments(value: &Value) -> FormResult<Map<String, Value>> {
    let args = value.as_object().filter(|args| args.len() <= MAX_ARGS);
    let problem = || wrong(format!("`args` must be an object of at most {MAX_ARGS} keys"));
    args.cloned().ok_or_else(problem)
}

/// `{"field": value}` or `{"field": {"gte": value}}`, or a list of such; all must be true.
fn filter(value: &Value) -> FormResult<Vec<Condition>> {
    let mut conditions = Vec::new();
    let parts: Vec<&Map<String, Value>> = match value {
        Value::Object(map) => vec![map],
        Value::Array(list) if list.len() <= MAX_CONDITIONS => list
            .iter()
            .map(|part| part.as_object().ok_or_else(filter_form))
            .collect::<FormResult<_>>()?,
        _ => return Err(filter_form()),
    };
    for (field, test) in parts.into_iter().flatten() {
        let field = name("filter", &Value::String(field.clone()))?;
        match test {
            Value::Object(tests) if tests.is_empty() => {
                let problem = format!("the condition on `{}` is empty", shown(&field));
                return Err(wrong(problem));
            }
            Value::Object(tests) => {
                for (word, value) in tests {
                    let test = self::test(word, value)?;
                    conditions.push(Condition { field: field.clone(), test });
                }
            }
            value => {
                conditions.push(Condition { field, test: Predicate::Eq(scalar("eq", value)?) })
            }
        }
    }
    if conditions.len() > MAX_CONDITIONS {
        return Err(wrong(format!("`filter` has more than {MAX_CONDITIONS} conditions")));
    }
    Ok(conditions)
}

fn filter_form() -> HandleError {
    wrong(format!(
        "`filter` must be an object like {{\"status\": \"open\", \"amount\": {{\"gte\": 10}}}}, or a list of at most \
         {MAX_CONDITIONS} such"
    ))
}

fn test(word: &str, value: &Value) -> FormResult<Predicate> {
    Ok(match word {
        "eq" => Predicate::Eq(scalar(word, value)?),
        "ne" => Predicate::Ne(scalar(word, value)?),
        "lt" => Predicate::Lt(ordered(word, value)?),
        "lte" => Predicate::Lte(ordered(word, value)?),
        "gt" => Predicate::Gt(ordered(word, value)?),
        "gte" => Predicate::Gte(ordered(word, value)?),
        "contains" => Predicate::Contains(scalar(word, value)?),
        "in" => {
            let list = value.as_array().filter(|list| list.len() <= MAX_VALUES);
            let problem = || wrong(format!("`in` needs a list of at most {MAX_VALUES} values"));
            let list = list.ok_or_else(problem)?;
            Predicate::In(list.iter().map(|value| scalar(word, value)).collect::<FormResult<_>>()?)
        }
        _ => return Err(unknown("test", word, &TESTS)),
    })
}

fn scalar(word: &str, value: &Value) -> FormResult<Value> {
    match value {
        Value::Array(_) | Value::Object(_) => {
            Err(wrong(format!("`{word}` compares with a text, a number, true, false or null")))
        }
        Value::String(text) if text.len() > MAX_TEXT => {
            Err(wrong(format!("a text after `{word}` has at most {MAX_TEXT} bytes")))
        }
        value => Ok(value.clone()),
    }
}

fn ordered(word: &str, value: &Value) -> FormResult<Value> {
    match scalar(word, value)? {
        value @ (Value::String(_) | Value::Number(_)) => Ok(value),
        _ => Err(wrong(format!("`{word}` compares with a number or a text"))),
    }
}

fn order_word(key: &SortKey) -> &'static str {
    if key.descending { "desc" } else { "asc" }
}

/// `"amount"`, `"-amount"` for the greatest first, or `{"field": "amount", "order": "desc"}`; one,
/// or a list.
fn sort(value: &Value) -> FormResult<Vec<SortKey>> {
    let problem = || wrong(format!("`sort` must be a key or a list of at most {MAX_SORT} keys"));
    match value {
        Value::Array(keys) if keys.len() <= MAX_SORT => keys.iter().map(sort_key).collect(),
        Value::Array(_) => Err(problem()),
        key => Ok(vec![sort_key(key)?]),
    }
}

fn sort_key(value: &Value) -> FormResult<SortKey> {
    let problem = || {
        wrong(
            "a key of `sort` is a field, `-` and a field, or {\"field\": …, \"order\": \"asc\" or \"desc\"}"
                .to_owned(),
        )
    };
    match value {
        Value::String(text) => {
            let (field, descending) = match text.strip_prefix('-') {
                Some(field) => (field, true),
                None => (text.as_str(), false),
            };
            Ok(SortKey { field: name("sort", &json!(field))?, descending })
        }
        Value::Object(map) => {
            let mut key = SortKey { field: String::new(), descending: false };
            for (word, value) in map {
                match (word.as_str(), value.as_str()) {
                    ("field", _) => key.field = name("field", value)?,
                    ("order", Some("asc")) => key.descending = false,
                    ("order", Some("desc")) => key.descending = true,
                    _ => return Err(problem()),
                }
            }
            if key.field.is_empty() { Err(problem()) } else { Ok(key) }
        }
        _ => Err(problem()),
    }
}

fn aggregates(value: &Value) -> FormResult<Vec<Aggregate>> {
    let problem = || {
        let problem = format!(
            "`aggregate` must be one or a list of at most {MAX_AGGREGATES} of count, sum(field), avg(field), \
             min(field), max(field), distinct(field)"
        );
        wrong(problem)
    };
    match value {
        Value::Array(list) if list.len() <= MAX_AGGREGATES => {
            list.iter().map(|one| aggregate(one.as_str().ok_or_else(problem)?)).collect()
        }
        Value::String(one) => Ok(vec![aggregate(one)?]),
        _ => Err(problem()),
    }
}

fn aggregate(text: &str) -> FormResult<Aggregate> {
    let (word, field) = match text.split_once('(') {
        None => (text, None),
        Some((word, rest)) => {
            let closed = rest.strip_suffix(')');
            let problem = || wrong(format!("`{}` has no closing bracket", shown(text)));
            (word, Some(name("aggregate", &json!(closed.ok_or_else(problem)?))?))
        }
    };
    let found = Function::ALL.into_iter().find(|function| function.word() == word);
    let Some(function) = found else {
        return Err(unknown("aggregate", word, &Function::ALL.map(Function::word)));
    };
    if field.is_none() && function != Function::Count {
        return Err(wrong(format!("`{word}` needs a field: `{word}(amount)`")));
    }
    Ok(Aggregate { function, field })
}
