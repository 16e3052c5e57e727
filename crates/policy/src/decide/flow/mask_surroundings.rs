//! Finds masks that are a part of a text which a program follows: an address, markup, a statement, a
//! program.
//!
//! A mask that is the whole of an argument is a value for the tool. A mask within such a text goes
//! where the text says, whatever the tool is for: `read_pdf` of the server that showed a password
//! may take `http://example.com/[PASSWORD_1]` for a file.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::split;
use weaver_text::values;
use weaver_types::{Impact, SinkKind, World};

use super::network_address::{self, AddressRole};
use super::provenance_check::{json_pointer, shortened};
use crate::argument::is_harmless_sql;
use crate::critical::{self, ArgumentRole, PathStep, ToolWords};
use crate::provenance::argument_name;
use crate::query::PolicyQuery;

/// What stands for a mask while its text is judged: a plain word, as a value may be.
const PLACEHOLDER: &str = "m";
/// Words of arguments of writes that hold what is stored, besides those of texts.
const STORED_WORDS: [&str; 4] = ["observation", "observations", "fact", "facts"];
/// Words of arguments that sound like texts, and say what is to be done.
const REQUEST_WORDS: [&str; 6] =
    ["query", "prompt", "instruction", "instructions", "question", "topic"];

/// A mask within a text that a program follows.
pub(super) struct EmbeddedMask {
    pub(super) mask: String,
    pub(super) place: String,
    pub(super) text: FollowedText,
}

/// A text that a program follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FollowedText {
    Address,
    Markup,
    Statement,
    Program,
}

impl FollowedText {
    /// The text in words.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Address => "a text with an address in it",
            Self::Markup => "markup",
            Self::Statement => "a statement",
            Self::Program => "a program",
        }
    }
}

/// The first mask of these that is a part of a text which a program follows, at a place where that
/// decides where the value goes.
pub(super) fn find(query: &PolicyQuery<'_>, masks: &BTreeSet<&str>) -> Option<EmbeddedMask> {
    if masks.is_empty() {
        return None;
    }
    let spec = query.capability.spec();
    let search = MaskSearch {
        masks,
        tool: ToolWords::of(query.capability.id().as_str()),
        reads: spec.effects.impact == Impact::Read,
        is_local_write: spec.effects.impact != Impact::Read
            && spec.effects.world == World::Closed
            && query.capability.sink() == SinkKind::None,
    };
    search.find(query.as_written.or(query.arguments)?, &mut Vec::new())
}

struct MaskSearch<'a> {
    masks: &'a BTreeSet<&'a str>,
    tool: ToolWords,
    reads: bool,
    /// Whether the call writes on this machine and sends nothing.
    is_local_write: bool,
}

impl MaskSearch<'_> {
    fn find<'v>(&self, value: &'v Value, at: &mut Vec<PathStep<'v>>) -> Option<EmbeddedMask> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
            Value::String(text) => self.find_in_text(text, at),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                at.push(PathStep::item(index));
                let found = self.find(item, at);
                at.pop();
                found
            }),
            Value::Object(members) => members.iter().find_map(|(name, member)| {
                let found = self.find_in_text(name, at);
                at.push(PathStep::member(name));
                let found = found.or_else(|| self.find(member, at));
                at.pop();
                found
            }),
        }
    }

    fn find_in_text(&self, text: &str, at: &[PathStep<'_>]) -> Option<EmbeddedMask> {
        let parts = self.parts(text);
        let mask = parts.iter().find_map(|part| part.filter_mask(text))?;
        if parts.len() == 1 {
            return None;
        }
        let name = argument_name(at);
        let role = AddressRole::of(name, self.tool.all());
        let is_content = self.is_content(name);
        if is_content && self.is_local_write {
            return None;
        }
        let bare = |range: std::ops::Range<usize>| -> String {
            let parts = parts.get(range).unwrap_or_default();
            parts.iter().map(|part| part.filter_text(text).unwrap_or(PLACEHOLDER)).collect()
        };
        let whole = bare(0..parts.len());
        // In a text for people an address elsewhere in it is nothing that the mask is a part of.
        let found = match is_content && !self.reads {
            true => pieces_with_placeholder(&parts, text).find_map(|piece| kind(&piece, role)),
            false => kind(&whole, role),
        };
        found.map(|kind| EmbeddedMask {
            mask: mask.to_owned(),
            place: shortened(&json_pointer(at)),
            text: kind,
        })
    }

    /// Whether an argument of this name holds a text that is stored or sent, and not followed.
    fn is_content(&self, name: &str) -> bool {
        let words = split::identifier(name);
        let last = words.last().map_or("", String::as_str);
        let is_text = critical::names_content(name)
            || critical::argument_role(name) == ArgumentRole::Text
            || STORED_WORDS.contains(&last);
        is_text && !REQUEST_WORDS.contains(&last) && !self.tool.renders()
    }

    /// The text in parts: masks, and what is around them. Empty parts are left out.
    fn parts(&self, text: &str) -> Vec<Part> {
        let (mut parts, mut kept, mut from) = (Vec::new(), 0, 0);
        while let Some(length) = text.get(from..).and_then(|rest| rest.find(']')) {
            let end = from + length + 1;
            let start = text.get(from..end).and_then(|part| part.rfind('[')).map(|at| from + at);
            if let Some(start) = start
                && text.get(start..end).is_some_and(|mask| self.masks.contains(mask))
            {
                if start > kept {
                    parts.push(Part { start: kept, end: start, is_mask: false });
                }
                parts.push(Part { start, end, is_mask: true });
                kept = end;
            }
            from = end;
        }
        if kept < text.len() {
            parts.push(Part { start: kept, end: text.len(), is_mask: false });
        }
        parts
    }
}

