//! What English verbs and nouns say in general.

use std::collections::BTreeSet;

use super::act::Kind;
use super::phrase::Phrase;

/// What a word can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// A verb.
    Plain(Kind),
    /// A verb or a noun.
    Either(Kind),
}

/// Verbs, by what they do. A word is in one row.
const VERBS: [(Kind, &[&str]); 8] = [
    (
        Kind::Read,
        &[
            "get",
            "list",
            "search",
            "find",
            "read",
            "view",
            "show",
            "display",
            "describe",
            "lookup",
            "look",
            "retrieve",
            "fetch",
            "query",
            "check",
            "count",
            "inspect",
            "browse",
            "preview",
            "peek",
            "ls",
            "grep",
            "obtain",
            "explore",
            "discover",
            "identify",
            "determine",
            "see",
            "scan",
            "detect",
            "examine",
            "locate",
            "suggest",
            "recommend",
            "explain",
            "summarize",
            "summarise",
            "analyze",
            "analyse",
            "is",
            "has",
            "exists",
            "whoami",
            "crawl",
            "scrape",
            "visit",
            "recall",
        ],
    ),
    (
        Kind::Compute,
        &[
            "calculate",
            "compute",
            "convert",
            "translate",
            "validate",
            "verify",
            "compare",
            "estimate",
            "predict",
            "parse",
            "classify",
            "extract",
            "filter",
            "sort",
            "rank",
            "sum",
            "average",
            "solve",
            "encode",
            "decode",
            "hash",
            "tokenize",
            "simulate",
            "measure",
            "normalize",
            "assess",
            "diagnose",
            "forecast",
            "multiply",
            "divide",
            "subtract",
            "interpret",
        ],
    ),
    (
        Kind::Keep,
        &[
            "create", "add", "append", "save", "insert", "store", "star", "bookmark", "remember",
            "new", "schedule", "plan", "make",
        ],
    ),
    (
        Kind::Send,
        &[
            "send",
            "publish",
            "invite",
            "notify",
            "reply",
            "forward",
            "broadcast",
            "announce",
            "submit",
            "upload",
            "subscribe",
            "follow",
            "unfollow",
            "react",
            "rsvp",
            "join",
            "enroll",
            "respond",
            "push",
            "emit",
            "vote",
            "endorse",
            "nominate",
            "escalate",
            "delegate",
            "deliver",
            "ship",
            "transmit",
            "export",
            "sync",
            "introduce",
            "dm",
            "dial",
            "warn",
            "inform",
            "apply",
        ],
    ),
    (
        Kind::Pay,
        &[
            "pay", "purchase", "buy", "checkout", "refund", "donate", "invest", "sell", "withdraw",
            "remit", "reserve", "redeem", "spend", "bet", "lend", "borrow", "swap", "mint",
            "recharge", "preorder", "rebook", "renew", "hire",
        ],
    ),
    (
        Kind::Admit,
        &[
            "grant",
            "authorize",
            "authorise",
            "authenticate",
            "login",
            "logon",
            "signin",
            "signup",
            "permit",
            "unlock",
            "promote",
            "elevate",
            "impersonate",
            "whitelist",
            "approve",
            "sign",
            "rotate",
            "register",
        ],
    ),
    (
        Kind::Write,
        &[
            "update",
            "edit",
            "modify",
            "change",
            "set",
            "write",
            "put",
            "patch",
            "rename",
            "move",
            "adjust",
            "configure",
            "control",
            "toggle",
            "enable",
            "activate",
            "start",
            "begin",
            "turn",
            "lock",
            "increase",
            "decrease",
            "import",
            "download",
            "install",
            "upgrade",
            "generate",
            "build",
            "play",
            "pause",
            "resume",
            "mark",
            "complete",
            "finish",
            "resolve",
            "accept",
            "confirm",
            "assign",
            "allocate",
            "manage",
            "click",
            "press",
            "drag",
            "fill",
            "upsert",
            "increment",
            "connect",
            "pair",
            "bind",
            "attach",
            "init",
            "initialize",
            "setup",
            "migrate",
            "reschedule",
            "extend",
            "mute",
            "archive",
            "unarchive",
            "organize",
            "navigate",
            "hover",
            "scroll",
            "customize",
            "implement",
            "launch",
            "reorder",
            "copy",
            "duplicate",
            "clone",
            "pick",
            "place",
            "perform",
            "capture",
            "compose",
            "checkin",
            "optimize",
            "optimise",
            "prepare",
            "collect",
            "initiate",
            "hand",
            "handover",
            "assist",
            "clean",
            "wash",
            "cook",
            "dispense",
            "inject",
            "apply",
            "establish",
            "deploy",
            "release",
            "issue",
        ],
    ),
    (
        Kind::Destroy,
        &[
            "delete",
            "remove",
            "erase",
            "purge",
            "wipe",
            "destroy",
            "uninstall",
            "terminate",
            "kill",
            "revoke",
            "cancel",
            "unsubscribe",
            "reset",
            "overwrite",
            "truncate",
            "clear",
            "disable",
            "ban",
            "kick",
            "evict",
            "deactivate",
            "rollback",
            "revert",
            "shutdown",
            "reboot",
            "restart",
            "discard",
            "expire",
            "trash",
            "prune",
            "unlink",
            "rm",
            "detach",
            "demolish",
            "dismiss",
            "suspend",
            "merge",
            "execute",
            "exec",
            "eval",
            "trigger",
            "replace",
            "void",
            "abort",
            "disconnect",
            "drop",
            "force",
            "invoke",
            "decline",
            "reject",
            "flush",
            "restore",
            "stop",
            "undo",
            "quarantine",
            "unpublish",
            "withhold",
            "seize",
        ],
    ),
];

