//! The confinement that an operator asks for.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Protection;

/// The rights that a child is left with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Files and folders that it never reaches, whatever the rest says: the state of the host.
    pub denied: BTreeSet<PathBuf>,
    /// What is made beside the denied files while the child runs.
    pub neighbours: Neighbours,
    /// The other files.
    pub files: Files,
    /// The network.
    pub network: Network,
    /// Its resources.
    pub limits: Limits,
    /// The user that it runs as, where root starts it: a name, `uid` or `uid:gid`, never root.
    /// Without one it runs as whoever starts it.
    pub user: Option<String>,
    /// No signals and no abstract sockets beyond its own processes. Signals are taken away in any
    /// case, and abstract sockets wherever files or network are named, where the kernel can; this
    /// demands both.
    pub isolated: bool,
    /// What is done where the kernel cannot do all of it.
    pub demand: Demand,
}

/// What happens where the kernel cannot do what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Demand {
    /// The child is not started.
    #[default]
    Strict,
    /// It is started with what there is, and the difference is told.
    BestEffort,
}

/// What is made beside a denied file or folder while the child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Neighbours {
    /// It is out of reach: the folders above a denied path can neither be listed nor take new
    /// entries, and nobody has to look after anything.
    #[default]
    Closed,
    /// It is within reach, where the kernel can cover the denied paths by mounts
    /// ([`Protection::Mounts`]); otherwise as [`Neighbours::Closed`].
    ///
    /// A mount covers a folder with all that is ever made in it. It covers a file until another
    /// takes its place, and nothing covers a denied path that is made later. Whoever asks for this
    /// keeps state in folders, and starts the child again when a denied file was replaced or made.
    Open,
}

/// The files that a child reaches, beside the denied ones, which it never does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Files {
    /// Everything that is there when the child starts.
    ///
    /// Unless mounts cover the denied paths ([`Neighbours::Open`]), the child reaches what is there
    /// in the folders above them, but can neither list them nor make new entries in them.
    #[default]
    AllButDenied,
    /// What is named, and nothing else.
    Only(AllowedFiles),
}

/// Files by name. The program itself can always be read and executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedFiles {
    /// May be read and listed, with everything below.
    pub read: BTreeSet<PathBuf>,
    /// May be read, written, made and removed, with everything below.
    pub write: BTreeSet<PathBuf>,
    /// May be read and executed, with everything below.
    pub execute: BTreeSet<PathBuf>,
    /// Adds what most programs need to start: the folders of installed programs and libraries
    /// (to read and execute), a few files of `/etc`, `/proc`, and devices such as `/dev/null`.
    pub system: bool,
}

impl Files {
    /// Nothing by name yet, and what most programs need to start.
    #[must_use]
    pub fn only() -> Self {
        Self::Only(AllowedFiles::default())
    }

    /// The same, with this to read. No change where all files are allowed already.
    #[must_use]
    pub fn read(self, path: impl Into<PathBuf>) -> Self {
        self.with(|only| only.read.insert(path.into()))
    }

    /// The same, with this to read and write. No change where all files are allowed already.
    #[must_use]
    pub fn write(self, path: impl Into<PathBuf>) -> Self {
        self.with(|only| only.write.insert(path.into()))
    }

    /// The same, with this to read and execute. No change where all files are allowed already.
    #[must_use]
    pub fn execute(self, path: impl Into<PathBuf>) -> Self {
        self.with(|only| only.execute.insert(path.into()))
    }

    fn with(mut self, change: impl FnOnce(&mut AllowedFiles) -> bool) -> Self {
        if let Self::Only(only) = &mut self {
            change(only);
        }
        self
    }
}

impl Default for AllowedFiles {
    fn default() -> Self {
        Self {
            read: BTreeSet::new(),
            write: BTreeSet::new(),
            execute: BTreeSet::new(),
            system: true,
        }
    }
}

/// The network that a child reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// That of the host.
    #[default]
    Host,
    /// None at all. Unix sockets that are files are files.
    None,
}

/// Bounds on the resources of a child; `None` leaves what the host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Address space of each process, in bytes.
    pub address_space: Option<u64>,
    /// Processor time of each process, in seconds; then it is killed.
    pub cpu_seconds: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// Processes and threads of its user, those of others counted too.
    pub processes: Option<u64>,
    /// Size of a file that it writes, in bytes.
    pub file_size: Option<u64>,
}

impl Limits {
    /// The limits that are set.
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
    /// Nothing is taken away but these files and new privileges.
    #[must_use]
    pub fn denying<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self {
            denied: paths.into_iter().map(Into::into).collect(),
            neighbours: Neighbours::default(),
            files: Files::default(),
            network: Network::default(),
            limits: Limits::default(),
            user: None,
            isolated: false,
            demand: Demand::default(),
        }
    }

    /// What is asked: where the kernel lacks any of it, the confinement is less than it should be.
    #[must_use]
    pub fn asked(&self) -> BTreeSet<Protection> {
        let mut asked = self.limits.protections();
        asked.extend([Protection::NoNewPrivileges, Protection::SystemCalls]);
        let named = matches!(self.files, Files::Only(_));
        if named || !self.denied.is_empty() {
            asked.extend([Protection::Files, Protection::Truncate]);
        }
        if !self.denied.is_empty() {
            asked.insert(Protection::Metadata);
        }
        if self.user.is_some() {
            asked.insert(Protection::User);
        }
        if self.network == Network::None {
            asked.insert(Protection::Network);
        }
        if self.isolated {
            asked.extend([Protection::Signals, Protection::AbstractSockets]);
        }
        asked
    }
}