/// A part of a text.
struct Part {
    start: usize,
    end: usize,
    is_mask: bool,
}

impl Part {
    fn filter_mask<'t>(&self, text: &'t str) -> Option<&'t str> {
        text.get(self.start..self.end).filter(|_| self.is_mask)
    }

    fn filter_text<'t>(&self, text: &'t str) -> Option<&'t str> {
        text.get(self.start..self.end).filter(|_| !self.is_mask)
    }
}

/// The pieces of a text without blanks and quotes in which a mask stands, with a word for the mask.
fn pieces_with_placeholder<'t>(
    parts: &'t [Part],
    text: &'t str,
) -> impl Iterator<Item = String> + 't {
    let ends = |c: char| c.is_whitespace() || "\"'<>`".contains(c);
    let around = |part: Option<&Part>| part.and_then(|part| part.filter_text(text)).unwrap_or("");
    parts.iter().enumerate().filter(|(_, part)| part.is_mask).map(move |(at, _)| {
        let before = around(at.checked_sub(1).and_then(|at| parts.get(at)));
        let after = around(parts.get(at + 1));
        let before = before.rsplit(ends).next().unwrap_or_default();
        let after = after.split(ends).next().unwrap_or_default();
        format!("{before}{PLACEHOLDER}{after}")
    })
}

/// What a program would take a text for, if it follows it.
fn kind(text: &str, role: AddressRole) -> Option<FollowedText> {
    if has_address(text, role) {
        return Some(FollowedText::Address);
    }
    if has_markup(text) {
        return Some(FollowedText::Markup);
    }
    if is_statement(text) && !is_harmless_sql(text) {
        return Some(FollowedText::Statement);
    }
    is_program(text).then_some(FollowedText::Program)
}

/// Whether a text has an address anywhere in it.
fn has_address(text: &str, role: AddressRole) -> bool {
    let is_separate = |before: Option<char>| {
        before.is_none_or(|c| c.is_whitespace() || "\"'=(<[,;:|".contains(c))
    };
    let has_relative = |slashes: &str| {
        text.match_indices(slashes).any(|(at, _)| {
            let (before, after) = text.split_at_checked(at).unwrap_or_default();
            let after = after.get(slashes.len()..).unwrap_or_default();
            is_separate(before.chars().next_back()) && after.starts_with(char::is_alphanumeric)
        })
    };
    let before_slash = text.split_once('/').map_or("", |(before, _)| before);
    let is_dotted = !before_slash.is_empty()
        && network_address::is_remote(before_slash, AddressRole::Host, true);
    text.contains("://")
        || has_relative("//")
        || has_relative("\\\\")
        || is_dotted
        || network_address::is_remote(text, role, false)
        || values::destinations(text) != (Vec::new(), true)
}

/// Whether a text has a tag, a link, an inclusion or a template in it.
fn has_markup(text: &str) -> bool {
    let opens_tag = |rest: &str| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?' | '/' | '%'))
    };
    text.split('<').skip(1).any(opens_tag)
        || ["](", "url(", "!include", "${", "{{", "{%", "$ref"].iter().any(|one| text.contains(one))
}

/// Whether a text is a statement of a database, or has one behind a semicolon.
fn is_statement(text: &str) -> bool {
    /// The first word of a statement, and words of which one follows it, if any must.
    const FORMS: [(&str, &[&str]); 26] = [
        ("select", &["from", "union", "*"]),
        ("insert", &["into"]),
        ("replace", &["into"]),
        ("update", &["set"]),
        ("delete", &["from"]),
        ("detach", &["delete"]),
        ("truncate", &["table"]),
        ("drop", &["table", "database", "index", "view", "schema", "user", "role", "graph"]),
        ("create", &["table", "database", "index", "view", "schema", "user", "role", "function"]),
        ("alter", &["table", "database", "user", "role", "system"]),
        ("merge", &["into", "on", "set", "return"]),
        ("match", &["return", "set", "delete", "create", "merge", "with", "where"]),
        ("unwind", &["as"]),
        ("load", &["csv", "data", "from"]),
        ("copy", &["to", "from"]),
        ("export", &["database"]),
        ("attach", &["database", "as"]),
        ("call", &["yield", "return"]),
        ("grant", &["to"]),
        ("revoke", &["from"]),
        ("with", &["as"]),
        ("union", &["select", "all"]),
        ("exec", &[]),
        ("execute", &[]),
        ("pragma", &[]),
        ("explain", &["select", "update", "delete", "insert", "match"]),
    ];
    let lower = text.to_ascii_lowercase();
    let is_statement = |part: &str| {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '*');
        let mut words = part.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        let (form, count) = (FORMS.iter().find(|(verb, _)| *verb == first), words.clone().count());
        form.is_some_and(|(_, others)| {
            count > 0 && (others.is_empty() || words.any(|word| others.contains(&word)))
        })
    };
    lower.split(';').any(is_statement) || lower.contains("union select") || lower.contains("$where")
}

/// Whether a text calls something, or runs one command in or behind another.
fn is_program(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | ')' | ']' | '`');
    let calls = text.chars().zip(text.chars().skip(1)).any(|(a, b)| is_name(a) && b == '(');
    calls || ["$(", "`", "&&", "||", "=>", "<("].iter().any(|one| text.contains(one))
}