/// Words that are as often nouns.
const EITHER: [(Kind, &[&str]); 6] = [
    (
        Kind::Send,
        &[
            "post", "share", "message", "comment", "email", "mail", "tweet", "sms", "text", "call",
            "like", "contact", "report", "request", "rate", "review", "alert", "leave", "signal",
            "fax", "return", "ask", "file", "chat", "pitch",
        ],
    ),
    (
        Kind::Pay,
        &[
            "order", "charge", "transfer", "trade", "deposit", "bid", "tip", "book", "rent",
            "fund", "exchange", "wire", "stake",
        ],
    ),
    (Kind::Keep, &["draft", "note", "label", "tag", "pin", "record"]),
    (
        Kind::Write,
        &[
            "open", "close", "switch", "process", "type", "link", "backup", "track", "log",
            "print", "take", "use", "handle", "monitor", "select", "format", "design", "develop",
            "test", "train", "work", "contract", "water", "feed", "heat", "cool", "power", "shape",
            "treat", "seed", "plant",
        ],
    ),
    (Kind::Destroy, &["run", "block", "end", "close", "fire", "script", "command"]),
    (Kind::Admit, &["trust", "access"]),
];

/// Verbs whose third person is a plural noun as well.
const PLURALS: [&str; 35] = [
    "update", "change", "set", "edit", "move", "start", "play", "build", "upgrade", "download",
    "upload", "invite", "purchase", "refund", "mark", "drop", "reply", "push", "plan", "make",
    "star", "bookmark", "store", "sign", "swap", "reset", "bet", "vote", "issue", "copy", "bind",
    "patch", "restart", "release", "ship",
];

