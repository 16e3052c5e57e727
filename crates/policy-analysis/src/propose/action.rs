//! Classifies what a tool does, from its words and its server's hints.
//!
//! Evidence is ranked: the head verb of the name, then the title, then the main verb of the first
//! sentence. Later sentences that say what the tool does *as well* can only make the result
//! stricter. The mere occurrence of a word decides nothing. A word that can also be a noun
//! (`order`, `post`, `log`) is read as a noun next to a plain verb, and as a verb on its own. A
//! hint decides what vague words (`run`, `open`) leave open, and may make a proposal stricter. A
//! read-only hint is ignored if the words contradict it.

use super::tool_text::ToolText;
use super::verb::{self, Sense};
use super::{ToolHints, lexicon, own_data, receiver_reads, sharing};

/// What a tool does, ordered by strictness, from harmless to unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ToolAction {
    /// Computes something from its arguments alone.
    Compute,
    Read,
    /// Adds to the user's own data, which nobody else sees.
    AddToOwnData,
    /// Sends something to somebody else.
    Send,
    /// Moves or commits money.
    Pay,
    /// Grants or changes access.
    GrantAccess,
    Write,
    Destroy,
    Unknown,
}

/// Verbs for moving about in a page.
const BROWSES: [&str; 3] = ["navigate", "hover", "scroll"];

/// A classification of a tool, with the words that it is based on.
#[derive(Debug, Clone)]
pub(super) struct Classification {
    pub(super) action: ToolAction,
    /// Whether the words are inconclusive by themselves.
    vague: bool,
    /// Whether the verb of the name can only mean a read.
    looks_up: bool,
    pub(super) why: String,
}

impl Classification {
    fn new(action: ToolAction, word: &str, source: &str) -> Self {
        const LOOKUPS: [&str; 5] = ["search", "query", "list", "find", "lookup"];
        let why = format!("{source} `{}`", weaver_text::escape::line(word));
        let looks_up = source == "name" && (LOOKUPS.contains(&word) || BROWSES.contains(&word));
        Self { action, vague: false, looks_up, why }
    }

    /// Whether it only moves about in a page, which asks no more of a site than a link does.
    fn browses(&self) -> bool {
        BROWSES.iter().any(|word| self.why.starts_with(&format!("name `{word}`")))
    }

    fn is_read_only(&self) -> bool {
        self.action <= ToolAction::Read && !self.vague
    }

    fn with_action(self, action: ToolAction, why: &str) -> Self {
        Self { action, vague: false, looks_up: false, why: format!("{why}; {}", self.why) }
    }
}

/// Classifies a tool.
pub(super) fn classify(text: &ToolText, hints: ToolHints) -> Classification {
    let words = answers_with_export(classify_words(text, hints), text, hints);
    if let Some(program) = classify_program(text, hints, &words) {
        return program;
    }
    raise_reads_for_others(apply_hints(words, hints), text)
}

/// An export or a download that its server calls read-only, and that names no place to go to, is
/// what the tool answers.
fn answers_with_export(found: Classification, text: &ToolText, hints: ToolHints) -> Classification {
    let is_export =
        ["export", "download"].iter().any(|word| found.why.starts_with(&format!("name `{word}`")));
    let goes_somewhere = text.takes_path
        || !text.receivers.is_empty()
        || text.takes(&lexicon::ADDRESS_ARGUMENTS)
        || text.takes(&["destination", "to", "bucket", "output"]);
    let is_plain = matches!(found.action, ToolAction::Send | ToolAction::Write);
    if !is_export || !is_plain || !hints.is_read_only() || goes_somewhere {
        return found;
    }
    found.with_action(ToolAction::Read, "it answers with what it exports")
}

/// A tool that is named like a read, or whose server calls it one, and that names who gets
/// something or lets others in, is no read.
fn raise_reads_for_others(found: Classification, text: &ToolText) -> Classification {
    if found.action > ToolAction::Read {
        return found;
    }
    if let Some(why) = sharing::answers_with_access(text) {
        return found.with_action(ToolAction::Send, why);
    }
    match receiver_reads::telling_reason(text).filter(|_| found.action == ToolAction::Read) {
        Some(why) => found.with_action(ToolAction::Send, &why),
        None => found,
    }
}

