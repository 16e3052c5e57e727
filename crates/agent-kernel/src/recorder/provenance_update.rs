//! What an update of a run adds to its provenance index.

use weaver_types::RunId;
use weaver_types::digest::Digest;
use weaver_types::ledger::RecordWrite;

use super::RunRecorder;
use crate::cached_run::RunSlot;
use crate::provenance::{self, IndexEntries, PaymentReservation, ProvenanceIndex};

/// What an update adds to the provenance index of its run: recorded with the update and applied
/// once it is committed.
#[derive(Default)]
pub(crate) struct ProvenanceUpdate {
    pub(crate) puts: Vec<RecordWrite>,
    entries: Option<IndexEntries>,
    /// The payment that it notes. No other call makes it until this is applied or dropped.
    payment: Option<PaymentReservation>,
}

impl ProvenanceUpdate {
    /// The digests that the event contains of the index records, so that none can be planted or
    /// removed.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        self.puts.iter().map(provenance::put_digest).collect()
    }

    /// Keeps a payment reserved until the update is applied or dropped.
    pub(crate) fn with_payment(self, payment: Option<PaymentReservation>) -> Self {
        Self { payment, ..self }
    }

    /// Applies it to the index.
    pub(crate) fn apply(self, slot: &RunSlot) {
        if let Some(entries) = &self.entries
            && let Some(mut index) = slot.provenance()
        {
            index.add(entries);
            if !self.puts.is_empty() {
                index.mark_key_stored();
            }
        }
        // From here on the note tells of the payment.
        drop(self.payment);
    }
}

impl RunRecorder {
    /// Builds a provenance update from new entries; empty when there is nothing to add.
    pub(crate) fn build_provenance_update(
        &self,
        run: &RunId,
        slot: &RunSlot,
        name: &str,
        make_entries: impl FnOnce(&ProvenanceIndex) -> Option<IndexEntries>,
    ) -> Option<ProvenanceUpdate> {
        let entries = {
            let mut index = slot.provenance()?;
            index.ensure_key(self.context.random.as_ref())?;
            make_entries(&index)?
        };
        if entries.is_empty() {
            return Some(ProvenanceUpdate::default());
        }
        let puts = self.index_puts(run, slot, name, &entries)?;
        Some(ProvenanceUpdate { puts, entries: Some(entries), payment: None })
    }

    pub(super) fn index_puts(
        &self,
        run: &RunId,
        slot: &RunSlot,
        name: &str,
        entries: &IndexEntries,
    ) -> Option<Vec<RecordWrite>> {
        let index = slot.provenance()?;
        provenance::record_puts(&self.context.settings.tenant, run, name, &index, entries)
    }
}
