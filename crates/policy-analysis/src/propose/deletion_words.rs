//! Words that take something away.

/// Beginnings of values that take something away.
pub(super) const DESTROYING: [&str; 24] = [
    "delete", "remove", "drop", "destroy", "purge", "prune", "clear", "forget", "reset", "wipe",
    "erase", "truncate", "uninstall", "revoke", "kill", "terminate", "unlink", "discard",
    "archive_all", "empty", "trash", "evict", "rollback", "revert",
];
/// Words that say it as they stand: `deliver` and `delta` take nothing away.
pub(super) const DESTROYING_WORDS: [&str; 2] = ["del", "rm"];

/// Whether a choice takes something away.
pub(super) fn is_destroying(choice: &str) -> bool {
    let words = weaver_text::split::identifier(choice);
    let destroys = |word: &String| {
        DESTROYING.iter().any(|known| word.starts_with(known))
            || DESTROYING_WORDS.contains(&word.as_str())
    };
    words.iter().any(destroys) || DESTROYING.contains(&choice.to_ascii_lowercase().as_str())
}
