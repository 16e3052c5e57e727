//! Determines how far a tool reaches: this machine only, or the outside world.
//!
//! A tool is local only if some word says so and none contradicts it. Without evidence, it is open.

use super::lexicon::singular;
use super::tool_text::ToolText;
use super::{ToolHints, own_data};

/// Argument names for things beyond this machine.
const REMOTE_ARGUMENTS: [&str; 33] = [
    "repository", "repo", "board", "space", "tenant", "cluster", "guild", "subscription", "drive",
    "url", "uri", "link", "host", "hostname", "domain", "endpoint", "webhook", "owner", "project",
    "bucket", "channel", "workspace", "team", "organization", "recipient", "email", "phone",
    "server", "region", "site", "attendee", "participant", "account",
];
/// Nouns of things beyond this machine.
const REMOTE_NOUNS: [&str; 46] = [
    "web", "website", "webpage", "internet", "online", "http", "https", "url", "api", "cloud",
    "remote", "email", "mail", "inbox", "channel", "slack", "github", "gitlab", "site", "page",
    "issue", "tweet", "post", "forum", "news", "weather", "map", "geocode", "geographic",
    "coordinate", "traffic", "travel", "address", "place", "workspace", "repo", "stock", "price",
    "flight", "hotel", "bucket", "webhook", "drive", "crypto", "market", "market",
];
/// Nouns of things on this machine.
const LOCAL_NOUNS: [&str; 33] = [
    "file", "directory", "folder", "filesystem", "disk", "graph", "memory", "database", "sqlite",
    "sql", "table", "note", "memo", "clipboard", "environment", "env", "timezone", "clock", "todo",
    "reminder", "draft", "journal", "diary", "bookmark", "alarm", "timer", "playlist", "favorite",
    "wishlist", "scratchpad", "document", "fax", "branch",
];
/// Argument names for local paths.
const PATH_ARGUMENTS: [&str; 8] =
    ["path", "filename", "directory", "folder", "dir", "cwd", "filepath", "dirname"];

/// How far a tool reaches, and why.
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

/// Determines how far a tool reaches. The strongest evidence decides: words for remote things, then
/// the server's hints, then weaker indications.
pub(super) fn determine_reach(text: &ToolText, hints: ToolHints) -> Reach {
    if let Some(word) = remote_word(text) {
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
    if text.takes(&PATH_ARGUMENTS) {
        return Reach::local("it takes a path");
    }
    if let Some(word) = foreign_target(text) {
        return Reach::open(format!("it goes to `{}`", weaver_text::escape::line(word)));
    }
    let local = text.nouns().into_iter().find(|word| LOCAL_NOUNS.contains(word));
    match local {
        Some(word) => Reach::local(format!("`{}` is local", weaver_text::escape::line(word))),
        None if own_data::is_about_own_data(text) => {
            Reach::local("it is about the user's own things")
        }
        None => Reach::open("nothing shows that it stays on this machine"),
    }
}

/// A word in the name, or an argument, which says that the tool reaches out.
fn remote_word(text: &ToolText) -> Option<String> {
    let of_name = text.name.iter().map(|word| singular(word));
    let mut of_name = of_name.filter(|word| REMOTE_NOUNS.contains(word));
    if let Some(word) = of_name.next() {
        return Some(weaver_text::escape::line(word).into_owned());
    }
    let mut argument = text.non_path_arguments.iter().map(|word| singular(word));
    let found = argument.find(|word| REMOTE_ARGUMENTS.contains(word));
    found.map(|word| weaver_text::escape::line(word).into_owned())
}

/// The target in the name, if it is not local: `add note to ticket`.
fn foreign_target(text: &ToolText) -> Option<&str> {
    let to = |word: &String| matches!(word.as_str(), "to" | "in" | "into" | "on" | "for");
    let at = text.name.iter().position(to)?;
    let after = || text.name.iter().skip(at).skip(1);
    let local = after().any(|word| LOCAL_NOUNS.contains(&singular(word)));
    after().next().filter(|_| !local).map(String::as_str)
}

/// Whether the name or the first sentence mentions remote things.
pub(super) fn mentions_remote_things(text: &ToolText) -> bool {
    text.is_about(&REMOTE_NOUNS)
}
