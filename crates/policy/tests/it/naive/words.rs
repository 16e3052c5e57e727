//! The small vocabularies from which documents and requests are made, so that they meet often.

pub(crate) const IDS: &[&str] = &["fs.read", "fs.write", "mail.send", "mail", "pay.card"];
pub(crate) const ID_PATTERNS: &[&str] =
    &["*", "*", "fs.*", "fs.*", "*.read", "mail*", "fs.read", "m*l.*d", "*.*", "pay.card", "mail"];
/// Keys of contracts that are patterns.
pub(crate) const STARRED: &[&str] = &["*", "fs.*", "*.read", "mail*", "m*l.*d", "*.*", "*a*"];
pub(crate) const ROLES: &[&str] = &["reader", "writer", "admin", "pii_reader"];
pub(crate) const PERMISSIONS: &[&str] = &["calendar.read", "calendar.write"];
pub(crate) const ATTRIBUTES: &[(&str, &[&str])] =
    &[("tenant", &["acme", "globex"]), ("team", &["red", "Red"])];
pub(crate) const ATTRIBUTE_PATTERNS: &[&str] = &["acme", "*", "a*", "*e*", "red", "re*d"];
pub(crate) const PRINCIPALS: &[&str] = &["ana", "bob", "agent-7"];
pub(crate) const PRINCIPAL_PATTERNS: &[&str] = &["*", "ana", "a*", "*-7", "bob"];
pub(crate) const AGENTS: &[&str] = &["assistant", "worker"];
pub(crate) const AGENT_PATTERNS: &[&str] = &["*", "assistant", "w*r", "*nt"];
pub(crate) const TAGS: &[&str] = &["t1", "t2", "t3"];
pub(crate) const INTENTS: &[&str] = &["summarise", "pay", ""];
pub(crate) const INTENT_PATTERNS: &[&str] = &["*", "pay", "sum*", "*a*"];
pub(crate) const SCOPES: &[(&str, &[&str])] =
    &[("memory_scope", &["sensitive", "plain"]), ("path", &["/a", "/a/b", ""])];
pub(crate) const SCOPE_PATTERNS: &[&str] = &["*", "sensitive", "/a*", "pl*"];
pub(crate) const FIELDS: &[&str] = &["id", "name", "mail"];
pub(crate) const IMPACTS: &[&str] = &["read", "write", "destroy"];
pub(crate) const WORLDS: &[&str] = &["closed", "open"];
pub(crate) const EFFECTS: &[&str] =
    &["read_local", "read_open", "write_local", "write_open", "destructive"];
pub(crate) const CLASSES: &[&str] = &["read_only", "local_write", "network", "destructive"];
pub(crate) const RUNGS: &[&str] = &["L0", "L1", "L2", "L3", "L4", "L5"];
pub(crate) const SINKS: &[&str] =
    &["none", "external_send", "payment", "credential", "destructive"];
