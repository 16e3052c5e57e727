//! Looks up verbs, as used in names (imperative) and in descriptions (any form).

mod word_lists;

use super::action::ToolAction;
use word_lists::{AMBIGUOUS_PLURALS, READ_NOUNS, VAGUE_VERBS, VERBS, VERBS_OR_NOUNS};

/// What a word can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// A verb.
    Verb(ToolAction),
    /// A verb or a noun.
    VerbOrNoun(ToolAction),
    /// A verb which says that something is done, but not what.
    VagueVerb(ToolAction),
}

/// The sense of a word in a name. The next word distinguishes `check in` from `check`.
pub(super) fn name_sense(word: &str, next: Option<&String>) -> Option<Sense> {
    let next = next.map(String::as_str);
    match (word, next) {
        (
            "file",
            Some(
                "complaint" | "claim" | "report" | "petition" | "tax" | "taxes" | "appeal"
                | "dispute" | "application",
            ),
        ) => return Some(Sense::Verb(ToolAction::Send)),
        ("check", Some("in" | "out")) => return Some(Sense::Verb(ToolAction::Pay)),
        ("log" | "sign", Some("in" | "on" | "up" | "out" | "off")) => {
            return Some(Sense::Verb(ToolAction::GrantAccess));
        }
        ("opt", Some("in" | "out")) => return Some(Sense::Verb(ToolAction::Send)),
        ("top", Some("up")) => return Some(Sense::Verb(ToolAction::Pay)),
        ("set" | "start" | "back", Some("up")) => return Some(Sense::Verb(ToolAction::Write)),
        _ => {}
    }
    let of = |rows: &[(ToolAction, &[&str])]| {
        rows.iter().find(|(_, words)| words.contains(&word)).map(|(kind, _)| *kind)
    };
    let plain = of(&VERBS).map(Sense::Verb).or_else(|| of(&VERBS_OR_NOUNS).map(Sense::VerbOrNoun));
    plain.or_else(|| of(&VAGUE_VERBS).map(Sense::VagueVerb))
}

/// The sense of a word in a description, in any form of the verb.
pub(super) fn description_sense(word: &str, next: Option<&String>) -> Option<Sense> {
    match word {
        "return" | "returns" => return Some(Sense::Verb(ToolAction::Read)),
        // `It is used to`, `has to be`: not actions.
        "is" | "has" | "exists" | "see" => return None,
        _ => {}
    }
    if let Some(sense) = name_sense(word, next) {
        return Some(sense);
    }
    let forms = [
        word.strip_suffix('s').map(str::to_owned),
        word.strip_suffix("es").map(str::to_owned),
        word.strip_suffix("ies").map(|stem| format!("{stem}y")),
        word.strip_suffix("ing").map(str::to_owned),
        word.strip_suffix("ing").map(|stem| format!("{stem}e")),
    ];
    forms.into_iter().flatten().find_map(|form| name_sense(&form, next))
}

/// Whether a verb after this word describes an action of the tool.
pub(super) fn introduces_verb(before: Option<&str>) -> bool {
    const LEADERS: [&str; 17] = [
        "also", "and", "then", "it", "will", "function", "tool", "method", "api", "endpoint",
        "which", "automatically", "or", "can", "operation", "command", "optionally",
    ];
    before.is_none_or(|word| LEADERS.contains(&word))
}

/// Whether a word is a noun for something that is read.
pub(super) fn is_read_noun(word: &str) -> bool {
    READ_NOUNS.contains(&word)
}

/// Whether a word after `and` or `or` continues a list of nouns: `news and updates`.
pub(super) fn is_noun(word: &str, before: Option<&str>) -> bool {
    matches!(before, Some("and" | "or")) && word.ends_with('s') && !is_third_person(word)
}

/// Whether the next word starts an object, so the word before it is a verb.
pub(super) fn takes_object(next: Option<&String>) -> bool {
    const BEGIN: [&str; 13] = [
        "a", "an", "the", "what", "it", "them", "this", "all", "each", "your", "its", "any",
        "every",
    ];
    next.is_some_and(|word| BEGIN.contains(&word.as_str()))
}

/// Whether a word is the third person of a verb and cannot be a plural.
pub(super) fn is_third_person(word: &str) -> bool {
    let stem = word.strip_suffix("es").or_else(|| word.strip_suffix('s'));
    let plain = word.strip_suffix('s').unwrap_or_default();
    stem.is_some_and(|stem| {
        !AMBIGUOUS_PLURALS.contains(&stem) && !AMBIGUOUS_PLURALS.contains(&plain)
    })
}
