//! Finds texts that have a tool fetch or write something outside, though no address is in them: the call
//! of a function that does, a table that stands for the network, a command or a parameter of one, and the
//! name of a saved operation.
//!
//! What is around such a word may be put together from anything, so the word itself waits.

use weaver_text::split;

use crate::argument::{is_listed, reads_by_first_word};
use crate::critical::ToolWords;

/// Words of functions that ask another machine, of which none in [`OF_TEXTS`] is a part.
const FETCHES: [&str; 19] = [
    "http", "https", "fetch", "curl", "wget", "urlopen", "urlretrieve", "webservice", "importdata",
    "importhtml", "importxml", "importfeed", "importrange", "dblink", "xmlhttp", "axios",
    "requests", "webclient", "sendmail",
];
/// Words of functions that only compute with addresses.
const OF_TEXTS: [&str; 9] =
    ["is", "encode", "decode", "parse", "escape", "unescape", "quote", "format", "status"];
/// Functions that ask, whose words do not say it.
const ASKS: [&str; 4] = ["net.lookup_ip_addr", "gethostbyname", "getaddrinfo", "opa.runtime"];
/// First words of queries.
const QUERIES: [&str; 6] = ["select", "with", "from", "explain", "values", "table"];
/// First words of tables that stand for what another machine answers, or for what a command does.
const TABLES: [&str; 5] = ["curl", "wget", "whois", "urlscan", "crtsh"];
/// The same, where one of the second list follows.
const TABLE_GROUPS: [&str; 5] = ["net", "http", "https", "web", "exec"];
const TABLE_KINDS: [&str; 12] = [
    "certificate", "connection", "dns", "http", "tls", "tcp", "request", "response", "command",
    "get", "post", "lookup",
];
/// Words at the end of names of arguments that hold a command or a part of one.
const COMMAND_NAMES: &str = "\
    command commands cmd script code args argv arguments params parameters options program \
    expression shell powershell pwsh run line";
/// Programs that ask another machine.
const PROGRAMS: &str = "\
    curl wget nc ncat netcat socat telnet ssh scp sftp ftp rsync dig drill nslookup host whois \
    ping traceroute tracert iwr irm aria2c xh";
/// Verbs of PowerShell's commands that ask another machine, write or run something.
const CMDLET_VERBS: &str = "\
    add clear connect copy enter export import install invoke move new out publish push register \
    remove rename resolve restart send set start stop tee test";
/// Parameters of such commands, which may be shortened.
const PARAMETERS: [&str; 13] = [
    "outfile", "infile", "uri", "body", "form", "proxy", "uploadfile", "smtpserver",
    "computername", "connectionuri", "postdata", "postfile", "method",
];
/// The shortest parameter that says which one it is.
const MIN_PARAMETER: usize = 3;
/// Words of tools that start what was saved, of what is saved, and of what names one.
const STARTS: [&str; 8] =
    ["run", "start", "execute", "exec", "trigger", "invoke", "launch", "perform"];
const SAVED: [&str; 16] = [
    "saved", "stored", "persisted", "operation", "macro", "workflow", "playbook", "runbook",
    "recipe", "automation", "shortcut", "scenario", "routine", "job", "pipeline", "procedure",
];
const NAMES: [&str; 5] = ["name", "id", "key", "slug", "title"];
/// Words of names of operations that say that something goes out.
const SENDS: [&str; 17] = [
    "http", "https", "curl", "webhook", "fetch", "download", "email", "mail", "notify", "export",
    "sync", "forward", "share", "submit", "deliver", "broadcast", "dispatch",
];

/// Whether a text in an argument of this name of a tool is such an operation.
pub(super) fn reaches_out(tool: &ToolWords, name: &str, text: &str) -> bool {
    let words = split::identifier(name);
    let last = words.last().map_or("", String::as_str);
    let is_command = words.iter().any(|word| is_listed(word, &[COMMAND_NAMES]));
    if text.trim().is_empty() {
        return false;
    }
    calls_fetching(text)
        || queries_network(text)
        || matches!(last, "table" | "tables") && is_network_table(text.trim())
        || is_command && (runs_program(text) || has_parameter(text))
        || names_saved(tool, &words) && !is_harmless_name(text)
        || matches!(last, "method" | "verb") && !reads_method(text)
}

