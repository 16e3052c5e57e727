//! The log's own settings: its key, where checkpoints go, and which payloads end.

use std::path::PathBuf;
use std::time::Duration;

use weaver_drivers::Post;
use weaver_policy::Finding;
use weaver_trace_store::checkpoint::{KeyUse, VerifierKey};
use weaver_trace_store::retention::{LEAST_AGE, Retention, Rule};
use weaver_types::{EventKind, PrincipalId};

use super::credential;
use super::expansion::ExpansionContext;
use super::node::{Node, shown};
use super::tool::SecretSource;

/// What says how a log is signed, and is of no use without its key.
const SIGNING: [&str; 6] =
    ["passphrase", "every_events", "every_seconds", "publish", "witnesses", "quorum"];
const DAY: u64 = 24 * 60 * 60;

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// How checkpoints are signed; without it none are.
    pub signing: Option<Signing>,
    /// Which payloads end; without it none do.
    pub retention: Option<Retention>,
}

/// How checkpoints are signed and where they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signing {
    /// The encrypted key file.
    pub key: PathBuf,
    /// Where its passphrase comes from, unless whoever starts the gateway hands it over.
    pub passphrase: Option<SecretSource>,
    /// A checkpoint is due after this number of events.
    pub every_events: u64,
    /// And after this time, if there was any event.
    pub every: Duration,
    /// Where checkpoints go.
    pub targets: Vec<Target>,
    /// Witnesses whose cosignatures count.
    pub witnesses: Vec<VerifierKey>,
    /// How many of them are wanted.
    pub quorum: usize,
}

/// A place for checkpoints, and how long one attempt may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The place.
    pub place: CheckpointTarget,
    /// How long one attempt may take.
    pub timeout: Duration,
}

/// A place for checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointTarget {
    /// A file, replaced whole.
    File(PathBuf),
    /// A program and its arguments; the note is its standard input.
    Command(Vec<String>),
    /// An address that takes the note by POST.
    Http(String),
}

impl CheckpointTarget {
    /// What it is called in records and messages. Arguments and queries may be secret.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => format!("file {}", path.display()),
            Self::Command(words) => {
                format!("command {}", words.first().map_or("", String::as_str))
            }
            Self::Http(url) => {
                format!("http {}", url.split(['?', '#']).next().unwrap_or_default())
            }
        }
    }
}

pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Log {
    let get = |name: &str| node?.get(name);
    let retention = get("retention").and_then(|node| retention(node, out));
    let Some(key) = get("key") else {
        for node in SIGNING.into_iter().filter_map(get) {
            let remedy = "make one with `weaver keys new --out log.key --id log`, and write \
                          `key = \"log.key\"` under `[log]`";
            let message = "nothing is signed without `log.key`";
            out.push(node.finding("config.missing_key", message, remedy));
        }
        return Log { signing: None, retention };
    };
    let key = path(key, context, out);
    let whole = |name: &str| get(name)?.whole();
    let every_events = whole("every_events").unwrap_or(1_000);
    let every = Duration::from_secs(whole("every_seconds").unwrap_or(60));
    let entries = |name: &str| get(name).map(Node::list).unwrap_or_default();
    let targets: Vec<Target> =
        entries("publish").iter().filter_map(|node| target(node, context, out)).collect();
    twice(get("publish"), &targets, out);
    let witnesses = entries("witnesses");
    let quorum = whole("quorum").and_then(|quorum| usize::try_from(quorum).ok()).unwrap_or(0);
    if let Some(node) = get("quorum").filter(|_| quorum > witnesses.len()) {
        let message = format!("{quorum} of {} witnesses are wanted", witnesses.len());
        out.push(node.finding("config.range", message, "name more, or want fewer"));
    }
    let witnesses = witnesses.iter().filter_map(|node| witness(node, out)).collect();
    let passphrase = get("passphrase").and_then(|node| credential::source(node, context, out));
    let signing =
        key.map(|key| Signing { key, passphrase, every_events, every, targets, witnesses, quorum });
    Log { signing, retention }
}

/// Two targets of one name could not be told apart in the record.
fn twice(node: Option<&Node>, targets: &[Target], out: &mut Vec<Finding>) {
    let mut names: Vec<String> = targets.iter().map(|target| target.place.name()).collect();
    names.sort();
    if let (Some(node), Some(same)) = (node, names.windows(2).find(|two| two.first() == two.last()))
    {
        let same = same.first().map_or("", String::as_str);
        let message = format!("two targets are called `{}`", shown(same));
        out.push(node.finding("config.target_twice", message, "keep one of the two"));
    }
}