/// A tool that takes a program can do anything, unless it is a query that is declared to read.
fn classify_program(
    text: &ToolText,
    hints: ToolHints,
    words: &Classification,
) -> Option<Classification> {
    const TEXTS: [&str; 9] =
        ["sql", "statement", "cypher", "script", "code", "command", "expression", "shell", "query"];
    const SUBJECTS: [&str; 9] =
        ["sql", "database", "script", "code", "command", "shell", "javascript", "python", "cypher"];
    let runs = words.vague || words.action <= ToolAction::Read;
    if !runs || !text.takes(&TEXTS) || !text.is_about(&SUBJECTS) {
        return None;
    }
    let queries = text.takes(&["sql", "statement", "cypher", "query"])
        && text.is_about(&["sql", "database", "query", "cypher"]);
    // `search_code` searches for a text; taking a query does not make it an interpreter.
    let looks = words.is_read_only() && !text.is_named(&["query", "sql", "cypher"]);
    let said = text.is_about(&["select", "readonly"]) || text.says_read_only();
    let reads = queries && (said || hints.is_read_only()) || looks && !text.takes_program();
    (!reads).then(|| Classification {
        action: ToolAction::Destroy,
        vague: false,
        looks_up: false,
        why: "it takes a program, which can do anything".to_owned(),
    })
}

/// Classifies by name, title and description.
fn classify_words(text: &ToolText, hints: ToolHints) -> Classification {
    let by_description = classify_first_sentence(text);
    let name = classify_name(text, by_description.as_ref(), hints);
    let title = || classify_title(text);
    let head = [name, title()].into_iter().flatten().find(|found| !found.vague);
    let base = head.or_else(|| by_description.clone().filter(|found| !found.vague));
    let base = base
        .or_else(|| classify_name(text, by_description.as_ref(), hints))
        .or(by_description.clone());
    let further = classify_later_sentences(text, Evidence::of(base.as_ref(), hints));
    let more = strictest(by_description.filter(|found| !found.vague), further);
    match (base, more) {
        (Some(base), Some(more)) if is_raised_by(&base, &more, hints) => {
            Classification { why: format!("{}; {}", base.why, more.why), ..more }
        }
        (Some(base), _) => base,
        // A later sentence about creating something is weaker evidence than a hint.
        (None, Some(more)) => {
            let vague = matches!(more.action, ToolAction::AddToOwnData | ToolAction::Write);
            Classification { vague, ..more }
        }
        (None, None) => Classification {
            action: ToolAction::Unknown,
            vague: true,
            looks_up: false,
            why: "its words do not say what it does".to_owned(),
        },
    }
}

/// What counts in the sentences after the main verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Every verb that follows a word which introduces one.
    Introduced,
    /// The same without imperatives after the first sentence, which address the caller of a tool that
    /// is said to be read-only (`Add a limit`, `before you reject it`).
    NotForCaller,
    /// Only what is plainly said of the tool itself: the verb of its name says that it reads, and
    /// nothing contradicts that.
    Stated,
}

impl Evidence {
    fn of(base: Option<&Classification>, hints: ToolHints) -> Self {
        let is_read = |base: &&Classification| base.is_read_only();
        let named = base.filter(is_read).is_some_and(|base| base.why.starts_with("name `"));
        if named && hints.read_only != Some(false) && hints.destructive != Some(true) {
            return Self::Stated;
        }
        let may_read = base.is_none_or(|base| base.vague || base.is_read_only());
        if may_read && hints.is_read_only() { Self::NotForCaller } else { Self::Introduced }
    }
}

/// Whether the description makes the classification stricter. If name and server agree that the
/// tool reads, a description about creating something (`generates a listing`) does not. A vague name
/// that the server calls read-only is one that reads only if the description says nothing else.
fn is_raised_by(base: &Classification, more: &Classification, hints: ToolHints) -> bool {
    let is_open = base.vague && hints.is_read_only();
    let agreed = is_open || base.is_read_only() && hints.is_read_only();
    let makes = matches!(more.action, ToolAction::AddToOwnData | ToolAction::Write);
    let is_stricter = more.action > base.action || is_open;
    is_stricter && more.action > ToolAction::Read && !(agreed && makes)
}

