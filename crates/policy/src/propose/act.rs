//! What a tool does, by its words and by what its server hints.
//!
//! Evidence is weighed: the head verb of the name, then the title, then the main verb of the first
//! sentence; what later sentences say that the tool does *as well* can only make it stricter. A
//! word that merely occurs decides nothing. A word that can be a noun too (`order`, `post`, `log`)
//! is read as a noun beside a plain verb, and as a verb where it stands alone. A hint settles what
//! vague words (`run`, `open`) leave open, and may make a proposal stricter; a hint that only
//! reads goes under where the words say otherwise.

use super::phrase::Phrase;
use super::verb::{self, Sense};
use super::{Hints, lexicon, own};

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
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) kind: Kind,
    /// The words settle nothing by themselves.
    vague: bool,
    pub(super) why: String,
}

impl Found {
    fn new(kind: Kind, word: &str, place: &str) -> Self {
        let why = format!("{place} `{}`", weaver_text::escape::line(word));
        Self { kind, vague: false, why }
    }

    fn reads(&self) -> bool {
        self.kind <= Kind::Read && !self.vague
    }

    fn with(self, kind: Kind, why: &str) -> Self {
        Self { kind, vague: false, why: format!("{why}; {}", self.why) }
    }
}

/// What a tool does.
pub(super) fn of(phrase: &Phrase, hints: Hints) -> Found {
    let words = by_words(phrase, hints);
    if let Some(program) = program(phrase, hints, &words) {
        return program;
    }
    hinted(words, hints)
}

/// What takes a program can do anything, except where a query is said to read.
fn program(phrase: &Phrase, hints: Hints, words: &Found) -> Option<Found> {
    const TEXTS: [&str; 9] =
        ["sql", "statement", "cypher", "script", "code", "command", "expression", "shell", "query"];
    const SUBJECTS: [&str; 9] =
        ["sql", "database", "script", "code", "command", "shell", "javascript", "python", "cypher"];
    let runs = words.vague || words.kind <= Kind::Read;
    if !runs || !phrase.takes(&TEXTS) || !phrase.is_about(&SUBJECTS) {
        return None;
    }
    let queries = phrase.takes(&["sql", "statement", "cypher", "query"])
        && phrase.is_about(&["sql", "database", "query", "cypher"]);
    // `search_code` looks for a text; that it takes a query makes it no interpreter.
    let looks = words.reads() && !phrase.is_named(&["query", "sql", "cypher"]);
    let said = phrase.is_about(&["select", "readonly"]) || phrase.says_read_only();
    let reads = queries && (said || hints.reads()) || looks && !phrase.takes_program();
    (!reads).then(|| Found {
        kind: Kind::Destroy,
        vague: false,
        why: "it takes a program, which can do anything".to_owned(),
    })
}

/// By name, title and description.
fn by_words(phrase: &Phrase, hints: Hints) -> Found {
    let tells = by_first(phrase);
    let name = by_name(phrase, tells.as_ref(), hints);
    let title = || titled(phrase);
    let head = [name, title()].into_iter().flatten().find(|found| !found.vague);
    let base = head.or_else(|| tells.clone().filter(|found| !found.vague));
    let base = base.or_else(|| by_name(phrase, tells.as_ref(), hints)).or(tells.clone());
    let more = strictest(tells.filter(|found| !found.vague), by_rest(phrase));
    match (base, more) {
        (Some(base), Some(more)) if raises(&base, &more, hints) => {
            Found { why: format!("{}; {}", base.why, more.why), ..more }
        }
        (Some(base), _) => base,
        // A later sentence alone settles less than a hint where it speaks of making something.
        (None, Some(more)) => {
            let vague = matches!(more.kind, Kind::Keep | Kind::Write);
            Found { vague, ..more }
        }
        (None, None) => {
            Found { kind: Kind::Unknown, vague: true, why: "no word says what it does".to_owned() }
        }
    }
}

