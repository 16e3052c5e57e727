//! Finds the record ids in a reply that are vouched for, if a signed contract says which member of
//! a record its server assigns.
//!
//! An id that a server assigns is not text that somebody else could have placed there. It is
//! vouched for in two cases: the call itself created the record, or the user named the record and
//! no other record of the reply has that name.

use serde_json::Value;
use serde_saphyr::options::{AliasLimits, DuplicateKeyPolicy};
use weaver_policy::{ValueOrigin, ValueOrigins};
use weaver_text::values::{self, ValueClass, ValueToken};
use weaver_types::{Impact, JsonPointer, JsonRows, RawContent, RawResult, RecordIdentity};

use super::without_echoes;

/// The most records of one reply that are examined.
const MAX_RECORDS: usize = 1_000;
/// The longest reply that is read as YAML, in bytes.
const MAX_YAML_BYTES: usize = 256 * 1024;
/// The deepest nesting of YAML that is read.
const MAX_YAML_DEPTH: usize = 64;

/// The id and the name of a record in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplyRecord {
    id: String,
    name: Option<String>,
}

/// A reply with records, and the call that it answers.
pub(crate) struct Reply<'a> {
    pub(crate) records: &'a [ReplyRecord],
    pub(crate) fields: &'a RecordIdentity,
    /// The impact of the call.
    pub(crate) impact: Impact,
    /// The arguments of the call.
    pub(crate) arguments: &'a Value,
}

/// The records of a reply; none if it failed, has more than [`MAX_RECORDS`], or has a record
/// without an id.
pub(crate) fn reply_records(raw: &RawResult, fields: &RecordIdentity) -> Vec<ReplyRecord> {
    if raw.is_error {
        return Vec::new();
    }
    let structured = raw.blocks.as_ref().and_then(|blocks| blocks.structured.as_ref());
    let records = match (structured, &raw.content) {
        (Some(value), _) | (None, RawContent::Json(value)) => records_in_value(value, fields),
        (None, RawContent::Rows(rows)) => records_in_rows(rows, fields),
        (None, RawContent::Text(text)) => {
            parse_text(text).and_then(|value| records_in_value(&value, fields))
        }
        (None, RawContent::Binary { .. }) => None,
    };
    records.unwrap_or_default()
}

/// The ids of these records that are vouched for.
pub(crate) fn vouched_ids(reply: &Reply<'_>, origins: &dyn ValueOrigins) -> Vec<ValueToken> {
    let Reply { records, fields, impact, arguments } = *reply;
    if let [created] = records
        && impact == Impact::Write
    {
        // An id that the caller chose is not assigned by the server.
        return without_echoes(id_token(created).into_iter().collect(), arguments);
    }
    let Some(name_pointer) = fields.name.as_deref().and_then(member_pointer) else {
        return Vec::new();
    };
    let named = |record: &&ReplyRecord| {
        let name = record.name.as_deref().unwrap_or_default();
        let bearers = records.iter().filter(|other| is_same_name(other, name)).take(2).count();
        let origin = || origins.origin(&name_pointer, &Value::String(name.to_owned()));
        bearers == 1 && origin() == Some(ValueOrigin::User)
    };
    records.iter().filter(named).filter_map(id_token).collect()
}

fn id_token(record: &ReplyRecord) -> Option<ValueToken> {
    values::identifier(&record.id).map(|key| ValueToken::new(ValueClass::Identifier, key))
}

fn is_same_name(record: &ReplyRecord, name: &str) -> bool {
    let words = |text: &str| values::words(text);
    record.name.as_deref().is_some_and(|record_name| words(record_name) == words(name))
}

fn member_pointer(name: &str) -> Option<JsonPointer> {
    JsonPointer::parse(&format!("/{}", JsonPointer::escape_step(name))).ok()
}

/// A list of records, one record, or an object that contains just one of these.
fn records_in_value(value: &Value, fields: &RecordIdentity) -> Option<Vec<ReplyRecord>> {
    match value {
        Value::Array(items) => records_in_list(items.iter(), fields),
        Value::Object(members) if members.contains_key(&fields.id) => {
            Some(vec![parse_record(value, fields)?])
        }
        Value::Object(members) => {
            let mut inner = members.values().filter(|inner| inner.is_array() || inner.is_object());
            match (inner.next()?, inner.next()) {
                (Value::Array(items), None) => records_in_list(items.iter(), fields),
                (one, None) => Some(vec![parse_record(one, fields)?]),
                _ => None,
            }
        }
        _ => None,
    }
}

