//! The optional ports of a kernel: each adds an ability, none loosens a decision.

use std::sync::Arc;

use weaver_firewall::Firewall;
use weaver_firewall::handle::HandleEncryptionKey;
use weaver_firewall::view::ViewRegistry;
use weaver_policy::signal::SignalMonitor;

use crate::approval::TimedApprovalResolver;
use crate::precondition::PreconditionChecker;

pub use crate::long_work::LongWork;

/// The optional ports of a kernel; by default none.
#[derive(Clone, Default)]
pub struct Ports {
    /// Observes preconditions. Without one, a capability that declares preconditions is denied.
    pub preconditions: Option<Arc<dyn PreconditionChecker>>,
    /// Answers requests for approvals in this process. Without one, they wait for signed answers.
    pub resolver: Option<TimedApprovalResolver>,
    /// The signal sources, notified of each finished call and queried before each decision.
    pub signals: Arc<SignalMonitor>,
    /// Redacts and shortens results; without one, the built-in rules do. Add your own rules to
    /// them, never remove kinds.
    pub firewall: Option<Firewall>,
    /// Views of stored results in addition to the built-in ones.
    pub views: ViewRegistry,
    /// The key under which results are encrypted before they are stored. Without one they are
    /// stored in clear, and results stored under a key cannot be read.
    pub handle_key: Option<HandleEncryptionKey>,
    /// Runs what computes for long. Without one, the task that polls the call does.
    pub long_work: Option<LongWork>,
}

weaver_types::opaque_debug!(Ports);
