//! Finds what changes something although a tool is said to read: a GraphQL mutation, an SQL statement,
//! a method of HTTP, an action that takes something away.

mod statement;

use serde_json::Value;

use super::reading_action::words;
use crate::critical::{DELETION_VERBS, DELETION_WORDS};

/// How deeply values are searched, and JSON in a text below them.
const MAX_DEPTH: usize = 8;
const MAX_JSON_BYTES: usize = 1 << 20;
/// How often a keyword of GraphQL is looked at in one text, since each time the rest may be read. A text
/// that has it more often counts as one that changes something.
const MAX_KEYWORDS: usize = 64;

/// Whether a value holds such a change, at whatever depth. Values that are nested too deeply to be
/// searched count as one.
pub(super) fn holds_changes(value: &Value) -> bool {
    holds_below(value, 0)
}

fn holds_below(value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let below = depth.saturating_add(1);
    match value {
        Value::String(text) => text_changes(text, depth),
        Value::Array(items) => items.iter().any(|item| holds_below(item, below)),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| says_change(name, member) || holds_below(member, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn text_changes(text: &str, depth: usize) -> bool {
    if has_mutation(text) || statement::holds_change(text) {
        return true;
    }
    // A document within JSON may have letters of the keyword as escapes.
    let begins_json = text.trim_start().starts_with(['{', '[']);
    if !begins_json || !text.contains("\\u") || text.len() > MAX_JSON_BYTES {
        return false;
    }
    let value: Option<Value> = serde_json::from_str(text).ok();
    value.is_some_and(|value| holds_below(&value, depth.saturating_add(1)))
}

/// Whether a member says what is done and changes something: `method: "POST"`, `action: "delete"`.
fn says_change(name: &str, value: &Value) -> bool {
    const ACTIONS: [&str; 8] =
        ["action", "operation", "op", "verb", "command", "cmd", "subcommand", "method"];
    const METHODS: [&str; 4] = ["post", "put", "patch", "connect"];
    let Some(text) = value.as_str() else { return false };
    let names = words(name);
    let Some(last) = names.last().filter(|last| ACTIONS.contains(&last.as_str())) else {
        return false;
    };
    let is_method = matches!(last.as_str(), "method" | "verb");
    let said = words(text);
    let [first, rest @ ..] = &said[..] else { return false };
    takes_away(first)
        || is_method && rest.is_empty() && METHODS.contains(&first.as_str())
        // `bulkDelete`, `hard-reset`: a few words are a name, more are a text.
        || said.len() <= 3 && rest.iter().any(|word| takes_away(word))
}

/// Whether a word is a form of a verb that takes something away.
pub(super) fn takes_away(word: &str) -> bool {
    let is_form = |verb: &&str| {
        let rest = word.strip_prefix(verb.strip_suffix('e').unwrap_or(verb));
        rest.is_some_and(|rest| matches!(rest, "" | "e" | "es" | "ed" | "s" | "all" | "ion"))
    };
    DELETION_WORDS.contains(&word) || DELETION_VERBS.iter().any(is_form)
}

/// Whether a text has a GraphQL operation that changes something: the keyword, perhaps with a name and
/// variables, before its fields. The keyword cannot be escaped or written otherwise (GraphQL, October
/// 2021, section 2.3).
fn has_mutation(text: &str) -> bool {
    if !text.contains('{') {
        return false;
    }
    let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    ["mutation", "subscription"].iter().any(|keyword| {
        text.match_indices(keyword).enumerate().any(|(number, (at, _))| {
            if number >= MAX_KEYWORDS {
                return true;
            }
            let (before, after) = (text.get(..at), text.get(at.saturating_add(keyword.len())..));
            let (Some(before), Some(after)) = (before, after) else { return false };
            if before.ends_with(is_word) || after.starts_with(is_word) {
                // In JSON, the end of a line before it is written `\n`.
                if !before.ends_with("\\n") && !before.ends_with("\\t") {
                    return false;
                }
            }
            let after = skip_ignored(after).trim_start_matches(is_word);
            let opening = skip_ignored(after);
            opening.starts_with('{') || opening.starts_with(['(', '@']) && opening.contains('{')
        })
    })
}

/// Skips white space, commas and comments, which GraphQL ignores, also as JSON writes them.
fn skip_ignored(mut text: &str) -> &str {
    loop {
        let rest =
            text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '\u{feff}'));
        let rest =
            ["\\n", "\\t", "\\r"].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest);
        let rest = match rest.strip_prefix('#') {
            Some(comment) => comment.split_once(['\n', '\r']).map_or("", |(_, rest)| rest),
            None => rest,
        };
        if rest.len() == text.len() {
            return rest;
        }
        text = rest;
    }
}

#[cfg(test)]
mod tests;
