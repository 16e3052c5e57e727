//! Determines how far a tool reaches: this machine only, or the outside world.
//!
//! A tool is local only if some word says so and none contradicts it. Without evidence, it is open.

use super::lexicon::singular;
use super::tool_text::ToolText;
use super::{ServerReach, ToolHints, own_data, service_name, sharing};

/// Argument names for things beyond this machine.
const REMOTE_ARGUMENTS: [&str; 33] = [
    "repository", "repo", "board", "space", "tenant", "cluster", "guild", "subscription", "drive",
    "url", "uri", "link", "host", "hostname", "domain", "endpoint", "webhook", "owner", "project",
    "bucket", "channel", "workspace", "team", "organization", "recipient", "email", "phone",
    "server", "region", "site", "attendee", "participant", "account",
];
/// Argument names for a place in a network.
const NETWORK_ARGUMENTS: [&str; 8] =
    ["url", "uri", "href", "host", "hostname", "domain", "endpoint", "webhook"];
/// Nouns of things beyond this machine.
const REMOTE_NOUNS: [&str; 46] = [
    "web", "website", "webpage", "internet", "online", "http", "https", "url", "api", "cloud",
    "remote", "email", "mail", "inbox", "channel", "slack", "github", "gitlab", "site", "page",
    "issue", "tweet", "post", "forum", "news", "weather", "map", "geocode", "geographic",
    "coordinate", "traffic", "travel", "address", "place", "workspace", "repo", "stock", "price",
    "flight", "hotel", "bucket", "webhook", "drive", "crypto", "market", "ldap",
];
/// Arguments and nouns of a service that a server with files of its own has as well: a list of tasks
/// sorts them into projects, a memory bank has teams.
const SORTING_WORDS: [&str; 18] = [
    "project", "team", "board", "space", "workspace", "channel", "site", "region", "repository",
    "repo", "organization", "server", "page", "issue", "post", "place", "map", "coordinate",
];
/// Nouns of things on this machine.
const LOCAL_NOUNS: [&str; 34] = [
    "file", "directory", "folder", "filesystem", "disk", "graph", "memory", "database", "sqlite",
    "sql", "table", "note", "memo", "clipboard", "environment", "env", "timezone", "clock", "todo",
    "reminder", "draft", "journal", "diary", "bookmark", "alarm", "timer", "playlist", "favorite",
    "wishlist", "scratchpad", "document", "fax", "branch", "tmux",
];
/// Nouns of things on this machine that others may have as well: they count for a write only as
/// what it makes, or as where the first sentence says that something goes.
const SHARED_NOUNS: [&str; 11] = [
    "memory", "database", "table", "branch", "environment", "env", "graph", "alarm", "timer",
    "clock", "timezone",
];
/// What a list of things to do consists of. It is local for a write only where no tool of its server
/// speaks to a service, in which others see it.
pub(super) const TASKS: [&str; 4] = ["task", "subtask", "todo", "checklist"];
/// What somebody writes for himself, and keeps where no other person looks.
const NOTES: [&str; 8] =
    ["note", "memo", "todo", "reminder", "bookmark", "journal", "diary", "memory"];
/// What the id of a service stands for, where a disk has a path.
const SERVICE_IDS: [&str; 31] = [
    "file", "document", "doc", "folder", "drive", "base", "table", "database", "space", "item",
    "object", "page", "board", "sheet", "spreadsheet", "notebook", "presentation", "comment",
    "attachment", "release", "service", "instance", "device", "project", "account", "customer",
    "contact", "message", "branch", "site", "bucket",
];

/// Why the tools of a server with files of its own stay here.
const KEEPS_FILES: &str = "its server keeps what it has on this machine";

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

/// Determines how far a tool reaches of whose server nothing is known.
pub(super) fn determine_reach(text: &ToolText, hints: ToolHints) -> Reach {
    determine_read_reach(text, hints, ServerReach::Unknown)
}

