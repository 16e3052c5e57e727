//! `[log]`: the log's key, checkpoint targets, and retention.

use std::path::PathBuf;
use std::time::Duration;

use weaver_drivers::HttpPoster;
use weaver_policy::DocumentFinding;
use weaver_trace_store::checkpoint::{KeyUse, VerifierKey};
use weaver_trace_store::retention::{MIN_AGE, Retention, RetentionRule};
use weaver_types::{EventKind, PrincipalId};

use super::credential;
use super::expansion::{self, ExpansionContext};
use super::node::{Node, excerpt};
use super::tool::SecretSource;

/// Keys that configure signing and need `key`.
const SIGNING_KEYS: [&str; 6] =
    ["passphrase", "every_events", "every_seconds", "publish", "witnesses", "quorum"];
const DAY: u64 = 24 * 60 * 60;

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogSettings {
    /// How checkpoints are signed; `None` if they are not.
    pub signing: Option<CheckpointSigning>,
    /// Which payloads are deleted; `None` keeps all.
    pub retention: Option<Retention>,
}

/// How checkpoints are signed and published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointSigning {
    /// The encrypted key file.
    pub key: PathBuf,
    /// The source of its passphrase, unless the starting process provides it.
    pub passphrase: Option<SecretSource>,
    /// A checkpoint is due after this number of events.
    pub every_events: u64,
    /// And after this time, if there was any event.
    pub every: Duration,
    /// Where checkpoints are published.
    pub targets: Vec<PublishTarget>,
    /// Witnesses whose cosignatures are verified.
    pub witnesses: Vec<VerifierKey>,
    /// How many cosignatures are required.
    pub quorum: usize,
}

/// A target for checkpoints, and the time limit of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishTarget {
    /// The target.
    pub location: CheckpointTarget,
    /// How long one attempt may take.
    pub timeout: Duration,
}

/// Where a checkpoint is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointTarget {
    /// A file that is replaced atomically.
    File(PathBuf),
    /// A program and its arguments; it reads the note from standard input.
    Command(Vec<String>),
    /// A URL that receives the note by POST.
    Http(String),
}

impl CheckpointTarget {
    /// Its name in records and messages. Arguments and queries may be secret and are omitted.
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
    findings: &mut Vec<DocumentFinding>,
) -> LogSettings {
    let get = |name: &str| node?.get(name);
    let retention = get("retention").and_then(|node| read_retention(node, findings));
    let Some(key) = get("key") else {
        for node in SIGNING_KEYS.into_iter().filter_map(get) {
            let remedy = "make one with `weaver keys new --out log.key --id log`, and write \
                          `key = \"log.key\"` under `[log]`";
            let message = "nothing is signed without `log.key`";
            findings.push(node.finding("config.missing_key", message, remedy));
        }
        return LogSettings { signing: None, retention };
    };
    let key = read_path(key, context, findings);
    let integer = |name: &str| get(name)?.integer();
    let every_events = integer("every_events").unwrap_or(1_000);
    let every = Duration::from_secs(integer("every_seconds").unwrap_or(60));
    let entries = |name: &str| get(name).map(Node::list).unwrap_or_default();
    let targets: Vec<PublishTarget> =
        entries("publish").iter().filter_map(|node| read_target(node, context, findings)).collect();
    check_unique_targets(get("publish"), &targets, findings);
    let witnesses = entries("witnesses");
    let quorum = integer("quorum").and_then(|quorum| usize::try_from(quorum).ok()).unwrap_or(0);
    if let Some(node) = get("quorum").filter(|_| quorum > witnesses.len()) {
        let message = format!("{quorum} of {} witnesses are wanted", witnesses.len());
        findings.push(node.finding("config.range", message, "name more, or want fewer"));
    }
    let witnesses = witnesses.iter().filter_map(|node| read_witness(node, findings)).collect();
    let passphrase =
        get("passphrase").and_then(|node| credential::read_secret_source(node, context, findings));
    let signing = key.map(|key| CheckpointSigning {
        key,
        passphrase,
        every_events,
        every,
        targets,
        witnesses,
        quorum,
    });
    LogSettings { signing, retention }
}

/// Two targets with the same name could not be told apart in the record.
fn check_unique_targets(
    node: Option<&Node>,
    targets: &[PublishTarget],
    findings: &mut Vec<DocumentFinding>,
) {
    let mut names: Vec<String> = targets.iter().map(|target| target.location.name()).collect();
    names.sort();
    if let (Some(node), Some(same)) = (node, names.windows(2).find(|two| two.first() == two.last()))
    {
        let same = same.first().map_or("", String::as_str);
        let message = format!("two targets are called `{}`", excerpt(same));
        findings.push(node.finding("config.target_twice", message, "keep one of the two"));
    }
}

