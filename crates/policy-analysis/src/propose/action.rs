//! Classifies what a tool does, from its words and its server's hints.
//!
//! Evidence is ranked: the head verb of the name, then the title, then the main verb of the first
//! sentence. Later sentences that say what the tool does *as well* can only make the result
//! stricter. The mere occurrence of a word decides nothing. A word that can also be a noun
//! (`order`, `post`, `log`) is read as a noun next to a plain verb, and as a verb on its own. A
//! hint decides what vague words (`run`, `open`) leave open, and may make a proposal stricter. A
//! read-only hint is ignored if the words contradict it.

mod meaning;
mod name;
mod sentence;

use super::tool_text::ToolText;
use super::{ToolHints, computation, lexicon, reach, receiver_reads, sharing, unpacking, verb};
use name::{classify_name, classify_title};
use sentence::{classify_first_sentence, classify_later_sentences};

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

    pub(super) fn is_vague(&self) -> bool {
        self.vague
    }

    pub(super) fn with_action(self, action: ToolAction, why: &str) -> Self {
        Self { action, vague: false, looks_up: false, why: format!("{why}; {}", self.why) }
    }
}

/// Classifies a tool.
pub(super) fn classify(text: &ToolText, hints: ToolHints) -> Classification {
    // That it can mark what it reads as read is why a server says that it does more than read.
    let marks = text.argument_words.iter().any(|words| {
        matches!(&words[..], [mark, .., last] if mark == "mark" && matches!(last.as_str(), "read" | "seen"))
    });
    let read_only = hints.read_only.filter(|only| *only || !marks);
    let hints = ToolHints { read_only, ..hints };
    let words = answers_with_export(classify_words(text, hints), text, hints);
    let words = takes_in_file(words, text);
    let words = raise_joined_write(computation::computes(&words, text).unwrap_or(words), text);
    if let Some(analysis) = classify_code_analysis(text, &words) {
        return apply_hints(analysis, hints);
    }
    if let Some(program) = classify_program(text, hints, &words) {
        return program;
    }
    let found = raise_saved_files(raise_reads_for_others(apply_hints(words, hints), text), text);
    let found = raise_unpacking(found, text);
    raise_destroying_arguments(raise_sending_arguments(found, text), text)
}

/// What is put down for the user alone, and goes out by an argument, is sent.
fn raise_sending_arguments(found: Classification, text: &ToolText) -> Classification {
    let is_put_down = found.action == ToolAction::AddToOwnData
        || found.action == ToolAction::Write && text.is_named(&["draft", "reminder", "note"]);
    // A reminder has a schedule of its own.
    let is_timed = text.is_named(&["draft"]) && text.takes(&["schedule", "scheduled"]);
    match is_put_down && (text.sends_what_is_put_down || is_timed) {
        true => found.with_action(ToolAction::Send, "an argument sends it or tells somebody of it"),
        false => found,
    }
}

/// A list of operations does what each of them does; a switch of a read may take away what it reads.
/// A terminal that is opened with a command runs it.
fn raise_destroying_arguments(found: Classification, text: &ToolText) -> Classification {
    let keeps_sink =
        matches!(found.action, ToolAction::Send | ToolAction::Pay | ToolAction::GrantAccess);
    if text.lists_destroying && !keeps_sink && found.action != ToolAction::Destroy {
        return found
            .with_action(ToolAction::Destroy, "one of the operations that it takes deletes");
    }
    if text.has_destroying_switch && found.action <= ToolAction::Read {
        return found.with_action(ToolAction::Destroy, "a switch deletes what it reads");
    }
    let opens = text.names_verb(&["create", "new", "open", "split", "start", "spawn", "launch"]);
    let opens_terminal = opens
        && text.is_named(&["session", "window", "pane", "terminal", "tab"])
        && text
            .argument_words
            .iter()
            .any(|words| matches!(&words[..], [word] if word == "command"));
    if opens_terminal && found.action != ToolAction::Destroy {
        return found.with_action(ToolAction::Destroy, "the command that it takes is run");
    }
    found
}

/// A tool that loads or opens the file at a path, and of which nothing says more, reads it.
fn takes_in_file(found: Classification, text: &ToolText) -> Classification {
    let is_open = found.action == ToolAction::Unknown || found.vague;
    let takes_in = text.name.first().is_some_and(|word| matches!(word.as_str(), "load" | "open"));
    // What a pickle holds is run when it is loaded.
    if takes_in && text.is_about(&["pickle", "pickled", "joblib", "dill"]) {
        return found.with_action(ToolAction::Destroy, "what a pickle holds is run");
    }
    if is_open && takes_in && text.takes_path && !text.saves_file {
        return found.with_action(ToolAction::Read, "it takes in a file");
    }
    found
}

/// A tool that unpacks an archive writes files, wherever it puts them.
fn raise_unpacking(found: Classification, text: &ToolText) -> Classification {
    if found.action > ToolAction::Read || !unpacking::unpacks(text) {
        return found;
    }
    found.with_action(ToolAction::Write, "it unpacks files")
}

/// A tool that cannot be called without a file to save something in is no read.
fn raise_saved_files(found: Classification, text: &ToolText) -> Classification {
    if found.action > ToolAction::Read || !text.saves_file {
        return found;
    }
    found.with_action(ToolAction::Write, "it saves something in a file")
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

/// A tool that finds something and changes it (`detect and resolve`) writes, if it is named by the
/// change. One that takes a verdict on a task notes it.
fn raise_joined_write(found: Classification, text: &ToolText) -> Classification {
    const VERDICTS: [&str; 4] = ["score", "verdict", "grade", "rating"];
    if found.action > ToolAction::Read {
        return found;
    }
    let is_joined = |word: &String| {
        let changes = matches!(verb::name_sense(word, None), Some(verb::Sense::VagueVerb(_)));
        changes
            && text
                .first_sentence()
                .windows(2)
                .any(|two| matches!(two, [and, next] if and == "and" && next == word))
    };
    if text.name.first().is_some_and(is_joined) {
        return found.with_action(ToolAction::Write, "it also changes what it finds");
    }
    let notes =
        text.is_named(&reach::TASKS) && text.last_words().any(|word| VERDICTS.contains(&word));
    match notes {
        true => found.with_action(ToolAction::Write, "it notes a verdict"),
        false => found,
    }
}

/// A tool that takes code to show its syntax, or to try a rule on it, runs none of it.
fn classify_code_analysis(text: &ToolText, words: &Classification) -> Option<Classification> {
    const SYNTAX: [&str; 5] = ["syntax", "ast", "rule", "lint", "parse"];
    const RUNS: [&str; 12] = [
        "run", "runs", "execute", "executes", "executed", "evaluate", "evaluates", "eval",
        "sandbox", "interpreter", "shell", "fix",
    ];
    let is_open = words.vague || words.action == ToolAction::Unknown || words.is_read_only();
    let mut said = text.name.iter().chain(text.sentences.iter().flatten());
    let takes_only_code = text.takes(&["code"])
        && !text.takes(&["sql", "statement", "cypher", "script", "command", "shell"]);
    let analyses = is_open && takes_only_code && text.is_about(&SYNTAX);
    let runs = said.any(|word| RUNS.contains(&word.as_str()));
    (analyses && !runs)
        .then(|| words.clone().with_action(ToolAction::Compute, "it looks at the syntax of code"))
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
    // Who is told or let in counts, and not that something is written down for it.
    let reaches =
        matches!(base.action, ToolAction::Send | ToolAction::Pay | ToolAction::GrantAccess);
    let is_stricter = more.action > base.action && !(reaches && !base.vague && makes) || is_open;
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
