//! What a client sees: how tools are shown to it, and of which servers.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::Finding;
use weaver_text::suggest;
use weaver_types::{CapabilityId, UpstreamName};

use super::node::{Node, shown};

/// How many tools one browse shows where nothing is said.
const SHORTLIST: usize = 8;
pub(super) const MODES: [(&str, Mode); 2] = [("gateway", Mode::Gateway), ("proxy", Mode::Proxy)];
pub(super) const EXECUTE_TOOLS: [(&str, ExecuteTools); 2] =
    [("single", ExecuteTools::Single), ("by_class", ExecuteTools::ByClass)];

/// How tools are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Three tools: browse, execute, view. Schemas come on demand.
    Gateway,
    /// Every visible tool.
    Proxy,
}

/// With how many tools others are run, in gateway mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecuteTools {
    /// One runs all.
    Single,
    /// Three: one for those that read, one for those that write, one for those that destroy. So a
    /// client's own permissions can tell them apart.
    ByClass,
}

/// What a client sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// How tools are shown.
    pub mode: Mode,
    /// With how many tools others are run, in gateway mode.
    pub execute_tools: ExecuteTools,
    /// The most tools that one browse shows, from 1 to 20.
    pub shortlist: usize,
    /// The servers whose tools are shown; all of them without a list.
    pub servers: Option<BTreeSet<UpstreamName>>,
}

impl Default for Profile {
    fn default() -> Self {
        let execute_tools = ExecuteTools::Single;
        Self { mode: Mode::Gateway, execute_tools, shortlist: SHORTLIST, servers: None }
    }
}

impl Profile {
    /// True when a capability is in view. The operator's own tools and memory always are.
    #[must_use]
    pub fn shows(&self, id: &CapabilityId) -> bool {
        let Some(servers) = &self.servers else { return true };
        let Some((server, _)) = id.as_str().split_once('.') else { return false };
        server == super::TOOLS
            || server == super::MEMORY
            || servers.iter().any(|name| name.as_str() == server)
    }

    /// The profile as a section has it; what it does not say is as in `usual`.
    pub(super) fn read(section: Option<&Node>, usual: &Self) -> Self {
        let get = |name: &str| section?.get(name);
        let mode = get("mode").and_then(|node| node.word(&MODES));
        let execute_tools = get("execute_tools").and_then(|node| node.word(&EXECUTE_TOOLS));
        let shortlist = get("shortlist").and_then(Node::whole);
        let shortlist = shortlist.and_then(|n| usize::try_from(n).ok());
        Self {
            mode: mode.unwrap_or(usual.mode),
            execute_tools: execute_tools.unwrap_or(usual.execute_tools),
            shortlist: shortlist.unwrap_or(usual.shortlist),
            servers: usual.servers.clone(),
        }
    }
}

/// The profiles by their names: `[profiles.NAME]`.
pub(super) fn profiles(
    node: Option<&Node>,
    usual: &Profile,
    servers: &[&UpstreamName],
    out: &mut Vec<Finding>,
) -> BTreeMap<String, Profile> {
    let Some(table) = node.and_then(Node::table) else { return BTreeMap::new() };
    let read = table.iter().map(|(name, node)| {
        if UpstreamName::parse(name.as_str()).is_err() {
            let message = format!("`{}` cannot name a profile", shown(name));
            let remedy = "use up to 32 of a-z, 0-9, `_` and `-`";
            out.push(node.finding("config.profile_name", message, remedy));
        }
        let profile = Profile::read(Some(node), usual);
        let servers = node.get("servers").map(|list| named_servers(list, servers, out));
        (name.clone(), Profile { servers: servers.or(profile.servers), ..profile })
    });
    read.collect()
}

/// The servers of a list, each of which must be configured.
fn named_servers(
    list: &Node,
    servers: &[&UpstreamName],
    out: &mut Vec<Finding>,
) -> BTreeSet<UpstreamName> {
    let mut named = BTreeSet::new();
    for node in list.list() {
        let Some(text) = node.text() else { continue };
        match servers.iter().find(|name| name.as_str() == text) {
            Some(name) => {
                named.insert((*name).clone());
            }
            None => {
                let message = format!("there is no server `{}`", shown(text));
                let known = servers.iter().map(|name| name.as_str());
                let remedy = match suggest::nearest(text, known.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("name one of {}", known.collect::<Vec<_>>().join(", ")),
                };
                out.push(node.finding("config.unknown_server", message, remedy));
            }
        }
    }
    named
}
