//! Parses and writes the JSON form of a query, with bounds on everything.

use serde_json::{Map, Value, json};

use super::{
    Aggregate, AggregateFunction, Condition, HandleQuery, Predicate, SortKey, ViewRequest,
};
use crate::error::HandleError;

/// The keys of a query.
const KEYS: [&str; 10] = [
    "aggregate", "args", "char_offset", "fields", "filter", "group_by", "limit", "offset", "sort",
    "view",
];
/// The predicates of a condition.
const PREDICATES: [&str; 8] = ["contains", "eq", "gt", "gte", "in", "lt", "lte", "ne"];
/// The most fields that one query may name.
const MAX_NAMED_FIELDS: usize = 256;
/// The longest field name, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// The most conditions.
const MAX_CONDITIONS: usize = 32;
/// The most values of an `in` predicate.
const MAX_IN_VALUES: usize = 100;
/// The longest text in a condition, in bytes.
const MAX_OPERAND_BYTES: usize = 1_000;
/// The most sort keys.
const MAX_SORT_KEYS: usize = 8;
/// The most aggregates.
const MAX_AGGREGATES: usize = 16;
/// The most arguments of a view.
const MAX_ARGS: usize = 16;

type QueryResult<T> = Result<T, HandleError>;

pub(super) fn parse(value: &Value) -> QueryResult<HandleQuery> {
    let Value::Object(map) = value else {
        return Err(query_error(format!("it must be an object with the keys {}", KEYS.join(", "))));
    };
    let mut query = HandleQuery::default();
    let mut args = None;
    for (key, value) in map {
        match key.as_str() {
            "offset" => query.offset = parse_integer(key, value)?,
            "char_offset" => query.char_offset = parse_integer(key, value)?,
            "limit" => query.limit = Some(parse_integer(key, value)?),
            "fields" => query.fields = parse_names(value)?,
            "filter" => query.filter = parse_filter(value)?,
            "sort" => query.sort = parse_sort(value)?,
            "aggregate" => query.aggregate = parse_aggregates(value)?,
            "group_by" => query.group_by = Some(parse_name(key, value)?),
            "view" => query.view = Some(ViewRequest::new(parse_name(key, value)?)),
            "args" => args = Some(parse_args(value)?),
            _ => return Err(unknown_name_error("key", key, &KEYS)),
        }
    }
    match (&mut query.view, args) {
        (Some(view), Some(args)) => view.args = args,
        (None, Some(_)) => {
            return Err(query_error("`args` belongs to a `view`; name one".to_owned()));
        }
        _ => {}
    }
    if !query.fields.is_empty() && query.is_aggregated() {
        let problem = "`fields` does not go with `aggregate` or `group_by`: these make the fields";
        return Err(query_error(problem.to_owned()));
    }
    Ok(query)
}

/// Writes a query in the form that [`parse`] reads.
pub(super) fn to_json(query: &HandleQuery) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value, is_empty: bool| {
        if !is_empty {
            out.insert(key.to_owned(), value);
        }
    };
    put("offset", json!(query.offset), query.offset == 0);
    put("char_offset", json!(query.char_offset), query.char_offset == 0);
    put("limit", json!(query.limit), query.limit.is_none());
    put("fields", json!(query.fields), query.fields.is_empty());
    put("filter", filter_to_json(&query.filter), query.filter.is_empty());
    let sort: Vec<Value> = query.sort.iter().map(sort_key_to_json).collect();
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

/// Conditions as one object, or as a list if a field has two of the same kind.
fn filter_to_json(conditions: &[Condition]) -> Value {
    let mut fields: Map<String, Value> = Map::new();
    for Condition { field, predicate } in conditions {
        let tests = fields.entry(field.clone()).or_insert_with(|| json!({}));
        let Some(tests) = tests.as_object_mut() else { continue };
        if tests.insert(predicate.keyword().to_owned(), predicate.operand()).is_some() {
            let one = |condition: &Condition| {
                let Condition { field, predicate } = condition;
                json!({ field: { predicate.keyword(): predicate.operand() } })
            };
            return conditions.iter().map(one).collect();
        }
    }
    Value::Object(fields)
}