/// What a verb of a name does. The next word tells `check in` from `check`.
pub(super) fn sense(word: &str, next: Option<&String>) -> Option<Sense> {
    let next = next.map(String::as_str);
    match (word, next) {
        ("check", Some("in" | "out")) => return Some(Sense::Plain(Kind::Pay)),
        ("log" | "sign", Some("in" | "on" | "up" | "out" | "off")) => {
            return Some(Sense::Plain(Kind::Admit));
        }
        ("opt", Some("in" | "out")) => return Some(Sense::Plain(Kind::Send)),
        ("top", Some("up")) => return Some(Sense::Plain(Kind::Pay)),
        ("set" | "start" | "back", Some("up")) => return Some(Sense::Plain(Kind::Write)),
        _ => {}
    }
    let of = |rows: &[(Kind, &[&str])]| {
        rows.iter().find(|(_, words)| words.contains(&word)).map(|(kind, _)| *kind)
    };
    of(&VERBS).map(Sense::Plain).or_else(|| of(&EITHER).map(Sense::Either))
}

/// What a verb of a description does, in whatever form.
pub(super) fn told(word: &str, next: Option<&String>) -> Option<Sense> {
    match word {
        "return" | "returns" => return Some(Sense::Plain(Kind::Read)),
        // `It is used to`, `has to be`: no act.
        "is" | "has" | "exists" | "see" => return None,
        _ => {}
    }
    if let Some(sense) = sense(word, next) {
        return Some(sense);
    }
    let forms = [
        word.strip_suffix('s').map(str::to_owned),
        word.strip_suffix("es").map(str::to_owned),
        word.strip_suffix("ies").map(|stem| format!("{stem}y")),
        word.strip_suffix("ing").map(str::to_owned),
        word.strip_suffix("ing").map(|stem| format!("{stem}e")),
    ];
    forms.into_iter().flatten().find_map(|form| sense(&form, next))
}

/// Whether a verb after this word is what the tool does.
pub(super) fn leads(before: Option<&str>) -> bool {
    const LEADERS: [&str; 17] = [
        "also",
        "and",
        "then",
        "it",
        "will",
        "function",
        "tool",
        "method",
        "api",
        "endpoint",
        "which",
        "automatically",
        "or",
        "can",
        "operation",
        "command",
        "optionally",
    ];
    before.is_none_or(|word| LEADERS.contains(&word))
}

/// Whether what follows is what is acted on, so that the word before it is a verb.
pub(super) fn takes_object(next: Option<&String>) -> bool {
    const BEGIN: [&str; 13] = [
        "a", "an", "the", "what", "it", "them", "this", "all", "each", "your", "its", "any",
        "every",
    ];
    next.is_some_and(|word| BEGIN.contains(&word.as_str()))
}

/// Whether the word before makes the verb that of something else.
pub(super) fn subordinate(before: Option<&str>) -> bool {
    before
        .is_some_and(|word| matches!(word, "that" | "who" | "whose" | "to" | "of" | "the" | "for"))
}

/// Whether a word is the third person of a verb, and not as well a plural.
pub(super) fn is_third(word: &str) -> bool {
    let stem = word.strip_suffix("es").or_else(|| word.strip_suffix('s'));
    let plain = word.strip_suffix('s').unwrap_or_default();
    stem.is_some_and(|stem| !PLURALS.contains(&stem) && !PLURALS.contains(&plain))
}

/// The word without the `s` of a plural.
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
pub(super) fn pays(phrase: &Phrase) -> bool {
    phrase.is_named(&[
        "payment",
        "transaction",
        "invoice",
        "charge",
        "transfer",
        "order",
        "purchase",
        "reservation",
        "booking",
        "subscription",
        "bid",
        "trade",
        "refund",
        "donation",
        "money",
        "fund",
        "deposit",
        "withdrawal",
        "payout",
        "loan",
        "wallet",
        "checkout",
        "cash",
        "salary",
        "bill",
        "cheque",
        "debit",
        "credit",
        "asset",
        "crypto",
        "budget",
        "flight",
        "hotel",
        "taxi",
        "ride",
    ])
}

