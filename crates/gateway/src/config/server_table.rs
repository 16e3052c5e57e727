//! The servers of a configuration: `[mcpServers]`, and the JSON file of an MCP client.

use std::collections::BTreeMap;
use std::path::Path;

use weaver_policy::DocumentFinding;

use super::definition::SERVERS;
use super::error::file_finding;
use super::expansion::ExpansionContext;
use super::node::{Node, excerpt};
use super::server;
use super::upstream::UpstreamSettings;

/// The most servers.
const MAX_SERVERS: usize = 100;

/// A name reserved for the gateway's own tools if the configuration has this section.
pub(super) struct ReservedName<'a> {
    pub(super) section: Option<&'a Node>,
    pub(super) name: &'a str,
    /// The tools that begin with the name, for a message.
    pub(super) owner: &'a str,
}

/// Reports servers with a reserved name.
pub(super) fn check_reserved(
    reserved: &ReservedName<'_>,
    upstreams: &[UpstreamSettings],
    findings: &mut Vec<DocumentFinding>,
) {
    let ReservedName { section, name, owner } = reserved;
    let taken = upstreams.iter().any(|upstream| upstream.name.as_str() == *name);
    if let Some(node) = section.filter(|_| taken) {
        let message = format!("a server is called `{name}`, which is how {owner} begin");
        findings.push(node.finding(
            "config.server_name",
            message,
            "call the server something else",
        ));
    }
}

/// The sections that declare servers.
pub(super) struct ServerSections<'a> {
    pub(super) file: &'a Path,
    pub(super) toml: Option<&'a Node>,
    pub(super) json: Option<&'a Node>,
    /// Something else offers tools, so that no server is needed.
    pub(super) optional: bool,
}

/// The servers; without one, the operator's own tools or memory must do.
pub(super) fn upstreams(
    sections: &ServerSections<'_>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Vec<UpstreamSettings> {
    let toml = sections.toml.and_then(Node::table);
    let json = sections.json.and_then(|node| servers_of(node, findings));
    let mut all = BTreeMap::new();
    for (name, node) in toml.into_iter().flatten().chain(json.into_iter().flatten()) {
        if all.insert(name.as_str(), node).is_some() {
            let message = format!("the server `{}` stands in both files", excerpt(name));
            findings.push(node.finding("config.server_twice", message, "keep one of the two"));
        }
    }
    let read: Vec<UpstreamSettings> =
        all.iter().filter_map(|(name, node)| server::read(name, node, context, findings)).collect();
    let file = sections.file.display().to_string();
    if read.len() > MAX_SERVERS {
        let message = format!("{} servers, at most {MAX_SERVERS} are allowed", read.len());
        findings.push(file_finding(&file, "config.servers", message, "remove or disable some"));
    }
    let is_off = |node: &&Node| node.get("disabled").and_then(Node::flag) == Some(true);
    if !sections.optional && all.values().all(is_off) {
        let remedy = "write `[mcpServers.NAME]` with a `command` or a `url`, or name the file of \
                      your MCP client: `servers = \"mcp.json\"`";
        findings.push(file_finding(
            &file,
            "config.no_servers",
            "no server is given and enabled",
            remedy,
        ));
    }
    read
}

/// The servers in an MCP client's file. Other settings of that client are ignored.
fn servers_of<'n>(
    node: &'n Node,
    findings: &mut Vec<DocumentFinding>,
) -> Option<&'n BTreeMap<String, Node>> {
    match node.get("mcpServers") {
        Some(servers) => {
            SERVERS.check(servers, findings);
            servers.table()
        }
        None => {
            let message = "`mcpServers` is missing";
            let remedy = "write {\"mcpServers\": {\"NAME\": {\"command\": \"…\"}}}";
            findings.push(node.finding("config.missing_key", message, remedy));
            None
        }
    }
}