/// Determines how far a read reaches. The strongest evidence decides: words for remote things, then
/// the server's hints, then weaker indications.
pub(super) fn determine_read_reach(
    text: &ToolText,
    hints: ToolHints,
    server: ServerReach,
) -> Reach {
    if !is_own_database(text, server)
        && let Some(reach) = plain_reach(text, hints, server)
    {
        return reach;
    }
    if server == ServerReach::Folder {
        return Reach::local(KEEPS_FILES);
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

/// Determines how far a write reaches. What others see, what configures something, and what a
/// service keeps under an id of its own is not local because of a noun.
pub(super) fn determine_write_reach(
    text: &ToolText,
    hints: ToolHints,
    server: ServerReach,
) -> Reach {
    let goes_out = text.takes(&NETWORK_ARGUMENTS) || !text.receivers.is_empty();
    if server == ServerReach::Documents && !goes_out && hints.open_world != Some(true) {
        return Reach::local("its server works on documents of this machine");
    }
    // A service that says closed world means its own.
    let is_its_own = server == ServerReach::Service && !text.takes_path;
    let open_world = hints.open_world.filter(|open| *open || !is_its_own);
    if !is_own_database(text, server)
        && let Some(reach) = plain_reach(text, ToolHints { open_world, ..hints }, server)
    {
        return reach;
    }
    let shown = |word: &str| weaver_text::escape::line(word).into_owned();
    if let Some(word) = sharing::sharing_word(text).or_else(|| sharing::others_see(text)) {
        return Reach::open(format!("others see it: `{}`", shown(word)));
    }
    let sets_up = ["setup", "init", "configure", "install", "switch", "enable"];
    if server == ServerReach::Folder && text.names_verb(&sets_up) {
        return Reach::open("it says how its server works later");
    }
    if let Some(word) = sharing::configuration_word(text) {
        return Reach::open(format!("`{}` says how something works later", shown(word)));
    }
    if let Some(word) = service_id(text).filter(|_| server != ServerReach::Folder) {
        return Reach::open(format!("a service keeps the `{word}` under an id of its own"));
    }
    // A note tells nobody, whatever the other tools of its server do.
    if server == ServerReach::Service && !text.is_named(&NOTES) {
        return Reach::open("other tools of its server reach other people or name an account");
    }
    if let Some(word) = foreign_target(text) {
        return Reach::open(format!("it goes to `{}`", shown(word)));
    }
    if text.saves_file && !goes_out {
        return Reach::local("it saves into a file");
    }
    match local_object(text) {
        Some(word) => Reach::local(format!("`{}` is local", shown(word))),
        None if server == ServerReach::Folder => Reach::local(KEEPS_FILES),
        None => Reach::open("nothing shows that it stays on this machine"),
    }
}

/// Whether the service that a tool names is the database that its server has on this machine.
fn is_own_database(text: &ToolText, server: ServerReach) -> bool {
    server == ServerReach::Folder && text.service.as_deref().is_some_and(service_name::is_database)
}

/// The evidence that decides for reads and writes alike.
fn plain_reach(text: &ToolText, hints: ToolHints, server: ServerReach) -> Option<Reach> {
    if let Some(word) = remote_word(text, server) {
        return Some(Reach::open(format!("`{word}` lies outside")));
    }
    match hints.open_world {
        Some(true) => return Some(Reach::open("the server says open world")),
        Some(false) => return Some(Reach::local("the server says closed world")),
        None => {}
    }
    if let Some(service) = &text.service {
        let service = weaver_text::escape::line(service);
        return Some(Reach::open(format!("it names a service: `{service}`")));
    }
    text.takes_path.then(|| Reach::local("it takes a path"))
}

/// What a service keeps, if an argument is an id of such a thing.
fn service_id(text: &ToolText) -> Option<&'static str> {
    text.argument_words.iter().find_map(|words| match &words[..] {
        [before @ .., last] if matches!(last.as_str(), "id" | "ids" | "gid") => {
            let kind = singular(before.last()?);
            SERVICE_IDS.iter().find(|known| **known == kind).copied()
        }
        _ => None,
    })
}

/// The local thing that a write makes or changes: a noun of the name, or the place that the first
/// sentence names (`to the memo`).
fn local_object(text: &ToolText) -> Option<&str> {
    const MAKES: [&str; 8] =
        ["create", "add", "append", "insert", "save", "store", "remember", "new"];
    let is_local = |word: &&str| LOCAL_NOUNS.contains(word) || TASKS.contains(word);
    let is_own = |word: &&str| is_local(word) && !SHARED_NOUNS.contains(word);
    let mut named = text.name.iter().map(|word| singular(word));
    if let Some(word) = named.find(is_own) {
        return Some(word);
    }
    let last = text.name.last().map(|word| singular(word)).filter(is_local);
    let sets = text.names_verb(&["set", "start"]) && matches!(last, Some("alarm" | "timer"));
    if let Some(word) = last.filter(|_| text.names_verb(&MAKES) || sets) {
        return Some(word);
    }
    let sentence = text.first_sentence();
    let into = |word: &String| {
        matches!(word.as_str(), "in" | "into" | "to" | "on" | "onto" | "within" | "inside")
    };
    let at = sentence.iter().rposition(into)?;
    let mut place = sentence.iter().skip(at).skip(1).take(5).map(|word| singular(word));
    place.find(is_local)
}

/// A word in the name, or an argument, which says that the tool reaches out.
fn remote_word(text: &ToolText, server: ServerReach) -> Option<String> {
    let counts = |word: &&str| server != ServerReach::Folder || !SORTING_WORDS.contains(word);
    let of_name = text.name.iter().map(|word| singular(word)).filter(counts);
    let mut of_name = of_name.filter(|word| REMOTE_NOUNS.contains(word));
    if let Some(word) = of_name.next() {
        return Some(weaver_text::escape::line(word).into_owned());
    }
    let mut argument = text.non_path_arguments.iter().map(|word| singular(word)).filter(counts);
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
