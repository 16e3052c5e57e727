//! What a tool does, classified by its words and by what its server hints.
//!
//! Evidence is weighed: the head verb of the name, then the title, then the main verb of the first
//! sentence; what later sentences say that the tool does *as well* can only make it stricter. A
//! word that merely occurs decides nothing. A word that can be a noun too (`order`, `post`, `log`)
//! is read as a noun beside a plain verb, and as a verb where it stands alone. A hint settles what
//! vague words (`run`, `open`) leave open, and may make a proposal stricter; a hint that only
//! reads goes under where the words say otherwise.

use super::tool_text::ToolText;
use super::verb::{self, Sense};
use super::{Hints, lexicon, own_data};

/// What a tool does, from harmless to unknown. The order is that of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Action {
    /// Works something out from its arguments alone.
    Compute,
    Read,
    /// Adds to the user's own things, which nobody else sees.
    AddOwn,
    /// Reaches somebody else.
    Send,
    /// Moves or commits money.
    Pay,
    /// Gives or changes access.
    GrantAccess,
    Write,
    Destroy,
    Unknown,
}

/// A classification of a tool, with the words that it rests on.
#[derive(Debug, Clone)]
pub(super) struct Classification {
    pub(super) action: Action,
    /// Whether the words settle nothing by themselves.
    vague: bool,
    pub(super) why: String,
}

impl Classification {
    fn new(action: Action, word: &str, place: &str) -> Self {
        let why = format!("{place} `{}`", weaver_text::escape::line(word));
        Self { action, vague: false, why }
    }

    fn reads(&self) -> bool {
        self.action <= Action::Read && !self.vague
    }

    fn revised(self, action: Action, why: &str) -> Self {
        Self { action, vague: false, why: format!("{why}; {}", self.why) }
    }
}

/// Classifies a tool.
pub(super) fn classify(text: &ToolText, hints: Hints) -> Classification {
    let words = by_words(text, hints);
    if let Some(program) = program(text, hints, &words) {
        return program;
    }
    with_hints(words, hints)
}

/// What takes a program can do anything, except where a query is said to read.
fn program(text: &ToolText, hints: Hints, words: &Classification) -> Option<Classification> {
    const TEXTS: [&str; 9] =
        ["sql", "statement", "cypher", "script", "code", "command", "expression", "shell", "query"];
    const SUBJECTS: [&str; 9] =
        ["sql", "database", "script", "code", "command", "shell", "javascript", "python", "cypher"];
    let runs = words.vague || words.action <= Action::Read;
    if !runs || !text.takes(&TEXTS) || !text.is_about(&SUBJECTS) {
        return None;
    }
    let queries = text.takes(&["sql", "statement", "cypher", "query"])
        && text.is_about(&["sql", "database", "query", "cypher"]);
    // `search_code` looks for a text; that it takes a query makes it no interpreter.
    let looks = words.reads() && !text.is_named(&["query", "sql", "cypher"]);
    let said = text.is_about(&["select", "readonly"]) || text.says_read_only();
    let reads = queries && (said || hints.reads()) || looks && !text.takes_program();
    (!reads).then(|| Classification {
        action: Action::Destroy,
        vague: false,
        why: "it takes a program, which can do anything".to_owned(),
    })
}

/// By name, title and description.
fn by_words(text: &ToolText, hints: Hints) -> Classification {
    let tells = by_first_sentence(text);
    let name = by_name(text, tells.as_ref(), hints);
    let title = || by_title(text);
    let head = [name, title()].into_iter().flatten().find(|found| !found.vague);
    let base = head.or_else(|| tells.clone().filter(|found| !found.vague));
    let base = base.or_else(|| by_name(text, tells.as_ref(), hints)).or(tells.clone());
    let more = strictest(tells.filter(|found| !found.vague), by_later_sentences(text));
    match (base, more) {
        (Some(base), Some(more)) if raises(&base, &more, hints) => {
            Classification { why: format!("{}; {}", base.why, more.why), ..more }
        }
        (Some(base), _) => base,
        // A later sentence alone settles less than a hint where it speaks of making something.
        (None, Some(more)) => {
            let vague = matches!(more.action, Action::AddOwn | Action::Write);
            Classification { vague, ..more }
        }
        (None, None) => Classification {
            action: Action::Unknown,
            vague: true,
            why: "its words do not say what it does".to_owned(),
        },
    }
}