/// Whether a member of this name is a parameter of such a command: `-OutFile`, `OutFile`.
pub(super) fn is_parameter(name: &str) -> bool {
    let is_file = |known: &&&str| known.ends_with("file");
    PARAMETERS.iter().filter(is_file).any(|known| name.eq_ignore_ascii_case(known))
        || has_parameter(name)
}

fn has(words: &[String], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(&word.as_str()))
}

/// Whether a function is called, with something in its brackets, that asks another machine.
fn calls_fetching(text: &str) -> bool {
    text.match_indices('(').any(|(at, _)| {
        let (before, after) = text.split_at_checked(at).unwrap_or_default();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let name = before.trim_end().rsplit(|c| !is_part(c)).next().unwrap_or_default();
        let is_empty = after.get(1..).is_none_or(|rest| rest.trim_start().starts_with(')'));
        let words = split::words(name);
        let asks = ASKS.iter().any(|known| name.eq_ignore_ascii_case(known));
        asks || !is_empty && has(&words, &FETCHES) && !has(&words, &OF_TEXTS)
    })
}

fn queries_network(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let first = words.find(|word| !word.is_empty()).unwrap_or_default().to_lowercase();
    QUERIES.contains(&first.as_str()) && words.any(is_network_table)
}

fn is_network_table(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    let mut parts = name.split('_');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    TABLES.contains(&first) || TABLE_GROUPS.contains(&first) && TABLE_KINDS.contains(&second)
}

/// Whether a command, or a part of one, runs a program that asks another machine.
fn runs_program(text: &str) -> bool {
    text.split(['|', ';', '&', '\n', '(', '`', '{']).any(|part| {
        let program = part.split_whitespace().next().unwrap_or_default();
        let program = program.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
        let program = program.strip_suffix(".exe").unwrap_or(&program);
        let verb = program.split_once('-').map_or("", |(verb, _)| verb);
        is_listed(program, &[PROGRAMS]) || is_listed(verb, &[CMDLET_VERBS])
    })
}

/// Whether a parameter that sends, or says where something is fetched from or written to, is in a text.
fn has_parameter(text: &str) -> bool {
    let mut parts = text.split(|c: char| c.is_whitespace() || matches!(c, '=' | ':'));
    while let Some(part) = parts.next() {
        let name = part.strip_prefix('-').unwrap_or_default().to_lowercase();
        let name = name.strip_prefix('-').unwrap_or(&name).replace('-', "");
        let found = PARAMETERS.iter().find(|known| known.starts_with(name.as_str()));
        let Some(found) = found.filter(|_| name.len() >= MIN_PARAMETER) else { continue };
        if *found != "method" || !parts.clone().next().is_some_and(reads_method) {
            return true;
        }
    }
    false
}

/// Whether a method of HTTP only reads.
fn reads_method(text: &str) -> bool {
    const CHANGES: [&str; 5] = ["post", "put", "patch", "delete", "connect"];
    !text.trim().is_empty() && !CHANGES.iter().any(|known| text.trim().eq_ignore_ascii_case(known))
}

/// Whether an argument names a saved operation that the tool starts.
fn names_saved(tool: &ToolWords, words: &[String]) -> bool {
    let starts = tool.all().any(|word| STARTS.contains(&word));
    let last = words.last().map_or("", String::as_str);
    let is_saved = SAVED.contains(&last) || NAMES.contains(&last) && has(words, &SAVED);
    starts && (is_saved || NAMES.contains(&last) && tool.all().any(|word| SAVED.contains(&word)))
}

/// Whether the name of an operation says that it only reads here.
fn is_harmless_name(text: &str) -> bool {
    text.trim().is_empty() || reads_by_first_word(text) && !has(&split::identifier(text), &SENDS)
}
