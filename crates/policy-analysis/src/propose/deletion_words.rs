//! Choices that take something away.

use weaver_policy::critical::{DELETION_VERBS, DELETION_WORDS};

/// Whether a choice takes something away.
pub(super) fn is_destroying(choice: &str) -> bool {
    let words = weaver_text::split::identifier(choice);
    let destroys = |word: &String| {
        DELETION_VERBS.iter().any(|known| word.starts_with(known))
            || DELETION_WORDS.contains(&word.as_str())
    };
    words.iter().any(destroys) || DELETION_VERBS.contains(&choice.to_ascii_lowercase().as_str())
}
