//! Finds the argument values that decide where a call goes.

use serde_json::Value;
use weaver_policy::ArgumentPredicate;
use weaver_policy::critical::{self, ArgumentRole};
use weaver_types::{Effects, JsonPointer, SinkKind};

use crate::program_arguments;

/// How deeply arguments are searched.
const MAX_DEPTH: usize = 4;
/// The maximum number of values of one call that are told apart.
const MAX_VALUES: usize = 64;

/// The kind of a value, which determines its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueKind {
    Path,
    Host,
    Number,
    /// An SQL statement.
    Statement,
    /// A receiver, account or identifier, generalised to the set of observed values.
    OneOf,
}

/// Whether there is a single value or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueShape {
    One,
    List,
}

/// The values at one pointer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DestinationValue {
    pub(super) at: JsonPointer,
    pub(super) kind: ValueKind,
    pub(super) shape: ValueShape,
    /// The single value, or the items of the list.
    pub(super) values: Vec<Value>,
}

/// Collects the values that decide where a call goes.
struct ValueReader {
    sink: SinkKind,
    effects: Effects,
    out: Vec<DestinationValue>,
}

/// The values that decide where a call goes, sorted by pointer.
pub(super) fn destination_values(
    arguments: &Value,
    sink: SinkKind,
    effects: Effects,
) -> Vec<DestinationValue> {
    let mut reader = ValueReader { sink, effects, out: Vec::new() };
    reader.object(arguments, "", 0);
    if reader.out.len() > MAX_VALUES {
        reader.out.clear();
        reader.push_whole(arguments, "");
    }
    reader.out.sort_by(|a, b| a.at.as_str().cmp(b.at.as_str()));
    reader.out
}

impl ValueReader {
    fn object(&mut self, value: &Value, at: &str, depth: usize) {
        let Some(members) = value.as_object() else { return };
        for (name, value) in members {
            let escaped = JsonPointer::escape_step(name);
            let place = format!("{at}/{escaped}");
            match value {
                Value::Object(_) if depth + 1 < MAX_DEPTH => self.object(value, &place, depth + 1),
                Value::Object(_) => self.whole(value, &place),
                Value::Array(items)
                    if items.iter().any(|item| item.is_object() || item.is_array()) =>
                {
                    self.whole(value, &place);
                }
                Value::Array(items) => self.add(name, &place, ValueShape::List, items.clone()),
                one => self.add(name, &place, ValueShape::One, vec![one.clone()]),
            }
        }
    }

    /// A list of objects, or an object too deep to be told apart. As edits of a file it contains text
    /// for people; where it says who receives something, or how much, it decides as a whole.
    fn whole(&mut self, value: &Value, place: &str) {
        let is_deciding = |name: &str| critical::is_critical(name, self.sink);
        if names_any(value, &is_deciding) {
            self.push_whole(value, place);
        }
    }

    fn push_whole(&mut self, value: &Value, place: &str) {
        if let Ok(at) = JsonPointer::parse(place) {
            let values = vec![value.clone()];
            let (kind, shape) = (ValueKind::OneOf, ValueShape::One);
            self.out.push(DestinationValue { at, kind, shape, values });
        }
    }

    fn add(&mut self, name: &str, place: &str, shape: ValueShape, values: Vec<Value>) {
        let Some(kind) = self.kind(name, &values) else { return };
        if let Ok(at) = JsonPointer::parse(place) {
            self.out.push(DestinationValue { at, kind, shape, values });
        }
    }

    fn kind(&self, name: &str, values: &[Value]) -> Option<ValueKind> {
        let texts = || values.iter().filter_map(Value::as_str);
        if values.is_empty() || values.iter().all(|value| value.is_boolean() || value.is_null()) {
            return None;
        }
        if self.effects.writes() && program_arguments::takes_program(name) {
            return Some(ValueKind::Statement);
        }
        let role = critical::argument_role(name);
        let is_text = role == ArgumentRole::Text;
        if texts().any(|text| text.contains("://")) && !is_text || role == ArgumentRole::Network {
            return Some(ValueKind::Host);
        }
        // The target of a comparison or a move may be a branch.
        let is_word = |text: &str| !text.contains(['/', '\\', '.', '~']);
        let is_branch = ["target", "destination", "dest"].contains(&name) && texts().all(is_word);
        let is_path = role == ArgumentRole::Path && !is_branch;
        if texts().any(|text| text.starts_with('/')) && !is_text || is_path {
            return Some(ValueKind::Path);
        }
        if self.sink == SinkKind::None || !critical::is_critical(name, self.sink) {
            return None;
        }
        let numbers = values.iter().all(Value::is_number);
        Some(if numbers && role == ArgumentRole::Amount {
            ValueKind::Number
        } else {
            ValueKind::OneOf
        })
    }
}

