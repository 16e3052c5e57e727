//! Verbs, as names command with them and as descriptions tell them.

mod list;

use super::action::Action;
use list::{AMBIGUOUS_PLURALS, READ_NOUNS, VAGUE_VERBS, VERBS, VERBS_OR_NOUNS};

/// What a word can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// A verb.
    Verb(Action),
    /// A verb or a noun.
    VerbOrNoun(Action),
    /// A verb that says that something is done, and not what.
    VagueVerb(Action),
}

/// What a verb of a name does. The next word tells `check in` from `check`.
pub(super) fn sense(word: &str, next: Option<&String>) -> Option<Sense> {
    let next = next.map(String::as_str);
    match (word, next) {
        (
            "file",
            Some(
                "complaint" | "claim" | "report" | "petition" | "tax" | "taxes" | "appeal"
                | "dispute" | "application",
            ),
        ) => return Some(Sense::Verb(Action::Send)),
        ("check", Some("in" | "out")) => return Some(Sense::Verb(Action::Pay)),
        ("log" | "sign", Some("in" | "on" | "up" | "out" | "off")) => {
            return Some(Sense::Verb(Action::GrantAccess));
        }
        ("opt", Some("in" | "out")) => return Some(Sense::Verb(Action::Send)),
        ("top", Some("up")) => return Some(Sense::Verb(Action::Pay)),
        ("set" | "start" | "back", Some("up")) => return Some(Sense::Verb(Action::Write)),
        _ => {}
    }
    let of = |rows: &[(Action, &[&str])]| {
        rows.iter().find(|(_, words)| words.contains(&word)).map(|(kind, _)| *kind)
    };
    let plain = of(&VERBS).map(Sense::Verb).or_else(|| of(&VERBS_OR_NOUNS).map(Sense::VerbOrNoun));
    plain.or_else(|| of(&VAGUE_VERBS).map(Sense::VagueVerb))
}

/// What a verb of a description does, in whatever form.
pub(super) fn description_sense(word: &str, next: Option<&String>) -> Option<Sense> {
    match word {
        "return" | "returns" => return Some(Sense::Verb(Action::Read)),
        // `It is used to`, `has to be`: no act.
        "is" | "has" | "exists" | "see" => return None,
        _ => {}
    }
    if let Some(sense) = sense(word, next) {
        return Some(sense);
    }
    let forms = [
        word.strip_suffix('s').map(str::to_owned),
        word.strip_suffix("es").map(str::to_owned),
        word.strip_suffix("ies").map(|stem| format!("{stem}y")),
        word.strip_suffix("ing").map(str::to_owned),
        word.strip_suffix("ing").map(|stem| format!("{stem}e")),
    ];
    forms.into_iter().flatten().find_map(|form| sense(&form, next))
}

/// Whether a verb after this word is what the tool does.
pub(super) fn introduces_verb(before: Option<&str>) -> bool {
    const LEADERS: [&str; 17] = [
        "also", "and", "then", "it", "will", "function", "tool", "method", "api", "endpoint",
        "which", "automatically", "or", "can", "operation", "command", "optionally",
    ];
    before.is_none_or(|word| LEADERS.contains(&word))
}

/// Whether a word is a noun that names what is read.
pub(super) fn names_what_is_read(word: &str) -> bool {
    READ_NOUNS.contains(&word)
}

/// Whether a word after `and` or `or` goes on a list of nouns: `news and updates`.
pub(super) fn is_noun(word: &str, before: Option<&str>) -> bool {
    matches!(before, Some("and" | "or")) && word.ends_with('s') && !is_third_person(word)
}

/// Whether what follows is what is acted on, so that the word before it is a verb.
pub(super) fn takes_object(next: Option<&String>) -> bool {
    const BEGIN: [&str; 13] = [
        "a", "an", "the", "what", "it", "them", "this", "all", "each", "your", "its", "any",
        "every",
    ];
    next.is_some_and(|word| BEGIN.contains(&word.as_str()))
}

/// Whether a word is the third person of a verb, and not as well a plural.
pub(super) fn is_third_person(word: &str) -> bool {
    let stem = word.strip_suffix("es").or_else(|| word.strip_suffix('s'));
    let plain = word.strip_suffix('s').unwrap_or_default();
    stem.is_some_and(|stem| {
        !AMBIGUOUS_PLURALS.contains(&stem) && !AMBIGUOUS_PLURALS.contains(&plain)
    })
}
