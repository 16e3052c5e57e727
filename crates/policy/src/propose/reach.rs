//! How far a tool reaches: things on this machine, or the world outside.
//!
//! Local needs a word that says so, and none that says otherwise; what says nothing is open.

use super::Hints;
use super::lexicon::singular;
use super::phrase::Phrase;

/// Arguments that name something beyond this machine.
const REMOTE_ARGUMENTS: [&str; 33] = [
    "repository",
    "repo",
    "board",
    "space",
    "tenant",
    "cluster",
    "guild",
    "subscription",
    "drive",
    "url",
    "uri",
    "link",
    "host",
    "hostname",
    "domain",
    "endpoint",
    "webhook",
    "owner",
    "project",
    "bucket",
    "channel",
    "workspace",
    "team",
    "organization",
    "recipient",
    "email",
    "phone",
    "server",
    "region",
    "site",
    "attendee",
    "participant",
    "account",
];
/// Nouns of things beyond this machine.
const REMOTE: [&str; 46] = [
    "web",
    "website",
    "webpage",
    "internet",
    "online",
    "http",
    "https",
    "url",
    "api",
    "cloud",
    "remote",
    "email",
    "mail",
    "inbox",
    "channel",
    "slack",
    "github",
    "gitlab",
    "site",
    "page",
    "issue",
    "tweet",
    "post",
    "forum",
    "news",
    "weather",
    "map",
    "geocode",
    "geographic",
    "coordinate",
    "traffic",
    "travel",
    "address",
    "place",
    "workspace",
    "repo",
    "stock",
    "price",
    "flight",
    "hotel",
    "bucket",
    "webhook",
    "drive",
    "crypto",
    "market",
    "market",
];
/// Nouns of things on this machine.
const LOCAL: [&str; 33] = [
    "file",
    "directory",
    "folder",
    "filesystem",
    "disk",
    "graph",
    "memory",
    "database",
    "sqlite",
    "sql",
    "table",
    "note",
    "memo",
    "clipboard",
    "environment",
    "env",
    "timezone",
    "clock",
    "todo",
    "reminder",
    "draft",
    "journal",
    "diary",
    "bookmark",
    "alarm",
    "timer",
    "playlist",
    "favorite",
    "wishlist",
    "scratchpad",
    "document",
    "fax",
    "branch",
];
/// Arguments that name a place on this machine.
const PLACES: [&str; 8] =
    ["path", "filename", "directory", "folder", "dir", "cwd", "filepath", "dirname"];

/// Whether a tool stays on this machine, and what says so.
pub(super) fn is_local(phrase: &Phrase, hints: Hints, own: bool) -> (bool, String) {
    let said = |what: &str| format!("the server says {what}");
    if let Some(word) = remote(phrase) {
        return (false, format!("`{word}` lies outside"));
    }
    match hints.open_world {
        Some(true) => return (false, said("open world")),
        Some(false) => return (true, said("closed world")),
        None => {}
    }
    if let Some(service) = &phrase.service {
        return (false, format!("it names a service: `{}`", weaver_text::escape::line(service)));
    }
    if phrase.takes(&PLACES) {
        return (true, "it takes a path".to_owned());
    }
    if let Some(word) = elsewhere(phrase) {
        return (false, format!("it goes to `{}`", weaver_text::escape::line(word)));
    }
    let local = phrase.nouns().into_iter().find(|word| LOCAL.contains(word));
    match local {
        Some(word) => (true, format!("`{}` is local", weaver_text::escape::line(word))),
        None if own => (true, "it is about the user's own things".to_owned()),
        None => (false, "nothing says that it stays here".to_owned()),
    }
}

/// What says that it reaches out: a word of the name, or an argument.
fn remote(phrase: &Phrase) -> Option<String> {
    let of_name = phrase.name.iter().map(|word| singular(word));
    let mut of_name = of_name.filter(|word| REMOTE.contains(word));
    if let Some(word) = of_name.next() {
        return Some(weaver_text::escape::line(word).into_owned());
    }
    let mut argument = phrase.others.iter().map(|word| singular(word));
    let found = argument.find(|word| REMOTE_ARGUMENTS.contains(word));
    found.map(|word| weaver_text::escape::line(word).into_owned())
}

/// What the name says that it goes to, where that is nothing local: `add note to ticket`.
fn elsewhere(phrase: &Phrase) -> Option<&str> {
    let to = |word: &String| matches!(word.as_str(), "to" | "in" | "into" | "on" | "for");
    let at = phrase.name.iter().position(to)?;
    let after = || phrase.name.iter().skip(at).skip(1);
    let local = after().any(|word| LOCAL.contains(&singular(word)));
    after().next().filter(|_| !local).map(String::as_str)
}

/// Whether the first sentence speaks of what lies outside.
pub(super) fn speaks_of_world(phrase: &Phrase) -> bool {
    phrase.is_about(&REMOTE)
}