pub(crate) const SENSITIVITY: &[&str] = &["memory", "pii", "pci", "secrets"];
pub(crate) const SENSITIVITY_OR_NONE: &[&str] = &["memory", "pii", "pci", "secrets", "none"];
pub(crate) const MODES: &[&str] = &["NORMAL", "SAFE", "STRICT"];
pub(crate) const CONFIDENTIALITY: &[&str] = &["public", "internal", "confidential", "restricted"];
pub(crate) const INTEGRITY: &[&str] = &["trusted", "untrusted"];
pub(crate) const RESPONSE_MODES: &[&str] = &["raw", "table", "summary", "handle_only"];
pub(crate) const SOURCES: &[&str] = &["human", "host", "model"];
pub(crate) const OPERATIONS: &[&str] = &["invoke", "view"];
pub(crate) const DAYS: &[&str] = &["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
pub(crate) const CODES: &[&str] = &[
    "explicit_deny_rule",
    "intent_not_allowed",
    "scope_not_allowed",
    "missing_role",
    "missing_permission",
    "agent_not_allowed",
    "missing_attribute",
    "missing_tenant_attribute",
    "memory_write_requires_writer",
    "memory_sensitive_read_denied",
];
pub(crate) const RUNS: &[&str] = &["run-1", "run-2"];
/// Digests of what a server says of a tool.
pub(crate) const DIGESTS: [u8; 2] = [1, 2];

/// Times of day that a window may begin or end at.
pub(crate) const HOURS: &[&str] = &["00:00", "06:30", "08:00", "12:00", "22:00", "23:59"];
/// Times that documents name; the queries lie around them.
pub(crate) const MOMENTS: &[&str] = &[
    "2027-01-14T08:00:00Z",
    "2027-01-15T08:00:00Z",
    "2027-01-15T09:00:00+01:00",
    "2027-01-15T23:00:00-01:00",
    "2027-01-16T22:00:00.5Z",
];
/// 2027-01-15T00:00:00Z, a Friday, in seconds.
pub(crate) const FRIDAY: i64 = 1_799_971_200;

pub(crate) const POINTERS: &[&str] =
    &["/to", "/n", "/list", "/list/0", "/path", "/url", "/deep/x", "/a~1b", "", "/none", "/"];
pub(crate) const TEXTS: &[&str] =
    &["a", "ab", "abc", "é", "5", "ana@example.com", "bob@evil.com", "2026-01-02"];
pub(crate) const TEXT_PARTS: &[&str] = &["a", "ab", "@example.com", "é", "5", "c"];
pub(crate) const TEXT_PATTERNS: &[&str] = &["*", "a*", "*@example.com", "a*c", "é", "*.*", "5"];
pub(crate) const PATHS: &[&str] = &[
    "/srv/out", "/srv/out/a.txt", "/srv//out/./b/", "/srv/outer", "/srv/out/../in", "/../srv/out",
    "/", "//", "/etc", "/srv/x/../out/c", "/..", "/srv/../..", ".", "./", "out", "out/x",
    "./out/./x", "out/..", "out/../..", "../out", "a/../out/y", "~/out", "~", "out/~",
    "C:/srv/out", "c:", "1:/x", "out\\x", "out/\u{7}x", "out/\u{85}x", "out/x y", "...", "out/...",
    "OUT/x",
];
pub(crate) const FOLDERS: &[&str] =
    &["/srv/out", "/srv", "/", ".", "out", "/srv//out/.", "./out/", "/srv/out/b"];
pub(crate) const URLS: &[&str] = &[
    "https://example.com/a",
    "https://EXAMPLE.com:443?x=1",
    "https://api.example.com",
    "https://api.example.com./x#y",
    "example.com",
    "example.com.",
    "example.com..",
    ".example.com",
    "example.com:80",
    "example.com:",
    "example.com:65536",
    "example.com:65535",
    "example.com:000080",
    "example.com:+80",
    "example.com/a",
    "https://user@example.com/",
    "https://example.com@evil.com/",
    "https://evil.com/?https://example.com",
    "https://evil.com#.example.com",
    "https:///example.com",
    "//example.com",
    "1http://example.com",
    "h+t-t.p1://example.com/",
    "://example.com",
    "https://example.com\\@evil.com",
    "https://exam\tple.com",
    "https://example.com/a b",
    "https://ex\u{e4}mple.com",
    "https://ex%61mple.com",
    "https://[::1]:80/",
    "[::1]",
    "[::1]x",
    "[::G]",
    "[]",
    "::1",
    "127.0.0.1",
    "127.0.0.1:80",
    "a_b-c.example.com",
    "notexample.com",
    "a..example.com",
    "mailto:ana@example.com",
    "x://a.b.example.com:1",
];
/// Those of the URLs that lead to no other machine.
pub(crate) const HERE_OR_NOWHERE: &[&str] = &[
    "example.com..", ".example.com", "1http://example.com", "://example.com", "https://[::1]:80/",
    "[::1]", "[::1]x", "[::G]", "[]", "::1", "127.0.0.1", "127.0.0.1:80", "a..example.com",
    "mailto:ana@example.com",
];
pub(crate) const DOMAINS: &[&str] =
    &["example.com", "*.example.com", "evil.com", "[::1]", "127.0.0.1", "*.com", "api.example.com"];
