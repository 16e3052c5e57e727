//! Profiles: which tools a client sees, and in which form.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::DocumentFinding;
use weaver_text::suggest;
use weaver_types::{CapabilityId, UpstreamName};

use super::node::{Node, excerpt};

/// The default number of tools in one browse result.
const DEFAULT_SHORTLIST: usize = 8;
pub(super) const MODES: [(&str, ToolListMode); 2] =
    [("gateway", ToolListMode::Gateway), ("proxy", ToolListMode::Proxy)];
pub(super) const EXECUTE_TOOLS: [(&str, ExecuteTools); 2] =
    [("single", ExecuteTools::Single), ("by_class", ExecuteTools::ByClass)];

/// How tools are presented to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolListMode {
    /// As three tools: browse, execute and view. Schemas are shown on request.
    Gateway,
    /// Every visible tool under its own name.
    Proxy,
}

/// Which execute tools gateway mode offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecuteTools {
    /// One that executes all tools.
    Single,
    /// Three: for tools that read, write and destroy, so that a client's own permissions can
    /// distinguish them.
    ByClass,
}

/// What a client sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProfile {
    /// How tools are presented.
    pub mode: ToolListMode,
    /// Which execute tools gateway mode offers.
    pub execute_tools: ExecuteTools,
    /// The most tools in one browse result, from 1 to 20.
    pub shortlist: usize,
    /// The servers whose tools are visible; `None` means all.
    pub servers: Option<BTreeSet<UpstreamName>>,
}

impl Default for ClientProfile {
    fn default() -> Self {
        let execute_tools = ExecuteTools::Single;
        Self {
            mode: ToolListMode::Gateway,
            execute_tools,
            shortlist: DEFAULT_SHORTLIST,
            servers: None,
        }
    }
}

impl ClientProfile {
    /// True if a capability is visible. The operator's own tools and memory always are.
    #[must_use]
    pub fn shows(&self, id: &CapabilityId) -> bool {
        let Some(servers) = &self.servers else { return true };
        let Some((server, _)) = id.as_str().split_once('.') else { return false };
        server == super::OWN_TOOLS_NAMESPACE
            || server == super::MEMORY_NAMESPACE
            || servers.iter().any(|name| name.as_str() == server)
    }

    /// True if the tools of a server are visible.
    #[must_use]
    pub fn shows_server(&self, server: &UpstreamName) -> bool {
        self.servers.as_ref().is_none_or(|servers| servers.contains(server))
    }

    /// Parses a profile; missing keys are taken from `defaults`.
    pub(super) fn read(section: Option<&Node>, defaults: &Self) -> Self {
        let get = |name: &str| section?.get(name);
        let mode = get("mode").and_then(|node| node.word(&MODES));
        let execute_tools = get("execute_tools").and_then(|node| node.word(&EXECUTE_TOOLS));
        let shortlist = get("shortlist").and_then(Node::integer);
        let shortlist = shortlist.and_then(|n| usize::try_from(n).ok());
        Self {
            mode: mode.unwrap_or(defaults.mode),
            execute_tools: execute_tools.unwrap_or(defaults.execute_tools),
            shortlist: shortlist.unwrap_or(defaults.shortlist),
            servers: defaults.servers.clone(),
        }
    }
}

/// Parses the profiles: `[profiles.NAME]`.
pub(super) fn profiles(
    node: Option<&Node>,
    defaults: &ClientProfile,
    servers: &[&UpstreamName],
    findings: &mut Vec<DocumentFinding>,
) -> BTreeMap<String, ClientProfile> {
    let Some(table) = node.and_then(Node::table) else { return BTreeMap::new() };
    let read = table.iter().map(|(name, node)| {
        if UpstreamName::parse(name.as_str()).is_err() {
            let message = format!("`{}` cannot name a profile", excerpt(name));
            let remedy = "use up to 32 of a-z, 0-9, `_` and `-`";
            findings.push(node.finding("config.profile_name", message, remedy));
        }
        let profile = ClientProfile::read(Some(node), defaults);
        let servers = node.get("servers").map(|list| named_servers(list, servers, findings));
        (name.clone(), ClientProfile { servers: servers.or(profile.servers), ..profile })
    });
    read.collect()
}

/// The servers of a list, each of which must be configured.
fn named_servers(
    list: &Node,
    servers: &[&UpstreamName],
    findings: &mut Vec<DocumentFinding>,
) -> BTreeSet<UpstreamName> {
    let mut named = BTreeSet::new();
    for node in list.list() {
        let Some(text) = node.text() else { continue };
        match servers.iter().find(|name| name.as_str() == text) {
            Some(name) => {
                named.insert((*name).clone());
            }
            None => {
                let message = format!("there is no server `{}`", excerpt(text));
                let known = servers.iter().map(|name| name.as_str());
                let remedy = match suggest::nearest(text, known.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("name one of {}", known.collect::<Vec<_>>().join(", ")),
                };
                findings.push(node.finding("config.unknown_server", message, remedy));
            }
        }
    }
    named
}