/// Whether a member at any depth has a name that the predicate holds for.
fn names_any(value: &Value, predicate: &dyn Fn(&str) -> bool) -> bool {
    let mut open = vec![value];
    while let Some(next) = open.pop() {
        match next {
            Value::Object(members) if members.keys().any(|name| predicate(name)) => return true,
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    false
}

/// The host of a URL or a host name, in the form that `domains` compares.
pub(super) fn host(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let at = JsonPointer::parse("").ok()?;
    let domains = ArgumentPredicate { domains: vec![host.clone()], ..ArgumentPredicate::at(at) };
    domains.holds(&Value::from(text)).then_some(host)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds(arguments: &Value, sink: SinkKind, effects: Effects) -> Vec<(String, ValueKind)> {
        let all = destination_values(arguments, sink, effects).into_iter();
        all.map(|one| (one.at.as_str().to_owned(), one.kind)).collect()
    }

    #[test]
    fn places_and_hosts_decide_everywhere_and_receivers_at_sinks() {
        let mail = json!({ "to": "a@b.example", "body": "/not a path", "amount": 5 });
        assert_eq!(kinds(&mail, SinkKind::None, Effects::WRITE_LOCAL), []);
        let at_sink = kinds(&mail, SinkKind::ExternalSend, Effects::WRITE_OPEN);
        let places: Vec<&str> = at_sink.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(places, ["/amount", "/to"]);
        let file = json!({ "path": "/a/b", "content": "x", "head": 3 });
        assert_eq!(
            kinds(&file, SinkKind::None, Effects::READ_LOCAL),
            [("/path".to_owned(), ValueKind::Path)]
        );
        let branch = json!({ "path": "/a/b", "target": "main" });
        assert_eq!(
            kinds(&branch, SinkKind::None, Effects::READ_LOCAL),
            [("/path".to_owned(), ValueKind::Path)]
        );
        let url = json!({ "options": { "target": "https://a.example/x" } });
        let found = kinds(&url, SinkKind::None, Effects::READ_LOCAL);
        assert_eq!(found, [("/options/target".to_owned(), ValueKind::Host)]);
        let sql = json!({ "query": "insert into a values (1)" });
        assert_eq!(kinds(&sql, SinkKind::None, Effects::WRITE_LOCAL)[0].1, ValueKind::Statement);
        assert_eq!(kinds(&sql, SinkKind::None, Effects::READ_LOCAL), []);
    }

    #[test]
    fn receivers_in_lists_and_deep_below_decide_as_a_whole() {
        let payments = json!([{ "to": "DE1", "amount": 5 }]);
        let pay = json!({ "account": "ACC-1", "payments": payments });
        let found = destination_values(&pay, SinkKind::Payment, Effects::WRITE_OPEN);
        let places: Vec<_> = found.iter().map(|one| one.at.as_str()).collect();
        assert_eq!(places, ["/account", "/payments"]);
        assert_eq!(found[1].values, [payments]);
        let deep = json!({ "a": { "b": { "c": { "d": { "to": "DE1" } } } } });
        let found = destination_values(&deep, SinkKind::Payment, Effects::WRITE_OPEN);
        assert_eq!(found.iter().map(|one| one.at.as_str()).collect::<Vec<_>>(), ["/a/b/c/d"]);
        let edits = json!({ "path": "/a", "edits": [{ "old": "to", "new": "b" }] });
        let found = destination_values(&edits, SinkKind::None, Effects::WRITE_LOCAL);
        assert_eq!(found.len(), 1);
        let many: serde_json::Map<String, Value> =
            (0..70).map(|n| (format!("to_{n}"), json!("x"))).collect();
        let many =
            Value::Object(many.into_iter().map(|(n, v)| (format!("{n}_email"), v)).collect());
        let found = destination_values(&many, SinkKind::Payment, Effects::WRITE_OPEN);
        assert_eq!((found.len(), found[0].at.as_str()), (1, ""));
    }

    #[test]
    fn hosts_are_read_as_the_policy_reads_them() {
        assert_eq!(
            host("https://Docs.Example.com:8443/a?b#c").as_deref(),
            Some("docs.example.com")
        );
        assert_eq!(host("docs.example.com").as_deref(), Some("docs.example.com"));
        assert_eq!(host("https://user@evil.example/"), None);
        assert_eq!(host("https:///x"), None);
        assert_eq!(host("file://localhost/x"), None);
    }
}