fn strictest(a: Option<Classification>, b: Option<Classification>) -> Option<Classification> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.action > a.action { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Adjusts a classification by the server's hints.
fn apply_hints(words: Classification, hints: ToolHints) -> Classification {
    let open = words.vague || words.action == ToolAction::Unknown;
    if hints.is_read_only() {
        return match open || words.is_read_only() {
            true => {
                let action = if words.action == ToolAction::Compute {
                    ToolAction::Compute
                } else {
                    ToolAction::Read
                };
                words.with_action(action, "the server says read-only")
            }
            false => Classification {
                why: format!("{}, though the server says read-only", words.why),
                ..words
            },
        };
    }
    // Some servers derive these hints from the method of a request, or give them to all that is not
    // read-only.
    let is_derived = hints.destructive == Some(true) && hints.read_only.is_none();
    if words.is_read_only() && words.looks_up && (is_derived || words.browses()) {
        return words;
    }
    if hints.destructive == Some(true) {
        // Money, mail and access keep their sink, because rules may depend on it.
        let kept =
            matches!(words.action, ToolAction::Pay | ToolAction::GrantAccess | ToolAction::Send)
                && !open;
        let action = if kept { words.action } else { ToolAction::Destroy };
        return words.with_action(action, "the server says that it may destroy");
    }
    if open && hints.destructive == Some(false) {
        return words
            .with_action(ToolAction::Write, "the server says that it writes and destroys nothing");
    }
    if words.is_read_only() && hints.read_only == Some(false) {
        return words.with_action(ToolAction::Write, "the server says that it is not read-only");
    }
    words
}

/// A verb in the name, with its sense there.
struct NameVerb<'p> {
    position: usize,
    word: &'p str,
    sense: Sense,
    joined: bool,
}

fn name_verbs(words: &[String]) -> Vec<NameVerb<'_>> {
    let mut found = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let before = position.checked_sub(1).and_then(|at| words.get(at)).map(String::as_str);
        let joined = matches!(before, Some("and" | "or" | "then"));
        if let Some(sense) = verb::name_sense(word, words.get(position.saturating_add(1))) {
            found.push(NameVerb { position, word, sense, joined });
        }
    }
    found
}

/// Classifies by the verbs of the name. The first plain verb is the head. Another one also counts
/// if it is joined to it (`get_and_delete`), if it ends the name (`find_replace`), or if nothing
/// says that the tool reads.
fn classify_name(
    text: &ToolText,
    by_description: Option<&Classification>,
    hints: ToolHints,
) -> Option<Classification> {
    let all = name_verbs(&text.name);
    let reading = hints.is_read_only() || by_description.is_some_and(Classification::is_read_only);
    let last = text.name.len().saturating_sub(1);
    let make = |one: &NameVerb<'_>, action| {
        Classification::new(refine_action(action, one.word, text), one.word, "name")
    };
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
                let beside = plain && found.is_read_only() && (one.position == last || !reading);
                if one.joined || beside {
                    head = Some(next);
                }
            }
            _ => {}
        }
    }
    head.or_else(|| classify_ambiguous_name(text, &all, reading)).or_else(|| {
        all.iter().find_map(|one| match one.sense {
            Sense::VagueVerb(action) => Some(Classification { vague: true, ..make(one, action) }),
            _ => None,
        })
    })
}

/// Classifies a name without a plain verb. A leading word that can be a verb is read as a command,
/// unless the name ends with a noun for what is read. In other positions, the word may be a noun.
fn classify_ambiguous_name(
    text: &ToolText,
    all: &[NameVerb<'_>],
    reading: bool,
) -> Option<Classification> {
    let either = all.iter().find_map(|one| match one.sense {
        Sense::VerbOrNoun(action) => Some((one, action)),
        _ => None,
    });
    // `site_map` is something to read, and `map_drive` is not.
    let result = text.name.last().filter(|word| matches!(word.as_str(), "map" | "research"));
    let view = text.name.iter().rev().find(|word| verb::is_read_noun(word));
    let view = view.or_else(|| result.filter(|_| text.name.len() > 1));
    let commands = either.as_ref().is_some_and(|(one, _)| one.position == 0);
    if let Some(view) = view.filter(|_| reading || !commands) {
        return Some(Classification::new(ToolAction::Read, view, "name"));
    }
    let (one, action) = either?;
    // After a vague verb, the word is its object: `trigger_request`.
    let vague = |before: &NameVerb<'_>| matches!(before.sense, Sense::VagueVerb(_));
    let object = all.first().is_some_and(|first| first.position < one.position && vague(first));
    let stands = commands || !reading && !object;
    stands.then(|| Classification::new(refine_action(action, one.word, text), one.word, "name"))
}

/// Classifies by the first verb of the title.
fn classify_title(text: &ToolText) -> Option<Classification> {
    let (word, next) = (text.title.first()?, text.title.get(1));
    match verb::name_sense(word, next)? {
        Sense::Verb(action) => {
            Some(Classification::new(refine_action(action, word, text), word, "title"))
        }
        _ => None,
    }
}

/// Classifies by the main verb of the first sentence.
fn classify_first_sentence(text: &ToolText) -> Option<Classification> {
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
            Some(Classification::new(refine_action(action, word, text), word, "description"))
        }
        Sense::VerbOrNoun(action) => {
            let object = verb::takes_object(next)
                || verb::is_unambiguous_third_person(word)
                || sentence.len() > 1;
            object.then(|| {
                Classification::new(refine_action(action, word, text), word, "description")
            })
        }
        Sense::VagueVerb(action) => {
            Some(Classification { vague: true, ..Classification::new(action, word, "description") })
        }
    }
}

