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
mod denied_folder;
mod documents;
mod environment_file;
mod error;
mod expansion;
mod hint;
mod http;
mod interpolate;
mod load;
mod local_database;
mod local_storage;
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
mod start_folder;
mod system_lookup;
mod telemetry;
mod tool;
mod tool_section;
mod tree;
mod upstream;
mod word_vectors;
mod work_folder;
mod written_digest;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use weaver_firewall::SessionBudget;
use weaver_types::signature::PublicKey;
use weaver_types::{PrincipalId, RunSettings};

pub use definition::{json_schema, reference};
pub use error::ConfigErrors;
pub(crate) use error::file_finding;
pub use http::{HttpSettings, ListenAddressError, TlsFiles, listen_address};
pub use load::{
    SignatureChecks, check, guess_store_path, load, load_policy, load_store_path, load_with,
};
pub(crate) use load::{load_text, load_text_with};
pub use log::{CheckpointSigning, CheckpointTarget, LogSettings, PublishTarget};
pub use memory::MemorySettings;
pub use oauth::{IntrospectionClient, OAuthResource};
pub use profile::{ClientProfile, ExecuteTools, ToolListMode};
pub use sentinel::Sentinel;
pub(crate) use server::legal_name;
pub use start_folder::process_of_tool;
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
    /// The SHA-256 digest of its text.
    pub file_digest: [u8; 32],
    /// The profile of clients that request none.
    pub profile: ClientProfile,
    /// The profiles that clients may request, by name.
    pub profiles: BTreeMap<String, ClientProfile>,
    /// In proxy mode with one server: its tools keep their own names.
    pub unprefixed: bool,
    /// The word vectors used to find tools: the built-in table, unless the file names another one
    /// or `none`.
    pub word_table: Option<WordVectorSource>,
    /// Where servers and own tools start that name no folder; by default where the gateway does.
    pub work_folder: Option<PathBuf>,
    /// Whether each of them starts in a folder of its own in the work folder.
    pub own_work_folders: bool,
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
    /// The links that led to these files, and that a program of this user could point elsewhere.
    pub source_links: BTreeSet<PathBuf>,
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

    /// A link that leads to one of its files, and that the servers of an earlier configuration were
    /// not denied, so that one of them may have made it or pointed it elsewhere.
    #[must_use]
    pub fn new_link(&self, earlier: &Self) -> Option<&Path> {
        let is_known = |link: &PathBuf| {
            earlier.source_links.contains(link) || earlier.source_files.contains(link)
        };
        self.source_links.iter().find(|link| !is_known(link)).map(PathBuf::as_path)
    }

    /// The folder of the file, if servers are denied it as a whole: where their work folder is outside
    /// of it.
    #[must_use]
    pub fn denied_folder(&self) -> Option<PathBuf> {
        denied_folder::find(&self.base(), self.work_folder.as_deref()?)
    }

    /// A folder in which a server may start: this one, or the work folder if servers are denied it.
    pub(crate) fn permitted_folder<'a>(&'a self, folder: &'a Path) -> &'a Path {
        let denied = self.denied_folder();
        match &self.work_folder {
            Some(work)
                if denied.is_some_and(|denied| denied_folder::is_inside(folder, &denied)) =>
            {
                work
            }
            _ => folder,
        }
    }

    /// The folder of the file, to which relative paths refer.
    #[must_use]
    pub fn base(&self) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).to_path_buf()
    }
}
