//! Encodes facts and filters as terms of a full-text index.

use super::facts::EventFacts;
use super::field::FilterField;
use super::filter::{EventFilter, ValuePattern};

/// How many characters of a value the index distinguishes.
const MAX_TERM_CHARS: usize = 160;
/// Replaces ASCII characters that are neither letters nor digits.
const PUNCTUATION: char = '\u{E0FF}';

/// The terms of an event: one for each value of each field. Different values may give the same
/// term; results are tested against the event itself.
pub(crate) fn index_terms(facts: &EventFacts) -> String {
    let mut out = String::new();
    if facts.header.is_none() {
        return out;
    }
    for field in FilterField::ALL {
        for value in facts.values(field) {
            if !out.is_empty() {
                out.push(' ');
            }
            push_term(&mut out, field, &value);
        }
    }
    out
}

fn push_term(out: &mut String, field: FilterField, value: &str) {
    out.push(field.index_prefix());
    for c in value.chars().take(MAX_TERM_CHARS) {
        out.push(match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
            c if c.is_ascii() => PUNCTUATION,
            c => c,
        });
    }
}

/// The filter as an SQLite full-text query; `None` when it names no field.
pub(crate) fn fts_expression(filter: &EventFilter) -> Option<String> {
    let mut out = String::new();
    for (field, patterns) in filter.fields() {
        if !out.is_empty() {
            out.push_str(" AND ");
        }
        out.push('(');
        for (at, ValuePattern { text, prefix }) in patterns.iter().enumerate() {
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