/// The strictest of the further actions that sentences mention.
fn classify_later_sentences(text: &ToolText, evidence: Evidence) -> Option<Classification> {
    let mut out: Option<Classification> = None;
    for (number, sentence) in text.sentences.iter().enumerate() {
        for (position, word) in sentence.iter().enumerate() {
            let action = match evidence {
                Evidence::Stated => stated_action(sentence, number, position),
                Evidence::Introduced | Evidence::NotForCaller => {
                    let is_for_caller = evidence == Evidence::NotForCaller && number > 0;
                    introduced_action(sentence, position, is_for_caller)
                }
            };
            let Some(action) = action else { continue };
            if action > ToolAction::Read {
                let action = refine_action(action, word, text);
                out = strictest(out, Some(Classification::new(action, word, "description")));
            }
        }
    }
    out
}

/// What the word at this place says is done, after a word that introduces a verb.
fn introduced_action(
    sentence: &[String],
    position: usize,
    is_for_caller: bool,
) -> Option<ToolAction> {
    let word = sentence.get(position)?;
    let before = verb::word_before(sentence, position, 1);
    let next = sentence.get(position.saturating_add(1));
    let active = || match verb::description_sense(word, next)? {
        Sense::Verb(action) if !verb::is_noun(sentence, position) => Some(action),
        Sense::VerbOrNoun(action) if verb::takes_object(next) => Some(action),
        _ => None,
    };
    let is_imperative = || verb::name_sense(word, next).is_some();
    // `Warning: …` is no verb.
    let is_gerund = before.is_none() && word.ends_with("ing");
    let counts = verb::introduces_verb(before) && !is_gerund && !(is_for_caller && is_imperative());
    let active = counts.then(active).flatten().or_else(|| means(before, word, next));
    active.or_else(|| verb::passive_action(sentence, position))
}

/// What the word at this place plainly says is done by the tool: a verb in the third person with an
/// object, what it will do, a passive, or a means. An imperative counts in the first sentence, where
/// it is what the tool is for.
fn stated_action(sentence: &[String], number: usize, position: usize) -> Option<ToolAction> {
    // What tools say of how they read: `accepts a list`, `applies the filter`, `calls the API`.
    const OF_READS: [&str; 6] = ["accepts", "applies", "calls", "reports", "starts", "stops"];
    const TELLS: [&str; 8] =
        ["post", "share", "email", "mail", "message", "tweet", "comment", "fax"];
    let word = sentence.get(position)?;
    let before = verb::word_before(sentence, position, 1);
    let next = sentence.get(position.saturating_add(1));
    let earlier = |known: &str| sentence.iter().take(position).any(|word| word == known);
    let done = means(before, word, next).or_else(|| {
        let is_of_reads = verb::is_passive_of_reads(word) && !earlier("will");
        verb::passive_action(sentence, position).filter(|_| !is_of_reads)
    });
    if done.is_some() || word.ends_with("ing") || OF_READS.contains(&word.as_str()) {
        return done;
    }
    let object = verb::takes_object(next);
    let action = match verb::description_sense(word, next)? {
        Sense::Verb(action) => action,
        Sense::VerbOrNoun(action) => {
            let tells = TELLS.contains(&word.strip_suffix('s').unwrap_or(word));
            (object && (tells || action == ToolAction::Pay)).then_some(action)?
        }
        Sense::VagueVerb(_) => return None,
    };
    let is_base = verb::name_sense(word, next).is_some();
    let counts = if is_base {
        let promised = matches!(before, Some("will" | "can" | "also" | "automatically"));
        let joined = number == 0 && matches!(before, Some("and" | "or" | "then")) && object;
        let is_purpose = earlier("to") && !REACHES.contains(&action);
        promised && !earlier("you") || joined && !is_purpose
    } else {
        let is_joined = matches!(before, Some("and" | "or" | "then"));
        let has_more = !verb::begins_adverbial(next);
        let has_object =
            object || (is_joined || verb::is_unambiguous_third_person(word)) && has_more;
        verb::introduces_verb(before) && has_object && !verb::is_noun(sentence, position)
    };
    counts.then_some(action)
}

