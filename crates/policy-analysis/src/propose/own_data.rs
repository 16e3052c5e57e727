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

/// Whether every argument is one of these, by the last word of its name, or says what the answer
/// shows (`include_date`).
fn takes_only(text: &ToolText, arguments: &[&str]) -> bool {
    text.argument_words.iter().all(|words| {
        let shows = words.first().is_some_and(|word| matches!(word.as_str(), "include" | "with"));
        let known = words.last().is_some_and(|word| arguments.contains(&singular(word)));
        known || shows && words.len() > 1
    })
}

/// Whether the name or the first sentence is about other people, who may write what they like.
fn names_others(text: &ToolText) -> bool {
    const OTHERS: [&str; 22] = [
        "customer", "client", "supplier", "vendor", "guest", "member", "employee", "lead",
        "patient", "student", "visitor", "seller", "buyer", "stranger", "people", "team",
        "participant", "attendee", "form", "crm", "web", "public",
    ];
    let pairs = [["a", "user"], ["any", "user"], ["an", "account"], ["a", "profile"]];
    text.is_about(&OTHERS)
        || text.first_sentence().windows(2).any(|two| pairs.iter().any(|pair| two == pair))
}

/// Whether the name or the first sentence says that it is the user's own.
fn says_own(text: &ToolText) -> bool {
    const OWN: [&str; 10] =
        ["me", "my", "own", "current", "whoami", "balance", "your", "logged", "authenticated", "i"];
    let sentence = text.first_sentence();
    let words = || text.name.iter().chain(sentence);
    words().any(|word| OWN.contains(&word.as_str()))
        || sentence.windows(2).any(|two| two == ["the", "user"])
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

/// Whether the tool tells the time and nothing else: `get_time {employee_id}` tells hours of work.
pub(super) fn tells_only_time(text: &ToolText) -> bool {
    is_clock(text)
        && takes_only(text, &["timezone", "zone", "tz", "format", "locale"])
        && !names_others(text)
}

/// Whether the tool reads the address book that the user alone keeps. Contacts as such may be leads,
/// forms that strangers filled in, or what somebody says of themselves.
pub(super) fn is_address_book(text: &ToolText) -> bool {
    let qualifiers = ["by", "name", "email", "user", "address", "phone", "number", "id"];
    let sentence = text.first_sentence();
    let books = [["address", "book"], ["phone", "book"], ["contact", "list"], ["contacts", "list"]];
    let kept = |word: &String| matches!(word.as_str(), "my" | "your" | "own" | "addressbook");
    let is_own = text.name.iter().chain(sentence).any(kept)
        || sentence.windows(2).any(|two| books.iter().any(|book| two == book));
    is_only(text, &["contact", "addressbook"], &qualifiers) && is_own && !names_others(text)
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
        && takes_only(text, &["format", "currency", "locale", "verbose"])
        && says_own(text)
        && !names_others(text)
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
