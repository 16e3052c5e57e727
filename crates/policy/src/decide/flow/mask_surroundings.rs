//! Finds masks that are a part of a text which a program follows: an address, markup, a statement, a
//! program.
//!
//! A mask that is the whole of an argument is a value for the tool. A mask within such a text goes
//! where the text says, whatever the tool is for: `read_pdf` of the server that showed a password
//! may take `http://example.com/[PASSWORD_1]` for a file.

use std::collections::BTreeSet;

use weaver_text::split;
use weaver_text::values;
use weaver_types::{Impact, SinkKind, World};

use super::address_role::AddressRole;
use super::fetched_text;
use super::network_address;
use super::provenance_check::{json_pointer, shortened};
use crate::argument::is_harmless_sql;
use crate::critical::{self, ArgumentRole, PathStep, ToolWords};
use crate::provenance::argument_name;
use crate::query::PolicyQuery;
use crate::value_search::{ValueText, find_in_texts};

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
    /// The text in words.
    pub(super) text: &'static str,
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
    let mut find =
        |text: ValueText<'_>, at: &[PathStep<'_>]| search.find_in_text(text.as_str(), at);
    find_in_texts(query.as_written.or(query.arguments)?, &mut Vec::new(), &mut find)
}

struct MaskSearch<'a> {
    masks: &'a BTreeSet<&'a str>,
    tool: ToolWords,
    reads: bool,
    /// Whether the call writes on this machine and sends nothing.
    is_local_write: bool,
}

impl MaskSearch<'_> {
    fn find_in_text(&self, text: &str, at: &[PathStep<'_>]) -> Option<EmbeddedMask> {
        let parts = self.parts(text);
        let mask = parts.iter().find(|part| part.is_mask)?.text;
        if parts.len() == 1 {
            return None;
        }
        let name = argument_name(at);
        let role = AddressRole::of(name, self.tool.all());
        let is_content = self.is_content(name);
        let embedded = |text: &'static str| EmbeddedMask {
            mask: mask.to_owned(),
            place: shortened(&json_pointer(at)),
            text,
        };
        if is_content && self.is_local_write {
            return is_fetched_from(&parts)
                .then(|| embedded("a reference that a reader of the file fetches"));
        }
        let whole: String = parts.iter().map(|part| part.shown()).collect();
        // In a text for people an address elsewhere in it is nothing that the mask is a part of.
        let found = match is_content && !self.reads {
            true => pieces_with_placeholder(&parts).find_map(|piece| kind(&piece, role)),
            false => kind(&whole, role)
                .or_else(|| is_name_of_host(&whole).then_some("the name of a host")),
        };
        found.map(embedded)
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
    fn parts<'t>(&self, text: &'t str) -> Vec<TextPart<'t>> {
        let part = |from: usize, to: usize, is_mask| {
            text.get(from..to).map(|text| TextPart { text, is_mask })
        };
        let (mut parts, mut kept, mut from) = (Vec::new(), 0, 0);
        while let Some(length) = text.get(from..).and_then(|rest| rest.find(']')) {
            let end = from + length + 1;
            let start = text.get(from..end).and_then(|part| part.rfind('[')).map(|at| from + at);
            if let Some(start) = start
                && text.get(start..end).is_some_and(|mask| self.masks.contains(mask))
            {
                parts.extend(part(kept, start, false));
                parts.extend(part(start, end, true));
                kept = end;
            }
            from = end;
        }
        parts.extend(part(kept, text.len(), false));
        parts.retain(|part| !part.text.is_empty());
        parts
    }
}

/// A part of a text.
struct TextPart<'t> {
    text: &'t str,
    is_mask: bool,
}

impl<'t> TextPart<'t> {
    /// The text, or what stands for the mask.
    fn shown(&self) -> &'t str {
        if self.is_mask { PLACEHOLDER } else { self.text }
    }
}

/// The pieces of a text without blanks and quotes in which a mask stands, with a word for the mask.
fn pieces_with_placeholder<'t>(parts: &'t [TextPart<'t>]) -> impl Iterator<Item = String> + 't {
    let ends = |c: char| c.is_whitespace() || "\"'<>`".contains(c);
    let around = |part: Option<&TextPart<'t>>| {
        part.filter(|part| !part.is_mask).map_or("", |part| part.text)
    };
    parts.iter().enumerate().filter(|(_, part)| part.is_mask).map(move |(at, _)| {
        let before = around(at.checked_sub(1).and_then(|at| parts.get(at)));
        let after = around(parts.get(at + 1));
        let before = before.rsplit(ends).next().unwrap_or_default();
        let after = after.split(ends).next().unwrap_or_default();
        format!("{before}{PLACEHOLDER}{after}")
    })
}

/// Whether a mask stands in what a program fetches that renders or converts the text: the address of a
/// picture, a style sheet, an inclusion.
fn is_fetched_from(parts: &[TextPart<'_>]) -> bool {
    /// What stands for the masks, and for nothing else.
    const MARK: &str = "masked7value7here";
    let marked: String =
        parts.iter().map(|part| if part.is_mask { MARK } else { part.text }).collect();
    fetched_text::addresses(&marked).iter().any(|address| address.contains(MARK))
}

/// Whether a text with a word in place of a mask is the name of a host: whoever looks it up tells it.
fn is_name_of_host(text: &str) -> bool {
    text.matches('.').count() > 1
        && !text.contains(char::is_whitespace)
        && network_address::is_remote(text, AddressRole::Host, true)
}

/// What a program would take a text for, if it follows it.
fn kind(text: &str, role: AddressRole) -> Option<&'static str> {
    if has_address(text, role) {
        return Some("a text with an address in it");
    }
    if has_markup(text) {
        return Some("markup");
    }
    if is_statement(text) && !is_harmless_sql(text) {
        return Some("a statement");
    }
    is_program(text).then_some("a program")
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
    /// The first words of statements, and words of which one follows it, if any must.
    const FORMS: [(&str, &str); 21] = [
        ("select", "from union *"),
        ("insert replace", "into"),
        ("update", "set"),
        ("delete revoke", "from"),
        ("detach", "delete"),
        ("truncate", "table"),
        ("drop", "table database index view schema user role graph"),
        ("create", "table database index view schema user role function"),
        ("alter", "table database user role system"),
        ("merge", "into on set return"),
        ("match", "return set delete create merge with where"),
        ("unwind with", "as"),
        ("load", "csv data from"),
        ("copy", "to from"),
        ("export", "database"),
        ("attach", "database as"),
        ("call", "yield return"),
        ("grant", "to"),
        ("union", "select all"),
        ("explain", "select update delete insert match"),
        ("exec execute pragma", ""),
    ];
    let lower = text.to_ascii_lowercase();
    let is_statement = |part: &str| {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '*');
        let mut words = part.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        let has = |list: &str, word: &str| list.split(' ').any(|known| known == word);
        let form = FORMS.iter().find(|(verbs, _)| has(verbs, first));
        form.is_some_and(|(_, others)| words.any(|word| others.is_empty() || has(others, word)))
    };
    lower.split(';').any(is_statement) || lower.contains("union select") || lower.contains("$where")
}

/// Whether a text calls something, or runs one command in or behind another.
fn is_program(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | ')' | ']' | '`');
    let calls = text.chars().zip(text.chars().skip(1)).any(|(a, b)| is_name(a) && b == '(');
    calls || ["$(", "`", "&&", "||", "=>", "<("].iter().any(|one| text.contains(one))
}