/// Whether a write is about access.
pub(super) fn admits(phrase: &Phrase, send: bool) -> bool {
    const HARD: [&str; 15] = [
        "password",
        "passcode",
        "passphrase",
        "secret",
        "token",
        "credential",
        "permission",
        "role",
        "privilege",
        "mfa",
        "otp",
        "acl",
        "firewall",
        "certificate",
        "access",
    ];
    const SOFT: [&str; 10] = [
        "user",
        "account",
        "profile",
        "member",
        "key",
        "identity",
        "security",
        "authentication",
        "admin",
        "policy",
    ];
    phrase.is_named(&HARD) || !send && phrase.is_named(&SOFT)
}

/// Whether a write adds to what is the user's own and nobody else looks at.
pub(super) fn is_kept(phrase: &Phrase) -> bool {
    const OWN: [&str; 17] = [
        "note",
        "draft",
        "todo",
        "reminder",
        "alarm",
        "timer",
        "bookmark",
        "playlist",
        "journal",
        "memory",
        "file",
        "document",
        "folder",
        "diary",
        "favorite",
        "wishlist",
        "scratchpad",
    ];
    // `add note to claim` is about the claim.
    let to = phrase
        .name
        .iter()
        .position(|word| matches!(word.as_str(), "to" | "in" | "into" | "on" | "for"));
    let place = to.map(|at| phrase.name.iter().skip(at));
    let elsewhere = place.is_some_and(|mut words| !words.any(|word| OWN.contains(&singular(word))));
    phrase.is_named(&OWN)
        && !elsewhere
        && !tells_others(phrase)
        && !phrase.takes(&[
            "repo",
            "repository",
            "branch",
            "project",
            "team",
            "workspace",
            "board",
            "space",
            "site",
            "server",
            "database",
            "table",
            "url",
            "host",
            "overwrite",
            "public",
            "visibility",
            "permission",
        ])
}

/// Whether somebody else gets what is written.
pub(super) fn tells_others(phrase: &Phrase) -> bool {
    phrase.takes(&[
        "recipient",
        "attendee",
        "participant",
        "invitee",
        "guest",
        "to",
        "cc",
        "bcc",
        "email",
        "channel",
        "assignee",
        "member",
        "audience",
        "phone",
        "reviewer",
        "collaborator",
        "receiver",
        "group",
    ])
}

/// A secret that a read may answer with.
pub(super) fn is_secret(phrase: &Phrase) -> bool {
    let pair = |first: &[&str], second: &str| {
        phrase.name.windows(2).any(|two| match two {
            [a, b] => first.contains(&a.as_str()) && singular(b) == second,
            _ => false,
        })
    };
    phrase.is_named(&[
        "password",
        "passcode",
        "passphrase",
        "secret",
        "credential",
        "otp",
        "apikey",
    ]) || pair(&["api", "access", "private", "secret", "ssh"], "key")
        || pair(&["access", "auth", "api", "session", "bearer", "refresh"], "token")
}

/// The noun that says that others write what is read.
pub(super) fn written_by_others(phrase: &Phrase) -> Option<&str> {
    const NOUNS: [&str; 57] = [
        "email",
        "mail",
        "inbox",
        "message",
        "chat",
        "channel",
        "thread",
        "comment",
        "review",
        "rating",
        "web",
        "webpage",
        "website",
        "page",
        "url",
        "news",
        "article",
        "post",
        "tweet",
        "feed",
        "file",
        "document",
        "attachment",
        "transaction",
        "notification",
        "invitation",
        "event",
        "calendar",
        "appointment",
        "issue",
        "ticket",
        "pull",
        "commit",
        "forum",
        "social",
        "feedback",
        "blog",
        "wiki",
        "internet",
        "site",
        "folder",
        "drive",
        "note",
        "meeting",
        "request",
        "conversation",
        "reply",
        "podcast",
        "video",
        "book",
        "listing",
        "search",
        "survey",
        "image",
        "log",
        "invoice",
        "bill",
    ];
    let all = phrase.name.iter().chain(phrase.sentences.first().into_iter().flatten());
    all.map(|word| singular(word)).find(|word| NOUNS.contains(word))
}