/// Whether the description makes it stricter. Where name and server agree that it reads, one that
/// speaks of making something (`generates a listing`) does not.
fn raises(base: &Found, more: &Found, hints: Hints) -> bool {
    let agreed = base.reads() && hints.reads();
    let makes = matches!(more.kind, Kind::Keep | Kind::Write);
    more.kind > base.kind && more.kind > Kind::Read && !(agreed && makes)
}

fn strictest(a: Option<Found>, b: Option<Found>) -> Option<Found> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.kind > a.kind { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// What the hints make of it.
fn hinted(words: Found, hints: Hints) -> Found {
    let open = words.vague || words.kind == Kind::Unknown;
    if hints.reads() {
        return match open || words.reads() {
            true => {
                let kind = if words.kind == Kind::Compute { Kind::Compute } else { Kind::Read };
                words.with(kind, "the server says read-only")
            }
            false => {
                Found { why: format!("{}, though the server says read-only", words.why), ..words }
            }
        };
    }
    if hints.destructive == Some(true) {
        // Money, mail and access keep their sink, for rules that speak of it.
        let kept = matches!(words.kind, Kind::Pay | Kind::Admit | Kind::Send) && !open;
        let kind = if kept { words.kind } else { Kind::Destroy };
        return words.with(kind, "the server says that it may destroy");
    }
    if open && hints.destructive == Some(false) {
        return words.with(Kind::Write, "the server says that it writes and destroys nothing");
    }
    if words.reads() && hints.read_only == Some(false) {
        return words.with(Kind::Write, "the server says that it is not read-only");
    }
    words
}

/// The word of a name, in its sense there.
struct Named<'p> {
    place: usize,
    word: &'p str,
    sense: Sense,
    joined: bool,
}

fn senses(words: &[String]) -> Vec<Named<'_>> {
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|at| words.get(at)).map(String::as_str);
        let joined = matches!(before, Some("and" | "or" | "then"));
        if let Some(sense) = verb::sense(word, words.get(place.saturating_add(1))) {
            found.push(Named { place, word, sense, joined });
        }
    }
    found
}

/// By the verbs of the name: the first plain one is its head, and another counts beside it where
/// it is joined (`get_and_delete`), closes the name (`find_replace`), or nothing says that the
/// tool reads.
fn by_name(phrase: &Phrase, tells: Option<&Found>, hints: Hints) -> Option<Found> {
    let all = senses(&phrase.name);
    let reading = hints.reads() || tells.is_some_and(Found::reads);
    let last = phrase.name.len().saturating_sub(1);
    let make = |one: &Named<'_>, kind| Found::new(refined(kind, phrase), one.word, "name");
    let mut head: Option<Found> = None;
    for one in &all {
        let (kind, plain) = match one.sense {
            Sense::Plain(kind) => (kind, true),
            Sense::Either(kind) => (kind, false),
            Sense::Vague(_) => continue,
        };
        let next = make(one, kind);
        match &head {
            None if plain => head = Some(next),
            Some(found) if next.kind > found.kind => {
                let beside = plain && found.reads() && (one.place == last || !reading);
                if one.joined || beside {
                    head = Some(next);
                }
            }
            _ => {}
        }
    }
    head.or_else(|| loose(phrase, &all, reading)).or_else(|| {
        all.iter().find_map(|one| match one.sense {
            Sense::Vague(kind) => Some(Found { vague: true, ..make(one, kind) }),
            _ => None,
        })
    })
}

