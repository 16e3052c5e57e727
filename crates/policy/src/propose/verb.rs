//! Verbs, as names command with them and as descriptions tell them.

use super::act::Kind;

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