/// A sort key as a text, unless its field would be read as another.
fn sort_key_to_json(key: &SortKey) -> Value {
    match (key.descending, key.field.starts_with('-')) {
        (true, _) => json!(format!("-{}", key.field)),
        (false, false) => json!(key.field),
        (false, true) => json!({ "field": key.field, "order": "asc" }),
    }
}

pub(crate) fn query_error(detail: String) -> HandleError {
    HandleError::Query { detail }
}

/// The error for an unknown name, with the name that was probably meant, or all known names.
pub(crate) fn unknown_name_error(what: &str, word: &str, known: &[&str]) -> HandleError {
    let shown = escaped_word(word);
    query_error(match weaver_text::suggest::nearest(word, known.iter().copied()) {
        Some(meant) => format!("unknown {what} `{shown}`; did you mean `{meant}`?"),
        None => format!("unknown {what} `{shown}`; known: {}", known.join(", ")),
    })
}

fn escaped_word(word: &str) -> String {
    weaver_text::escape::line(weaver_text::escape::truncate(word, 64)).into_owned()
}

fn parse_integer(key: &str, value: &Value) -> QueryResult<u64> {
    value
        .as_u64()
        .ok_or_else(|| query_error(format!("`{key}` must be a whole number of at least 0")))
}

fn parse_name(key: &str, value: &Value) -> QueryResult<String> {
    let name = value.as_str().filter(|name| !name.is_empty() && name.len() <= MAX_NAME_BYTES);
    let problem =
        || query_error(format!("`{key}` must be a name of at most {MAX_NAME_BYTES} bytes"));
    name.map(str::to_owned).ok_or_else(problem)
}

fn parse_names(value: &Value) -> QueryResult<Vec<String>> {
    let problem =
        || query_error(format!("`fields` must be a list of at most {MAX_NAMED_FIELDS} names"));
    let list =
        value.as_array().filter(|list| list.len() <= MAX_NAMED_FIELDS).ok_or_else(problem)?;
    list.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(problem)).collect()
}

fn parse_args(value: &Value) -> QueryResult<Map<String, Value>> {
    let args = value.as_object().filter(|args| args.len() <= MAX_ARGS);
    let problem = || query_error(format!("`args` must be an object of at most {MAX_ARGS} keys"));
    args.cloned().ok_or_else(problem)
}

/// Parses `{"field": value}`, `{"field": {"gte": value}}`, or a list of these, all of which must
/// hold.
fn parse_filter(value: &Value) -> QueryResult<Vec<Condition>> {
    let mut conditions = Vec::new();
    let parts: Vec<&Map<String, Value>> = match value {
        Value::Object(map) => vec![map],
        Value::Array(list) if list.len() <= MAX_CONDITIONS => list
            .iter()
            .map(|part| part.as_object().ok_or_else(filter_syntax_error))
            .collect::<QueryResult<_>>()?,
        _ => return Err(filter_syntax_error()),
    };
    for (field, test) in parts.into_iter().flatten() {
        let field = parse_name("filter", &Value::String(field.clone()))?;
        match test {
            Value::Object(tests) if tests.is_empty() => {
                let problem = format!("the condition on `{}` is empty", escaped_word(&field));
                return Err(query_error(problem));
            }
            Value::Object(tests) => {
                for (word, value) in tests {
                    let predicate = self::parse_predicate(word, value)?;
                    conditions.push(Condition { field: field.clone(), predicate });
                }
            }
            value => conditions
                .push(Condition { field, predicate: Predicate::Eq(parse_scalar("eq", value)?) }),
        }
    }
    if conditions.len() > MAX_CONDITIONS {
        return Err(query_error(format!("`filter` has more than {MAX_CONDITIONS} conditions")));
    }
    Ok(conditions)
}

fn filter_syntax_error() -> HandleError {
    query_error(format!(
        "`filter` must be an object like {{\"status\": \"open\", \"amount\": {{\"gte\": 10}}}}, or a list of at most \
         {MAX_CONDITIONS} such"
    ))
}

