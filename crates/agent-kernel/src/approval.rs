//! Approvals in the kernel: the requests that held calls open, and the approvals given in advance.

pub(crate) mod hold;
pub(crate) mod proof;
pub(crate) mod resolver;
pub(crate) mod standing_approvals;
mod stored_approvals;
pub(crate) mod table;

pub use hold::PendingApproval;
pub use resolver::{Answer, Resolver, ResolverError, ResolverPort};
pub use stored_approvals::{EndedApproval, OpenApproval, StoredApproval, read_standing};
