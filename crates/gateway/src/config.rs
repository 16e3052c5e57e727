//! The configuration of the gateway: `weaver.toml`.
//!
//! The file holds plumbing only: servers, paths, limits and one root public key. No setting in it
//! can loosen a decision; what would is refused by name. What an agent may do stands in three
//! documents that are signed under the root key.
//!
//! Reading has two steps: a pure parse into a tree that knows the place of every value, then
//! resolving, which gathers everything that is wrong before it refuses.
//!
//! ```toml
//! [principal]
//! id = "owner"
//!
//! [trust]
//! root = "ed25519:…"
//!
//! [mcpServers.files]
//! command = "npx"
//! args = ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/notes"]
//! ```

mod confine;
mod credential;
mod definition;
mod documents;
mod environment_file;
mod error;
mod expansion;
mod hint;
mod http;
mod interpolate;
mod log;
mod memory;
mod node;
mod oauth;
mod profile;
pub(crate) mod redaction;
mod resolve;
mod run;
pub(crate) mod sentinel;
mod server;
mod server_login;
mod server_table;
mod telemetry;
mod tool;
mod tool_section;
mod tree;
mod upstream;
mod word_table;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use weaver_firewall::SessionBudget;
use weaver_policy::PolicySet;
use weaver_types::signature::PublicKey;
use weaver_types::{PrincipalId, RunSettings, Timestamp};

use error::whole;
use interpolate::{Lookup, Reference};
use resolve::{ParsedFiles, ResolvedConfig};

use crate::bounded_file::{self, ReadError};
use crate::secret::{Keychain as _, KeychainError, SystemKeychain};

pub use definition::{json_schema, reference};
pub use error::ConfigErrors;
pub use http::{Http, ListenAddressError, TlsFiles, listen_address};
pub use log::{CheckpointTarget, Log, Signing, Target};
pub use memory::Memory;
pub use oauth::{IntrospectionClient, OAuthResource};
pub use profile::{ExecuteTools, Mode, Profile};
pub use sentinel::Sentinel;
pub(crate) use server::legal_name;
pub use telemetry::{LogFormat, Otlp, Telemetry};
pub use tool::{HttpTool, ProgramTool, SecretSource, TOOLS, Tool, ToolImplementation};
pub use upstream::{
    Assertion, IdentityExchange, Limits, ServerLogin, Sharing, Transport, Upstream,
    WORKSPACE_FOLDER,
};
pub use weaver_policy::Finding;
pub use word_table::{WordTable, WordTableError};

/// Documents that were refused, with everything that is wrong in them.
pub type PolicyError = ConfigErrors;

/// The name of a configuration where none is given.
pub const DEFAULT_NAME: &str = "weaver.toml";
/// What to do where there is none.
pub const NO_CONFIG_REMEDY: &str = "`weaver init` makes one; or name it with `--config FILE`";
/// The largest configuration file, in bytes.
pub const MAX_CONFIG: usize = 1024 * 1024;

/// The namespace of durable memory's tools.
pub(crate) const MEMORY: &str = "kernel";

/// A configuration in which nothing is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The file it was read from.
    pub file: PathBuf,
    /// What a client sees that asks for no profile.
    pub profile: Profile,
    /// What a client sees that asks for one, by the profiles' names.
    pub profiles: BTreeMap<String, Profile>,
    /// In proxy mode with one server: its tools keep their own names.
    pub unprefixed: bool,
    /// The table of word vectors that helps to find tools: the built-in one, unless the file names
    /// another or `none`.
    pub word_table: Option<WordTable>,
    /// How long a held call waits for an approval before it is refused; its request lives on. Without
    /// a setting, a call with a progress token waits 45 seconds, and any other does not wait.
    pub approval_wait: Option<Duration>,
    /// The sentinels that are armed; none unless the file names some.
    pub sentinels: BTreeSet<Sentinel>,
    /// Who owns this process; what they may do stands in the signed policy.
    pub principal: PrincipalId,
    /// Safety mode, language and caps of a run. Without caps unless the file sets them.
    pub run: RunSettings,
    /// The tokens that the frames of a run may come to; none are counted unless the file says so.
    pub session: Option<SessionBudget>,
    /// Whether masked values are told apart by numbers.
    pub placeholders: bool,
    /// The most tokens with which one result is shown; a rule of the signed policy may say more.
    pub frame_tokens: Option<u32>,
    /// The operator's own rules of redaction, as the files have them, beside the built-in ones.
    pub redaction: Vec<String>,
    /// After how long without a call a run ends.
    pub idle: Duration,
    /// The ledger.
    pub store: PathBuf,
    /// The folder into which signed approvals are dropped.
    pub inbox: PathBuf,
    /// How the log is signed and where its checkpoints go, and which payloads end.
    pub log: Log,
    /// Where clients are served over HTTP; nowhere unless the file says so.
    pub http: Option<Http>,
    /// How messages are written, and where traces and metrics go.
    pub telemetry: Telemetry,
    /// Durable memory as tools, where the file asks for it.
    pub memory: Option<Memory>,
    /// The key under which the documents are signed.
    pub root: PublicKey,
    /// The folder of the documents.
    pub folder: PathBuf,
    /// The other file of servers, where one is named.
    pub servers_file: Option<PathBuf>,
    /// The file of variables, where one is named.
    pub environment_file: Option<PathBuf>,
    /// Every file that any of this was read from.
    pub files: BTreeSet<PathBuf>,
    /// The servers, in the order of their names; disabled ones are left out.
    pub upstreams: Vec<Upstream>,
    /// The operator's own tools, in the order of their names.
    pub tools: Vec<Tool>,
}