/// What reaches others or is lost.
const REACHES: [ToolAction; 4] =
    [ToolAction::Send, ToolAction::Pay, ToolAction::GrantAccess, ToolAction::Destroy];

/// What the tool does in order to do what it says: `by sending it`, `by deleting the rest`.
fn means(before: Option<&str>, word: &str, next: Option<&String>) -> Option<ToolAction> {
    match verb::description_sense(word, next)? {
        // Filters are applied, to what is looked at.
        Sense::Verb(action)
            if before == Some("by")
                && word.ends_with("ing")
                && word != "applying"
                && REACHES.contains(&action) =>
        {
            Some(action)
        }
        _ => None,
    }
}

/// Whether a verb of loss says how a document is edited.
fn is_edit(word: &str) -> bool {
    const EDITS: [&str; 4] = ["merge", "replace", "force", "stop"];
    EDITS.iter().any(|edit| word.starts_with(edit))
}

/// Whether a verb for telling somebody says what is written into a document.
fn is_in_document(word: &str) -> bool {
    const WRITES: [&str; 8] =
        ["export", "reply", "comment", "apply", "applies", "introduce", "note", "return"];
    WRITES.iter().any(|known| word.starts_with(known))
}

/// Refines the meaning of a verb by the nouns and arguments of the tool.
fn refine_action(action: ToolAction, word: &str, text: &ToolText) -> ToolAction {
    match action {
        // Cells are merged and words are replaced, as an editor does.
        ToolAction::Destroy if text.is_document && is_edit(word) => ToolAction::Write,
        ToolAction::Send if text.is_document && is_in_document(word) => ToolAction::Write,
        // A file on this disk is told to nobody.
        ToolAction::Send if word == "export" && text.takes_path && text.receivers.is_empty() => {
            ToolAction::Write
        }
        // A key of the keyboard.
        ToolAction::Write if matches!(word, "press" | "click" | "hover" | "drag") => action,
        ToolAction::Send | ToolAction::Write | ToolAction::AddToOwnData
            if lexicon::is_about_money(text) =>
        {
            ToolAction::Pay
        }
        ToolAction::AddToOwnData | ToolAction::Write if lexicon::changes_bank_details(text) => {
            ToolAction::Pay
        }
        ToolAction::Send if lexicon::is_about_credentials(text) => ToolAction::GrantAccess,
        ToolAction::Write | ToolAction::AddToOwnData
            if lexicon::is_about_access(text) || sharing::gives_access(text) =>
        {
            ToolAction::GrantAccess
        }
        // Something that is generated from the arguments alone is computed.
        ToolAction::Write if own_data::only_generates(text) => ToolAction::Compute,
        ToolAction::AddToOwnData if lexicon::is_read_by_others(text) => ToolAction::Send,
        ToolAction::AddToOwnData | ToolAction::Write if sharing::sharing_word(text).is_some() => {
            ToolAction::Send
        }
        ToolAction::AddToOwnData if lexicon::makes_draft(text) => ToolAction::AddToOwnData,
        ToolAction::AddToOwnData if lexicon::adds_to_own_things(text) => ToolAction::AddToOwnData,
        ToolAction::AddToOwnData | ToolAction::Write if lexicon::names_receiver(text) => {
            ToolAction::Send
        }
        ToolAction::AddToOwnData
            if sharing::others_see(text).is_some()
                && sharing::configuration_word(text).is_none() =>
        {
            ToolAction::Send
        }
        ToolAction::AddToOwnData => ToolAction::Write,
        other => other,
    }
}
