//! Recognises tools that are named like reads and tell somebody something: `preview_email` with an
//! address, `show_banner` with a text.

use super::lexicon::singular;
use super::tool_text::ToolText;

/// Why a tool that seems to read tells somebody something; `None` if nothing says so. A tool that
/// looks a person up by an address is told by its verb or by what it is about.
pub(super) fn telling_reason(text: &ToolText) -> Option<String> {
    if let Some(argument) = text.receivers.first().filter(|_| !looks_somebody_up(text)) {
        let shown = weaver_text::escape::line(argument);
        return Some(format!("`{shown}` names who gets it"));
    }
    if shows_text(text) {
        return Some("it shows a text of the caller's".to_owned());
    }
    let sells = text.first_sentence().windows(2).any(|two| two == ["for", "sale"])
        && text.last_words().any(|word| word == "price")
        && !text.names_verb(&["find", "search", "get", "lookup"]);
    sells.then(|| "it offers something for sale".to_owned())
}

/// Whether an address is what is looked up, and not where something goes.
fn looks_somebody_up(text: &ToolText) -> bool {
    const VERBS: [&str; 17] = [
        "search", "find", "lookup", "look", "list", "query", "check", "verify", "validate", "is",
        "has", "count", "by", "identify", "detect", "whois", "resolve",
    ];
    const SUBJECTS: [&str; 36] = [
        "user", "contact", "customer", "member", "person", "people", "profile", "account", "lead",
        "subscriber", "employee", "company", "organization", "identity", "breach", "mailbox",
        "inbox", "message", "chat", "conversation", "thread", "history", "availability", "busy",
        "calendar", "schedule", "owner", "patient", "student", "guest", "attendee", "participant",
        "recipient", "client", "subscription", "alumno",
    ];
    text.name.iter().any(|word| VERBS.contains(&word.as_str()))
        || text.first_sentence().first().is_some_and(|word| {
            let plain = word.strip_suffix('s').unwrap_or(word);
            VERBS.contains(&plain)
        })
        || text.name.iter().any(|word| matches!(word.as_str(), "emails" | "mails"))
        || text.is_about(&SUBJECTS)
}

/// Whether it shows or reads out a text that the caller gives. Whether the text of something is
/// among the answer (`include_text`) is no text.
fn shows_text(text: &ToolText) -> bool {
    const TEXTS: [&str; 6] = ["text", "message", "banner", "html", "caption", "body"];
    const SWITCHES: [&str; 9] =
        ["include", "with", "return", "full", "max", "extract", "raw", "no", "only"];
    let is_text = |words: &Vec<String>| {
        let is_switch = words.first().is_some_and(|word| SWITCHES.contains(&word.as_str()));
        !is_switch && words.last().is_some_and(|word| TEXTS.contains(&singular(word)))
    };
    let aloud = |word: &String| matches!(word.as_str(), "aloud" | "out" | "loud" | "speaker");
    let shows = match text.name.first().map(|word| singular(word)) {
        Some("show" | "display") => true,
        Some("read") => text.name.iter().chain(text.first_sentence()).any(aloud),
        _ => false,
    };
    shows && text.argument_words.iter().any(is_text)
}
