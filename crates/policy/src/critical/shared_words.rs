//! Words that the conditions of rules and the proposals of contracts both go by.

/// Verbs that take something away.
pub const DELETION_VERBS: [&str; 24] = [
    "delete", "remove", "drop", "destroy", "purge", "prune", "clear", "forget", "reset", "wipe",
    "erase", "truncate", "uninstall", "revoke", "kill", "terminate", "unlink", "discard",
    "archive_all", "empty", "trash", "evict", "rollback", "revert",
];
/// Words that say it as they stand: `deliver` and `delta` take nothing away.
pub const DELETION_WORDS: [&str; 2] = ["del", "rm"];

/// Names of texts for people.
pub const TEXTS_FOR_PEOPLE: [&str; 14] = [
    "body", "caption", "comment", "content", "contents", "description", "html", "markdown",
    "message", "note", "notes", "subject", "summary", "title",
];