impl Config {
    /// True when some client may see every tool under a name of its own.
    #[must_use]
    pub fn has_proxy(&self) -> bool {
        let mut profiles = self.profiles.values().chain([&self.profile]);
        profiles.any(|profile| profile.mode == Mode::Proxy)
    }

    /// The folder of the file, from which relative paths start.
    #[must_use]
    pub fn base(&self) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).to_path_buf()
    }
}

/// Reads a configuration. Variables come from the environment of this process, and secrets that the
/// configuration keeps there from the system's keychain.
///
/// # Errors
/// [`ConfigErrors`] with everything that is wrong in it.
pub fn load(path: impl AsRef<Path>) -> Result<Config, ConfigErrors> {
    load_resolved(path.as_ref(), &SystemReferences::default().lookup())
}

/// The store that a configuration names, without a look at the rest of it: what is wrong there, the
/// gateway says.
///
/// # Errors
/// [`ConfigErrors`], when the file cannot be read or its `[store]` is wrong.
pub fn store_of(path: impl AsRef<Path>) -> Result<PathBuf, ConfigErrors> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let text = config_text(path, &name).map_err(|finding| ConfigErrors::new(vec![*finding]))?;
    let toml = tree::toml(&name, &text).map_err(|finding| ConfigErrors::new(vec![*finding]))?;
    let mut findings = Vec::new();
    match resolve::store_path(path, &toml, &mut findings) {
        Some(store) if findings.is_empty() => Ok(store),
        _ => Err(ConfigErrors::new(findings)),
    }
}

/// As [`load`], with the variables that `lookup` knows. It is asked for the entry `NAME` of the
/// keychain as `keychain:NAME`; the system's keychain is not.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    path: impl AsRef<Path>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigErrors> {
    load_resolved(path.as_ref(), &|reference| {
        Ok(match reference {
            Reference::Variable(name) => lookup(name),
            Reference::Keychain(name) => lookup(&format!("keychain:{name}")),
        })
    })
}

/// As [`load`], where these variables count before those of the environment.
pub(crate) fn load_with_variables(
    path: &Path,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigErrors> {
    let system = SystemReferences::default();
    let system = system.lookup();
    load_resolved(path, &|reference| match reference {
        Reference::Variable(name) if let Some(value) = variables(name) => Ok(Some(value)),
        _ => system(reference),
    })
}

fn load_resolved(path: &Path, lookup: Lookup<'_>) -> Result<Config, ConfigErrors> {
    match read(path, lookup) {
        ResolvedConfig { config: Some(config), .. } => Ok(config),
        ResolvedConfig { findings, .. } => Err(ConfigErrors::new(findings)),
    }
}

/// Whether the signatures of documents are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureChecks {
    /// Documents that are not signed by the root key are refused.
    Required,
    /// Signatures are not looked at, and every decision made under the documents says so.
    Skipped,
}

impl SignatureChecks {
    /// What the option `--unsigned-development` asks for.
    #[must_use]
    pub fn unless(unsigned_development: bool) -> Self {
        if unsigned_development { Self::Skipped } else { Self::Required }
    }
}

/// Loads the three documents that the configuration names.
///
/// # Errors
/// [`ConfigErrors`] with everything that is wrong in any of them: files that cannot be read,
/// signatures, form, content, and documents that expired before `now`.
pub fn load_policy(
    config: &Config,
    checks: SignatureChecks,
    now: Timestamp,
) -> Result<PolicySet, ConfigErrors> {
    let root = match checks {
        SignatureChecks::Required => Some(&config.root),
        SignatureChecks::Skipped => None,
    };
    documents::load(&config.folder, root, now)
}

