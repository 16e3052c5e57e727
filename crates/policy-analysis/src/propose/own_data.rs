//! What concerns nobody but the user: the clock, their own account, their own things.

use super::lexicon::singular;
use super::tool_text::ToolText;

/// Whether every word of the name is one of these, and one of them at least is the heart of it.
fn is_only(text: &ToolText, heart: &[&str], beside: &[&str]) -> bool {
    const READS: [&str; 15] = [
        "get", "list", "search", "find", "lookup", "look", "up", "read", "show", "view", "fetch",
        "retrieve", "check", "my", "the",
    ];
    let known = |word: &String| {
        let word = singular(word);
        heart.contains(&word) || beside.contains(&word) || READS.contains(&word)
    };
    text.is_named(heart) && text.name.iter().all(known)
}

/// Whether it tells the time.
pub(super) fn is_clock(text: &ToolText) -> bool {
    let heart = [
        "date", "day", "time", "datetime", "clock", "now", "today", "weekday", "timestamp",
        "month", "year",
    ];
    let beside = ["current", "system", "local", "utc", "of", "week", "in", "and", "server"];
    let first = text.sentences.first();
    let agrees = first.is_none_or(|words| words.iter().any(|word| heart.contains(&singular(word))));
    is_only(text, &heart, &beside) && agrees
}

/// Whether it looks into the user's own address book.
pub(super) fn is_address_book(text: &ToolText) -> bool {
    let beside = ["by", "name", "email", "user", "address", "phone", "number", "id"];
    is_only(text, &["contact", "addressbook"], &beside)
}

/// Whether it tells what the user's own account is.
pub(super) fn is_own_account(text: &ToolText) -> bool {
    let heart =
        ["balance", "iban", "profile", "account", "user", "me", "whoami", "setting", "preference"];
    let beside = [
        "own", "current", "info", "information", "detail", "limit", "number", "bank", "data", "id",
        "logged", "in",
    ];
    // Of many, each is somebody else's.
    let many = ["users", "accounts", "profiles", "list", "search", "find"];
    is_only(text, &heart, &beside) && !text.name.iter().any(|word| many.contains(&word.as_str()))
}

/// Whether what is read lies with the user. Mail, calendars and accounts lie with a service.
pub(super) fn is_own(text: &ToolText) -> bool {
    text.is_named(&[
        "file", "document", "folder", "note", "todo", "reminder", "day", "draft", "fax", "alarm",
        "memory",
    ]) || is_clock(text)
}

/// Whether the only writing verb is `generate`, and what comes out opens nothing and binds nobody.
pub(super) fn only_generates(text: &ToolText) -> bool {
    text.name.iter().any(|word| word == "generate")
        && !text.is_about(&[
            "key", "token", "password", "link", "invoice", "credential", "secret", "certificate",
            "url", "otp", "order", "payment", "contract", "ticket", "account", "api", "file",
            "report", "document",
        ])
}
