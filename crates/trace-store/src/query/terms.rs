//! Facts and filters as terms of an index.

use super::facts::Facts;
use super::field::Field;
use super::filter::{Filter, Pattern};

/// How much of a value an index tells apart, in characters.
const MAX_TERM: usize = 160;
/// What stands in a term for an ASCII character that is neither letter nor digit.
const OTHER: char = '\u{E0FF}';

/// Every term of an event: one for each value of each field. Terms of different values may be the
/// same; an answer is tested against the event itself.
pub(crate) fn postings(facts: &Facts) -> String {
    let mut out = String::new();
    if facts.header.is_none() {
        return out;
    }
    for field in Field::ALL {
        for value in facts.values(*field) {
            if !out.is_empty() {
                out.push(' ');
            }
            push_term(&mut out, *field, &value);
        }
    }
    out
}

fn push_term(out: &mut String, field: Field, value: &str) {
    out.push(field.mark());
    for c in value.chars().take(MAX_TERM) {
        out.push(match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
            c if c.is_ascii() => OTHER,
            c => c,
        });
    }
}

/// The filter as an expression of SQLite's full-text search; `None` when it names no field.
pub(crate) fn expression(filter: &Filter) -> Option<String> {
    let mut out = String::new();
    for (field, patterns) in filter.fields() {
        if !out.is_empty() {
            out.push_str(" AND ");
        }
        out.push('(');
        for (at, Pattern { text, prefix }) in patterns.iter().enumerate() {
            if at > 0 {
                out.push_str(" OR ");
            }
            out.push('"');
            push_term(&mut out, *field, text);
            out.push('"');
            if *prefix {
                out.push('*');
            }
        }
        out.push(')');
    }
    (!out.is_empty()).then_some(out)
}
