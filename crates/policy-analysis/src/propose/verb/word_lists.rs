//! The known verbs and verb-like nouns.

use crate::propose::action::ToolAction;

/// Verbs by action. The first row with a word wins.
pub(super) const VERBS: [(ToolAction, &[&str]); 8] = [
    (
        ToolAction::Read,
        &[
            "get", "list", "search", "find", "read", "view", "show", "display", "describe",
            "lookup", "look", "retrieve", "fetch", "query", "check", "count", "inspect", "browse",
            "preview", "peek", "ls", "grep", "obtain", "explore", "discover", "identify",
            "determine", "see", "scan", "detect", "examine", "locate", "suggest", "recommend",
            "explain", "summarize", "summarise", "analyze", "analyse", "is", "has", "exists",
            "whoami", "echo", "crawl", "scrape", "visit", "recall", "navigate", "hover", "scroll",
        ],
    ),
    (
        ToolAction::Compute,
        &[
            "calculate", "compute", "convert", "translate", "validate", "verify", "compare",
            "estimate", "predict", "parse", "classify", "extract", "filter", "sort", "rank", "sum",
            "average", "solve", "encode", "decode", "hash", "tokenize", "simulate", "measure",
            "normalize", "assess", "diagnose", "forecast", "multiply", "divide", "subtract",
            "interpret", "gzip", "compress", "decompress", "zip", "demonstrate", "lint",
        ],
    ),
    (
        ToolAction::AddToOwnData,
        &[
            "create", "add", "append", "save", "insert", "store", "star", "bookmark", "remember",
            "new", "schedule",
        ],
    ),
    (
        ToolAction::Send,
        &[
            "send", "publish", "invite", "notify", "reply", "forward", "broadcast", "announce",
            "submit", "upload", "subscribe", "follow", "unfollow", "react", "rsvp", "join",
            "enroll", "respond", "push", "emit", "vote", "endorse", "nominate", "escalate",
            "delegate", "deliver", "ship", "transmit", "export", "sync", "introduce", "dm", "dial",
            "warn", "inform", "apply",
        ],
    ),
    (
        ToolAction::Pay,
        &[
            "pay", "purchase", "buy", "refund", "donate", "invest", "sell", "withdraw", "remit",
            "reserve", "redeem", "spend", "bet", "lend", "borrow", "swap", "mint", "recharge",
            "preorder", "rebook", "renew", "hire",
        ],
    ),
    (
        ToolAction::GrantAccess,
        &[
            "grant", "authorize", "authorise", "authenticate", "login", "logon", "signin",
            "signup", "permit", "unlock", "promote", "elevate", "impersonate", "whitelist",
            "approve", "sign", "rotate", "register", "protect", "unprotect", "encrypt",
        ],
    ),
    (
        ToolAction::Write,
        &[
            "update", "edit", "modify", "change", "set", "write", "put", "patch", "rename", "move",
            "adjust", "configure", "toggle", "enable", "activate", "start", "begin", "turn",
            "lock", "increase", "decrease", "import", "download", "install", "upgrade", "generate",
            "build", "play", "pause", "resume", "mark", "complete", "finish", "accept", "confirm",
            "assign", "allocate", "click", "press", "drag", "fill", "upsert", "increment",
            "connect", "bind", "attach", "init", "initialize", "setup", "migrate", "reschedule",
            "postpone", "extend", "mute", "unarchive", "organize", "customize", "implement",
            "reorder", "copy", "duplicate", "resize", "scale", "fork", "stage", "unstage", "stash",
            "checkout", "clone", "pick", "capture", "compose", "checkin", "optimize", "optimise",
            "prepare", "collect", "hand", "handover", "assist", "clean", "wash", "cook",
            "dispense", "inject", "apply", "establish", "deploy", "release", "refresh", "rebuild",
            "reindex", "reopen", "regenerate", "crop", "flip",
        ],
    ),
    (
        ToolAction::Destroy,
        &[
            "delete", "remove", "erase", "purge", "wipe", "destroy", "uninstall", "terminate",
            "kill", "revoke", "cancel", "unsubscribe", "reset", "overwrite", "truncate", "clear",
            "disable", "ban", "kick", "evict", "deactivate", "rollback", "revert", "shutdown",
            "reboot", "restart", "discard", "expire", "trash", "prune", "unlink", "rm", "detach",
            "demolish", "dismiss", "suspend", "merge", "replace", "void", "abort", "disconnect",
            "drop", "force", "decline", "reject", "flush", "restore", "stop", "undo", "quarantine",
            "unpublish", "withhold", "seize",
        ],
    ),
];

