//! A lexicon of English nouns, and what each suggests about a tool.

use std::collections::BTreeSet;

use super::sharing;
use super::tool_text::ToolText;

/// The singular of a word.
pub(super) fn singular(word: &str) -> &str {
    let plural =
        word.len() > 3 && !["ss", "us", "is", "news"].iter().any(|ending| word.ends_with(ending));
    let stem = ["sses", "shes", "ches", "xes"]
        .iter()
        .find(|ending| word.ends_with(**ending))
        .and_then(|_| word.strip_suffix("es"));
    stem.or_else(|| word.strip_suffix('s').filter(|_| plural)).unwrap_or(word)
}

/// Whether a write is about money.
pub(super) fn is_about_money(text: &ToolText) -> bool {
    text.is_named(&[
        "payment", "transaction", "invoice", "charge", "transfer", "order", "purchase",
        "reservation", "booking", "subscription", "bid", "trade", "refund", "donation", "money",
        "fund", "deposit", "withdrawal", "payout", "loan", "wallet", "cash", "salary", "bill",
        "cheque", "debit", "credit", "asset", "crypto", "budget", "flight", "hotel", "taxi",
        "ride",
    ])
}

/// Whether a tool is about credentials or other means of access.
pub(super) fn is_about_credentials(text: &ToolText) -> bool {
    const MEANS: [&str; 15] = [
        "password", "passcode", "passphrase", "secret", "token", "credential", "permission",
        "role", "privilege", "mfa", "otp", "acl", "firewall", "certificate", "access",
    ];
    text.is_named(&MEANS)
}

/// Whether a write is about access: about means of access, or about who gets it.
pub(super) fn is_about_access(text: &ToolText) -> bool {
    const SUBJECTS: [&str; 10] = [
        "user", "account", "profile", "member", "key", "identity", "security", "authentication",
        "admin", "policy",
    ];
    is_about_credentials(text) || text.is_named(&SUBJECTS)
}

/// Whether a write takes the bank details of somebody, where money goes later.
pub(super) fn changes_bank_details(text: &ToolText) -> bool {
    text.last_words().any(|word| matches!(word, "iban" | "bic" | "sepa" | "payout"))
}

/// Whether it makes a draft: a text that somebody has to send in another call.
pub(super) fn makes_draft(text: &ToolText) -> bool {
    text.is_named(&["draft"])
        && !text
            .name
            .iter()
            .any(|word| matches!(word.as_str(), "send" | "publish" | "submit" | "complete" | "and"))
        && !text.last_words().any(|word| matches!(word, "send" | "publish"))
}

/// Whether a write adds to the user's own data, which nobody else reads.
pub(super) fn adds_to_own_things(text: &ToolText) -> bool {
    const OWN: [&str; 18] = [
        "shopping", "note", "draft", "todo", "reminder", "alarm", "timer", "bookmark", "playlist",
        "journal", "memory", "file", "document", "folder", "diary", "favorite", "wishlist",
        "scratchpad",
    ];
    // `add note to claim` is about the claim.
    let to = text
        .name
        .iter()
        .position(|word| matches!(word.as_str(), "to" | "in" | "into" | "on" | "for"));
    let place = to.map(|at| text.name.iter().skip(at));
    let elsewhere = place.is_some_and(|mut words| !words.any(|word| OWN.contains(&singular(word))));
    // A service keeps files under ids of its own, in folders that others may read as well.
    let files = text.is_named(&["file", "document", "folder"]);
    let is_id = |words: &Vec<String>| words.len() > 1 && words.last().is_some_and(|w| w == "id");
    let in_service = text.service.is_some() || text.argument_words.iter().any(is_id);
    text.is_named(&OWN)
        && !elsewhere
        && !(files && in_service)
        && sharing::others_see(text).is_none()
        && sharing::configuration_word(text).is_none()
        && !names_receiver(text)
        && !text.takes(&[
            "repo", "repository", "branch", "project", "team", "workspace", "board", "space",
            "site", "server", "database", "table", "url", "host", "overwrite", "public",
            "visibility", "permission",
        ])
}

/// Whether the created object is meant for others to read.
pub(super) fn is_read_by_others(text: &ToolText) -> bool {
    let told = ["comment", "reply", "message", "announcement", "post", "tweet", "invitation"];
    text.is_named(&told) && !text.is_named(&["draft"])
}

