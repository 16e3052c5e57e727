//! Recognises arguments that do more than the name of the tool says: a list of operations one of which
//! deletes, a switch that deletes what is read, and what sends a draft or tells somebody of a reminder.

use super::argument::Argument;
use super::deletion_words;

/// Names of arguments that say what is done to a thing.
const OPERATIONS: [&str; 7] = ["action", "op", "operation", "type", "kind", "method", "command"];
/// Verbs of switches that take away what is read. `remove_duplicates` and `drop_empty` say what the
/// answer leaves out.
const SWITCHES: [&str; 4] = ["delete", "purge", "wipe", "erase"];

/// Whether it takes a list of operations of which one takes something away.
pub(super) fn lists_destroying(arguments: &[Argument<'_>]) -> bool {
    let is_destroying = |choice: &String| deletion_words::is_destroying(choice);
    arguments.iter().any(|argument| {
        let name = argument.name.to_ascii_lowercase();
        argument.at.as_str().contains("/*")
            && OPERATIONS.contains(&name.as_str())
            && argument.choices().iter().any(is_destroying)
    })
}

/// Whether a switch takes something away: `delete_raw`.
pub(super) fn has_destroying_switch(arguments: &[Argument<'_>]) -> bool {
    arguments.iter().any(|argument| {
        let begins = argument.words.first().is_some_and(|word| SWITCHES.contains(&word.as_str()));
        argument.is_boolean() && begins && argument.words.len() > 1
    })
}

/// Whether an argument sends or publishes what the tool only seems to put down: a time at which it goes
/// out (`send_at`), somebody who is told (`notify`), or a state to choose (`status` with `sent`).
pub(super) fn sends_what_is_put_down(arguments: &[Argument<'_>]) -> bool {
    arguments.iter().any(|argument| {
        let words: Vec<&str> = argument.words.iter().map(String::as_str).collect();
        let is_named = match words[..] {
            [
                "send" | "sending" | "publish" | "publishing" | "deliver" | "delivery" | "post",
                ..,
                last,
            ] => {
                matches!(last, "at" | "time" | "date" | "on" | "now" | "after")
            }
            ["publish" | "published" | "shared"] | ["notify" | "share" | "tell", ..] => true,
            _ => false,
        };
        is_named || argument.choices().iter().any(|choice| is_sending(choice))
    })
}

/// Whether a choice sends or publishes.
fn is_sending(choice: &str) -> bool {
    const SENDING: [&str; 10] = [
        "send", "sent", "queued", "publish", "published", "public", "scheduled", "submit",
        "submitted", "live",
    ];
    weaver_text::split::identifier(choice).iter().any(|word| SENDING.contains(&word.as_str()))
}
