//! Why a protection is not in force.

use std::io;
use std::path::PathBuf;

use landlock::RulesetError;
use nix::unistd::Uid;
use rustix::io::Errno;
use seccompiler::BackendError;

use crate::confine::ConfineError;

/// Why one step of a confinement could not be taken.
///
/// Every message is a part of the sentence of [`ConfineError::Lacking`], so each holds its source.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProtectionError {
    /// A file in which the kernel tells of this process.
    #[error("{file} cannot be read: {source}")]
    Read {
        /// The file.
        file: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A file by which this process sets its namespace.
    #[error("{file} cannot be written: {source}")]
    Write {
        /// The file.
        file: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel gives this process no namespace of its own.
    #[error("no namespace of its own: {source}")]
    Namespace {
        /// The system's reason.
        source: nix::errno::Errno,
    },
    /// A denied path is a link, which could be replaced.
    #[error("`{}` is a symbolic link", path.display())]
    SymbolicLink {
        /// The path.
        path: PathBuf,
    },
    /// A denied path, or a folder above it, takes no mount.
    #[error("`{}` cannot be covered: {source}", path.display())]
    Cover {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        source: Errno,
    },
    /// A denied path is found in its place after it was covered.
    #[error("`{}` was not covered", path.display())]
    Uncovered {
        /// The path.
        path: PathBuf,
    },
    /// No folder can be the working directory below the mounts.
    #[error("no working directory: {source}")]
    WorkingDirectory {
        /// The system's reason.
        source: io::Error,
    },
    /// Files of the kernel cannot be made read-only.
    #[error("`{}` stays writable: {source}", path.display())]
    KernelFiles {
        /// Where they are mounted.
        path: PathBuf,
        /// The system's reason.
        source: Errno,
    },
    /// The kernel has no rules for files.
    #[error("the kernel has no landlock")]
    NoLandlock,
    /// The kernel does not take the rules for files.
    #[error(transparent)]
    Ruleset(#[from] RulesetError),
    /// A path of the rules for files cannot be allowed.
    #[error(transparent)]
    Rule(#[from] ConfineError),
    /// The kernel refuses a call by which this process gives up rights.
    #[error(transparent)]
    Refused(#[from] Errno),
    /// The kernel does not limit the processes of this user.
    #[error("the kernel does not count the processes of root")]
    UncountedProcesses,
    /// No filter for system calls is known for this processor.
    #[error("no filter for system calls: unknown processor")]
    Processor,
    /// The filter for system calls cannot be compiled.
    #[error("no filter for system calls: {0}")]
    Filter(#[from] BackendError),
    /// The kernel does not take the filter for system calls.
    #[error("no filter for system calls: {0}")]
    FilterInstallation(#[from] seccompiler::Error),
    /// A text has not the form of a user.
    #[error("`{text}` is no user; write a name, `uid` or `uid:gid`")]
    UserForm {
        /// The text.
        text: String,
    },
    /// The users of the system cannot be read.
    #[error("`{text}` cannot be looked up: {source}")]
    UserLookup {
        /// The user as configured.
        text: String,
        /// The system's reason.
        source: nix::errno::Errno,
    },
    /// The system knows no user of this name.
    #[error("there is no user `{name}`")]
    UnknownUser {
        /// The name.
        name: String,
    },
    /// The user, or its group, is root's.
    #[error("`{text}` is root; name another user")]
    RootUser {
        /// The user as configured.
        text: String,
    },
    /// This process has another user and cannot change it.
    #[error("only root can start it as another user")]
    NotRoot,
    /// The kernel does not let this process become the user.
    #[error("user {user} cannot be assumed: {source}")]
    AssumeUser {
        /// The user.
        user: Uid,
        /// The system's reason.
        source: nix::errno::Errno,
    },
}