/// Whether an argument names a receiver.
pub(super) fn names_receiver(text: &ToolText) -> bool {
    const PEOPLE: [&str; 9] = [
        "user", "person", "colleague", "customer", "client", "employee", "student", "patient",
        "friend",
    ];
    // The id of a mail is no address, and what is kept in files of this machine tells nobody.
    let is_address = |words: &Vec<String>| {
        let is_id = words.last().is_some_and(|word| matches!(word.as_str(), "id" | "ids"));
        !is_id && words.iter().any(|word| singular(word) == "email")
    };
    let told = ["recipient", "attendee", "participant", "invitee", "guest", "cc", "bcc", "channel"];
    let others =
        ["assignee", "member", "audience", "phone", "reviewer", "collaborator", "receiver"];
    // A switch such as `pad_to_target` names nobody.
    let names_to = text.non_path_arguments.contains("to");
    text.argument_words.iter().any(is_address)
        || text.takes(&told)
        || !text.keeps_files
            && (names_to
                || text.last_words().any(|word| PEOPLE.contains(&word))
                || text.takes(&others))
}

/// Whether a read may return a secret.
pub(super) fn is_secret(text: &ToolText) -> bool {
    let pair = |first: &[&str], second: &str| {
        text.name.windows(2).any(|two| match two {
            [a, b] => first.contains(&a.as_str()) && singular(b) == second,
            _ => false,
        })
    };
    // `get_account_keys`: only the operator knows what kind of keys these are.
    let keys = text.name.last().is_some_and(|word| word == "keys");
    text.is_named(&[
        "password", "passcode", "passphrase", "secret", "credential", "otp", "apikey", "env",
        "environment",
    ]) || keys
        || pair(&["api", "access", "private", "secret", "ssh"], "key")
        || pair(&["access", "auth", "api", "session", "bearer", "refresh"], "token")
}

/// A noun which suggests that others write what the tool reads.
pub(super) fn written_by_others(text: &ToolText) -> Option<&str> {
    const NOUNS: [&str; 57] = [
        "email", "mail", "inbox", "message", "chat", "channel", "thread", "comment", "review",
        "rating", "web", "webpage", "website", "page", "url", "news", "article", "post", "tweet",
        "feed", "file", "document", "attachment", "transaction", "notification", "invitation",
        "event", "calendar", "appointment", "issue", "ticket", "pull", "commit", "forum", "social",
        "feedback", "blog", "wiki", "internet", "site", "folder", "drive", "note", "meeting",
        "request", "conversation", "reply", "podcast", "video", "book", "listing", "search",
        "survey", "image", "log", "invoice", "bill",
    ];
    let all = text.name.iter().chain(text.sentences.first().into_iter().flatten());
    all.map(|word| singular(word)).find(|word| NOUNS.contains(word))
}

/// Argument names for network addresses.
pub(super) const ADDRESS_ARGUMENTS: [&str; 12] = [
    "url", "uri", "link", "href", "webpage", "website", "host", "hostname", "domain", "endpoint",
    "webhook", "callback",
];

/// Whether an argument with this name is a title.
pub(super) fn is_title(name: &str) -> bool {
    let words = weaver_text::split::identifier(name);
    words.last().is_some_and(|word| {
        ["title", "subject", "name", "summary", "headline", "label"].contains(&word.as_str())
    })
}

/// The topics of a tool, as tags.
pub(super) fn tags(nouns: &[&str]) -> BTreeSet<String> {
    const TAGS: [(&str, &[&str]); 9] = [
        ("mail", &["email", "mail", "inbox"]),
        ("calendar", &["calendar", "event", "appointment", "meeting"]),
        ("files", &["file", "document", "folder", "drive", "directory"]),
        ("messages", &["message", "chat", "channel", "sms", "dm"]),
        (
            "money",
            &["payment", "transaction", "money", "invoice", "iban", "balance", "bank", "order"],
        ),
        ("web", &["web", "webpage", "website", "url", "internet"]),
        ("travel", &["hotel", "flight", "restaurant", "car", "trip", "reservation"]),
        ("people", &["contact", "user", "member", "person"]),
        ("access", &["password", "token", "permission", "role", "secret", "credential"]),
    ];
    let fits = |words: &[&str]| nouns.iter().any(|noun| words.contains(noun));
    let found = TAGS.iter().filter(|(_, words)| fits(words));
    found.map(|(tag, _)| (*tag).to_owned()).collect()
}
