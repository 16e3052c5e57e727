//! The texts of a new gateway: `weaver.toml` and the three documents.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weaver_policy_analysis::propose::{Proposal, contracts_document};
use weaver_types::CapabilityId;
use weaver_types::signature::PublicKey;

use super::posture::Posture;
use super::review::Review;
use super::secrets;
use super::selection::{SelectedServer, Selection};
use crate::clients::ServerTransport;
use crate::config::Mode;

/// Where the secrets of servers are kept, from the gateway's folder.
pub(super) const SECRETS: &str = ".weaver/secrets.env";
/// Where the private keys are, from the gateway's folder.
pub(super) const ROOT_KEY: &str = ".weaver/keys/root.key";
pub(super) const OWNER_KEY: &str = ".weaver/keys/owner.key";
/// Up to this many tools, clients see each under its own name.
const FEW_TOOLS: usize = 40;

/// The texts of a gateway's folder, before anything is written.
#[derive(Debug, Clone)]
pub struct Draft {
    /// `weaver.toml`.
    pub config: String,
    /// The file of secrets, where there are any.
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

impl Draft {
    /// A draft from which servers can be started: it has no rules and no contracts.
    pub(super) fn of_servers(selection: &Selection, keys: PublicKeys<'_>) -> Self {
        Self {
            config: config(selection, keys.root, Mode::Gateway),
            secrets: selection.has_secrets_file().then(|| secrets::file_text(&selection.secrets)),
            policy: policy(Posture::Locked, Posture::Locked.rules()),
            contracts: contracts(&BTreeMap::new()),
            keys: keys_document(keys.owner),
        }
    }

    /// The texts after the review.
    pub(super) fn reviewed(selection: &Selection, review: &Review, keys: PublicKeys<'_>) -> Self {
        let tools = review.rows().len();
        let mode = if tools <= FEW_TOOLS { Mode::Proxy } else { Mode::Gateway };
        Self {
            config: config(selection, keys.root, mode),
            policy: policy(review.posture(), &review.rules()),
            contracts: contracts(&review.contracts()),
            ..Self::of_servers(selection, keys)
        }
    }
}

fn config(selection: &Selection, root: &PublicKey, mode: Mode) -> String {
    let environment = if selection.has_secrets_file() {
        format!(
            "\n# Variables for the servers below; for this user alone.\nenvironment = \"{SECRETS}\"\n"
        )
    } else {
        String::new()
    };
    let mode = match mode {
        Mode::Proxy => {
            "proxy\"     # every tool under a name of its own; `gateway` shows three tools instead"
        }
        Mode::Gateway => {
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
        .replace("{mode}\"", mode);
    for server in &selection.servers {
        out.push_str(&ServerSection(server).to_string());
    }
    out
}

/// The profile of clients that search among tools themselves, where there is one.
pub const SEARCH_PROFILE: &str = "native-search";

/// A server as a section of `weaver.toml`.
#[derive(Debug)]
pub struct ServerSection<'a>(pub &'a SelectedServer);

impl std::fmt::Display for ServerSection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(server) = self;
        writeln!(f)?;
        for origin in &server.origins {
            let called = weaver_text::escape::line(&origin.name);
            let file = origin.file.display().to_string();
            writeln!(
                f,
                "# From {}, `{called}` in {}",
                origin.client,
                weaver_text::escape::line(&file)
            )?;
        }
        writeln!(f, "[mcpServers.{}]", server.name)?;
        match &server.entry.transport {
            ServerTransport::Program { command, args, env, cwd } => {
                writeln!(f, "command = {}", quoted(command))?;
                if !args.is_empty() {
                    let args: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
                    writeln!(f, "args = [{}]", args.join(", "))?;
                }
                if !env.is_empty() {
                    writeln!(f, "env = {}", inline(env))?;
                }
                if let Some(cwd) = cwd {
                    writeln!(f, "cwd = {}", quoted(&cwd.display().to_string()))?;
                }
            }
            ServerTransport::Address { url, headers } => {
                writeln!(f, "url = {}", quoted(url))?;
                if !headers.is_empty() {
                    writeln!(f, "headers = {}", inline(headers))?;
                }
            }
        }
        match server.entry.timeout_ms {
            Some(timeout) => writeln!(f, "timeout_ms = {}", timeout.clamp(100, 60_000)),
            None => Ok(()),
        }
    }
}

fn inline(map: &BTreeMap<String, String>) -> String {
    let entry = |(name, value): (&String, &String)| format!("{} = {}", key(name), quoted(value));
    format!("{{ {} }}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
}

fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A text as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn policy(posture: Posture, rules: &str) -> String {
    let said = posture.enforcement();
    let head = include_str!("templates/policy.toml")
        .replace("{root_key}", &format!("../{ROOT_KEY}"))
        .replace("{format}", &said.format.to_string())
        .replace("{enforcement}", said.line)
        .replace("{trusted_destinations}", posture.trusted_destinations());
    format!("{head}{rules}")
}

pub(super) fn contracts(proposals: &BTreeMap<CapabilityId, Proposal>) -> String {
    let text = contracts_document("contracts", proposals);
    format!("#:schema contracts.schema.json\n{text}")
}

fn keys_document(owner: &PublicKey) -> String {
    include_str!("templates/keys.toml")
        .replace("{owner_key}", OWNER_KEY)
        .replace("{owner}", &owner.to_string())
}

/// What a rule about tools says.
pub(super) struct ToolRule<'a> {
    pub(super) name: &'a str,
    pub(super) effect: &'a str,
    /// More lines, each with a line break before it.
    pub(super) more: &'a str,
}

/// A rule about these tools.
pub(super) fn rule(rule: &ToolRule<'_>, tools: &[&CapabilityId], reason: &str) -> String {
    let ToolRule { name, effect, more } = rule;
    let list: Vec<String> = tools.iter().map(|id| quoted(id.as_str())).collect();
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "\n[[rules]]\nname = \"{name}\"\nmatch = {{ capability = [{}] }}\neffect = \"{effect}\"{more}\nreason = {}\n",
        list.join(", "),
        quoted(reason)
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
        let text = |mode| config(&Selection::default(), &key, mode);
        let many: toml::Table = text(Mode::Gateway).parse().unwrap();
        assert_eq!(many["gateway"]["execute_tools"].as_str(), Some("by_class"));
        assert_eq!(many["profiles"][SEARCH_PROFILE]["mode"].as_str(), Some("proxy"));
        let few: toml::Table = text(Mode::Proxy).parse().unwrap();
        assert_eq!(few["gateway"]["mode"].as_str(), Some("proxy"));
        assert!(!few.contains_key("profiles"));
    }
}
