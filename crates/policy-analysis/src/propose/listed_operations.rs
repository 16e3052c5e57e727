//! Recognises arguments that destroy although the name of the tool does not say so: a list of operations
//! one of which deletes, and a switch that deletes what is read.

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
