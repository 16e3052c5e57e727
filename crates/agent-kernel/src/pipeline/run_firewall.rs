//! The firewall as a run sees it: with the masks of the run, and the origin of what passes.

use std::borrow::Cow;
use std::sync::Arc;

use weaver_firewall::{Firewall, ValueSource};
use weaver_types::Label;

use super::authorized_invocation::AuthorizedInvocation;
use crate::kernel::Kernel;

impl Kernel {
    /// The firewall as the run of a call sees its result. A run that cannot be read sees plain
    /// masks.
    pub(crate) fn firewall_for(
        &self,
        ready: &AuthorizedInvocation<'_>,
        own: Option<&Label>,
    ) -> Cow<'_, Firewall> {
        let Some(slot) = self.slot_of(ready.caller) else { return Cow::Borrowed(&self.firewall) };
        let label = match own {
            Some(own) => ready.worst.clone().join(own),
            None => ready.worst.clone(),
        };
        let origin = Arc::clone(&ready.target.entry.origin);
        self.firewall_of(&slot, ValueSource { origin, label })
    }
}