/// Whether the description makes it stricter. Where name and server agree that it reads, one that
/// speaks of making something (`generates a listing`) does not.
fn raises(base: &Classification, more: &Classification, hints: Hints) -> bool {
    let agreed = base.reads() && hints.reads();
    let makes = matches!(more.action, Action::AddOwn | Action::Write);
    more.action > base.action && more.action > Action::Read && !(agreed && makes)
}

fn strictest(a: Option<Classification>, b: Option<Classification>) -> Option<Classification> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.action > a.action { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// What the hints make of it.
fn with_hints(words: Classification, hints: Hints) -> Classification {
    let open = words.vague || words.action == Action::Unknown;
    if hints.reads() {
        return match open || words.reads() {
            true => {
                let action =
                    if words.action == Action::Compute { Action::Compute } else { Action::Read };
                words.revised(action, "the server says read-only")
            }
            false => Classification {
                why: format!("{}, though the server says read-only", words.why),
                ..words
            },
        };
    }
    if hints.destructive == Some(true) {
        // Money, mail and access keep their sink, for rules that speak of it.
        let kept =
            matches!(words.action, Action::Pay | Action::GrantAccess | Action::Send) && !open;
        let action = if kept { words.action } else { Action::Destroy };
        return words.revised(action, "the server says that it may destroy");
    }
    if open && hints.destructive == Some(false) {
        return words.revised(Action::Write, "the server says that it writes and destroys nothing");
    }
    if words.reads() && hints.read_only == Some(false) {
        return words.revised(Action::Write, "the server says that it is not read-only");
    }
    words
}

/// The word of a name, in its sense there.
struct NameVerb<'p> {
    place: usize,
    word: &'p str,
    sense: Sense,
    joined: bool,
}

fn verbs_of_name(words: &[String]) -> Vec<NameVerb<'_>> {
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|at| words.get(at)).map(String::as_str);
        let joined = matches!(before, Some("and" | "or" | "then"));
        if let Some(sense) = verb::sense(word, words.get(place.saturating_add(1))) {
            found.push(NameVerb { place, word, sense, joined });
        }
    }
    found
}

/// By the verbs of the name: the first plain one is its head, and another counts beside it where
/// it is joined (`get_and_delete`), closes the name (`find_replace`), or nothing says that the
/// tool reads.
fn by_name(
    text: &ToolText,
    tells: Option<&Classification>,
    hints: Hints,
) -> Option<Classification> {
    let all = verbs_of_name(&text.name);
    let reading = hints.reads() || tells.is_some_and(Classification::reads);
    let last = text.name.len().saturating_sub(1);
    let make =
        |one: &NameVerb<'_>, action| Classification::new(refined(action, text), one.word, "name");
    let mut head: Option<Classification> = None;
    for one in &all {
        let (action, plain) = match one.sense {
            Sense::Verb(action) => (action, true),
            Sense::VerbOrNoun(action) => (action, false),
            Sense::VagueVerb(_) => continue,
        };
        let next = make(one, action);
        match &head {
            None if plain => head = Some(next),
            Some(found) if next.action > found.action => {
                let beside = plain && found.reads() && (one.place == last || !reading);
                if one.joined || beside {
                    head = Some(next);
                }
            }
            _ => {}
        }
    }
    head.or_else(|| by_ambiguous_verb(text, &all, reading)).or_else(|| {
        all.iter().find_map(|one| match one.sense {
            Sense::VagueVerb(action) => Some(Classification { vague: true, ..make(one, action) }),
            _ => None,
        })
    })
}

