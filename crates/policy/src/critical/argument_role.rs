//! Guesses the role of an argument from the words in its name.

use weaver_text::split;

/// What an argument is for. Not to be confused with the roles of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ArgumentRole {
    /// A receiver.
    Recipient,
    /// An e-mail address.
    Email,
    /// A URL or a host.
    Network,
    /// A path or file name.
    Path,
    /// A financial account.
    Account,
    /// An amount.
    Amount,
    /// How many of something.
    Quantity,
    /// Something that identifies one object among others.
    Identifier,
    /// A secret that grants access.
    Secret,
    /// A text for people, or a search query.
    Text,
    /// A date, a time, a duration.
    Time,
    /// A choice among few values, or a limit on the size of the answer.
    Setting,
    /// The name does not tell.
    Other,
}

/// The words that indicate each role. The last such word of a name decides.
const ROLE_WORDS: [(ArgumentRole, &[&str]); 12] = [
    (
        ArgumentRole::Recipient,
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
    (ArgumentRole::Email, &["email", "mail", "mailbox", "inbox"]),
    (
        ArgumentRole::Network,
        &[
            "url", "uri", "link", "href", "website", "webpage", "site", "host", "hostname",
            "domain", "server", "endpoint", "webhook", "callback", "ip", "origin", "remote",
            "proxy", "repo", "repository", "registry", "bucket",
        ],
    ),
    (
        ArgumentRole::Path,
        &[
            "path", "file", "filename", "folder", "directory", "dir", "attachment", "source",
            "destination", "target", "dest", "filepath", "pathname", "dirname", "dirpath",
            "folderpath", "outfile", "infile", "outdir", "cwd", "workdir",
        ],
    ),
    (ArgumentRole::Account, &["account", "iban", "bic", "swift", "card", "wallet", "routing"]),
    (ArgumentRole::Amount, &["amount", "price", "sum", "total", "fee", "cost", "payment"]),
    (ArgumentRole::Quantity, &["quantity", "qty", "pieces", "seat", "nights"]),
    (
        ArgumentRole::Identifier,
        &["id", "uuid", "guid", "key", "reference", "ref", "number", "no", "code", "sku", "slug"],
    ),
    (
        ArgumentRole::Secret,
        &["password", "passphrase", "passwd", "secret", "pin", "token", "credential", "pwd"],
    ),
    (
        ArgumentRole::Text,
        &[
            "subject", "body", "content", "text", "message", "description", "title", "summary",
            "note", "comment", "memo", "reason", "caption", "html", "markdown", "query", "details",
            "topic", "headline", "question", "answer", "instruction", "prompt", "justification",
        ],
    ),
    (
        ArgumentRole::Time,
        &[
            "date", "time", "day", "month", "year", "hour", "minute", "second", "start", "end",
            "deadline", "duration", "at", "until", "since", "timezone", "when", "begin", "due",
        ],
    ),
    (
        ArgumentRole::Setting,
        &[
            "limit", "offset", "page", "count", "format", "type", "kind", "mode", "sort", "order",
            "lang", "language", "locale", "priority", "permission", "status", "recurring", "dry",
            "verbose", "timeout", "importance", "visibility", "unit",
        ],
    ),
];

/// The role of an argument with this name. The last indicative word decides: `recipient_email` is
/// an address, and `email_body` is a text.
///
/// ```
/// use weaver_policy::critical::{ArgumentRole, argument_role};
///
/// assert_eq!(argument_role("recipientEmails"), ArgumentRole::Email);
/// assert_eq!(argument_role("email_id"), ArgumentRole::Identifier);
/// assert_eq!(argument_role("emailBody"), ArgumentRole::Text);
/// ```
#[must_use]
pub fn argument_role(name: &str) -> ArgumentRole {
    let words = split::identifier(name);
    if let Some(role) = role_of_phrase(&words) {
        return role;
    }
    words.iter().rev().find_map(|word| role_of_word(word)).unwrap_or(ArgumentRole::Other)
}

/// The role of words that mean something else together.
fn role_of_phrase(words: &[String]) -> Option<ArgumentRole> {
    const BOUNDS: [&str; 5] = ["max", "min", "num", "total", "budget"];
    let (last, before) = words.split_last()?;
    let any_of = |known: &[&str]| before.iter().any(|word| known.contains(&word.as_str()));
    match last.as_str() {
        // How much a language model may write.
        "tokens" if any_of(&BOUNDS) => Some(ArgumentRole::Setting),
        // The parts of an edit.
        "string" | "str" if any_of(&["old", "new"]) => Some(ArgumentRole::Text),
        _ => None,
    }
}

/// Words of field names that have no role.
const FIELD_WORDS: [&str; 24] = [
    "name", "names", "first", "last", "middle", "given", "full", "display", "nick", "label",
    "value", "primary", "street", "city", "zip", "postal", "postcode", "country", "state",
    "region", "line", "role", "is", "new",
];
/// The words for receivers that name a field of one. All others (`list`, `room`, `admin`) could be
/// the name of a receiver.
const RECEIVER_FIELDS: [&str; 21] = [
    "to", "cc", "bcc", "recipient", "receiver", "address", "addressee", "phone", "fax", "pager",
    "sms", "user", "username", "handle", "person", "participant", "attendee", "invitee", "guest",
    "member", "contact",
];

/// Whether a member name consists only of words of field names, so that it names a field and not a
/// receiver.
pub(crate) fn is_field_name(name: &str) -> bool {
    let words = split::identifier(name);
    let is_known = |word: &String| {
        let word = word.as_str();
        FIELD_WORDS.contains(&word)
            || match role_of_word(word) {
                Some(ArgumentRole::Recipient) => RECEIVER_FIELDS.contains(&word),
                role => role.is_some(),
            }
    };
    !words.is_empty() && words.iter().all(is_known)
}

fn role_of_word(word: &str) -> Option<ArgumentRole> {
    let one = |word: &str| {
        ROLE_WORDS.iter().find(|(_, words)| words.contains(&word)).map(|(role, _)| *role)
    };
    let singular = || ["es", "s"].iter().filter_map(|end| word.strip_suffix(end)).find_map(one);
    let from_ies = || one(&[word.strip_suffix("ies")?, "y"].concat());
    one(word).or_else(singular).or_else(from_ies)
}
