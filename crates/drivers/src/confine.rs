//! Confinement of child processes.
//!
//! A child is started by a *launcher*: a program of ours that takes rights away from itself, says
//! what it could take away, and then becomes the child. So no code runs between the fork and the
//! start of another program, and the rights are gone before the child's first instruction.
//!
//! A [`Confinement`] says what is asked, [`EnforcedConfinement`] what the kernel really does. Where the two
//! differ, the child is not started, unless [`Demand::BestEffort`] was asked; then the difference
//! is told. Only Linux can confine (Landlock, seccomp, namespaces of mounts and
//! networks, other users, resource limits).
//!
//! ```
//! use weaver_drivers::confine::{Confinement, Files, Network};
//!
//! let confinement = Confinement {
//!     files: Files::only().read("/srv/notes").write("/srv/notes/drafts"),
//!     network: Network::None,
//!     ..Confinement::denying(["/var/lib/weaver"])
//! };
//! assert!(confinement.denied.iter().any(|path| path.ends_with("weaver")));
//! ```
//!
//! The two sides speak in two small forms, both of version 3: the request is an argument of the
//! launcher, the report is the first line of its standard error. Neither is in the environment,
//! and no descriptor beside the three standard ones is left to the child.

mod confinement;
mod enforced_confinement;
mod error;
mod form;
mod launch;
mod launcher;
#[cfg(target_os = "linux")]
mod linux;
mod private;
mod protection;
mod refusal;

pub use confinement::{AllowedFiles, Confinement, Demand, Files, Limits, Neighbours, Network};
pub use enforced_confinement::EnforcedConfinement;
pub use error::ConfineError;
pub use launch::launch;
pub use launcher::Launcher;
pub use private::keep_process_private;
pub use protection::Protection;

pub(crate) use form::{MAX_REPORT, read_report};
pub(crate) use refusal::{Refusal, explain, of_result, of_stderr};