/// A name without a plain verb: one that begins with a noun that can be a verb commands, unless
/// it closes with what is read; elsewhere the word may be a thing.
fn by_ambiguous_verb(
    text: &ToolText,
    all: &[NameVerb<'_>],
    reading: bool,
) -> Option<Classification> {
    let either = all.iter().find_map(|one| match one.sense {
        Sense::VerbOrNoun(action) => Some((one, action)),
        _ => None,
    });
    let view = text.name.iter().rev().find(|word| verb::names_what_is_read(word));
    let commands = either.as_ref().is_some_and(|(one, _)| one.place == 0);
    if let Some(view) = view.filter(|_| reading || !commands) {
        return Some(Classification::new(Action::Read, view, "name"));
    }
    let (one, action) = either?;
    // After a vague verb it is that verb's object: `trigger_request`.
    let vague = |before: &NameVerb<'_>| matches!(before.sense, Sense::VagueVerb(_));
    let object = all.first().is_some_and(|first| first.place < one.place && vague(first));
    let stands = commands || !reading && !object;
    stands.then(|| Classification::new(refined(action, text), one.word, "name"))
}

/// By the first verb of the title.
fn by_title(text: &ToolText) -> Option<Classification> {
    let (word, next) = (text.title.first()?, text.title.get(1));
    match verb::sense(word, next)? {
        Sense::Verb(action) => Some(Classification::new(refined(action, text), word, "title")),
        _ => None,
    }
}

/// The main verb of the first sentence, with what is joined to it.
fn by_first_sentence(text: &ToolText) -> Option<Classification> {
    const OPENERS: [&str; 22] = [
        "this", "tool", "a", "an", "to", "the", "for", "used", "use", "allows", "you", "lets",
        "function", "it", "can", "will", "recursively", "securely", "quickly", "safely", "simply",
        "directly",
    ];
    let sentence = text.sentences.first()?;
    let start = sentence.iter().position(|word| !OPENERS.contains(&word.as_str()))?;
    let word = sentence.get(start)?;
    let next = sentence.get(start.saturating_add(1));
    match verb::description_sense(word, next)? {
        Sense::Verb(action) => {
            Some(Classification::new(refined(action, text), word, "description"))
        }
        Sense::VerbOrNoun(action) => {
            let object =
                verb::takes_object(next) || verb::is_third_person(word) || sentence.len() > 1;
            object.then(|| Classification::new(refined(action, text), word, "description"))
        }
        Sense::VagueVerb(action) => {
            Some(Classification { vague: true, ..Classification::new(action, word, "description") })
        }
    }
}

/// The strictest of what sentences say that the tool does as well.
fn by_later_sentences(text: &ToolText) -> Option<Classification> {
    let mut out: Option<Classification> = None;
    for sentence in &text.sentences {
        for (place, word) in sentence.iter().enumerate() {
            let before = place.checked_sub(1).and_then(|at| sentence.get(at)).map(String::as_str);
            if !verb::introduces_verb(before) {
                continue;
            }
            let next = sentence.get(place.saturating_add(1));
            let action = match verb::description_sense(word, next) {
                Some(Sense::Verb(action)) if !verb::is_noun(word, before) => action,
                Some(Sense::VerbOrNoun(action)) if verb::takes_object(next) => action,
                _ => continue,
            };
            if action > Action::Read {
                let next = Classification::new(refined(action, text), word, "description");
                out = strictest(out, Some(next));
            }
        }
    }
    out
}

/// What a verb means with the nouns and arguments of this tool.
fn refined(action: Action, text: &ToolText) -> Action {
    match action {
        Action::Send | Action::Write | Action::AddOwn if lexicon::is_about_money(text) => {
            Action::Pay
        }
        Action::Send if lexicon::is_about_credentials(text) => Action::GrantAccess,
        Action::Write | Action::AddOwn if lexicon::is_about_access(text) => Action::GrantAccess,
        // What is made up of nothing but its arguments is reckoned.
        Action::Write if own_data::only_generates(text) => Action::Compute,
        Action::AddOwn if lexicon::is_read_by_others(text) => Action::Send,
        Action::AddOwn if lexicon::adds_to_own_things(text) => Action::AddOwn,
        Action::AddOwn | Action::Write if lexicon::names_receiver(text) => Action::Send,
        Action::AddOwn => Action::Write,
        other => other,
    }
}
