//! The confinement of servers: `[mcpServers.NAME.confine]`, and the gateway's own state, which no
//! server can access.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use weaver_drivers::confine::{
    AllowedPaths, Confinement, EnforcementMode, FileAccess, NetworkAccess, ResourceLimits,
    SiblingAccess, replaceable_links,
};
use weaver_policy::DocumentFinding;

use super::expansion::{ExpansionContext, expand_nonempty};
use super::node::Node;
use super::{
    CheckpointTarget, Config, SecretSource, ToolImplementation, TransportSettings, denied_folder,
    memory,
};
#[cfg(unix)]
use crate::daemon_address;
use crate::private_file::{self, STATE_FOLDER};

pub(super) const NETWORKS: [(&str, NetworkAccess); 2] =
    [("host", NetworkAccess::Host), ("none", NetworkAccess::None)];
const MB: u64 = 1024 * 1024;
/// Suffixes of the files that belong to the ledger.
const LEDGER_SUFFIXES: [&str; 10] = [
    "", "-wal", "-shm", "-journal", ".lock", ".logins", ".index", ".index-wal", ".index-shm",
    ".index-journal",
];
/// Suffixes of the files that belong to memory.
const MEMORY_SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Parses a section. The gateway's state is denied later, when a server is started.
pub(super) fn read(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<Confinement> {
    let before = findings.len();
    let flag = |name: &str| node.get(name)?.flag();
    let integer = |name: &str| node.get(name)?.integer();
    let bytes = |name: &str| integer(name).map(|mb| mb.saturating_mul(MB));
    let limits = ResourceLimits {
        address_space: bytes("address_space_mb"),
        cpu_seconds: integer("cpu_seconds"),
        open_files: integer("open_files"),
        processes: integer("processes"),
        file_size: bytes("file_size_mb"),
    };
    let user = node.get("user").and_then(|node| user(node, findings));
    let named = ["read", "write", "execute", "system"].iter().any(|name| node.get(name).is_some());
    let mut paths =
        |name: &str| node.get(name).map(|node| paths(node, context, findings)).unwrap_or_default();
    let only = AllowedPaths {
        read: paths("read"),
        write: paths("write"),
        execute: paths("execute"),
        system: flag("system").unwrap_or(true),
    };
    let best_effort = flag("best_effort") == Some(true);
    (findings.len() == before).then(|| Confinement {
        files: if named { FileAccess::Only(only) } else { FileAccess::AllButDenied },
        network: node.get("network").and_then(|node| node.word(&NETWORKS)).unwrap_or_default(),
        limits,
        user,
        isolated: flag("isolated").unwrap_or(false),
        enforcement_mode: if best_effort {
            EnforcementMode::BestEffort
        } else {
            EnforcementMode::Strict
        },
        ..Confinement::denying(BTreeSet::<PathBuf>::new())
    })
}

/// Parses the user that a server runs as. Whether the user exists is checked at the start.
fn user(node: &Node, findings: &mut Vec<DocumentFinding>) -> Option<String> {
    let text = node.text()?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.:$".contains(c);
    let is_root = text.split(':').any(|part| part == "0") || text == "root";
    if text.is_empty() || text.starts_with('-') || !text.chars().all(allowed) || is_root {
        let message = format!("`{text}` is not a user that a server can run as");
        let remedy = "write the name of a user, `uid` or `uid:gid`, and not root";
        findings.push(node.finding("config.user", message, remedy));
        return None;
    }
    Some(text.to_owned())
}

fn paths(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> BTreeSet<PathBuf> {
    let refusal = ("not a valid path", "write a path");
    let items = node.list().iter();
    items
        .filter_map(|item| expand_nonempty(item, context, refusal, findings))
        .map(|path| context.base.join(path))
        .collect()
}

impl Config {
    /// The confinement of a process with this name. Without a section it denies the gateway's state, and
    /// the folders in which other processes start, as far as the kernel can; with one, everything in it
    /// must be enforced or the server is not started.
    #[must_use]
    pub fn confinement(&self, section: Option<&Confinement>, process: &str) -> Confinement {
        let mut denied = self.state_paths();
        denied.append(&mut self.start_folders_of_others(process));
        match section {
            Some(section) => Confinement { denied, ..section.clone() },
            None => Confinement {
                enforcement_mode: EnforcementMode::BestEffort,
                ..Confinement::denying(denied)
            },
        }
    }

    /// As [`Self::confinement`], for a server, which the gateway restarts when a denied file was
    /// replaced. By default the files that the gateway writes continually are in folders of their
    /// own, which can be covered completely. If the configuration puts some of them elsewhere, the
    /// folders above the state stay closed.
    #[must_use]
    pub fn server_confinement(&self, section: Option<&Confinement>, server: &str) -> Confinement {
        let denied = self.denied_folder();
        let is_own_state = |path: &Path| {
            let is_denied = |denied: &PathBuf| denied_folder::is_inside(path, denied);
            enclosing_state_folder(path).is_some() || denied.as_ref().is_some_and(is_denied)
        };
        // The last signed checkpoint is recorded next to the log's key.
        let signing = self.log.signing.iter();
        let mut written = signing.flat_map(|signing| {
            let targets = signing.targets.iter().filter_map(|target| match &target.location {
                CheckpointTarget::File(path) => Some(path),
                CheckpointTarget::Command(_) | CheckpointTarget::Http(_) => None,
            });
            targets.chain([&signing.key])
        });
        let is_separate = is_own_state(&self.store_path)
            && is_own_state(&self.memory_file())
            && written.all(|path| is_own_state(path));
        let sibling_access = if is_separate { SiblingAccess::Open } else { SiblingAccess::Closed };
        Confinement { sibling_access, ..self.confinement(section, server) }
    }

    /// The folder next to the configuration that servers are denied with all that is ever made in it.
    /// Commands write there what only becomes a part of the state later.
    #[must_use]
    pub fn private_folder(&self) -> PathBuf {
        self.base().join(STATE_FOLDER)
    }

    /// Makes the folders that must be there before a server starts, for this user alone: the private
    /// one, since a folder is denied with all that is made in it later only if it is there, and the
    /// work folders. One that cannot be made is left to whoever needs it: others cannot make it either.
    pub(crate) fn make_server_folders(&self) {
        let _ = self.make_private_folder();
        let starts = self.process_names().into_iter().filter_map(|name| self.start_folder(&name));
        for folder in self.work_folder.iter().cloned().chain(starts) {
            let _ = private_file::create_folders(&folder);
        }
    }

    /// Makes [`Self::private_folder`] for this user alone, unless there is one.
    ///
    /// # Errors
    /// Those of the system, and if something else has its name.
    pub(crate) fn make_private_folder(&self) -> io::Result<PathBuf> {
        let folder = self.private_folder();
        private_file::create_own_folder(&folder)?;
        Ok(folder)
    }

    /// The file of durable memory: as configured, or next to the ledger.
    #[must_use]
    pub fn memory_file(&self) -> PathBuf {
        match &self.memory {
            Some(memory) => memory.file.clone(),
            None => memory::default_file(&self.store_path),
        }
    }

    /// The gateway's own files and folders: configuration, ledger, memory and their companion
    /// files, inbox, documents, keys, and published checkpoints. Links that lead to one of them, and
    /// that a program of this user could point elsewhere, are among them.
    #[must_use]
    pub fn state_paths(&self) -> BTreeSet<PathBuf> {
        let mut state =
            BTreeSet::from([self.file.clone(), self.inbox.clone(), self.documents_folder.clone()]);
        state.insert(self.private_folder());
        state.extend(self.denied_folder());
        state.extend(self.servers_file.clone());
        state.extend(self.environment_file.clone());
        state.extend(self.http.iter().filter_map(|http| Some(http.tls.as_ref()?.key.clone())));
        state.extend(
            [&self.store_path, &self.memory_file(), &self.inbox]
                .map(|path| enclosing_state_folder(path))
                .into_iter()
                .flatten(),
        );
        // Outside of all other state where the store's path is long.
        #[cfg(unix)]
        state.extend(daemon_address::socket(&self.store_path).parent().map(Path::to_path_buf));
        state.extend(LEDGER_SUFFIXES.iter().map(|end| with_suffix(&self.store_path, end)));
        for file in [self.memory_file(), memory::default_file(&self.store_path)] {
            state.extend(MEMORY_SUFFIXES.iter().map(|end| with_suffix(&file, end)));
        }
        state.extend(siblings(&self.store_path, starts_with));
        if let Some(signing) = &self.log.signing {
            state.insert(signing.key.clone());
            state.extend(siblings(&signing.key, starts_with));
            let files = signing.targets.iter().filter_map(|target| match &target.location {
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
        state.extend(secrets.chain(self.credential_sources()).filter_map(|source| match source {
            SecretSource::File(path) => Some(path.clone()),
            SecretSource::Env(_) | SecretSource::Command(_) => None,
        }));
        state.extend(self.trusted_files());
        // The default folder of `weaver keys new`.
        state.insert(self.base().join("keys"));
        let is_key = |name: &OsString| Path::new(name).extension().is_some_and(|end| end == "key");
        state.extend(siblings(&self.file, |name, _| is_key(name)));
        // A link that leads to one of them decides what the gateway reads there.
        let links: Vec<PathBuf> = state.iter().flat_map(|path| replaceable_links(path)).collect();
        state.extend(links);
        state
    }
}

impl Config {
    /// Files next to the configuration that only the gateway reads or runs, and trusts as it trusts
    /// `weaver.toml`: rules of redaction, schemas of own tools, certificates, programs that print a
    /// secret or publish checkpoints. Those elsewhere may be the system's own.
    fn trusted_files(&self) -> BTreeSet<PathBuf> {
        let secrets = self.credential_sources().filter_map(|source| match source {
            SecretSource::Command(words) => words.first(),
            SecretSource::Env(_) | SecretSource::File(_) => None,
        });
        let signing = self.log.signing.iter();
        let publishers = signing.flat_map(|signing| &signing.targets);
        let publishers = publishers.filter_map(|target| match &target.location {
            CheckpointTarget::Command(words) => words.first(),
            CheckpointTarget::File(_) | CheckpointTarget::Http(_) => None,
        });
        let programs = secrets.chain(publishers).filter(|program| program.contains('/'));
        let programs = programs.map(|program| self.base().join(program));
        let certificates =
            self.http.iter().filter_map(|http| Some(http.tls.as_ref()?.cert.clone()));
        let files = self.source_files.iter().cloned().chain(programs).chain(certificates);
        files.filter(|file| file.starts_with(self.base())).collect()
    }

    /// The sources of the gateway's credentials at issuers, and of the passphrase of the log's key.
    fn credential_sources(&self) -> impl Iterator<Item = &SecretSource> {
        let here = self.http.iter().filter_map(|http| http.oauth.as_ref());
        let here = here.flat_map(|oauth| oauth.introspection.values().map(|client| &client.secret));
        let there = self.upstreams.iter().filter_map(|upstream| match &upstream.transport {
            TransportSettings::Http { login, .. } => Some(login.secrets()),
            TransportSettings::Stdio { .. } => None,
        });
        let there = there.flatten();
        let log = self.log.signing.iter().filter_map(|signing| signing.passphrase.as_ref());
        here.chain(there).chain(log)
    }
}

/// The state folder that contains a path, if any.
fn enclosing_state_folder(path: &Path) -> Option<PathBuf> {
    let mut above = path.ancestors().skip(1);
    above
        .find(|folder| folder.file_name().is_some_and(|name| name == STATE_FOLDER))
        .map(Path::to_path_buf)
}

fn with_suffix(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn starts_with(name: &OsString, own: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(own.as_encoded_bytes())
}

/// The matching entries of a file's folder; none if the folder cannot be read.
fn siblings(file: &Path, fits: impl Fn(&OsString, &OsString) -> bool) -> Vec<PathBuf> {
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let own = file.file_name().map(OsString::from).unwrap_or_default();
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.filter(|name| fits(name, &own)).map(|name| folder.join(name)).collect()
}