/// A name without a plain verb: one that begins with a noun that can be a verb commands, unless
/// it closes with what is read; elsewhere the word may be a thing.
fn loose(phrase: &Phrase, all: &[Named<'_>], reading: bool) -> Option<Found> {
    let either = all.iter().find_map(|one| match one.sense {
        Sense::Either(kind) => Some((one, kind)),
        _ => None,
    });
    let view = phrase.name.iter().rev().find(|word| verb::is_view(word));
    let commands = either.as_ref().is_some_and(|(one, _)| one.place == 0);
    if let Some(view) = view.filter(|_| reading || !commands) {
        return Some(Found::new(Kind::Read, view, "name"));
    }
    let (one, kind) = either?;
    // After a vague verb it is that verb's object: `trigger_request`.
    let vague = |before: &Named<'_>| matches!(before.sense, Sense::Vague(_));
    let object = all.first().is_some_and(|first| first.place < one.place && vague(first));
    let stands = commands || !reading && !object;
    stands.then(|| Found::new(refined(kind, phrase), one.word, "name"))
}

/// By the first verb of the title.
fn titled(phrase: &Phrase) -> Option<Found> {
    let (word, next) = (phrase.title.first()?, phrase.title.get(1));
    match verb::sense(word, next)? {
        Sense::Plain(kind) => Some(Found::new(refined(kind, phrase), word, "title")),
        _ => None,
    }
}

/// The main verb of the first sentence, with what is joined to it.
fn by_first(phrase: &Phrase) -> Option<Found> {
    const OPENERS: [&str; 22] = [
        "this",
        "tool",
        "a",
        "an",
        "to",
        "the",
        "for",
        "used",
        "use",
        "allows",
        "you",
        "lets",
        "function",
        "it",
        "can",
        "will",
        "recursively",
        "securely",
        "quickly",
        "safely",
        "simply",
        "directly",
    ];
    let sentence = phrase.sentences.first()?;
    let start = sentence.iter().position(|word| !OPENERS.contains(&word.as_str()))?;
    let word = sentence.get(start)?;
    let next = sentence.get(start.saturating_add(1));
    match verb::told(word, next)? {
        Sense::Plain(kind) => Some(Found::new(refined(kind, phrase), word, "description")),
        Sense::Either(kind) => {
            let object = verb::takes_object(next) || verb::is_third(word) || sentence.len() > 1;
            object.then(|| Found::new(refined(kind, phrase), word, "description"))
        }
        Sense::Vague(kind) => Some(Found { vague: true, ..Found::new(kind, word, "description") }),
    }
}

/// The strictest of what sentences say that the tool does as well.
fn by_rest(phrase: &Phrase) -> Option<Found> {
    let mut out: Option<Found> = None;
    for sentence in &phrase.sentences {
        for (place, word) in sentence.iter().enumerate() {
            let before = place.checked_sub(1).and_then(|at| sentence.get(at)).map(String::as_str);
            if !verb::leads(before) {
                continue;
            }
            let next = sentence.get(place.saturating_add(1));
            let kind = match verb::told(word, next) {
                Some(Sense::Plain(kind)) if !verb::is_noun(word, before) => kind,
                Some(Sense::Either(kind)) if verb::takes_object(next) => kind,
                _ => continue,
            };
            if kind > Kind::Read {
                let next = Found::new(refined(kind, phrase), word, "description");
                out = strictest(out, Some(next));
            }
        }
    }
    out
}

/// What a verb means with the nouns and arguments of this tool.
fn refined(kind: Kind, phrase: &Phrase) -> Kind {
    match kind {
        Kind::Send | Kind::Write | Kind::Keep if lexicon::pays(phrase) => Kind::Pay,
        Kind::Send if lexicon::admits(phrase, true) => Kind::Admit,
        Kind::Write | Kind::Keep if lexicon::admits(phrase, false) => Kind::Admit,
        // What is made up of nothing but its arguments is reckoned.
        Kind::Write if own::only_generates(phrase) => Kind::Compute,
        Kind::Keep if lexicon::is_read_by_others(phrase) => Kind::Send,
        Kind::Keep if lexicon::is_kept(phrase) => Kind::Keep,
        Kind::Keep | Kind::Write if lexicon::tells_others(phrase) => Kind::Send,
        Kind::Keep => Kind::Write,
        other => other,
    }
}
