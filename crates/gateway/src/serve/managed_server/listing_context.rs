//! What a server needs to process its lists, and the observer of changes.

use weaver_agent_kernel::Kernel;
use weaver_types::{Tenant, UpstreamName};

use crate::serve::confinement_signal::ConfinementSignalSource;

/// What a server needs to process its lists.
#[derive(Clone, Copy)]
pub(crate) struct ListingContext<'a> {
    /// Records events, and owns the registry of tools.
    pub(crate) kernel: &'a Kernel,
    /// Receives how well the server's process is confined.
    pub(crate) confinement_signals: &'a ConfinementSignalSource,
    pub(crate) observer: &'a dyn ListingObserver,
}

/// Is notified when the lists of a server have changed.
///
/// The rebuilt snapshots span all servers, and one server knows nothing of the others.
pub(crate) trait ListingObserver: Send + Sync {
    /// Called when the tools of this server changed. Returns a problem for each tool that got no
    /// exported name.
    fn tools_changed(&self, server: &UpstreamName) -> Vec<String>;

    /// The tenant of what is stored.
    fn tenant(&self) -> &Tenant;

    /// Called when the features of any server changed.
    fn features_changed(&self);
}
