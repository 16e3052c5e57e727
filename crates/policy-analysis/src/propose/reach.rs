//! How far a tool reaches: things on this machine, or the world outside.
//!
//! Local needs a word that says so, and none that says otherwise; what says nothing is open.

use super::lexicon::singular;
use super::tool_text::ToolText;
use super::{Hints, own_data};

/// Arguments that name something beyond this machine.
const REMOTE_ARGUMENTS: [&str; 33] = [
    "repository", "repo", "board", "space", "tenant", "cluster", "guild", "subscription", "drive",
    "url", "uri", "link", "host", "hostname", "domain", "endpoint", "webhook", "owner", "project",
    "bucket", "channel", "workspace", "team", "organization", "recipient", "email", "phone",
    "server", "region", "site", "attendee", "participant", "account",
];
/// Nouns of things beyond this machine.
const REMOTE: [&str; 46] = [
    "web", "website", "webpage", "internet", "online", "http", "https", "url", "api", "cloud",
    "remote", "email", "mail", "inbox", "channel", "slack", "github", "gitlab", "site", "page",
    "issue", "tweet", "post", "forum", "news", "weather", "map", "geocode", "geographic",
    "coordinate", "traffic", "travel", "address", "place", "workspace", "repo", "stock", "price",
    "flight", "hotel", "bucket", "webhook", "drive", "crypto", "market", "market",
];
/// Nouns of things on this machine.
const LOCAL: [&str; 33] = [
    "file", "directory", "folder", "filesystem", "disk", "graph", "memory", "database", "sqlite",
    "sql", "table", "note", "memo", "clipboard", "environment", "env", "timezone", "clock", "todo",
    "reminder", "draft", "journal", "diary", "bookmark", "alarm", "timer", "playlist", "favorite",
    "wishlist", "scratchpad", "document", "fax", "branch",
];
/// Arguments that name a place on this machine.
const PLACES: [&str; 8] =
    ["path", "filename", "directory", "folder", "dir", "cwd", "filepath", "dirname"];

/// How far a tool reaches, and which words say so.
pub(super) struct Reach {
    /// Whether it stays on this machine.
    pub(super) local: bool,
    pub(super) why: String,
}

impl Reach {
    fn local(why: impl Into<String>) -> Self {
        Self { local: true, why: why.into() }
    }

    fn open(why: impl Into<String>) -> Self {
        Self { local: false, why: why.into() }
    }
}

/// How far a tool reaches. The strongest evidence counts: its own words before the hints of its
/// server, those before what is merely likely.
pub(super) fn of(text: &ToolText, hints: Hints) -> Reach {
    if let Some(word) = remote(text) {
        return Reach::open(format!("`{word}` lies outside"));
    }
    match hints.open_world {
        Some(true) => return Reach::open("the server says open world"),
        Some(false) => return Reach::local("the server says closed world"),
        None => {}
    }
    if let Some(service) = &text.service {
        return Reach::open(format!(
            "it names a service: `{}`",
            weaver_text::escape::line(service)
        ));
    }
    if text.takes(&PLACES) {
        return Reach::local("it takes a path");
    }
    if let Some(word) = elsewhere(text) {
        return Reach::open(format!("it goes to `{}`", weaver_text::escape::line(word)));
    }
    let local = text.nouns().into_iter().find(|word| LOCAL.contains(word));
    match local {
        Some(word) => Reach::local(format!("`{}` is local", weaver_text::escape::line(word))),
        None if own_data::is_own(text) => Reach::local("it is about the user's own things"),
        None => Reach::open("nothing shows that it stays on this machine"),
    }
}

/// What says that it reaches out: a word of the name, or an argument.
fn remote(text: &ToolText) -> Option<String> {
    let of_name = text.name.iter().map(|word| singular(word));
    let mut of_name = of_name.filter(|word| REMOTE.contains(word));
    if let Some(word) = of_name.next() {
        return Some(weaver_text::escape::line(word).into_owned());
    }
    let mut argument = text.others.iter().map(|word| singular(word));
    let found = argument.find(|word| REMOTE_ARGUMENTS.contains(word));
    found.map(|word| weaver_text::escape::line(word).into_owned())
}

/// What the name says that it goes to, where that is nothing local: `add note to ticket`.
fn elsewhere(text: &ToolText) -> Option<&str> {
    let to = |word: &String| matches!(word.as_str(), "to" | "in" | "into" | "on" | "for");
    let at = text.name.iter().position(to)?;
    let after = || text.name.iter().skip(at).skip(1);
    let local = after().any(|word| LOCAL.contains(&singular(word)));
    after().next().filter(|_| !local).map(String::as_str)
}

/// Whether the first sentence speaks of what lies outside.
pub(super) fn speaks_of_world(text: &ToolText) -> bool {
    text.is_about(&REMOTE)
}