/// Whether every word of the name is one of these, and one of them at least is the heart of it.
fn is_only(phrase: &Phrase, heart: &[&str], beside: &[&str]) -> bool {
    const READS: [&str; 15] = [
        "get", "list", "search", "find", "lookup", "look", "up", "read", "show", "view", "fetch",
        "retrieve", "check", "my", "the",
    ];
    let known = |word: &String| {
        let word = singular(word);
        heart.contains(&word) || beside.contains(&word) || READS.contains(&word)
    };
    phrase.is_named(heart) && phrase.name.iter().all(known)
}

/// Whether it tells the time.
pub(super) fn is_clock(phrase: &Phrase) -> bool {
    let heart = [
        "date",
        "day",
        "time",
        "datetime",
        "clock",
        "now",
        "today",
        "weekday",
        "timestamp",
        "month",
        "year",
    ];
    let beside = ["current", "system", "local", "utc", "of", "week", "in", "and", "server"];
    let first = phrase.sentences.first();
    let agrees = first.is_none_or(|words| words.iter().any(|word| heart.contains(&singular(word))));
    is_only(phrase, &heart, &beside) && agrees
}

/// Whether it looks into the user's own address book.
pub(super) fn is_address_book(phrase: &Phrase) -> bool {
    let beside = ["by", "name", "email", "user", "address", "phone", "number", "id"];
    is_only(phrase, &["contact", "addressbook"], &beside)
}

/// Whether it tells what the user's own account is.
pub(super) fn is_own_account(phrase: &Phrase) -> bool {
    let heart =
        ["balance", "iban", "profile", "account", "user", "me", "whoami", "setting", "preference"];
    let beside = [
        "own",
        "current",
        "info",
        "information",
        "detail",
        "limit",
        "number",
        "bank",
        "data",
        "id",
        "logged",
        "in",
    ];
    // Of many, each is somebody else's.
    let many = ["users", "accounts", "profiles", "list", "search", "find"];
    is_only(phrase, &heart, &beside)
        && !phrase.name.iter().any(|word| many.contains(&word.as_str()))
}

/// Whether what is read is the user's own, and not out in the world.
pub(super) fn is_own(phrase: &Phrase) -> bool {
    phrase.is_named(&[
        "email",
        "mail",
        "inbox",
        "calendar",
        "event",
        "appointment",
        "contact",
        "file",
        "document",
        "folder",
        "drive",
        "note",
        "account",
        "balance",
        "iban",
        "transaction",
        "profile",
        "task",
        "todo",
        "reminder",
        "day",
        "message",
        "draft",
        "user",
        "fax",
        "meeting",
        "alarm",
        "memory",
    ]) || is_clock(phrase)
}

/// Whether the only writing verb is `generate`, and what comes out opens nothing and binds nobody.
pub(super) fn only_generates(phrase: &Phrase) -> bool {
    phrase.name.iter().any(|word| word == "generate")
        && !phrase.is_about(&[
            "key",
            "token",
            "password",
            "link",
            "invoice",
            "credential",
            "secret",
            "certificate",
            "url",
            "otp",
            "order",
            "payment",
            "contract",
            "ticket",
            "account",
            "api",
            "file",
            "report",
            "document",
        ])
}

/// Names of arguments that name an address in a network.
pub(super) const ADDRESSES: [&str; 11] = [
    "url", "uri", "link", "href", "webpage", "website", "host", "hostname", "domain", "endpoint",
    "webhook",
];

/// Whether a text of this name says what something is called.
pub(super) fn is_title(name: &str) -> bool {
    let words = weaver_text::split::identifier(name);
    words.last().is_some_and(|word| {
        ["title", "subject", "name", "summary", "headline", "label"].contains(&word.as_str())
    })
}

/// What a tool is about.
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
