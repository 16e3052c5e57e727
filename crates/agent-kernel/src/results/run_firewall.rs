//! The firewall of a run, with the run's masks and the origin of the result.

use std::borrow::Cow;
use std::sync::Arc;

use weaver_firewall::{Firewall, ValueSource};
use weaver_types::Label;

use super::ResultPipeline;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::cached_run::RunSlot;

impl ResultPipeline {
    /// The firewall for the result of a call. If the run cannot be read, masks are plain.
    pub(crate) fn result_firewall(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        source_label: Option<&Label>,
    ) -> Cow<'_, Firewall> {
        let Some(slot) = self.recorder.slot_of(invocation.caller) else {
            return Cow::Borrowed(&self.context.firewall);
        };
        let label = match source_label {
            Some(source_label) => invocation.worst_label.clone().join(source_label),
            None => invocation.worst_label.clone(),
        };
        let origin = Arc::clone(&invocation.target.entry.origin);
        self.source_firewall(&slot, ValueSource { origin, label })
    }

    /// The firewall for values of this source in a run, with the run's masks.
    pub(super) fn source_firewall(&self, slot: &RunSlot, source: ValueSource) -> Cow<'_, Firewall> {
        if !self.context.settings.placeholders {
            return Cow::Borrowed(&self.context.firewall);
        }
        let table = Arc::clone(slot.masks().table());
        Cow::Owned(self.context.firewall.with_masks(table, Some(source)))
    }
}
