//! Why a protection is not in force.

use std::io;
use std::path::PathBuf;

use landlock::RulesetError;
use nix::unistd::Uid;
use rustix::io::Errno;
use seccompiler::BackendError;

use crate::confine::ConfineError;

/// Why one step of a confinement failed.
///
/// Each message becomes part of [`ConfineError::Lacking`], so it includes its source.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProtectionError {
    /// A kernel file about this process cannot be read.
    #[error("{file} cannot be read: {source}")]
    Read { file: &'static str, source: io::Error },
    /// A kernel file that configures a namespace cannot be written.
    #[error("{file} cannot be written: {source}")]
    Write { file: &'static str, source: io::Error },
    /// The kernel refuses a new namespace.
    #[error("no namespace of its own: {source}")]
    Namespace { source: nix::errno::Errno },
    /// The namespaces of another process cannot be opened.
    #[error("the namespaces of process {process} cannot be opened: {source}")]
    OpenNamespace { process: u32, source: io::Error },
    /// Another process has other mounts than expected.
    #[error("process {process} has other mounts")]
    OtherNamespace { process: u32 },
    /// A denied path is a link, which could be replaced.
    #[error("`{}` is a symbolic link", path.display())]
    SymbolicLink { path: PathBuf },
    /// A denied path, or a folder above it, cannot be a mount point.
    #[error("`{}` cannot be covered: {source}", path.display())]
    Cover { path: PathBuf, source: Errno },
    /// A denied path is still visible after it was covered.
    #[error("`{}` was not covered", path.display())]
    Uncovered { path: PathBuf },
    /// No working directory is available below the mounts.
    #[error("no working directory: {source}")]
    WorkingDirectory { source: io::Error },
    /// Kernel files cannot be made read-only.
    #[error("`{}` stays writable: {source}", path.display())]
    KernelFiles { path: PathBuf, source: Errno },
    /// The kernel has no Landlock.
    #[error("the kernel has no landlock")]
    NoLandlock,
    /// The kernel refuses the Landlock ruleset.
    #[error(transparent)]
    Ruleset(#[from] RulesetError),
    /// A path cannot be allowed.
    #[error(transparent)]
    Rule(#[from] ConfineError),
    /// The kernel refuses a call that gives up rights.
    #[error(transparent)]
    Refused(#[from] Errno),
    /// The kernel does not limit the number of processes of this user.
    #[error("the kernel does not count the processes of root")]
    UncountedProcesses,
    /// There is no system call filter for this processor.
    #[error("no filter for system calls: unknown processor")]
    Processor,
    /// The system call filter cannot be compiled.
    #[error("no filter for system calls: {0}")]
    Filter(#[from] BackendError),
    /// The kernel refuses the system call filter.
    #[error("no filter for system calls: {0}")]
    FilterInstallation(#[from] seccompiler::Error),
    /// The text is not a user.
    #[error("`{text}` is not a user; write a name, `uid` or `uid:gid`")]
    UserForm { text: String },
    /// The user database cannot be read.
    #[error("`{text}` cannot be looked up: {source}")]
    UserLookup { text: String, source: nix::errno::Errno },
    /// There is no user of this name.
    #[error("there is no user `{name}`")]
    UnknownUser { name: String },
    /// The user or its group is root.
    #[error("`{text}` is root; name another user")]
    RootUser { text: String },
    /// This process is not root and cannot change its user.
    #[error("only root can start it as another user")]
    NotRoot,
    /// The kernel refuses the change to this user.
    #[error("user {user} cannot be assumed: {source}")]
    AssumeUser { user: Uid, source: nix::errno::Errno },
}
