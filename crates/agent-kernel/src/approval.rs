//! Approvals in the kernel: the requests that held calls open, and the approvals given in advance.

pub(crate) mod hold;
pub(crate) mod logged_approvals;
pub(crate) mod resolver;
pub(crate) mod standing_approvals;
mod stored_approvals;
pub(crate) mod table;
pub(crate) mod waiters;

pub use hold::PendingApproval;
pub use resolver::{
    ApprovalAnswer, ApprovalResolver, ApprovalResolverError, TimedApprovalResolver,
};
pub use stored_approvals::{EndedApproval, OpenApproval, StoredApproval, read_standing_approval};