/// A text with its variables replaced.
fn text(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> Option<String> {
    let found = node.text()?;
    match super::interpolate::expand(found, context.lookup) {
        Ok(text) if text.trim().is_empty() || text.contains('\0') => {
            out.push(node.finding("config.path", "this names nothing", "write a name"));
            None
        }
        Ok(text) => Some(text),
        Err((message, remedy)) => {
            out.push(node.finding("config.variable", message, remedy));
            None
        }
    }
}

fn path(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> Option<PathBuf> {
    text(node, context, out).map(|text| context.base.join(text))
}

fn target(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> Option<Target> {
    let timeout = node.get("timeout_ms").and_then(Node::whole).unwrap_or(10_000);
    let timeout = Duration::from_millis(timeout);
    let place = match (node.get("file"), node.get("command"), node.get("http")) {
        (Some(node), None, None) => CheckpointTarget::File(path(node, context, out)?),
        (None, Some(node), None) => CheckpointTarget::Command(command(node, context, out)?),
        (None, None, Some(node)) => CheckpointTarget::Http(address(node, context, out)?),
        _ => {
            let remedy = "write one of `file = \"…\"`, `command = [\"…\"]`, `http = \"https://…\"`";
            out.push(node.finding("config.target", "a target has exactly one place", remedy));
            return None;
        }
    };
    Some(Target { place, timeout })
}

fn command(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Vec<String>> {
    let list = node.list();
    let words: Vec<String> = list.iter().filter_map(|node| text(node, context, out)).collect();
    if list.is_empty() {
        let remedy = "write `command = [\"program\", \"…\"]`";
        out.push(node.finding("config.target", "a command has a word at least", remedy));
    }
    (words.len() == list.len() && !words.is_empty()).then_some(words)
}

fn address(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> Option<String> {
    let url = text(node, context, out)?;
    match Post::check(&url) {
        Ok(()) => Some(url),
        Err(error) => {
            let remedy = "write `http = \"https://…\"`, or an `http://` address of this machine";
            out.push(node.finding("config.url", error.to_string(), remedy));
            None
        }
    }
}

fn witness(node: &Node, out: &mut Vec<Finding>) -> Option<VerifierKey> {
    let text = node.text()?;
    let key = text.parse::<VerifierKey>().map_err(|error| error.to_string());
    let key = key.and_then(|key| match key.usage() {
        KeyUse::Witness => Ok(key),
        KeyUse::Log => Err("this is the key of a log, not of a witness".to_owned()),
    });
    key.map_err(|why| {
        let remedy = "write the verifier key that the witness tells: `name+id+base64`";
        out.push(node.finding("config.witness", why, remedy));
    })
    .ok()
}

fn retention(node: &Node, out: &mut Vec<Finding>) -> Option<Retention> {
    let before = out.len();
    let rules: Vec<Rule> = node.list().iter().filter_map(|node| rule(node, out)).collect();
    if out.len() > before || rules.len() < node.list().len() || rules.is_empty() {
        return None;
    }
    let retention = Retention::new(rules, LEAST_AGE);
    retention
        .map_err(|error| {
            let remedy = "write `older_than_days` of at least 1";
            out.push(node.finding("config.retention", error.to_string(), remedy));
        })
        .ok()
}

fn rule(node: &Node, out: &mut Vec<Finding>) -> Option<Rule> {
    let Some(age) = node.get("older_than_days") else {
        let message = "`older_than_days` is missing";
        out.push(node.finding("config.missing_key", message, "say how old a payload must be"));
        return None;
    };
    let days = age.whole().filter(|days| *days > 0)?;
    let age = Duration::from_secs(days.saturating_mul(DAY));
    let mut rule = Rule::older_than(age);
    if let Some(node) = node.get("principal") {
        let id = PrincipalId::parse(node.text()?);
        let id = id.map_err(|error| {
            let remedy = format!("use {}", error.rule);
            out.push(node.finding("config.principal", "this cannot name a principal", remedy));
        });
        rule.principal = Some(id.ok()?);
    }
    rule.tag = node.get("tag").and_then(Node::text).map(str::to_owned);
    for node in node.get("kinds").map(Node::list).unwrap_or_default() {
        let text = node.text()?;
        let Some(kind) = EventKind::parse(text) else {
            let message = format!("`{}` is no kind of event", shown(text));
            out.push(node.finding("config.word", message, "see docs/internals/architecture.md"));
            return None;
        };
        rule.kinds.push(kind);
    }
    Some(rule)
}
