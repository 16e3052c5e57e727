//! Confinement of child processes.
//!
//! A child is started by a *launcher*: a program of ours that gives up its own rights, reports what
//! it could give up, and then becomes the child. So no code runs between the fork and the exec of
//! another program, and the rights are gone before the child's first instruction.
//!
//! A [`Confinement`] says what is required, an [`EnforcedConfinement`] what the kernel enforces. If
//! anything required is not enforced, the child is not started, unless
//! [`EnforcementMode::BestEffort`] was chosen; then the difference is reported. Only Linux can
//! confine (Landlock, seccomp, mount and network namespaces, other users, resource limits).
//!
//! ```
//! use weaver_drivers::confine::{Confinement, FileAccess, NetworkAccess};
//!
//! let confinement = Confinement {
//!     files: FileAccess::only().read("/srv/notes").write("/srv/notes/drafts"),
//!     network: NetworkAccess::None,
//!     ..Confinement::denying(["/var/lib/weaver"])
//! };
//! assert!(confinement.denied.iter().any(|path| path.ends_with("weaver")));
//! ```
//!
//! The two sides exchange two small messages, both of version 3: the request is an argument of the
//! launcher, the report is the first line of its standard error. Neither is in the environment, and
//! the child gets no descriptors other than the three standard ones.

#[cfg(target_os = "linux")]
mod child_cover;
mod confinement;
mod cover_refresh;
mod enforced_confinement;
mod error;
mod launch;
mod launcher;
mod launcher_protocol;
#[cfg(target_os = "linux")]
mod linux;
mod orphans;
mod path_links;
mod process_privacy;
mod protection;
mod refusal;
mod running_child;
#[cfg(target_os = "linux")]
mod work_limit;

pub use confinement::{
    AllowedPaths, Confinement, EnforcementMode, FileAccess, NetworkAccess, ResourceLimits,
    SiblingAccess,
};
pub use cover_refresh::CoverRefreshError;
pub use enforced_confinement::EnforcedConfinement;
pub use error::ConfineError;
pub use launch::launch;
pub use launcher::Launcher;
pub use orphans::{adopt_orphans, kill_orphans};
pub use path_links::replaceable_links;
pub use process_privacy::keep_process_private;
pub use protection::Protection;
pub use running_child::RunningChild;

pub(crate) use launcher_protocol::{MAX_REPORT_BYTES, read_report};
#[cfg(target_os = "linux")]
pub(crate) use linux::server_processes::ProcessStat;
pub(crate) use path_links::{denied_places, linked_places};
pub(crate) use refusal::{FileRefusal, explain_refusal, refusal_in_result, refusal_in_stderr};