/// Reads a configuration and its documents for everything that is wrong in any of them, also when
/// the configuration alone would be refused.
///
/// # Errors
/// [`ConfigErrors`] with all of it.
pub fn check(path: impl AsRef<Path>, now: Timestamp) -> Result<(Config, PolicySet), ConfigErrors> {
    let ResolvedConfig { config, root, folder, mut findings } =
        read(path.as_ref(), &SystemReferences::default().lookup());
    let set = match &folder {
        None => None,
        Some(folder) => match documents::load(folder, root.as_ref(), now) {
            Ok(set) => {
                let id = config.as_ref().map(|config| &config.principal);
                findings.extend(id.and_then(|id| unknown_principal(&set, folder, id)));
                Some(set)
            }
            Err(errors) => {
                findings.extend(errors.findings().iter().cloned());
                None
            }
        },
    };
    match (config, set) {
        (Some(config), Some(set)) if findings.is_empty() => Ok((config, set)),
        _ => Err(ConfigErrors::new(findings)),
    }
}

/// A principal that the policy does not name: the gateway would not start.
fn unknown_principal(set: &PolicySet, folder: &Path, id: &PrincipalId) -> Option<Finding> {
    if set.principal(id).is_some() {
        return None;
    }
    let file = folder.join("policy.toml").display().to_string();
    let message = format!("the policy does not name the principal `{id}` of the configuration");
    let remedy = format!("write `[principals.\"{id}\"]` there with its roles, then sign it again");
    Some(whole(&file, "config.unknown_principal", message, remedy))
}

/// The environment of this process and the system's keychain. A keychain that failed once is not
/// asked again for the same configuration: each time could take as long as a person is waited for.
#[derive(Default)]
struct SystemReferences {
    failed: RefCell<Option<KeychainError>>,
}

impl SystemReferences {
    fn lookup(&self) -> impl Fn(Reference<'_>) -> Result<Option<String>, KeychainError> {
        |reference| match reference {
            Reference::Variable(name) => Ok(std::env::var(name).ok()),
            Reference::Keychain(name) => self.keychain_entry(name),
        }
    }

    fn keychain_entry(&self, name: &str) -> Result<Option<String>, KeychainError> {
        if let Some(error) = self.failed.borrow().as_ref() {
            return Err(error.clone());
        }
        let read = SystemKeychain.read(name);
        if let Err(error) = &read {
            self.failed.replace(Some(error.clone()));
        }
        Ok(read?.map(|value| value.to_string()))
    }
}

fn read(path: &Path, lookup: Lookup<'_>) -> ResolvedConfig {
    match parse(path) {
        Ok(parsed) => {
            // What the file of variables sets counts first: a gateway then runs alike, whatever
            // environment the client gives it.
            let own = |reference: Reference<'_>| match reference {
                Reference::Variable(name) if let Some(value) = parsed.variables.get(name) => {
                    Ok(Some(value.clone()))
                }
                _ => lookup(reference),
            };
            resolve::resolve(&parsed, &own)
        }
        Err(finding) => {
            ResolvedConfig { config: None, root: None, folder: None, findings: vec![*finding] }
        }
    }
}

/// Reads the files; an unreadable file of servers is noted at the key that names it.
fn parse(path: &Path) -> Result<ParsedFiles, Box<Finding>> {
    let name = path.display().to_string();
    let text = config_text(path, &name)?;
    let toml = tree::toml(&name, &text)?;
    let json = servers_file(path, &toml)?;
    let (json, servers_file) = json.unzip();
    let environment = environment_file::read(path, &toml)?;
    let environment_file = environment.as_ref().map(|file| file.path.clone());
    let variables = environment.unwrap_or_default().variables;
    Ok(ParsedFiles {
        file: path.to_path_buf(),
        toml,
        json,
        servers_file,
        variables,
        environment_file,
    })
}

fn config_text(path: &Path, name: &str) -> Result<String, Box<Finding>> {
    bounded_file::text(path, MAX_CONFIG).map_err(|error| {
        let message = match error {
            ReadError::Absent if path == Path::new(DEFAULT_NAME) => {
                "it is not here, in a folder above, or in your own folder".to_owned()
            }
            error => error.to_string(),
        };
        Box::new(whole(name, "config.unreadable", message, NO_CONFIG_REMEDY))
    })
}

fn servers_file(
    path: &Path,
    toml: &node::Node,
) -> Result<Option<(node::Node, PathBuf)>, Box<Finding>> {
    let Some(node) = toml.get("servers") else { return Ok(None) };
    let Some(name) = node.text() else { return Ok(None) };
    let path = path.parent().unwrap_or(Path::new("")).join(name);
    let text = bounded_file::text(&path, MAX_CONFIG).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Box::new(node.finding(
            "config.unreadable",
            message,
            "name the JSON file of your MCP servers",
        ))
    })?;
    let json = tree::json(&path.display().to_string(), &text)?;
    Ok(Some((json, path)))
}
