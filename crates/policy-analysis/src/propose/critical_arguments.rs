//! Proposes the critical arguments of a write. The names of arguments say what most of them are
//! ([`critical::arguments`]). What a name alone does not tell, the tool's own words do: `order` is a
//! setting of a search, and what `pay_order` pays.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::critical::{self, ArgumentRole};
use weaver_types::{Effects, Impact, JsonPointer, SinkKind};

use super::argument::Argument;
use super::lexicon::{self, singular};
use super::tool_text::{self, ToolText};

/// Proposed critical arguments and the reasons for them.
pub(super) struct CriticalProposal {
    pub(super) arguments: BTreeSet<JsonPointer>,
    pub(super) why: String,
}

/// Why an argument is critical beside those that its name says.
const OBJECT: &str = "what the tool does something to";
const SWITCH: &str = "a switch for more power or more people";
const MEASURE: &str = "how much, how long or which span";
const ACCESS: &str = "what is granted or set up";

/// Proposes the critical arguments of a tool; none without a sink or without a schema.
pub(super) fn propose(
    text: &ToolText,
    schema: Option<&Value>,
    effects: Effects,
    sink: SinkKind,
) -> CriticalProposal {
    let none = CriticalProposal { arguments: BTreeSet::new(), why: String::new() };
    if sink == SinkKind::None || schema.is_none() {
        return none;
    }
    let mut found = critical::tool_arguments(&text.name.join("_"), schema, sink);
    if text.takes_path {
        // Where a file is written, its path decides; what it says is the agent's work.
        found.retain(|at| pointer_role(at) != ArgumentRole::Text);
    }
    if effects.impact == Impact::Read {
        found.retain(|at| pointer_role(at) == ArgumentRole::Network);
    }
    let mut why = "by their names, as what says to whom, where, which and how much".to_owned();
    if effects.impact != Impact::Read {
        let judge = Judge { text, sink };
        for argument in tool_text::all_arguments(schema) {
            let Some(reason) = judge.reason(&argument) else { continue };
            if found.insert(argument.at.clone()) {
                let shown = weaver_text::escape::line(argument.at.as_str());
                why.push_str(&format!("; `{shown}`: {reason}"));
            }
        }
    }
    let required = tool_text::required_arguments(schema);
    let first = |at: &JsonPointer| at.as_str().split('/').nth(1).unwrap_or_default().to_owned();
    if !found.iter().any(|at| required.contains(&first(at))) {
        let texts =
            required.iter().filter(|name| critical::argument_role(name) == ArgumentRole::Text);
        let titles = texts.filter(|name| lexicon::is_title(name));
        let more: BTreeSet<JsonPointer> =
            titles.filter_map(|name| tool_text::pointer(name)).collect();
        if !more.is_empty() {
            why.push_str("; a call can go without people, so what it is called counts too");
            found.extend(more);
        }
    }
    CriticalProposal { arguments: found, why }
}

/// Judges the arguments of one tool.
struct Judge<'t> {
    text: &'t ToolText,
    sink: SinkKind,
}

