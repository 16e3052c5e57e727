//! What a server's process cannot reach: `[mcpServers.NAME.confine]`, and the gateway's own
//! state, which no server can reach.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use weaver_drivers::confine::{
    AllowedFiles, Confinement, Demand, Files, Limits, Neighbours, Network,
};
use weaver_policy::Finding;

use super::expansion::ExpansionContext;
use super::interpolate::expand;
use super::node::Node;
use super::{CheckpointTarget, Config, SecretSource, ToolImplementation, Transport, memory};

pub(super) const NETWORKS: [(&str, Network); 2] =
    [("host", Network::Host), ("none", Network::None)];
/// The name of the gateway's own folder, with all that it writes.
const OWN: &str = ".weaver";
const MB: u64 = 1024 * 1024;
/// What the ledger keeps beside its file.
const BESIDE: [&str; 10] = [
    "", "-wal", "-shm", "-journal", ".lock", ".logins", ".index", ".index-wal", ".index-shm",
    ".index-journal",
];
/// What a file of memory keeps beside it.
const BESIDE_MEMORY: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Reads a section. The gateway's state is denied later, when a server is started.
pub(super) fn read(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Confinement> {
    let before = out.len();
    let flag = |name: &str| node.get(name)?.flag();
    let whole = |name: &str| node.get(name)?.whole();
    let bytes = |name: &str| whole(name).map(|mb| mb.saturating_mul(MB));
    let limits = Limits {
        address_space: bytes("address_space_mb"),
        cpu_seconds: whole("cpu_seconds"),
        open_files: whole("open_files"),
        processes: whole("processes"),
        file_size: bytes("file_size_mb"),
    };
    let user = node.get("user").and_then(|node| user(node, out));
    let named = ["read", "write", "execute", "system"].iter().any(|name| node.get(name).is_some());
    let mut paths =
        |name: &str| node.get(name).map(|node| paths(node, context, out)).unwrap_or_default();
    let only = AllowedFiles {
        read: paths("read"),
        write: paths("write"),
        execute: paths("execute"),
        system: flag("system").unwrap_or(true),
    };
    let best_effort = flag("best_effort") == Some(true);
    (out.len() == before).then(|| Confinement {
        files: if named { Files::Only(only) } else { Files::AllButDenied },
        network: node.get("network").and_then(|node| node.word(&NETWORKS)).unwrap_or_default(),
        limits,
        user,
        isolated: flag("isolated").unwrap_or(false),
        demand: if best_effort { Demand::BestEffort } else { Demand::Strict },
        ..Confinement::denying(BTreeSet::<PathBuf>::new())
    })
}

/// The user that a server runs as. Whether there is such a one is seen when it starts.
fn user(node: &Node, out: &mut Vec<Finding>) -> Option<String> {
    let text = node.text()?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.:$".contains(c);
    let is_root = text.split(':').any(|part| part == "0") || text == "root";
    if text.is_empty() || text.starts_with('-') || !text.chars().all(allowed) || is_root {
        let message = format!("`{text}` is no user that a server can run as");
        let remedy = "write the name of a user, `uid` or `uid:gid`, and not root";
        out.push(node.finding("config.user", message, remedy));
        return None;
    }
    Some(text.to_owned())
}

fn paths(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> BTreeSet<PathBuf> {
    let mut read = BTreeSet::new();
    for item in node.list() {
        let Some(text) = item.text() else { continue };
        match expand(text, context.lookup) {
            Ok(path) if path.trim().is_empty() || path.contains('\0') => {
                out.push(item.finding("config.path", "this is no path", "write a path"));
            }
            Ok(path) => drop(read.insert(context.base.join(path))),
            Err((message, remedy)) => out.push(item.finding("config.variable", message, remedy)),
        }
    }
    read
}

impl Config {
    /// What is kept from a server's process. Without a section of its own that is the gateway's
    /// state, as far as the kernel can; with one, all that it names, or the server is not started.
    #[must_use]
    pub fn confinement(&self, section: Option<&Confinement>) -> Confinement {
        let denied = self.state();
        match section {
            Some(section) => Confinement { denied, ..section.clone() },
            None => Confinement { demand: Demand::BestEffort, ..Confinement::denying(denied) },
        }
    }

    /// As [`Self::confinement`], for a server, which the gateway starts again when a file that is
    /// kept from it was replaced. What the gateway writes all the time lies in folders of its own
    /// by default, so that they can be covered whole; where the configuration puts some of it
    /// elsewhere, the folders above the state stay closed.
    #[must_use]
    pub fn server_confinement(&self, section: Option<&Confinement>) -> Confinement {
        let own = |path: &Path| own_folder(path).is_some();
        // What was signed last is written beside the key of the log.
        let signing = self.log.signing.iter();
        let mut written = signing.flat_map(|signing| {
            let targets = signing.targets.iter().filter_map(|target| match &target.place {
                CheckpointTarget::File(path) => Some(path),
                CheckpointTarget::Command(_) | CheckpointTarget::Http(_) => None,
            });
            targets.chain([&signing.key])
        });
        let apart = own(&self.store) && own(&self.memory_file()) && written.all(|path| own(path));
        let neighbours = if apart { Neighbours::Open } else { Neighbours::Closed };
        Confinement { neighbours, ..self.confinement(section) }
    }

    /// The file of durable memory: the one that is named, or the one beside the ledger.
    #[must_use]
    pub fn memory_file(&self) -> PathBuf {
        match &self.memory {
            Some(memory) => memory.file.clone(),
            None => memory::beside(&self.store),
        }
    }

    /// The gateway's own files and folders: the configuration, the ledger, memory and what lies
    /// beside them, the inbox, the documents, keys, and published checkpoints.
    #[must_use]
    pub fn state(&self) -> BTreeSet<PathBuf> {
        let mut state =
            BTreeSet::from([self.file.clone(), self.inbox.clone(), self.folder.clone()]);
        state.extend(self.servers_file.clone());
        state.extend(self.environment_file.clone());
        state.extend(self.http.iter().filter_map(|http| Some(http.tls.as_ref()?.key.clone())));
        state.extend(
            [&self.store, &self.memory_file(), &self.inbox]
                .map(|path| own_folder(path))
                .into_iter()
                .flatten(),
        );
        state.extend(BESIDE.iter().map(|end| longer(&self.store, end)));
        for file in [self.memory_file(), memory::beside(&self.store)] {
            state.extend(BESIDE_MEMORY.iter().map(|end| longer(&file, end)));
        }
        state.extend(entries(&self.store, starts_with));
        if let Some(signing) = &self.log.signing {
            state.insert(signing.key.clone());
            state.extend(entries(&signing.key, starts_with));
            let files = signing.targets.iter().filter_map(|target| match &target.place {
                CheckpointTarget::File(path) => Some(self.base().join(path)),
                CheckpointTarget::Command(_) | CheckpointTarget::Http(_) => None,
            });
            state.extend(files);
        }
        let secrets = self.tools.iter().filter_map(|tool| match &tool.implementation {
            ToolImplementation::Http(http) => Some(http.secrets.values()),
            ToolImplementation::Program(_) => None,
        });
        let secrets = secrets.flatten().map(|(_, source)| source);
        state.extend(secrets.chain(self.own_secrets()).filter_map(|source| match source {
            SecretSource::File(path) => Some(path.clone()),
            SecretSource::Env(_) | SecretSource::Command(_) => None,
        }));
        // Where `weaver keys new` usually puts keys.
        state.insert(self.base().join("keys"));
        let is_key = |name: &OsString| Path::new(name).extension().is_some_and(|end| end == "key");
        state.extend(entries(&self.file, |name, _| is_key(name)));
        state
    }
}

impl Config {
    /// Where the secrets come from with which the gateway proves who it is to issuers, and with which
    /// it opens the key of the log.
    fn own_secrets(&self) -> impl Iterator<Item = &SecretSource> {
        let here = self.http.iter().filter_map(|http| http.oauth.as_ref());
        let here = here.flat_map(|oauth| oauth.introspection.values().map(|client| &client.secret));
        let there = self.upstreams.iter().filter_map(|upstream| match &upstream.transport {
            Transport::Http { login, .. } => Some(login.secrets()),
            Transport::Stdio { .. } => None,
        });
        let there = there.flatten();
        let log = self.log.signing.iter().filter_map(|signing| signing.passphrase.as_ref());
        here.chain(there).chain(log)
    }
}

/// The folder of the gateway's own in which a path lies, if it lies in one.
fn own_folder(path: &Path) -> Option<PathBuf> {
    let mut above = path.ancestors().skip(1);
    above.find(|folder| folder.file_name().is_some_and(|name| name == OWN)).map(Path::to_path_buf)
}

fn longer(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn starts_with(name: &OsString, own: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(own.as_encoded_bytes())
}

/// The entries beside a file that fit. A folder that cannot be read has none.
fn entries(file: &Path, fits: impl Fn(&OsString, &OsString) -> bool) -> Vec<PathBuf> {
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let own = file.file_name().map(OsString::from).unwrap_or_default();
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.filter(|name| fits(name, &own)).map(|name| folder.join(name)).collect()
}
