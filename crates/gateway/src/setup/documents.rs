//! The texts of a new gateway: `weaver.toml` and the three signed documents.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use weaver_policy_analysis::propose::{ContractProposal, contracts_document};
use weaver_types::signature::PublicKey;
use weaver_types::{CapabilityId, TIMEOUT_MS};

use super::posture::Posture;
use super::review::Review;
use super::secrets;
use super::selection::{SelectedServer, Selection};
use crate::clients::ServerTransport;
use crate::config::ToolListMode;

/// The file with the servers' secrets, relative to the gateway's folder.
pub(super) const SECRETS_FILE: &str = ".weaver/secrets.env";
/// The private keys, relative to the gateway's folder.
pub(super) const ROOT_KEY: &str = ".weaver/keys/root.key";
pub(super) const OWNER_KEY: &str = ".weaver/keys/owner.key";

/// Where `weaver init` puts the root key, beside the configuration in `folder`.
#[must_use]
pub fn root_key_file(folder: &Path) -> PathBuf {
    folder.join(ROOT_KEY)
}

/// Where `weaver init` puts the key of the approver, beside the configuration in `folder`.
#[must_use]
pub fn owner_key_file(folder: &Path) -> PathBuf {
    folder.join(OWNER_KEY)
}
/// How long a server may take to start unless its section says, and the most that this may say.
const START_TIMEOUT_MS: u64 = 60_000;
const MAX_START_TIMEOUT_MS: u64 = 600_000;
/// Up to this many tools, clients see each tool under its own name.
const MAX_PROXY_TOOLS: usize = 40;

/// The texts of a gateway's folder before anything is written.
#[derive(Debug, Clone)]
pub struct GatewayDraft {
    /// `weaver.toml`.
    pub config: String,
    /// The file of secrets, if there are any.
    pub secrets: Option<String>,
    /// The policy.
    pub policy: String,
    /// The contracts.
    pub contracts: String,
    /// The keys.
    pub keys: String,
}

/// The public keys of a new gateway.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublicKeys<'a> {
    pub(super) root: &'a PublicKey,
    pub(super) owner: &'a PublicKey,
}

impl GatewayDraft {
    /// A draft for starting and listing the servers: without rules and contracts.
    pub(super) fn for_listing(selection: &Selection, keys: PublicKeys<'_>, work: &Path) -> Self {
        Self {
            config: config(selection, keys.root, ToolListMode::Gateway, work),
            secrets: selection.has_secrets_file().then(|| secrets::file_text(&selection.secrets)),
            policy: policy(Posture::Locked, Posture::Locked.rules()),
            contracts: contracts(&BTreeMap::new()),
            keys: keys_document(keys.owner),
        }
    }

    /// The draft after the review.
    pub(super) fn from_review(
        selection: &Selection,
        review: &Review,
        keys: PublicKeys<'_>,
        work: &Path,
    ) -> Self {
        let tools = review.rows().len();
        let mode =
            if tools <= MAX_PROXY_TOOLS { ToolListMode::Proxy } else { ToolListMode::Gateway };
        Self {
            config: config(selection, keys.root, mode, work),
            policy: policy(review.posture(), &review.rules()),
            contracts: contracts(&review.contracts()),
            ..Self::for_listing(selection, keys, work)
        }
    }
}

fn config(selection: &Selection, root: &PublicKey, mode: ToolListMode, work: &Path) -> String {
    let environment = if selection.has_secrets_file() {
        format!(
            "\n# Variables for the servers below; for this user alone.\nenvironment = \"{SECRETS_FILE}\"\n"
        )
    } else {
        String::new()
    };
    let mode = match mode {
        ToolListMode::Proxy => {
            "proxy\"     # every tool under a name of its own; `gateway` shows three tools instead"
        }
        ToolListMode::Gateway => {
            concat!(
                "gateway\"   # a few tools that find and run the others; `proxy` shows all of them\n",
                "execute_tools = \"by_class\"   # one runs what reads, one what writes, one what destroys\n\n",
                "# For clients that search among tools themselves; `weaver connect` starts these with it.\n",
                "[profiles.native-search]\nmode = \"proxy\""
            )
        }
    };
    let mut out = include_str!("templates/weaver.toml")
        .replace("{environment}", &environment)
        .replace("{root_key}", ROOT_KEY)
        .replace("{root}", &root.to_string())
        .replace("{work_folder}", &toml_string(&work.display().to_string()))
        .replace("{mode}\"", mode);
    for server in &selection.servers {
        out.push_str(&ServerSection(server).to_string());
    }
    out
}

/// The profile for clients that search among tools themselves.
pub const SEARCH_PROFILE: &str = "native-search";