impl Judge<'_> {
    /// Why this argument is critical, judged by what the tool does; `None` if nothing says so.
    fn reason(&self, argument: &Argument<'_>) -> Option<&'static str> {
        if is_switch(argument) {
            return Some(SWITCH);
        }
        if argument.is_boolean() {
            return None;
        }
        let strict = critical::requires_user_words(self.sink);
        let role = critical::argument_role(argument.name);
        let checks: [(bool, &'static str); 4] = [
            (self.is_object(argument, role, strict), OBJECT),
            (self.is_required_object(argument, role), OBJECT),
            (self.measures(argument, role), MEASURE),
            (self.sets_up(argument, role), ACCESS),
        ];
        checks.into_iter().find(|(holds, _)| *holds).map(|(_, why)| why)
    }

    /// Whether the argument is named like the thing that the tool is about: `pay_order {order}`. A
    /// text is what a tool that makes something writes: `send_message {message}`.
    fn is_object(&self, argument: &Argument<'_>, role: ArgumentRole, strict: bool) -> bool {
        let Some(last) = argument.words.last().map(|word| singular(word)) else { return false };
        let is_about = |word: &str| match strict {
            true => self.text.is_about(&[word]),
            false => self.text.is_named(&[word]),
        };
        let named = is_about(last) && !matches!(last, "text" | "body" | "content");
        match role {
            ArgumentRole::Text => {
                named && (strict && !self.writes_text() || !self.makes_something())
                    || strict && self.selects(argument)
            }
            ArgumentRole::Setting => {
                named
                    || argument.words.iter().any(|word| self.text.is_named(&[singular(word)]))
                    || strict && last == "order" && !argument.is_listed()
            }
            ArgumentRole::Other => {
                named && argument.depth == 0 && !argument.has_members() && !is_content(last)
            }
            _ => false,
        }
    }

    /// Whether it is a text that says which things are lost, or what is run.
    fn selects(&self, argument: &Argument<'_>) -> bool {
        const WORDS: [&str; 7] =
            ["query", "where", "filter", "condition", "prompt", "instruction", "title"];
        self.sink == SinkKind::Destructive
            && argument.required
            && argument.words.iter().any(|word| WORDS.contains(&word.as_str()))
    }

    /// At a send, whatever has to be given and is neither text, moment nor setting.
    fn is_required_object(&self, argument: &Argument<'_>, role: ArgumentRole) -> bool {
        let last = argument.words.last().map(|word| singular(word)).unwrap_or_default();
        let all = self.text.is_named(&["filter", "rule", "automation"]);
        self.sink == SinkKind::ExternalSend
            && role == ArgumentRole::Other
            && argument.depth == 0
            && (argument.required || all)
            && (!argument.has_members() || all)
            && !is_content(last)
    }

    /// Whether it says how much, how long or which span, where that is what is decided.
    fn measures(&self, argument: &Argument<'_>, role: ArgumentRole) -> bool {
        const QUANTITIES: [&str; 9] =
            ["count", "unit", "units", "quantity", "qty", "seat", "night", "currency", "duration"];
        const SPANS: [&str; 9] = [
            "start", "end", "until", "since", "duration", "expires", "expiry", "expiration",
            "valid",
        ];
        let any = |known: &[&str]| {
            argument
                .words
                .iter()
                .any(|word| known.contains(&word.as_str()) || known.contains(&singular(word)))
        };
        let spans = any(&SPANS) && role == ArgumentRole::Time;
        match self.sink {
            SinkKind::Payment => any(&QUANTITIES) || spans && argument.required,
            SinkKind::Credential => spans || any(&["expires", "expiry", "expiration"]),
            SinkKind::Destructive => spans,
            SinkKind::ExternalSend => {
                role == ArgumentRole::Time && argument.required && self.text.names_verb(&MOVES)
            }
            SinkKind::None => false,
        }
    }

    /// Whether it is the key, policy, record or right that the tool sets.
    fn sets_up(&self, argument: &Argument<'_>, role: ArgumentRole) -> bool {
        const TECHNICAL: [&str; 12] = [
            "record", "dns", "key", "secret", "policy", "certificate", "variable", "redirect",
            "rule", "payout", "webhook", "token",
        ];
        const RIGHTS: [&str; 6] = ["permission", "visibility", "role", "access", "level", "scope"];
        const CONTENTS: [&str; 5] = ["content", "text", "detail", "value", "body"];
        let last = argument.words.last().map(|word| singular(word)).unwrap_or_default();
        let strict = critical::requires_user_words(self.sink);
        let rights = RIGHTS.contains(&last)
            && matches!(role, ArgumentRole::Setting | ArgumentRole::Other)
            && self.sink == SinkKind::Credential;
        let contents = CONTENTS.contains(&last) && argument.required;
        let is_technical = self.text.is_named(&TECHNICAL);
        let is_written = contents
            && match self.sink {
                SinkKind::ExternalSend => is_technical,
                SinkKind::Credential | SinkKind::Payment => {
                    is_technical || last == "detail" || last == "value"
                }
                SinkKind::Destructive | SinkKind::None => false,
            };
        let policy =
            strict && is_technical && argument.words.first().is_some_and(|w| w == "policy");
        rights || is_written || policy
    }

    /// Whether the tool makes something whose text an argument is.
    fn makes_something(&self) -> bool {
        const MAKES: [&str; 19] = [
            "send", "post", "create", "add", "reply", "write", "set", "update", "edit", "append",
            "insert", "submit", "notify", "broadcast", "announce", "respond", "save", "store",
            "schedule",
        ];
        self.text.names_verb(&MAKES) || self.begins_with_text()
    }

    /// Whether it writes a text that is not what it decides: a comment on a payment, a new body.
    fn writes_text(&self) -> bool {
        self.text.names_verb(&["write", "edit", "update", "append", "insert"])
            || self.begins_with_text()
    }

    /// Whether its name begins with a noun for a text, which then is a verb: `comment_on_file`.
    fn begins_with_text(&self) -> bool {
        const TEXTS: [&str; 6] = ["comment", "message", "note", "draft", "ask", "text"];
        self.text.name.first().is_some_and(|word| TEXTS.contains(&word.as_str()))
    }
}

/// Whether an argument of this name is what is written, and not what it is written to.
fn is_content(name: &str) -> bool {
    const CONTENT: [&str; 9] =
        ["payload", "block", "value", "cell", "row", "data", "emoji", "reaction", "answer"];
    CONTENT.contains(&name)
}

/// Verbs for which the new moment is what is decided.
const MOVES: [&str; 5] = ["move", "reschedule", "postpone", "extend", "shift"];

/// Whether an argument is a switch that gives more power or reaches more people.
fn is_switch(argument: &Argument<'_>) -> bool {
    const ALWAYS: [&str; 18] = [
        "admin", "superuser", "public", "everyone", "everybody", "anyone", "force", "forced",
        "recursive", "skip", "bypass", "unsafe", "insecure", "override", "permanent",
        "permanently", "sudo", "archived",
    ];
    let (Some(first), Some(last)) = (argument.words.first(), argument.words.last()) else {
        return false;
    };
    let any = argument.words.iter().any(|word| ALWAYS.contains(&word.as_str()));
    let all = last == "all" || first == "all";
    let disables = matches!(first.as_str(), "no" | "disable" | "ignore" | "without");
    argument.is_boolean() && (any || all || disables || last == "owner" || last == "global")
}

fn pointer_role(at: &JsonPointer) -> ArgumentRole {
    let named = at.as_str().rsplit('/').find(|part| *part != "*");
    critical::argument_role(named.unwrap_or_default())
}