fn records_in_rows(rows: &JsonRows, fields: &RecordIdentity) -> Option<Vec<ReplyRecord>> {
    let fits_limit = rows.len() <= MAX_RECORDS;
    fits_limit.then(|| rows.rows().map(|row| parse_record(&row, fields)).collect()).flatten()
}

fn records_in_list<'v>(
    items: impl ExactSizeIterator<Item = &'v Value>,
    fields: &RecordIdentity,
) -> Option<Vec<ReplyRecord>> {
    let fits_limit = items.len() <= MAX_RECORDS;
    fits_limit.then(|| items.map(|item| parse_record(item, fields)).collect()).flatten()
}

fn parse_record(value: &Value, fields: &RecordIdentity) -> Option<ReplyRecord> {
    let id = match value.get(&fields.id)? {
        Value::String(id) => id.clone(),
        Value::Number(id) => id.to_string(),
        _ => return None,
    };
    let name = fields.name.as_ref().and_then(|name| value.get(name)).and_then(Value::as_str);
    Some(ReplyRecord { id, name: name.map(str::to_owned) })
}

/// Parses text as JSON, else as YAML. Both formats quote the contents of a record, so that no text
/// in it can pass for a member.
fn parse_text(text: &str) -> Option<Value> {
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).ok();
    }
    if text.len() > MAX_YAML_BYTES {
        return None;
    }
    let mut options = serde_saphyr::Options::default();
    let mut aliases = AliasLimits::default();
    aliases.max_total_replayed_events = 0;
    options.alias_limits = aliases;
    options.duplicate_keys = DuplicateKeyPolicy::Error;
    options.strict_booleans = true;
    options.with_snippet = false;
    if let Some(budget) = options.budget.as_mut() {
        budget.max_depth = MAX_YAML_DEPTH;
    }
    serde_saphyr::from_str_with_options(text, options).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields() -> RecordIdentity {
        RecordIdentity { id: "id_".to_owned(), name: Some("title".to_owned()) }
    }

    fn ids(raw: &RawResult) -> Vec<String> {
        reply_records(raw, &fields()).into_iter().map(|record| record.id).collect()
    }

    #[test]
    fn records_are_read_in_the_forms_that_servers_give_them() {
        let one = json!({ "id_": 7, "title": "x" });
        for (reply, expected) in [
            (RawResult::json(one.clone()), vec!["7"]),
            (RawResult::json(json!([one, { "id_": "8" }])), vec!["7", "8"]),
            (RawResult::json(json!({ "total": 1, "items": [one] })), vec!["7"]),
            (RawResult::json(json!({ "file": one })), vec!["7"]),
            (RawResult::text(r#"{"id_": "a-1"}"#), vec!["a-1"]),
            (RawResult::text("content: 'a\n\n  b'\nid_: '26'\nsize: 79\n"), vec!["26"]),
            (RawResult::text("- id_: '5'\n  title: A\n- id_: '23'\n  title: B\n"), vec!["5", "23"]),
        ] {
            assert_eq!(ids(&reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn what_a_record_holds_is_no_record() {
        for reply in [
            // The text of a record, however it looks.
            RawResult::text("content: 'x\n\n  id_: ''13''\n\n  '\ntitle: A\n"),
            RawResult::text("content: |\n  id_: '13'\ntitle: A\n"),
            RawResult::text(r#"{"content": "\", \"id_\": \"13\", \"a\": \""}"#),
            // Two ids for one record, and a record without an id.
            RawResult::text("id_: '13'\nid_: '26'\n"),
            RawResult::json(json!([{ "id_": "1" }, { "title": "B" }])),
            // Deeper than the record itself, beside other things.
            RawResult::json(json!({ "a": { "id_": "1" }, "b": { "id_": "2" } })),
            RawResult::json(json!({ "id_": { "id_": "1" } })),
            RawResult::json(json!({ "id_": "1" })).failed(),
            RawResult::text("Created. id_: 13"),
        ] {
            assert_eq!(ids(&reply), Vec::<String>::new(), "{reply:?}");
        }
    }

    #[test]
    fn the_records_of_one_reply_are_bounded() {
        let list = |n: usize| Value::Array((0..n).map(|id| json!({ "id_": id })).collect());
        assert_eq!(ids(&RawResult::json(list(MAX_RECORDS))).len(), MAX_RECORDS);
        assert_eq!(ids(&RawResult::json(list(MAX_RECORDS + 1))).len(), 0);
        let long = format!("id_: '1'\ncontent: {}\n", "a".repeat(MAX_YAML_BYTES));
        assert_eq!(ids(&RawResult::text(long)).len(), 0);
    }

    #[test]
    fn rows_are_records_up_to_the_same_bound() {
        let rows = |n: usize| {
            let list: Vec<Value> = (0..n).map(|id| json!({ "id_": id })).collect();
            let rows = JsonRows::parse(Value::Array(list).to_string()).unwrap();
            ids(&RawResult { content: RawContent::Rows(rows), ..RawResult::text("") }).len()
        };
        assert_eq!((rows(3), rows(MAX_RECORDS), rows(MAX_RECORDS + 1)), (3, MAX_RECORDS, 0));
    }

    #[test]
    fn a_text_is_read_as_yaml_up_to_256_kib_and_64_levels() {
        let long = |bytes: usize| {
            let head = "id_: '1'\ntitle: ";
            ids(&RawResult::text(format!("{head}{}", "a".repeat(bytes - head.len())))).len()
        };
        assert_eq!((long(MAX_YAML_BYTES), long(MAX_YAML_BYTES + 1)), (1, 0));
        let deep = |levels: usize| {
            let list = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
            ids(&RawResult::text(format!("id_: '1'\nmore: {list}\n"))).len()
        };
        assert_eq!((deep(10), deep(100)), (1, 0));
    }

    /// Vouches for this name at the place of a record's name.
    #[derive(Debug)]
    struct Named(&'static str);

    impl ValueOrigins for Named {
        fn origin(&self, at: &JsonPointer, value: &Value) -> Option<ValueOrigin> {
            (at.as_str() == "/title" && value.as_str() == Some(self.0)).then_some(ValueOrigin::User)
        }
    }

    fn vouched(impact: Impact, reply: Value, arguments: Value, name: &'static str) -> Vec<String> {
        let (fields, records) = (fields(), reply_records(&RawResult::json(reply), &fields()));
        let reply = Reply { records: &records, fields: &fields, impact, arguments: &arguments };
        vouched_ids(&reply, &Named(name)).into_iter().map(|token| token.key).collect()
    }

    #[test]
    fn the_id_of_what_a_call_created_is_vouched_for_unless_the_call_chose_it() {
        let one = json!({ "id_": "doc-17", "title": "Plan" });
        let none = Vec::<String>::new();
        assert_eq!(vouched(Impact::Write, one.clone(), json!({ "title": "Plan" }), ""), ["doc-17"]);
        assert_eq!(vouched(Impact::Write, one.clone(), json!({ "id": "doc-17" }), ""), none);
        assert_eq!(vouched(Impact::Read, one.clone(), json!({}), ""), none);
        assert_eq!(vouched(Impact::Destroy, one.clone(), json!({}), ""), none);
        let two = json!([one, { "id_": "doc-18", "title": "Other" }]);
        assert_eq!(vouched(Impact::Write, two, json!({}), ""), none, "one of them was there");
    }

    #[test]
    fn a_record_that_the_user_named_is_vouched_for_where_no_other_bears_the_name() {
        let record = |id: &str, title: &str| json!({ "id_": id, "title": title });
        let none = Vec::<String>::new();
        let list = json!([record("doc-1", "Plan"), record("doc-2", "Budget")]);
        assert_eq!(vouched(Impact::Read, list.clone(), json!({}), "Plan"), ["doc-1"]);
        assert_eq!(vouched(Impact::Read, list, json!({}), "Other"), none);
        let twice = json!([record("doc-1", "Plan"), record("doc-2", "plan!")]);
        assert_eq!(vouched(Impact::Read, twice, json!({}), "Plan"), none, "the same words");
        let unnamed = json!([record("doc-1", "Plan"), { "id_": "doc-2" }]);
        assert_eq!(vouched(Impact::Read, unnamed, json!({}), "Plan"), ["doc-1"]);
    }
}
