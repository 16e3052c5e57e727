//! One entry of `mcpServers`, as desktop clients write it.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use weaver_drivers::mcp::KnownSecrets;
use weaver_policy::DocumentFinding;
use weaver_types::UpstreamName;

use super::confine;
use super::credential::read_certificate_authority;
use super::expansion::{ExpansionContext, expand_text, resolve_program};
use super::interpolate::Reference;
use super::node::{Node, excerpt};
use super::server_login;
use super::upstream::{
    CallLimits, InstanceSharing, ServerLogin, TransportSettings, UpstreamSettings, WORKSPACE_FOLDER,
};

/// The values of the key `type`: how the gateway reaches a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TransportType {
    Stdio,
    Http,
    Sse,
}

pub(super) const TRANSPORT_TYPES: [(&str, TransportType); 4] = [
    ("stdio", TransportType::Stdio),
    ("http", TransportType::Http),
    ("streamable-http", TransportType::Http),
    ("sse", TransportType::Sse),
];

pub(super) const INSTANCE_SHARING: [(&str, InstanceSharing); 3] = [
    ("client", InstanceSharing::Client),
    ("folder", InstanceSharing::Folder),
    ("shared", InstanceSharing::All),
];

/// Parses one entry; `None` if it is disabled or invalid.
pub(super) fn read(
    name: &str,
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<UpstreamSettings> {
    let parsed = parse_name(name, node, findings);
    if node.get("disabled").and_then(Node::flag).unwrap_or(false) {
        return None;
    }
    let sharing =
        node.get("instances").and_then(|node| node.word(&INSTANCE_SHARING)).unwrap_or_default();
    let transport = UpstreamEntry { node, context, sharing }.transport(findings);
    let projects = UpstreamEntry { node, context, sharing }.projects(findings);
    let duration = |name: &str| node.get(name)?.integer().map(Duration::from_millis);
    Some(UpstreamSettings {
        name: parsed?,
        transport: transport?,
        timeout: duration("timeout_ms"),
        initialize_timeout: duration("initialize_timeout_ms"),
        limits: node.get("limits").map(read_limits).unwrap_or_default(),
        sharing,
        projects: projects?,
        secrets: KnownSecrets::default(),
    })
}

/// Parses the call limits of a server.
fn read_limits(node: &Node) -> CallLimits {
    let integer = |name: &str| node.get(name)?.integer();
    let size = |name: &str| usize::try_from(integer(name)?).ok();
    CallLimits {
        calls: size("calls"),
        queued_calls: size("waiting"),
        calls_per_second: integer("calls_per_second")
            .and_then(|number| NonZeroU32::new(u32::try_from(number).ok()?)),
        message_bytes: size("message_kb").map(|kb| kb.saturating_mul(1024)),
    }
}

fn parse_name(
    name: &str,
    node: &Node,
    findings: &mut Vec<DocumentFinding>,
) -> Option<UpstreamName> {
    match UpstreamName::parse(name) {
        Ok(name) => Some(name),
        Err(error) => {
            let message = format!("`{}` cannot name a server: {}", excerpt(name), error.rule);
            findings.push(node.finding(
                "config.server_name",
                message,
                format!("rename it to `{}`", legal_name(name)),
            ));
            None
        }
    }
}

/// A valid name similar to the given one.
pub(crate) fn legal_name(name: &str) -> String {
    let legal = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '-') => c,
        _ => '-',
    };
    let fixed: String = name.chars().map(legal).collect();
    let words: Vec<&str> = fixed.split('-').filter(|word| !word.is_empty()).collect();
    let fixed: String = words.join("-").chars().take(32).collect();
    let fixed = fixed.trim_matches('-');
    if fixed.is_empty() { "server".to_owned() } else { fixed.to_owned() }
}

struct UpstreamEntry<'a> {
    node: &'a Node,
    context: &'a ExpansionContext<'a>,
    sharing: InstanceSharing,
}

