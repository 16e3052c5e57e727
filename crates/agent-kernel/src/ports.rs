//! What a kernel can be given beside its parts: each port adds an ability, none loosens a
//! decision.

use std::sync::Arc;

use weaver_firewall::Firewall;
use weaver_firewall::handle::HandleKey;
use weaver_firewall::view::ViewRegistry;
use weaver_policy::signal::SignalMonitor;

use crate::approval::ResolverPort;
use crate::precondition::PreconditionChecker;

/// The optional ports of a kernel; by default none.
#[derive(Clone, Default)]
pub struct Ports {
    /// Observes preconditions. Without one, a capability that declares preconditions is denied.
    pub preconditions: Option<Arc<dyn PreconditionChecker>>,
    /// Answers requests for approvals in this process. Without one, they wait for signed answers.
    pub resolver: Option<ResolverPort>,
    /// The sources of signals, told of each finished call and asked before each decision.
    pub signals: Arc<SignalMonitor>,
    /// Redacts and cuts results; without one, the built-in rules do. Give it rules of your own, never
    /// fewer kinds.
    pub firewall: Option<Firewall>,
    /// Views of stored results beside the built-in ones.
    pub views: ViewRegistry,
    /// The key under which results are encrypted before they are stored. Without one they are
    /// stored as they are, and what was stored under a key cannot be looked into.
    pub handle_key: Option<HandleKey>,
}
