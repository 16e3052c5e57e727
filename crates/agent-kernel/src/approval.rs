//! Approvals in the kernel: the requests that held calls open, and the approvals given in advance.

mod approval_counts;
mod approval_requests;
mod ask_resolver;
mod change_request;
pub(crate) mod hold;
pub(crate) mod hold_release;
pub(crate) mod logged_approvals;
mod open_request;
pub(crate) mod resolver;
pub(crate) mod standing_approvals;
mod standing_release;
mod stored_approvals;
pub(crate) mod table;
pub(crate) mod waiters;

pub(crate) use approval_counts::ApprovalCounters;
pub use approval_counts::ApprovalCounts;
pub(crate) use approval_requests::ApprovalRequests;
pub(crate) use ask_resolver::ResolverOutcome;
pub(crate) use change_request::{ChangeError, phase_event_kind};
pub use hold::PendingApproval;
pub(crate) use open_request::OpeningCall;
pub use resolver::{
    ApprovalAnswer, ApprovalResolver, ApprovalResolverError, TimedApprovalResolver,
};
pub(crate) use standing_release::ReleaseEffect;
pub use stored_approvals::{EndedApproval, OpenApproval, StoredApproval, read_standing_approval};
