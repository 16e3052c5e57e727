//! Looks up verbs, as used in names (imperative) and in descriptions (any form).

mod word_lists;

use super::action::ToolAction;
use word_lists::{
    AMBIGUOUS_PLURALS, IRREGULAR_PARTICIPLES, READ_NOUNS, VAGUE_VERBS, VERBS, VERBS_OR_NOUNS,
};

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
        // `release_notes` are read.
        ("release", Some("notes")) => return None,
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

/// Whether a name says by a plain verb that something is written, made or sent.
pub(super) fn names_plain_write(name: &[String]) -> bool {
    let writes =
        |action| matches!(action, ToolAction::Write | ToolAction::AddToOwnData | ToolAction::Send);
    name.iter().enumerate().any(|(at, word)| {
        let next = name.get(at.saturating_add(1));
        match name_sense(word, next) {
            Some(Sense::Verb(action)) => writes(action),
            Some(Sense::VerbOrNoun(action)) => at == 0 && writes(action),
            // What is closed can be opened again.
            Some(Sense::VagueVerb(_)) => at == 0 && word == "close",
            None => false,
        }
    })
}

/// Whether a word of a name is a verb that does more than to read, compute or do one of these.
pub(super) fn is_verb_of_change(word: &str, others: &[&str]) -> bool {
    let Some(Sense::Verb(action) | Sense::VagueVerb(action)) = name_sense(word, None) else {
        return false;
    };
    action > ToolAction::Read && !others.contains(&word)
}

