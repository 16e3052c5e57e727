//! The masks of a run in memory, and the record that prevents their numbers from being reused.
//!
//! The values exist only in memory. When a run is loaded again, its earlier masks have no values,
//! and the new table starts above their numbers: the record counts the tables so far. It is written
//! with the first call that shows a mask.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use weaver_firewall::MaskTable;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Ledger, Namespace, RecordKey, RecordWrite};
use weaver_types::{RunId, Tenant};

use crate::error::KernelError;
use crate::versioned_record::parse_versioned;

/// The version of the stored form.
const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunMasksRecord {
    v: u8,
    /// How many mask tables the run has had.
    tables: u32,
}

/// The masks of a run.
#[derive(Debug, Default)]
pub(crate) struct RunMasks {
    table: Arc<MaskTable>,
    /// How many tables there were before this one.
    previous_tables: u32,
    /// Whether the stored record counts this table.
    is_recorded: AtomicBool,
}

impl RunMasks {
    /// An empty table that starts above the numbers of earlier ones.
    pub(crate) fn read(
        tenant: &Tenant,
        run: &RunId,
        ledger: &dyn Ledger,
    ) -> Result<Self, KernelError> {
        let before = match ledger.read(&key(tenant, run))? {
            Some(record) => parse_table_count(&record.value)?,
            None => 0,
        };
        let table = Arc::new(MaskTable::numbered_after(before));
        Ok(Self { table, previous_tables: before, is_recorded: AtomicBool::new(false) })
    }

    /// The table.
    pub(crate) fn table(&self) -> &Arc<MaskTable> {
        &self.table
    }

    /// The record that counts this table, if it has masks and is not counted yet.
    pub(crate) fn put_if_used(&self, tenant: &Tenant, run: &RunId) -> Option<RecordWrite> {
        if self.table.is_empty() { None } else { self.put_unless_recorded(tenant, run) }
    }

    /// The record that counts this table, if it is not counted yet, even when it has no masks.
    pub(crate) fn put_unless_recorded(&self, tenant: &Tenant, run: &RunId) -> Option<RecordWrite> {
        if self.is_recorded.load(Ordering::Acquire) {
            return None;
        }
        let stored = RunMasksRecord { v: VERSION, tables: self.previous_tables.saturating_add(1) };
        let value = canonical::serialize(&stored, Profile::Record).ok()?;
        Some(RecordWrite { key: key(tenant, run), value, expires_at: None })
    }

    /// Marks the record as written.
    pub(crate) fn mark_recorded(&self) {
        self.is_recorded.store(true, Ordering::Release);
    }
}

/// Whether the batch writes the record. Only then does the table count as recorded: another call
/// may have added the first mask since the batch was built.
pub(crate) fn writes_mask_record(batch: &Batch) -> bool {
    batch.put.iter().any(|put| put.key.namespace == Namespace::Masks)
}

fn key(tenant: &Tenant, run: &RunId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Masks, run)
}

fn parse_table_count(value: &[u8]) -> Result<u32, KernelError> {
    let stored =
        |problem: String| KernelError::StoredRecord { what: "the masks of a run", problem };
    let read: RunMasksRecord =
        parse_versioned(value, Profile::Record, 1..=VERSION.into()).map_err(stored)?;
    Ok(read.tables)
}

#[cfg(test)]
mod tests {
    use weaver_firewall::Firewall;
    use weaver_trace_store::MemoryLedger;
    use weaver_types::SeededRandom;
    use weaver_types::ledger::Durability;

    use super::*;

    fn run() -> RunId {
        RunId::parse("run_1").unwrap()
    }

    fn masks(ledger: &dyn Ledger) -> RunMasks {
        RunMasks::read(&Tenant::default(), &run(), ledger).unwrap()
    }

    /// Shows a text of which a part is masked.
    fn mask(masks: &RunMasks) -> String {
        let firewall = Firewall::new().with_masks(Arc::clone(masks.table()), None);
        firewall.redact_text("write to jane.roe@corp.example.org").text
    }

    fn text(put: Option<RecordWrite>) -> Option<String> {
        put.map(|put| String::from_utf8(put.value).unwrap())
    }

    #[test]
    fn a_table_is_counted_with_its_first_mask_and_only_once() {
        let ledger = MemoryLedger::with_random_id(Arc::new(SeededRandom::new(1))).unwrap();
        let masks = masks(&ledger);
        let put = || text(masks.put_if_used(&Tenant::default(), &run()));
        assert_eq!(put(), None, "nothing is masked yet");
        assert!(text(masks.put_unless_recorded(&Tenant::default(), &run())).is_some());
        let batch = |put: Option<RecordWrite>| {
            let mut batch = Batch::new(Durability::Os);
            batch.put.extend(put);
            batch
        };
        let made_before = batch(masks.put_if_used(&Tenant::default(), &run()));
        mask(&masks);
        assert!(!writes_mask_record(&made_before), "the mask came while it was on its way");
        assert!(writes_mask_record(&batch(masks.put_if_used(&Tenant::default(), &run()))));
        assert_eq!(put().as_deref(), Some("{\"tables\":1,\"v\":1}"));
        assert!(put().is_some(), "until it is recorded");
        masks.mark_recorded();
        assert_eq!(put(), None);
        assert!(masks.put_unless_recorded(&Tenant::default(), &run()).is_none());
    }

    #[test]
    fn no_mask_of_a_run_comes_again_after_a_restart() {
        let ledger = MemoryLedger::with_random_id(Arc::new(SeededRandom::new(1))).unwrap();
        let mut shown = Vec::new();
        for tables in 1..4 {
            let masks = masks(&ledger);
            shown.push(mask(&masks));
            let put = masks.put_if_used(&Tenant::default(), &run()).unwrap();
            assert_eq!(put.value, format!("{{\"tables\":{tables},\"v\":1}}").into_bytes());
            ledger.commit(Batch { put: vec![put], ..Batch::new(Durability::Os) }).wait().unwrap();
        }
        assert!(shown[0] != shown[1] && shown[1] != shown[2] && shown[0] != shown[2], "{shown:?}");
    }

    #[test]
    fn a_record_of_another_form_is_an_error() {
        assert_eq!(parse_table_count(b"{\"tables\":7,\"v\":1}").unwrap(), 7);
        for (wrong, problem) in [
            ("{\"tables\":7,\"v\":2}", "its version is Some(2), this build knows 1"),
            ("{\"tables\":7}", "its version is None"),
            ("{\"more\":1,\"tables\":7,\"v\":1}", "unknown field"),
            ("nonsense", "the masks of a run in the ledger cannot be read"),
        ] {
            let error = parse_table_count(wrong.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
