//! The configuration of the gateway: `weaver.toml`.
//!
//! The file contains only plumbing: servers, paths, limits and one root public key. No setting can
//! loosen a decision; keys that would are refused by name. What an agent may do is in three
//! documents signed under the root key.
//!
//! Reading has two steps: parsing into a tree that knows the position of every value, then
//! resolving, which collects all problems before it refuses.
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
mod word_vectors;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use weaver_firewall::SessionBudget;
use weaver_policy::PolicySet;
use weaver_types::signature::PublicKey;
use weaver_types::{PrincipalId, RunSettings, Timestamp};

use error::file_finding;
use interpolate::{Reference, ReferenceLookup};
use resolve::{ParsedFiles, ResolvedConfig};

use crate::bounded_file::{self, ReadError};
use crate::secret::{Keychain as _, KeychainError, SystemKeychain};

pub use definition::{json_schema, reference};
pub use error::ConfigErrors;
pub use http::{HttpSettings, ListenAddressError, TlsFiles, listen_address};
pub use log::{CheckpointSigning, CheckpointTarget, LogSettings, PublishTarget};
pub use memory::MemorySettings;
pub use oauth::{IntrospectionClient, OAuthResource};
pub use profile::{ClientProfile, ExecuteTools, ToolListMode};
pub use sentinel::Sentinel;
pub(crate) use server::legal_name;
pub use telemetry::{LogFormat, OtlpSettings, TelemetrySettings};
pub use tool::{
    HttpTool, OWN_TOOLS_NAMESPACE, OwnTool, ProgramTool, SecretSource, ToolImplementation,
};
pub use upstream::{
    Assertion, CallLimits, IdentityExchange, InstanceSharing, ServerLogin, TransportSettings,
    UpstreamSettings, WORKSPACE_FOLDER,
};
pub use weaver_policy::DocumentFinding;
pub use word_vectors::{WordVectorError, WordVectorSource};

/// The file name that is searched if none is given.
pub const DEFAULT_FILE_NAME: &str = "weaver.toml";
/// The remedy if there is none.
pub const NO_CONFIG_REMEDY: &str = "`weaver init` makes one; or name it with `--config FILE`";
/// The largest configuration file.
pub const MAX_CONFIG_BYTES: usize = 1024 * 1024;

/// The namespace of durable memory's tools.
pub(crate) const MEMORY_NAMESPACE: &str = "kernel";

/// A valid configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The file it was read from.
    pub file: PathBuf,
    /// The profile of clients that request none.
    pub profile: ClientProfile,
    /// The profiles that clients may request, by name.
    pub profiles: BTreeMap<String, ClientProfile>,
    /// In proxy mode with one server: its tools keep their own names.
    pub unprefixed: bool,
    /// The word vectors used to find tools: the built-in table, unless the file names another one
    /// or `none`.
    pub word_table: Option<WordVectorSource>,
    /// How long a held call waits for an approval before it is refused; its request stays open.
    /// Without a setting, a call with a progress token waits 45 seconds, and any other does not
    /// wait.
    pub approval_timeout: Option<Duration>,
    /// The armed sentinels; none by default.
    pub sentinels: BTreeSet<Sentinel>,
    /// The owner of this process; the signed policy says what the owner may do.
    pub principal: PrincipalId,
    /// Safety mode, language and caps of a run. There are no caps by default.
    pub run: RunSettings,
    /// The token budget for the frames of a run; tokens are not counted by default.
    pub session_budget: Option<SessionBudget>,
    /// Whether masks are numbered, so that masked values can be told apart.
    pub placeholders: bool,
    /// The most tokens shown of one result; a rule of the signed policy may allow more.
    pub frame_tokens: Option<u32>,
    /// The operator's redaction rule files, used in addition to the built-in rules.
    pub redaction_rules: Vec<String>,
    /// A run ends after this time without a call.
    pub idle_timeout: Duration,
    /// The ledger file.
    pub store_path: PathBuf,
    /// The folder for signed approvals.
    pub inbox: PathBuf,
    /// How the log is signed, where checkpoints are published, and which payloads are deleted.
    pub log: LogSettings,
    /// The HTTP endpoint for clients; none by default.
    pub http: Option<HttpSettings>,
    /// The format of messages, and the collector for traces and metrics.
    pub telemetry: TelemetrySettings,
    /// Durable memory as tools, if configured.
    pub memory: Option<MemorySettings>,
    /// The key that the documents must be signed with.
    pub root_key: PublicKey,
    /// The folder of the signed documents.
    pub documents_folder: PathBuf,
    /// The additional file of servers, if any.
    pub servers_file: Option<PathBuf>,
    /// The file of variables, if any.
    pub environment_file: Option<PathBuf>,
    /// All files that the configuration was read from.
    pub source_files: BTreeSet<PathBuf>,
    /// The enabled servers, in the order of their names.
    pub upstreams: Vec<UpstreamSettings>,
    /// The operator's own tools, in the order of their names.
    pub tools: Vec<OwnTool>,
}