/// A text with its references expanded, which must not be empty.
fn expand_nonempty(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<String> {
    let refusal = ("this names nothing", "write a name");
    expansion::expand_nonempty(node, context, refusal, findings)
}

fn read_path(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<PathBuf> {
    expand_nonempty(node, context, findings).map(|text| context.base.join(text))
}

fn read_target(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<PublishTarget> {
    let timeout = node.get("timeout_ms").and_then(Node::integer).unwrap_or(10_000);
    let timeout = Duration::from_millis(timeout);
    let place = match (node.get("file"), node.get("command"), node.get("http")) {
        (Some(node), None, None) => CheckpointTarget::File(read_path(node, context, findings)?),
        (None, Some(node), None) => {
            CheckpointTarget::Command(read_command(node, context, findings)?)
        }
        (None, None, Some(node)) => CheckpointTarget::Http(read_address(node, context, findings)?),
        _ => {
            let remedy = "write one of `file = \"…\"`, `command = [\"…\"]`, `http = \"https://…\"`";
            findings.push(node.finding("config.target", "a target has exactly one place", remedy));
            return None;
        }
    };
    Some(PublishTarget { location: place, timeout })
}

fn read_command(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<Vec<String>> {
    let list = node.list();
    let words: Vec<String> =
        list.iter().filter_map(|node| expand_nonempty(node, context, findings)).collect();
    if list.is_empty() {
        let remedy = "write `command = [\"program\", \"…\"]`";
        findings.push(node.finding("config.target", "a command has a word at least", remedy));
    }
    (words.len() == list.len() && !words.is_empty()).then_some(words)
}

fn read_address(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<String> {
    let url = expand_nonempty(node, context, findings)?;
    match HttpPoster::check(&url) {
        Ok(()) => Some(url),
        Err(error) => {
            let remedy = "write `http = \"https://…\"`, or an `http://` address of this machine";
            findings.push(node.finding("config.url", error.to_string(), remedy));
            None
        }
    }
}

fn read_witness(node: &Node, findings: &mut Vec<DocumentFinding>) -> Option<VerifierKey> {
    let text = node.text()?;
    let key = text.parse::<VerifierKey>().map_err(|error| error.to_string());
    let key = key.and_then(|key| match key.usage() {
        KeyUse::Witness => Ok(key),
        KeyUse::Log => Err("this is the key of a log, not of a witness".to_owned()),
    });
    key.map_err(|why| {
        let remedy = "write the verifier key that the witness tells: `name+id+base64`";
        findings.push(node.finding("config.witness", why, remedy));
    })
    .ok()
}

fn read_retention(node: &Node, findings: &mut Vec<DocumentFinding>) -> Option<Retention> {
    let before = findings.len();
    let rules: Vec<RetentionRule> =
        node.list().iter().filter_map(|node| read_retention_rule(node, findings)).collect();
    if findings.len() > before || rules.len() < node.list().len() || rules.is_empty() {
        return None;
    }
    let retention = Retention::new(rules, MIN_AGE);
    retention
        .map_err(|error| {
            let remedy = "write `older_than_days` of at least 1";
            findings.push(node.finding("config.retention", error.to_string(), remedy));
        })
        .ok()
}

fn read_retention_rule(node: &Node, findings: &mut Vec<DocumentFinding>) -> Option<RetentionRule> {
    let Some(age) = node.get("older_than_days") else {
        let message = "`older_than_days` is missing";
        findings.push(node.finding("config.missing_key", message, "say how old a payload must be"));
        return None;
    };
    let days = age.integer().filter(|days| *days > 0)?;
    let age = Duration::from_secs(days.saturating_mul(DAY));
    let mut rule = RetentionRule::older_than(age);
    if let Some(node) = node.get("principal") {
        let id = PrincipalId::parse(node.text()?);
        let id = id.map_err(|error| {
            let remedy = format!("use {}", error.rule);
            findings.push(node.finding("config.principal", "this cannot name a principal", remedy));
        });
        rule.principal = Some(id.ok()?);
    }
    rule.tag = node.get("tag").and_then(Node::text).map(str::to_owned);
    for node in node.get("kinds").map(Node::list).unwrap_or_default() {
        let text = node.text()?;
        let Some(kind) = EventKind::parse(text) else {
            let message = format!("`{}` is not a kind of event", excerpt(text));
            findings.push(node.finding(
                "config.word",
                message,
                "see docs/internals/architecture.md",
            ));
            return None;
        };
        rule.kinds.push(kind);
    }
    Some(rule)
}