fn parse_predicate(word: &str, value: &Value) -> QueryResult<Predicate> {
    Ok(match word {
        "eq" => Predicate::Eq(parse_scalar(word, value)?),
        "ne" => Predicate::Ne(parse_scalar(word, value)?),
        "lt" => Predicate::Lt(parse_ordered(word, value)?),
        "lte" => Predicate::Lte(parse_ordered(word, value)?),
        "gt" => Predicate::Gt(parse_ordered(word, value)?),
        "gte" => Predicate::Gte(parse_ordered(word, value)?),
        "contains" => Predicate::Contains(parse_scalar(word, value)?),
        "in" => {
            let list = value.as_array().filter(|list| list.len() <= MAX_IN_VALUES);
            let problem =
                || query_error(format!("`in` needs a list of at most {MAX_IN_VALUES} values"));
            let list = list.ok_or_else(problem)?;
            Predicate::In(
                list.iter().map(|value| parse_scalar(word, value)).collect::<QueryResult<_>>()?,
            )
        }
        _ => return Err(unknown_name_error("test", word, &PREDICATES)),
    })
}

fn parse_scalar(word: &str, value: &Value) -> QueryResult<Value> {
    match value {
        Value::Array(_) | Value::Object(_) => Err(query_error(format!(
            "`{word}` compares with a text, a number, true, false or null"
        ))),
        Value::String(text) if text.len() > MAX_OPERAND_BYTES => {
            Err(query_error(format!("a text after `{word}` has at most {MAX_OPERAND_BYTES} bytes")))
        }
        value => Ok(value.clone()),
    }
}

fn parse_ordered(word: &str, value: &Value) -> QueryResult<Value> {
    match parse_scalar(word, value)? {
        value @ (Value::String(_) | Value::Number(_)) => Ok(value),
        _ => Err(query_error(format!("`{word}` compares with a number or a text"))),
    }
}

/// Parses `"amount"`, `"-amount"` for descending order, `{"field": "amount", "order": "desc"}`, or
/// a list of these.
fn parse_sort(value: &Value) -> QueryResult<Vec<SortKey>> {
    let problem =
        || query_error(format!("`sort` must be a key or a list of at most {MAX_SORT_KEYS} keys"));
    match value {
        Value::Array(keys) if keys.len() <= MAX_SORT_KEYS => {
            keys.iter().map(parse_sort_key).collect()
        }
        Value::Array(_) => Err(problem()),
        key => Ok(vec![parse_sort_key(key)?]),
    }
}

fn parse_sort_key(value: &Value) -> QueryResult<SortKey> {
    let problem = || {
        query_error(
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
            Ok(SortKey { field: parse_name("sort", &json!(field))?, descending })
        }
        Value::Object(map) => {
            let mut key = SortKey { field: String::new(), descending: false };
            for (word, value) in map {
                match (word.as_str(), value.as_str()) {
                    ("field", _) => key.field = parse_name("field", value)?,
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

fn parse_aggregates(value: &Value) -> QueryResult<Vec<Aggregate>> {
    let problem = || {
        let problem = format!(
            "`aggregate` must be one or a list of at most {MAX_AGGREGATES} of count, sum(field), avg(field), \
             min(field), max(field), distinct(field)"
        );
        query_error(problem)
    };
    match value {
        Value::Array(list) if list.len() <= MAX_AGGREGATES => {
            list.iter().map(|one| parse_aggregate(one.as_str().ok_or_else(problem)?)).collect()
        }
        Value::String(one) => Ok(vec![parse_aggregate(one)?]),
        _ => Err(problem()),
    }
}

fn parse_aggregate(text: &str) -> QueryResult<Aggregate> {
    let (word, field) = match text.split_once('(') {
        None => (text, None),
        Some((word, rest)) => {
            let closed = rest.strip_suffix(')');
            let problem =
                || query_error(format!("`{}` has no closing bracket", escaped_word(text)));
            (word, Some(parse_name("aggregate", &json!(closed.ok_or_else(problem)?))?))
        }
    };
    let found = AggregateFunction::ALL.into_iter().find(|function| function.keyword() == word);
    let Some(function) = found else {
        return Err(unknown_name_error(
            "aggregate",
            word,
            &AggregateFunction::ALL.map(AggregateFunction::keyword),
        ));
    };
    if field.is_none() && function != AggregateFunction::Count {
        return Err(query_error(format!("`{word}` needs a field: `{word}(amount)`")));
    }
    Ok(Aggregate { function, field })
}
