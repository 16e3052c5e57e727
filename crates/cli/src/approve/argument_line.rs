//! The arguments of a waiting call on one line, for a list of several.

use serde_json::{Map, Value};
use weaver_agent_kernel::OpenApproval;

use super::approval_records::ApprovalRecord;
use super::screen;

/// The most characters of one value.
const MAX_VALUE: usize = 60;
/// The most characters of the line.
const MAX_LINE: usize = 120;

/// `url: "https://example.org/", raw: true`. Where other requests of the same capability stand in the
/// list, those arguments come first in which this one differs from one of them.
pub(super) fn of(open: &OpenApproval, listed: &[ApprovalRecord]) -> Option<String> {
    let request = &open.request;
    let arguments = request.arguments.as_object()?;
    let others: Vec<&Map<String, Value>> = listed
        .iter()
        .filter_map(|held| match held {
            ApprovalRecord::Open(other) => Some(&other.request),
            ApprovalRecord::Ended(_) | ApprovalRecord::Unreadable { .. } => None,
        })
        .filter(|other| other.capability == request.capability && other.id != request.id)
        .filter_map(|other| other.arguments.as_object())
        .collect();
    line(arguments, &others)
}

fn line(arguments: &Map<String, Value>, others: &[&Map<String, Value>]) -> Option<String> {
    let differs = |name: &str| others.iter().any(|other| other.get(name) != arguments.get(name));
    let mut named: Vec<(&String, &Value)> = arguments.iter().collect();
    named.sort_by_key(|(name, _)| !differs(name));
    let words: Vec<String> = named
        .into_iter()
        .map(|(name, value)| {
            format!("{}: {}", screen::line(name, MAX_VALUE), cut(screen::json(value), MAX_VALUE))
        })
        .collect();
    (!words.is_empty()).then(|| cut(words.join(", "), MAX_LINE))
}

/// Escaped text, cut at so many characters.
fn cut(text: String, max: usize) -> String {
    weaver_text::escape::shorten(&text, max).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(arguments: &Value, others: &[Value]) -> Option<String> {
        let others: Vec<_> = others.iter().filter_map(Value::as_object).collect();
        line(arguments.as_object().unwrap(), &others)
    }

    #[test]
    fn what_differs_comes_first() {
        let mail = |to: &str| json!({"body": "hello", "cc": null, "to": to});
        let alone = told(&mail("a@b.c"), &[]).unwrap();
        assert_eq!(alone, r#"body: "hello", cc: null, to: "a@b.c""#);
        let beside = told(&mail("a@b.c"), &[mail("a@b.c"), mail("x@y.z")]).unwrap();
        assert_eq!(beside, r#"to: "a@b.c", body: "hello", cc: null"#);
        assert_eq!(told(&json!({}), &[mail("a")]), None);
    }

    #[test]
    fn a_line_is_bounded_and_moves_no_cursor() {
        let many: Map<String, Value> =
            (0..50).map(|n| (format!("name{n}"), json!("\u{1b}[2J\u{202e}".repeat(40)))).collect();
        let text = told(&Value::Object(many), &[]).unwrap();
        assert!(text.chars().count() <= MAX_LINE, "{text}");
        assert!(!text.chars().any(weaver_text::escape::needs_escape), "{text}");
    }
}
