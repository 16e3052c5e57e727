//! The arguments of a held call on one line, for a list of requests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use weaver_agent_kernel::OpenApproval;
use weaver_types::CapabilityId;

use super::approval_records::ApprovalRecord;
use super::terminal_text;

/// The most characters of one value.
const MAX_VALUE_CHARS: usize = 60;
/// The most characters of the line.
const MAX_LINE_CHARS: usize = 120;

/// The names of the arguments in which the requests of a list differ, by capability.
#[derive(Debug, Default)]
pub(super) struct DifferingArguments<'a> {
    by_capability: BTreeMap<&'a CapabilityId, DifferingNames<'a>>,
}

/// The argument names in which the calls of one capability differ.
#[derive(Debug, Default)]
struct DifferingNames<'a> {
    /// The call that all others are compared with.
    first: Option<&'a Map<String, Value>>,
    names: BTreeSet<&'a str>,
}

impl<'a> DifferingArguments<'a> {
    pub(super) fn among(listed: &'a [ApprovalRecord]) -> Self {
        let mut differing = Self::default();
        for held in listed {
            let ApprovalRecord::Open(open) = held else { continue };
            if let Some(arguments) = open.request.arguments.as_object() {
                let names = differing.by_capability.entry(&open.request.capability).or_default();
                names.compare(arguments);
            }
        }
        differing
    }

    /// For example `url: "https://example.org/", raw: true`; arguments that differ come first.
    pub(super) fn arguments_line(&self, open: &OpenApproval) -> Option<String> {
        let names = self.by_capability.get(&open.request.capability).map(|of| &of.names);
        arguments_line(open.request.arguments.as_object()?, names.unwrap_or(&BTreeSet::new()))
    }
}

impl<'a> DifferingNames<'a> {
    fn compare(&mut self, arguments: &'a Map<String, Value>) {
        let first = *self.first.get_or_insert(arguments);
        let names = first.keys().chain(arguments.keys());
        let differing = names.filter(|name| first.get(*name) != arguments.get(*name));
        self.names.extend(differing.map(String::as_str));
    }
}

fn arguments_line(arguments: &Map<String, Value>, differing: &BTreeSet<&str>) -> Option<String> {
    let mut named: Vec<(&String, &Value)> = arguments.iter().collect();
    named.sort_by_key(|(name, _)| !differing.contains(name.as_str()));
    let words: Vec<String> = named
        .into_iter()
        .map(|(name, value)| {
            format!(
                "{}: {}",
                terminal_text::escape_line(name, MAX_VALUE_CHARS),
                shorten(terminal_text::escape_json(value), MAX_VALUE_CHARS)
            )
        })
        .collect();
    (!words.is_empty()).then(|| shorten(words.join(", "), MAX_LINE_CHARS))
}

/// Escaped text, cut to a maximum number of characters.
fn shorten(text: String, max: usize) -> String {
    weaver_text::escape::shorten(&text, max).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The line of the first of these calls, if all are listed.
    fn first_line(calls: &[Value]) -> Option<String> {
        let mut differing = DifferingNames::default();
        let calls: Vec<_> = calls.iter().filter_map(Value::as_object).collect();
        calls.iter().for_each(|arguments| differing.compare(arguments));
        arguments_line(calls.first()?, &differing.names)
    }

    #[test]
    fn what_differs_comes_first() {
        let mail = |to: &str| json!({"body": "hello", "cc": null, "to": to});
        let alone = first_line(&[mail("a@b.c")]).unwrap();
        assert_eq!(alone, r#"body: "hello", cc: null, to: "a@b.c""#);
        let listed = first_line(&[mail("a@b.c"), mail("a@b.c"), mail("x@y.z")]).unwrap();
        assert_eq!(listed, r#"to: "a@b.c", body: "hello", cc: null"#);
        assert_eq!(first_line(&[json!({}), mail("a")]), None);
    }

    #[test]
    fn a_line_is_bounded_and_moves_no_cursor() {
        let many: Map<String, Value> =
            (0..50).map(|n| (format!("name{n}"), json!("\u{1b}[2J\u{202e}".repeat(40)))).collect();
        let text = first_line(&[Value::Object(many)]).unwrap();
        assert!(text.chars().count() <= MAX_LINE_CHARS, "{text}");
        assert!(!text.chars().any(weaver_text::escape::needs_escape), "{text}");
    }
}
