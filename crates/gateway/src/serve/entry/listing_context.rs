//! What a server's lists are taken into, and who is told when they change.

use weaver_agent_kernel::Kernel;
use weaver_types::UpstreamName;

use crate::serve::confinement_signal::ConfinedChildren;

/// What the lists of a server are taken into.
#[derive(Clone, Copy)]
pub(crate) struct ListingContext<'a> {
    /// Records events, and has the registry of the tools.
    pub(crate) kernel: &'a Kernel,
    /// Where it is kept how well the server's process is confined.
    pub(crate) confined: &'a ConfinedChildren,
    pub(crate) observer: &'a dyn ListingObserver,
}

/// Is told when the lists of a server have changed.
///
/// What it rebuilds spans all servers, and a server knows nothing of the others.
pub(crate) trait ListingObserver: Send + Sync {
    /// The tools of this server have changed. Returns one problem for each of them that could not be
    /// given an exported name.
    fn tools_changed(&self, server: &UpstreamName) -> Vec<String>;

    /// What some server offers beside tools has changed.
    fn features_changed(&self);
}