/// Verbs which say that something is done, but not what. They are inconclusive by themselves.
pub(super) const VAGUE_VERBS: [(ToolAction, &[&str]); 2] = [
    (
        ToolAction::Write,
        &[
            "perform", "use", "manage", "take", "handle", "process", "open", "control", "test",
            "work", "monitor", "track", "type", "format", "select", "launch", "initiate", "make",
            "plan", "do", "apply", "close", "print", "place", "issue", "pair", "resolve",
        ],
    ),
    (
        ToolAction::Destroy,
        &["execute", "exec", "eval", "trigger", "invoke", "run", "command", "script"],
    ),
];

/// Nouns for something that is read, if there is no verb.
pub(super) const READ_NOUNS: [&str; 25] = [
    "status", "diff", "log", "tree", "stat", "stats", "history", "info", "details", "metadata",
    "overview", "tail", "head", "cat", "help", "version", "directions", "elevation", "matrix",
    "snapshot", "screenshot", "blame", "summary", "candidates", "totals",
];

/// Words that are verbs or nouns.
pub(super) const VERBS_OR_NOUNS: [(ToolAction, &[&str]); 6] = [
    (
        ToolAction::Send,
        &[
            "post", "share", "message", "comment", "email", "mail", "tweet", "sms", "text", "call",
            "like", "contact", "report", "request", "rate", "review", "alert", "leave", "signal",
            "fax", "return", "ask", "chat", "pitch",
        ],
    ),
    (
        ToolAction::Pay,
        &[
            "order", "charge", "transfer", "trade", "deposit", "bid", "tip", "book", "rent",
            "fund", "exchange", "wire", "stake",
        ],
    ),
    (ToolAction::AddToOwnData, &["draft", "note", "label", "tag", "pin", "record"]),
    (
        ToolAction::Write,
        &[
            "switch", "commit", "branch", "link", "backup", "archive", "log", "design", "develop",
            "train", "contract", "heat", "cool", "treat", "seed", "plant",
        ],
    ),
    (ToolAction::Destroy, &["block", "end", "fire", "rebase"]),
    (ToolAction::GrantAccess, &["trust", "access"]),
];

/// Verbs whose third person is also a plural noun.
pub(super) const AMBIGUOUS_PLURALS: &[&str] = &[
    "make", "plan", "issue", "update", "change", "set", "edit", "move", "start", "play", "build",
    "upgrade", "download", "upload", "invite", "purchase", "refund", "mark", "drop", "reply",
    "push", "star", "bookmark", "store", "sign", "swap", "reset", "bet", "vote", "copy", "bind",
    "patch", "restart", "release", "ship",
];

/// Participles that are not formed with `-ed`, and their verbs.
pub(super) const IRREGULAR_PARTICIPLES: [(&str, &str); 18] = [
    ("begun", "begin"),
    ("bought", "buy"),
    ("built", "build"),
    ("lent", "lend"),
    ("overwritten", "overwrite"),
    ("paid", "pay"),
    ("put", "put"),
    ("reset", "reset"),
    ("sent", "send"),
    ("set", "set"),
    ("shut", "shutdown"),
    ("sold", "sell"),
    ("spent", "spend"),
    ("undone", "undo"),
    ("withdrawn", "withdraw"),
    ("withheld", "withhold"),
    ("written", "write"),
    ("rewritten", "overwrite"),
];