impl Config {
    /// True if at least one profile lists every tool under its own name.
    #[must_use]
    pub fn has_proxy(&self) -> bool {
        let mut profiles = self.profiles.values().chain([&self.profile]);
        profiles.any(|profile| profile.mode == ToolListMode::Proxy)
    }

    /// The folder of the file, to which relative paths refer.
    #[must_use]
    pub fn base(&self) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).to_path_buf()
    }
}

/// Reads a configuration. Variables come from the process environment, and keychain references from
/// the system's keychain.
///
/// # Errors
/// [`ConfigErrors`] with all problems.
pub fn load(path: impl AsRef<Path>) -> Result<Config, ConfigErrors> {
    load_resolved(path.as_ref(), &SystemLookup::default().lookup())
}

/// The store that a configuration names, without checking the rest: the gateway reports other
/// problems when it starts.
///
/// # Errors
/// [`ConfigErrors`], if the file cannot be read or its `[store]` is invalid.
pub fn load_store_path(path: impl AsRef<Path>) -> Result<PathBuf, ConfigErrors> {
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

/// As [`load`], with variables from `lookup`. The keychain entry `NAME` is looked up there as
/// `keychain:NAME`; the system's keychain is not used.
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

/// As [`load`], with variables that take precedence over the environment.
pub(crate) fn load_with_variables(
    path: &Path,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigErrors> {
    let system = SystemLookup::default();
    let system = system.lookup();
    load_resolved(path, &|reference| match reference {
        Reference::Variable(name) if let Some(value) = variables(name) => Ok(Some(value)),
        _ => system(reference),
    })
}

fn load_resolved(path: &Path, lookup: ReferenceLookup<'_>) -> Result<Config, ConfigErrors> {
    match read_config(path, lookup) {
        ResolvedConfig { config: Some(config), .. } => Ok(config),
        ResolvedConfig { findings, .. } => Err(ConfigErrors::new(findings)),
    }
}

/// Whether the signatures of documents are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureChecks {
    /// Documents that are not signed by the root key are refused.
    Required,
    /// Signatures are not verified, and every decision under these documents records that.
    Skipped,
}

impl SignatureChecks {
    /// The choice made by the option `--unsigned-development`.
    #[must_use]
    pub fn unless(unsigned_development: bool) -> Self {
        if unsigned_development { Self::Skipped } else { Self::Required }
    }
}

/// Loads the three documents that the configuration names.
///
/// # Errors
/// [`ConfigErrors`] with all problems: unreadable files, signatures, form, content, and documents
/// that expired before `now`.
pub fn load_policy(
    config: &Config,
    checks: SignatureChecks,
    now: Timestamp,
) -> Result<PolicySet, ConfigErrors> {
    let root = match checks {
        SignatureChecks::Required => Some(&config.root_key),
        SignatureChecks::Skipped => None,
    };
    documents::load(&config.documents_folder, root, now)
}

/// Checks a configuration and its documents, and reports all problems of both.
///
/// # Errors
/// [`ConfigErrors`] with all of it.
pub fn check(path: impl AsRef<Path>, now: Timestamp) -> Result<(Config, PolicySet), ConfigErrors> {
    let ResolvedConfig { config, root, documents_folder: folder, mut findings } =
        read_config(path.as_ref(), &SystemLookup::default().lookup());
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

/// A finding if the policy does not name the principal, because the gateway would not start.
fn unknown_principal(set: &PolicySet, folder: &Path, id: &PrincipalId) -> Option<DocumentFinding> {
    if set.principal(id).is_some() {
        return None;
    }
    let file = folder.join("policy.toml").display().to_string();
    let message = format!("the policy does not name the principal `{id}` of the configuration");
    let remedy = format!("write `[principals.\"{id}\"]` there with its roles, then sign it again");
    Some(file_finding(&file, "config.unknown_principal", message, remedy))
}

/// The process environment and the system's keychain. After one failure the keychain is not used
/// again for this configuration, because each attempt may wait for a person.
#[derive(Default)]
struct SystemLookup {
    keychain_error: RefCell<Option<KeychainError>>,
}

impl SystemLookup {
    fn lookup(&self) -> impl Fn(Reference<'_>) -> Result<Option<String>, KeychainError> {
        |reference| match reference {
            Reference::Variable(name) => Ok(std::env::var(name).ok()),
            Reference::Keychain(name) => self.keychain_entry(name),
        }
    }

    fn keychain_entry(&self, name: &str) -> Result<Option<String>, KeychainError> {
        if let Some(error) = self.keychain_error.borrow().as_ref() {
            return Err(error.clone());
        }
        let read = SystemKeychain.read(name);
        if let Err(error) = &read {
            self.keychain_error.replace(Some(error.clone()));
        }
        Ok(read?.map(|value| value.to_string()))
    }
}

fn read_config(path: &Path, lookup: ReferenceLookup<'_>) -> ResolvedConfig {
    match parse_files(path) {
        Ok(parsed) => {
            // The file of variables takes precedence, so that the gateway behaves the same whatever
            // environment the client gives it.
            let variables_first = |reference: Reference<'_>| match reference {
                Reference::Variable(name) if let Some(value) = parsed.variables.get(name) => {
                    Ok(Some(value.clone()))
                }
                _ => lookup(reference),
            };
            resolve::resolve(&parsed, &variables_first)
        }
        Err(finding) => ResolvedConfig {
            config: None,
            root: None,
            documents_folder: None,
            findings: vec![*finding],
        },
    }
}

/// Parses the files. An unreadable file of servers is reported at the key that names it.
fn parse_files(path: &Path) -> Result<ParsedFiles, Box<DocumentFinding>> {
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

fn config_text(path: &Path, name: &str) -> Result<String, Box<DocumentFinding>> {
    bounded_file::read_text(path, MAX_CONFIG_BYTES).map_err(|error| {
        let message = match error {
            ReadError::Absent if path == Path::new(DEFAULT_FILE_NAME) => {
                "it is not here, in a folder above, or in your own folder".to_owned()
            }
            error => error.to_string(),
        };
        Box::new(file_finding(name, "config.unreadable", message, NO_CONFIG_REMEDY))
    })
}

fn servers_file(
    path: &Path,
    toml: &node::Node,
) -> Result<Option<(node::Node, PathBuf)>, Box<DocumentFinding>> {
    let Some(node) = toml.get("servers") else { return Ok(None) };
    let Some(name) = node.text() else { return Ok(None) };
    let path = path.parent().unwrap_or(Path::new("")).join(name);
    let text = bounded_file::read_text(&path, MAX_CONFIG_BYTES).map_err(|error| {
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