/// A server as a section of `weaver.toml`.
#[derive(Debug)]
pub struct ServerSection<'a>(pub &'a SelectedServer);

impl std::fmt::Display for ServerSection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(server) = self;
        writeln!(f)?;
        for origin in &server.origins {
            writeln!(f, "{}", origin.comment())?;
        }
        writeln!(f, "[mcpServers.{}]", server.name)?;
        match &server.entry.transport {
            ServerTransport::Program { command, args, env, cwd } => {
                writeln!(f, "command = {}", toml_string(command))?;
                if !args.is_empty() {
                    let args: Vec<String> = args.iter().map(|arg| toml_string(arg)).collect();
                    writeln!(f, "args = [{}]", args.join(", "))?;
                }
                if !env.is_empty() {
                    writeln!(f, "env = {}", inline_table(env))?;
                }
                if let Some(cwd) = cwd {
                    writeln!(f, "cwd = {}", toml_string(&cwd.display().to_string()))?;
                }
            }
            ServerTransport::Address { url, headers } => {
                writeln!(f, "url = {}", toml_string(url))?;
                if !headers.is_empty() {
                    writeln!(f, "headers = {}", inline_table(headers))?;
                }
            }
        }
        let projects = server.projects().into_iter();
        let projects: Vec<_> =
            projects.map(|one| toml_string(&one.display().to_string())).collect();
        if !projects.is_empty() {
            writeln!(f, "projects = [{}]", projects.join(", "))?;
        }
        if let Some(timeout) = server.entry.timeout_ms {
            let (shortest, longest) = (*TIMEOUT_MS.start(), *TIMEOUT_MS.end());
            writeln!(f, "timeout_ms = {}", timeout.clamp(shortest.into(), longest.into()))?;
        }
        // A shorter time than the usual one would only make its start fail.
        if let Some(timeout) = server.entry.start_timeout_ms.filter(|ms| *ms > START_TIMEOUT_MS) {
            writeln!(f, "initialize_timeout_ms = {}", timeout.min(MAX_START_TIMEOUT_MS))?;
        }
        Ok(())
    }
}

fn inline_table(map: &BTreeMap<String, String>) -> String {
    let entry =
        |(name, value): (&String, &String)| format!("{} = {}", toml_key(name), toml_string(value));
    format!("{{ {} }}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
}

fn toml_key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { toml_string(name) }
}

/// A text as a TOML string.
pub(super) fn toml_string(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn policy(posture: Posture, rules: &str) -> String {
    let head = posture.policy_head();
    let head = include_str!("templates/policy.toml")
        .replace("{enforcement}", head.enforcement_line)
        .replace("{trusted_destinations}", posture.trusted_destinations());
    format!("{head}{rules}")
}

pub(super) fn contracts(proposals: &BTreeMap<CapabilityId, ContractProposal>) -> String {
    let text = contracts_document("contracts", proposals);
    format!("#:schema contracts.schema.json\n{text}")
}

fn keys_document(owner: &PublicKey) -> String {
    include_str!("templates/keys.toml").replace("{owner}", &owner.to_string())
}

/// The contents of a rule about tools.
pub(super) struct ToolRule<'a> {
    pub(super) name: &'a str,
    pub(super) effect: &'a str,
    /// Further lines, each preceded by a line break.
    pub(super) extra_lines: &'a str,
}

/// The text of a rule about these tools.
pub(super) fn tool_rule_text<T: AsRef<str>>(
    rule: &ToolRule<'_>,
    tools: &[T],
    reason: &str,
) -> String {
    let ToolRule { name, effect, extra_lines } = rule;
    let list: Vec<String> = tools.iter().map(|id| toml_string(id.as_ref())).collect();
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "\n[[rules]]\nname = \"{name}\"\nmatch = {{ capability = [{}] }}\neffect = \"{effect}\"{extra_lines}\nreason = {}\n",
        list.join(", "),
        toml_string(reason)
    );
    out
}

#[cfg(test)]
mod tests {
    use weaver_types::signature::SigningKey;

    use super::*;

    #[test]
    fn many_tools_are_run_by_their_class_and_shown_to_clients_that_search() {
        let key = SigningKey::from_seed([1; 32]).public();
        let text = |mode| config(&Selection::default(), &key, mode, Path::new("/work"));
        let many: toml::Table = text(ToolListMode::Gateway).parse().unwrap();
        assert_eq!(many["gateway"]["execute_tools"].as_str(), Some("by_class"));
        assert_eq!(many["profiles"][SEARCH_PROFILE]["mode"].as_str(), Some("proxy"));
        let few: toml::Table = text(ToolListMode::Proxy).parse().unwrap();
        assert_eq!(few["gateway"]["mode"].as_str(), Some("proxy"));
        assert!(!few.contains_key("profiles"));
    }
}
