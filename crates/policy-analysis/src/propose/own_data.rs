//! Recognises tools about the user's own data: the clock, their account, their files and notes.

use super::lexicon::singular;
use super::tool_text::ToolText;

/// Whether the name consists only of core words, qualifiers and verbs for reading, with at least
/// one core word.
fn is_only(text: &ToolText, core_words: &[&str], qualifiers: &[&str]) -> bool {
    const READS: [&str; 15] = [
        "get", "list", "search", "find", "lookup", "look", "up", "read", "show", "view", "fetch",
        "retrieve", "check", "my", "the",
    ];
    let known = |word: &String| {
        let word = singular(word);
        core_words.contains(&word) || qualifiers.contains(&word) || READS.contains(&word)
    };
    text.is_named(core_words) && text.name.iter().all(known)
}

/// Whether the tool tells the time.
pub(super) fn is_clock(text: &ToolText) -> bool {
    let core_words = [
        "date", "day", "time", "datetime", "clock", "now", "today", "weekday", "timestamp",
        "month", "year",
    ];
    let qualifiers = ["current", "system", "local", "utc", "of", "week", "in", "and", "server"];
    let first = text.sentences.first();
    let agrees =
        first.is_none_or(|words| words.iter().any(|word| core_words.contains(&singular(word))));
    is_only(text, &core_words, &qualifiers) && agrees
}

/// Whether the tool reads the user's own address book.
pub(super) fn is_address_book(text: &ToolText) -> bool {
    let qualifiers = ["by", "name", "email", "user", "address", "phone", "number", "id"];
    is_only(text, &["contact", "addressbook"], &qualifiers)
}

/// Whether the tool reads the user's own account.
pub(super) fn is_own_account(text: &ToolText) -> bool {
    let core_words =
        ["balance", "iban", "profile", "account", "user", "me", "whoami", "setting", "preference"];
    let qualifiers = [
        "own", "current", "info", "information", "detail", "limit", "number", "bank", "data", "id",
        "logged", "in",
    ];
    // A list of accounts includes other people's.
    let many = ["users", "accounts", "profiles", "list", "search", "find"];
    is_only(text, &core_words, &qualifiers)
        && !text.name.iter().any(|word| many.contains(&word.as_str()))
}

/// Whether the data is stored on the user's machine. Mail, calendars and accounts are stored by a
/// service.
pub(super) fn is_about_own_data(text: &ToolText) -> bool {
    text.is_named(&[
        "file", "document", "folder", "note", "todo", "reminder", "day", "draft", "fax", "alarm",
        "memory",
    ]) || is_clock(text)
}

/// Whether the tool merely generates something that grants no access and has no consequences.
pub(super) fn only_generates(text: &ToolText) -> bool {
    text.name.iter().any(|word| word == "generate")
        && !text.is_about(&[
            "key", "token", "password", "link", "invoice", "credential", "secret", "certificate",
            "url", "otp", "order", "payment", "contract", "ticket", "account", "api", "file",
            "report", "document",
        ])
}