impl UpstreamEntry<'_> {
    fn transport(&self, findings: &mut Vec<DocumentFinding>) -> Option<TransportSettings> {
        let kind = match self.node.get("type") {
            Some(node) => Some(node.word(&TRANSPORT_TYPES)?),
            None => None,
        };
        match (kind, self.node.get("command"), self.node.get("url")) {
            (Some(TransportType::Sse), ..) => self.refuse(
                "the older HTTP and SSE transport is not supported",
                "give the server's Streamable HTTP address and write `type = \"http\"`",
                findings,
            ),
            (_, Some(_), Some(_)) => self.refuse(
                "`command` and `url` exclude each other",
                "keep the one by which the server is reached",
                findings,
            ),
            (_, None, None) => self.refuse(
                "neither `command` nor `url` is given",
                "write `command` for a program, or `url` for an address",
                findings,
            ),
            (Some(TransportType::Http), Some(_), None) => self.refuse(
                "`type` says HTTP, but a `command` is given",
                "write `type = \"stdio\"`, or give a `url`",
                findings,
            ),
            (Some(TransportType::Stdio), None, Some(_)) => self.refuse(
                "`type` says stdio, but a `url` is given",
                "write `type = \"http\"`, or give a `command`",
                findings,
            ),
            (_, Some(command), None) => self.stdio(command, findings),
            (_, None, Some(url)) => self.http(url, findings),
        }
    }

    /// The folders of the projects that it belongs to.
    fn projects(&self, findings: &mut Vec<DocumentFinding>) -> Option<Vec<PathBuf>> {
        let list = self.node.get("projects").map(Node::list).unwrap_or_default();
        let folder = |node| self.expand_nonempty(node, findings);
        let folders: Option<Vec<String>> = list.iter().map(folder).collect();
        let resolve = |folder: &String| {
            let folder = self.context.base.join(folder);
            crate::canonical_path(&folder).unwrap_or(folder)
        };
        Some(folders?.iter().map(resolve).collect())
    }

    fn refuse<T>(
        &self,
        message: &str,
        remedy: &str,
        findings: &mut Vec<DocumentFinding>,
    ) -> Option<T> {
        findings.push(self.node.finding("config.server", message, remedy));
        None
    }

    fn stdio(
        &self,
        command: &Node,
        findings: &mut Vec<DocumentFinding>,
    ) -> Option<TransportSettings> {
        self.reject_keys(&["headers", "oauth", "ca_file"], "a server with a `url`", findings);
        let command = self.expand_nonempty(command, findings);
        let args: Option<Vec<String>> = match self.node.get("args") {
            None => Some(Vec::new()),
            Some(node) => node.list().iter().map(|node| self.expand_text(node, findings)).collect(),
        };
        let env = self.expand_map(
            "env",
            is_variable,
            "1 or more characters without `=` or NUL",
            findings,
        );
        let cwd = match self.node.get("cwd") {
            None => Some(None),
            Some(node) => self.expand_nonempty(node, findings).map(|path| {
                match path.starts_with(WORKSPACE_FOLDER) {
                    true => Some(PathBuf::from(path)),
                    false => Some(self.context.base.join(path)),
                }
            }),
        };
        let confine = match self.node.get("confine") {
            None => Some(None),
            Some(node) => confine::read(node, self.context, findings).map(Some),
        };
        Some(TransportSettings::Stdio {
            command: resolve_program(self.context, &command?),
            args: args?,
            env: env?,
            cwd: cwd?,
            confine: confine?,
        })
    }

    fn http(&self, url: &Node, findings: &mut Vec<DocumentFinding>) -> Option<TransportSettings> {
        self.reject_keys(&["args", "env", "cwd", "confine"], "a server with a `command`", findings);
        let address = self.expand_nonempty(url, findings).and_then(|address| {
            if is_address(&address) {
                return Some(address);
            }
            findings.push(url.finding(
                "config.url",
                "this is not a server address",
                "write http:// or https:// and a host; put secrets into `headers`",
            ));
            None
        });
        let headers = self.expand_map("headers", is_header, "letters, digits and `-`", findings);
        let login = match self.node.get("oauth") {
            Some(node) => server_login::read(node, self.context, findings),
            None => Some(ServerLogin::default()),
        };
        let certificate_authority = match self.node.get("ca_file") {
            Some(node) => read_certificate_authority(node, self.context, findings).map(Some),
            None => Some(None),
        };
        Some(TransportSettings::Http {
            url: address?,
            headers: headers?,
            login: login?,
            certificate_authority: certificate_authority?,
        })
    }

    fn reject_keys(&self, keys: &[&str], place: &str, findings: &mut Vec<DocumentFinding>) {
        for (key, node) in keys.iter().filter_map(|key| Some((key, self.node.get(key)?))) {
            let message = format!("`{key}` has no meaning here");
            let remedy = format!("remove it: it belongs to {place}");
            findings.push(node.finding("config.server", message, remedy));
        }
    }

    fn expand_text(&self, node: &Node, findings: &mut Vec<DocumentFinding>) -> Option<String> {
        // The folder is inserted when an instance is started for it.
        let own = |reference: Reference<'_>| match (reference, self.sharing) {
            (Reference::Variable("workspaceFolder"), InstanceSharing::Folder) => {
                Ok(Some(WORKSPACE_FOLDER.to_owned()))
            }
            _ => (self.context.lookup)(reference),
        };
        expand_text(node, &ExpansionContext { lookup: &own, ..*self.context }, findings)
    }

    /// As [`Self::expand_text`], and not empty.
    fn expand_nonempty(&self, node: &Node, findings: &mut Vec<DocumentFinding>) -> Option<String> {
        let text = self.expand_text(node, findings)?;
        if text.trim().is_empty() {
            findings.push(node.finding(
                "config.text",
                "this is empty",
                "write a value or remove it",
            ));
            return None;
        }
        Some(text)
    }

    fn expand_map(
        &self,
        key: &str,
        legal: fn(&str) -> bool,
        rule: &str,
        findings: &mut Vec<DocumentFinding>,
    ) -> Option<BTreeMap<String, String>> {
        let Some(node) = self.node.get(key) else { return Some(BTreeMap::new()) };
        let table = node.table()?;
        let mut seen = BTreeSet::new();
        let mut read = Some(BTreeMap::new());
        for (name, node) in table {
            let value = self.expand_text(node, findings);
            let twice = key == "headers" && !seen.insert(name.to_ascii_lowercase());
            if !legal(name) || twice {
                let what = if twice { "appears twice here" } else { "is not a valid name" };
                let message = format!("`{}` {what}", excerpt(name));
                findings.push(node.finding(
                    "config.name",
                    message,
                    format!("use {rule}, and each name once"),
                ));
            }
            let broken = |value: &String| key == "headers" && value.chars().any(char::is_control);
            if value.as_ref().is_some_and(broken) {
                let message = "a control character in the value of a header";
                findings.push(node.finding(
                    "config.text",
                    message,
                    "remove it; often it is a trailing line break",
                ));
            }
            match (value, &mut read) {
                (Some(value), Some(read)) => drop(read.insert(name.clone(), value)),
                _ => read = None,
            }
        }
        read
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn is_header(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token)
}

/// True for an `http` or `https` URL with a host and without user info.
pub(super) fn is_address(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let clean = !url.chars().any(|c| c.is_control() || c.is_whitespace());
    known && clean && !host.is_empty() && !host.starts_with(':') && !host.contains('@')
}
