//! Guesses the role of an argument from its name.

use weaver_text::split;

/// What an argument is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Who gets something.
    Recipient,
    /// An e-mail address.
    Email,
    /// A URL or a host.
    Network,
    /// A path or the name of a file.
    Path,
    /// An account of money.
    Account,
    /// An amount of something.
    Amount,
    /// What names one thing among others.
    Identifier,
    /// What opens something.
    Secret,
    /// A text for people, or a search.
    Text,
    /// A date, a time, a duration.
    Moment,
    /// A choice among few, or a bound on how much is answered.
    Switch,
    /// Nothing that its name tells.
    Other,
}

/// The words that tell, by what they tell. The last word of a name that tells something counts.
const TABLE: [(Role, &[&str]); 11] = [
    (
        Role::Recipient,
        &[
            "to", "cc", "bcc", "recipient", "participant", "attendee", "invitee", "guest",
            "member", "user", "username", "channel", "receiver", "payee", "beneficiary", "contact",
            "phone", "audience", "assignee", "owner", "handle", "people", "person", "group",
            "team", "chat", "room", "subscriber", "follower", "collaborator", "reviewer", "viewer",
            "editor", "customer", "client", "vendor", "supplier", "merchant", "address", "sender",
            "arn", "addressee", "watcher", "share", "shared", "notify", "notified", "mention",
            "thread", "list", "msisdn", "peer", "copy", "behalf", "delegate", "delivery", "queue",
            "observer", "reader", "grantee", "principal", "organizer", "organiser", "partner",
            "friend", "colleague", "manager", "conversation", "workspace", "newsgroup", "whom",
            "who", "speaker", "panelist", "relay", "via", "fax", "pager", "telegram", "slack",
            "whatsapp", "discord", "signal", "sms", "twitter", "attn", "attention", "cced",
            "persona", "seller", "buyer", "student", "teacher", "patient", "employee", "staff",
            "employees", "crew", "family", "fan", "tenant", "landlord", "debtor", "creditor",
            "lender", "borrower", "payer", "donor", "sponsor", "candidate", "applicant",
            "moderator", "admin", "administrator", "recruiter", "leads", "lead", "prospect",
            "subscription", "forward", "recipientlist", "squad", "department", "everyone",
            "mailinglist", "distribution", "broadcast",
        ],
    ),
    (Role::Email, &["email", "mail", "mailbox", "inbox"]),
    (
        Role::Network,
        &[
            "url", "uri", "link", "href", "website", "webpage", "site", "host", "hostname",
            "domain", "server", "endpoint", "webhook", "callback", "ip", "origin", "remote",
            "proxy", "repo", "repository", "registry", "bucket",
        ],
    ),
    (
        Role::Path,
        &[
            "path", "file", "filename", "folder", "directory", "dir", "attachment", "source",
            "destination", "target", "dest",
        ],
    ),
    (Role::Account, &["account", "iban", "bic", "swift", "card", "wallet", "routing"]),
    (Role::Amount, &["amount", "price", "sum", "total", "fee", "cost", "quantity", "payment"]),
    (
        Role::Identifier,
        &["id", "uuid", "guid", "key", "reference", "ref", "number", "no", "code", "sku", "slug"],
    ),
    (
        Role::Secret,
        &["password", "passphrase", "passwd", "secret", "pin", "token", "credential", "pwd"],
    ),
    (
        Role::Text,
        &[
            "subject", "body", "content", "text", "message", "description", "title", "summary",
            "note", "comment", "memo", "reason", "caption", "html", "markdown", "query", "details",
            "topic", "headline", "question", "answer", "instruction", "prompt", "justification",
        ],
    ),
    (
        Role::Moment,
        &[
            "date", "time", "day", "month", "year", "hour", "minute", "second", "start", "end",
            "deadline", "duration", "at", "until", "since", "timezone", "when", "begin", "due",
        ],
    ),
    (
        Role::Switch,
        &[
            "limit", "offset", "page", "count", "format", "type", "kind", "mode", "sort", "order",
            "lang", "language", "locale", "priority", "permission", "status", "recurring", "dry",
            "verbose", "timeout", "importance", "visibility", "unit",
        ],
    ),
];

/// What an argument of this name is for. `recipient_email` is an address and `email_body` a text:
/// the last word that tells something counts.
///
/// ```
/// use weaver_policy::critical::{Role, role};
///
/// assert_eq!(role("recipientEmails"), Role::Email);
/// assert_eq!(role("email_id"), Role::Identifier);
/// assert_eq!(role("emailBody"), Role::Text);
/// ```
#[must_use]
pub fn role(name: &str) -> Role {
    let words = split::identifier(name);
    words.iter().rev().find_map(|word| role_of_word(word)).unwrap_or(Role::Other)
}

fn role_of_word(word: &str) -> Option<Role> {
    let one =
        |word: &str| TABLE.iter().find(|(_, words)| words.contains(&word)).map(|(role, _)| *role);
    let singular = || ["es", "s"].iter().filter_map(|end| word.strip_suffix(end)).find_map(one);
    one(word).or_else(singular)
}
