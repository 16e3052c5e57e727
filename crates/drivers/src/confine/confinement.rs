//! The confinement that an operator requires.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Protection;

/// The rights that a child keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// Files and folders that are never accessible, whatever else is allowed: the state of the
    /// host.
    pub denied: BTreeSet<PathBuf>,
    /// Access to what is created next to the denied paths while the child runs.
    pub sibling_access: SiblingAccess,
    /// Access to all other files.
    pub files: FileAccess,
    /// Access to the network.
    pub network: NetworkAccess,
    /// Resource limits.
    pub limits: ResourceLimits,
    /// The user to run as when root starts the child: a name, `uid` or `uid:gid`, never root.
    /// Without one it runs as the user that starts it.
    pub user: Option<String>,
    /// Requires that neither signals nor abstract sockets reach other processes. Signals are
    /// blocked in any case, and abstract sockets whenever files or network are restricted, if the
    /// kernel can; this flag makes both mandatory.
    pub isolated: bool,
    /// What to do if the kernel cannot enforce everything.
    pub enforcement_mode: EnforcementMode,
}

/// What to do if the kernel cannot enforce everything that is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnforcementMode {
    /// Do not start the child.
    #[default]
    Strict,
    /// Start it with what can be enforced, and report the difference.
    BestEffort,
}

/// Access to what is created next to a denied path while the child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiblingAccess {
    /// Not accessible: the folders above a denied path can neither be listed nor take new entries.
    /// This holds for as long as the child runs.
    #[default]
    Closed,
    /// Accessible, if the kernel can cover the denied paths with mounts ([`Protection::Mounts`]);
    /// otherwise like [`SiblingAccess::Closed`].
    ///
    /// A mount over a folder covers everything created in it later. A mount over a file covers it
    /// only until the file is replaced, and nothing covers a denied path that is created later. So
    /// a host that chooses this keeps its state in folders, and restarts the child when a denied
    /// file was replaced or created.
    Open,
}

/// The files that a child can access, never including denied ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAccess {
    /// Everything that exists when the child starts.
    ///
    /// Unless mounts cover the denied paths ([`SiblingAccess::Open`]), the child can use existing
    /// entries of the folders above them, but can neither list these folders nor create entries in
    /// them.
    #[default]
    AllButDenied,
    /// Only the named paths.
    Only(AllowedPaths),
}

/// Paths that a child can access. The program itself can always be read and executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedPaths {
    /// May be read and listed, including everything below.
    pub read: BTreeSet<PathBuf>,
    /// May be read, written, created and removed, including everything below.
    pub write: BTreeSet<PathBuf>,
    /// May be read and executed, including everything below.
    pub execute: BTreeSet<PathBuf>,
    /// Adds what most programs need to start: the folders of installed programs and libraries
    /// (to read and execute), a few files of `/etc`, `/proc`, and devices such as `/dev/null`.
    pub system: bool,
}

impl FileAccess {
    /// No named paths yet, only what most programs need to start.
    #[must_use]
    pub fn only() -> Self {
        Self::Only(AllowedPaths::default())
    }

    /// Adds a path to read. No effect if all files are allowed.
    #[must_use]
    pub fn read(self, path: impl Into<PathBuf>) -> Self {
        self.with(|only| only.read.insert(path.into()))
    }

    /// Adds a path to read and write. No effect if all files are allowed.
    #[must_use]
    pub fn write(self, path: impl Into<PathBuf>) -> Self {
        self.with(|only| only.write.insert(path.into()))
    }

    /// Adds a path to read and execute. No effect if all files are allowed.
    #[must_use]
    pub fn execute(self, path: impl Into<PathBuf>) -> Self {
        self.with(|only| only.execute.insert(path.into()))
    }

    fn with(mut self, change: impl FnOnce(&mut AllowedPaths) -> bool) -> Self {
        if let Self::Only(only) = &mut self {
            change(only);
        }
        self
    }
}

impl Default for AllowedPaths {
    fn default() -> Self {
        Self {
            read: BTreeSet::new(),
            write: BTreeSet::new(),
            execute: BTreeSet::new(),
            system: true,
        }
    }
}

/// The network that a child can access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    /// The host's network.
    #[default]
    Host,
    /// No network. Unix sockets in the file system count as files.
    None,
}

/// Resource limits of a child; `None` keeps the host's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceLimits {
    /// Address space of each process, in bytes.
    pub address_space: Option<u64>,
    /// CPU time of each process, in seconds; a process that exceeds it is killed.
    pub cpu_seconds: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// Processes and threads of its user, including those outside the confinement.
    pub processes: Option<u64>,
    /// Size of a file that it writes, in bytes.
    pub file_size: Option<u64>,
}

impl ResourceLimits {
    /// The protections of the limits that are set.
    #[must_use]
    pub fn protections(&self) -> BTreeSet<Protection> {
        let all = [
            (self.address_space, Protection::AddressSpace),
            (self.cpu_seconds, Protection::CpuTime),
            (self.open_files, Protection::OpenFiles),
            (self.processes, Protection::Processes),
            (self.file_size, Protection::FileSize),
        ];
        all.into_iter().filter_map(|(limit, name)| limit.map(|_| name)).collect()
    }
}

impl Confinement {
    /// Denies only these files and new privileges.
    #[must_use]
    pub fn denying<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            denied: paths.into_iter().map(Into::into).collect(),
            sibling_access: SiblingAccess::default(),
            files: FileAccess::default(),
            network: NetworkAccess::default(),
            limits: ResourceLimits::default(),
            user: None,
            isolated: false,
            enforcement_mode: EnforcementMode::default(),
        }
    }

    /// The protections that are required: if the kernel enforces fewer, the confinement is
    /// incomplete.
    #[must_use]
    pub fn required_protections(&self) -> BTreeSet<Protection> {
        let mut required = self.limits.protections();
        required.extend([Protection::NoNewPrivileges, Protection::SystemCalls]);
        let named = matches!(self.files, FileAccess::Only(_));
        if named || !self.denied.is_empty() {
            required.extend([Protection::Files, Protection::Truncate]);
        }
        if !self.denied.is_empty() {
            required.insert(Protection::Metadata);
        }
        if self.user.is_some() {
            required.insert(Protection::User);
        }
        if self.network == NetworkAccess::None {
            required.insert(Protection::Network);
        }
        if self.isolated {
            required.extend([Protection::Signals, Protection::AbstractSockets]);
        }
        required
    }
}
