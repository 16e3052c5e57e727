//! What a tool does, by its words.
//!
//! The verbs of the name count first. A word that can be a noun too (`order`, `post`, `book`) is
//! read as a noun beside a plain verb, and as a verb where it stands alone. Then the description:
//! what its sentences say that the tool does can only make it stricter, unless the name says
//! nothing at all.

use super::phrase::Phrase;
use super::verb::{self, Sense};
use super::{lexicon, own};

/// What a tool does, from harmless to unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Compute,
    Read,
    Keep,
    Send,
    Pay,
    Admit,
    Write,
    Destroy,
    Unknown,
}

/// What a tool does, and which words say so.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) why: String,
}

/// What a tool does.
pub(super) fn of(phrase: &Phrase) -> Found {
    let name = by_name(phrase);
    let told = by_description(phrase);
    if phrase.takes(&[
        "sql",
        "statement",
        "cypher",
        "script",
        "code",
        "command",
        "expression",
        "shell",
    ]) && !matches!(&name, Some(found) if found.kind > Kind::Admit)
        && phrase.is_about(&[
            "sql",
            "database",
            "script",
            "code",
            "command",
            "shell",
            "query",
            "javascript",
            "python",
        ])
    {
        let why = "it takes a program, which can do anything".to_owned();
        return Found { kind: Kind::Destroy, why };
    }
    match (name, told) {
        (Some(name), Some(told)) if told.kind > name.kind && told.kind > Kind::Read => Found {
            why: format!("{}; {}", name.why, told.why),
            kind: stricter(name.kind, told.kind),
        },
        (Some(name), _) => name,
        (None, Some(told)) => told,
        (None, None) => Found { kind: Kind::Unknown, why: "no word says what it does".to_owned() },
    }
}

/// The stricter of two. What is kept and what is told somebody make a message.
fn stricter(a: Kind, b: Kind) -> Kind {
    a.max(b)
}

fn found(kind: Kind, word: &str, place: &str) -> Found {
    Found { kind, why: format!("`{}` in the {place}", weaver_text::escape::line(word)) }
}

/// By the verbs of the name.
fn by_name(phrase: &Phrase) -> Option<Found> {
    let words = &phrase.name;
    let mut plain: Option<Found> = None;
    let mut reads: Option<Found> = None;
    let mut loose: Option<(usize, Found)> = None;
    for (place, word) in words.iter().enumerate() {
        let after = words.get(place.wrapping_sub(1)).map(String::as_str).filter(|_| place > 0);
        let joined = matches!(after, Some("and" | "or" | "then" | "to"));
        let Some(sense) = verb::sense(word, words.get(place.saturating_add(1))) else {
            continue;
        };
        match sense {
            Sense::Plain(kind @ (Kind::Read | Kind::Compute)) => {
                reads = reads.or_else(|| Some(found(kind, word, "name")));
            }
            Sense::Plain(kind) => keep(&mut plain, found(kind, word, "name")),
            Sense::Either(kind) if joined && after != Some("to") => {
                keep(&mut plain, found(kind, word, "name"));
            }
            Sense::Either(kind) => {
                let stands = loose.is_none();
                if stands {
                    loose = Some((place, found(kind, word, "name")));
                }
            }
        }
    }
    let found = match (plain, reads, loose) {
        (Some(plain), _, _) => plain,
        (None, Some(reads), _) => reads,
        // A name that begins with it, or is nothing else, commands; elsewhere it may be a thing.
        (None, None, Some((0, loose))) => loose,
        (None, None, Some((_, loose))) if tells_reading(phrase).is_none() => loose,
        (None, None, _) => return None,
    };
    Some(Found { kind: refined(found.kind, phrase), ..found })
}

fn keep(slot: &mut Option<Found>, next: Found) {
    if slot.as_ref().is_none_or(|found| found.kind < next.kind) {
        *slot = Some(next);
    }
}

/// What the first words of a sentence, and those after `also`, `and`, `then` or a subject, say.
fn by_description(phrase: &Phrase) -> Option<Found> {
    let mut strictest: Option<Found> = None;
    for sentence in &phrase.sentences {
        for (place, word) in sentence.iter().enumerate() {
            let before = place.checked_sub(1).and_then(|at| sentence.get(at)).map(String::as_str);
            let leads = verb::leads(before);
            let next = sentence.get(place.saturating_add(1));
            let Some(sense) = verb::told(word, next) else { continue };
            let counts = match sense {
                Sense::Plain(kind) => {
                    (leads || verb::is_third(word)) && {
                        // What a read is for is no act: `to send`, `that sends`.
                        kind > Kind::Read && !verb::subordinate(before) || leads
                    }
                }
                Sense::Either(_) => leads && (place < 3 || verb::takes_object(next)),
            };
            if counts {
                let (Sense::Plain(kind) | Sense::Either(kind)) = sense;
                keep(&mut strictest, found(refined(kind, phrase), word, "description"));
            }
        }
    }
    strictest
}

/// The first verb of the description, where it reads.
fn tells_reading(phrase: &Phrase) -> Option<&str> {
    let first = phrase.sentences.first()?.first()?;
    match verb::told(first, None) {
        Some(Sense::Plain(Kind::Read | Kind::Compute)) => Some(first),
        _ => None,
    }
}

/// What a verb means with the nouns and arguments of this tool.
fn refined(kind: Kind, phrase: &Phrase) -> Kind {
    match kind {
        Kind::Send | Kind::Write | Kind::Keep if lexicon::pays(phrase) => Kind::Pay,
        Kind::Send if lexicon::admits(phrase, true) => Kind::Admit,
        Kind::Write | Kind::Keep if lexicon::admits(phrase, false) => Kind::Admit,
        // What is made up of nothing but its arguments is reckoned.
        Kind::Write if own::only_generates(phrase) => Kind::Compute,
        Kind::Keep if lexicon::is_kept(phrase) => Kind::Keep,
        Kind::Keep | Kind::Write if lexicon::tells_others(phrase) => Kind::Send,
        Kind::Keep => Kind::Write,
        other => other,
    }
}