/// The sense of a word in a description, in any form of the verb.
pub(super) fn description_sense(word: &str, next: Option<&String>) -> Option<Sense> {
    match word {
        "return" | "returns" => return Some(Sense::Verb(ToolAction::Read)),
        // `It is used to`, `has to be`: not actions.
        "is" | "has" | "exists" | "see" | "news" => return None,
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
    const VERB_INTRODUCERS: [&str; 17] = [
        "also", "and", "then", "it", "will", "function", "tool", "method", "api", "endpoint",
        "which", "automatically", "or", "can", "operation", "command", "optionally",
    ];
    before.is_none_or(|word| VERB_INTRODUCERS.contains(&word))
}

/// Whether a word is a noun for something that is read.
pub(super) fn is_read_noun(word: &str) -> bool {
    READ_NOUNS.contains(&word)
}

/// Whether the word at this place continues a list of nouns: `news and updates`. It is a verb if
/// an object follows (`gets and resets the counter`) or after a verb (`gets and updates`).
pub(super) fn is_noun(sentence: &[String], position: usize) -> bool {
    const AUXILIARIES: [&str; 6] = ["are", "were", "have", "can", "will", "must"];
    const FRAGMENT_STARTS: [&str; 6] = ["including", "includes", "with", "without", "like", "such"];
    let Some(word) = sentence.get(position) else { return false };
    // `which imports are used`; `(including body and reply headers)`.
    let next = sentence.get(position.saturating_add(1)).map(String::as_str);
    let is_subject = word.ends_with('s') && next.is_some_and(|next| AUXILIARIES.contains(&next));
    let starts = sentence.first().is_some_and(|word| FRAGMENT_STARTS.contains(&word.as_str()));
    let joins = matches!(word_before(sentence, position, 1), Some("and" | "or"));
    if is_subject || starts && joins {
        return true;
    }
    let before = |count| word_before(sentence, position, count);
    let joins_verb = before(2).is_some_and(|joined| {
        let is_verb = matches!(description_sense(joined, None), Some(Sense::Verb(_)));
        is_verb && is_unambiguous_third_person(joined) && introduces_verb(before(3))
    });
    matches!(before(1), Some("and" | "or"))
        && word.ends_with('s')
        && !is_unambiguous_third_person(word)
        && !joins_verb
        && !takes_object(sentence.get(position.saturating_add(1)))
}

/// What the participle at this place says is done: `messages are deleted after that`. What is said
/// about the things that are read (`changes that are staged`), about a condition (`whether it is
/// locked`) or in the negative (`no file is changed`) is not done by the tool.
pub(super) fn passive_action(sentence: &[String], position: usize) -> Option<ToolAction> {
    const OTHER_CLAUSES: [&str; 14] = [
        "that", "which", "who", "what", "if", "when", "where", "until", "unless", "once", "no",
        "not", "nothing", "never",
    ];
    // Tools that read say this of what they return: `long lines are truncated`.
    const OF_READS: [&str; 7] =
        ["accepted", "applied", "followed", "joined", "rejected", "resolved", "truncated"];
    let before = |count| word_before(sentence, position, count);
    let is_adverb = |word: &str| word.ends_with("ly") || matches!(word, "then" | "also");
    let auxiliary = if before(1).is_some_and(is_adverb) { 2 } else { 1 };
    let is_passive = match before(auxiliary)? {
        "is" | "are" => true,
        // What only can or should be done is not done by each call.
        "be" => before(auxiliary.saturating_add(1)) == Some("will"),
        _ => false,
    };
    // `The mails are marked as read`: that is what reading does.
    let after = |count: usize| sentence.get(position.saturating_add(count)).map(String::as_str);
    let marks_read = matches!(sentence.get(position).map(String::as_str), Some("marked"))
        && after(1) == Some("as")
        && matches!(after(2), Some("read" | "seen" | "viewed"));
    // What somebody is permitted to do, the tool does not do.
    let permits = after(1) == Some("to")
        && matches!(after(0), Some("permitted" | "allowed" | "authorized" | "authorised"));
    if !is_passive || marks_read || permits {
        return None;
    }
    let start = position.saturating_sub(auxiliary);
    let mut near = sentence.iter().take(start).skip(start.saturating_sub(3));
    let is_other = near.any(|word| OTHER_CLAUSES.contains(&word.as_str()))
        || sentence.iter().take(start).any(|word| word == "whether");
    if is_other {
        return None;
    }
    let word = sentence.get(position).filter(|word| !OF_READS.contains(&word.as_str()))?;
    base_forms(word).into_iter().find_map(|form| match name_sense(&form, None) {
        Some(Sense::Verb(action)) => Some(action),
        _ => None,
    })
}

/// The verbs of which a word can be the participle.
fn base_forms(word: &str) -> Vec<String> {
    let irregular = IRREGULAR_PARTICIPLES.iter().find(|(participle, _)| *participle == word);
    if let Some((_, base)) = irregular {
        return vec![(*base).to_owned()];
    }
    let Some(stem) = word.strip_suffix("ed") else { return Vec::new() };
    let mut forms = vec![stem.to_owned(), format!("{stem}e")];
    forms.extend(stem.strip_suffix('i').map(|stem| format!("{stem}y")));
    // `dropped`: the last consonant is doubled.
    let mut letters = stem.chars();
    if letters.next_back() == letters.clone().next_back() {
        forms.push(letters.as_str().to_owned());
    }
    forms
}

/// Whether a participle says what a read does with the text that it returns: `empty words are
/// dropped`, `where the document is stored`.
pub(super) fn is_passive_of_reads(word: &str) -> bool {
    const WORDS: [&str; 12] = [
        "added", "copied", "created", "discarded", "dropped", "forced", "merged", "replaced",
        "saved", "set", "stopped", "stored",
    ];
    WORDS.contains(&word)
}

/// Whether the next word begins a phrase about when, where or how, so that no object follows.
pub(super) fn begins_adverbial(next: Option<&String>) -> bool {
    const WORDS: [&str; 24] = [
        "after", "and", "as", "at", "before", "but", "by", "for", "from", "if", "in", "is", "of",
        "on", "once", "only", "or", "that", "to", "unless", "until", "when", "where", "with",
    ];
    next.is_none_or(|word| WORDS.contains(&word.as_str()))
}

/// The word so many places before a place.
pub(super) fn word_before(sentence: &[String], position: usize, count: usize) -> Option<&str> {
    sentence.get(position.checked_sub(count)?).map(String::as_str)
}

/// Whether the next word starts an object, so the word before it is a verb.
pub(super) fn takes_object(next: Option<&String>) -> bool {
    const OBJECT_OPENERS: [&str; 13] = [
        "a", "an", "the", "what", "it", "them", "this", "all", "each", "your", "its", "any",
        "every",
    ];
    next.is_some_and(|word| OBJECT_OPENERS.contains(&word.as_str()))
}

/// Whether a word is the third person of a verb and cannot be a plural.
pub(super) fn is_unambiguous_third_person(word: &str) -> bool {
    let stem = word.strip_suffix("es").or_else(|| word.strip_suffix('s'));
    let plain = word.strip_suffix('s').unwrap_or_default();
    stem.is_some_and(|stem| {
        !AMBIGUOUS_PLURALS.contains(&stem) && !AMBIGUOUS_PLURALS.contains(&plain)
    })
}
