//! The masks of a run in memory, and the record that keeps their numbers from coming again.
//!
//! Values are kept in memory alone. Once a run is read again, its masks of before stand for
//! nothing, and the new table begins above their numbers: the record says how many tables there
//! were. It is written with the first call that shows a mask.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use weaver_firewall::MaskTable;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Ledger, Namespace, Put, RecordKey};
use weaver_types::{RunId, Tenant};

use crate::error::KernelError;

/// The version of the stored form.
const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunMasksRecord {
    v: u8,
    /// How many tables of masks the run has had.
    tables: u32,
}

/// The masks of a run.
#[derive(Debug, Default)]
pub(crate) struct RunMasks {
    table: Arc<MaskTable>,
    /// How many tables there were before this one.
    before: u32,
    /// Whether the record counts this one.
    stored: AtomicBool,
}

impl RunMasks {
    /// An empty table, above the numbers of those before it.
    pub(crate) fn read(
        tenant: &Tenant,
        run: &RunId,
        ledger: &dyn Ledger,
    ) -> Result<Self, KernelError> {
        let before = match ledger.read(&key(tenant, run))? {
            Some(record) => tables(&record.value)?,
            None => 0,
        };
        let table = Arc::new(MaskTable::after(before));
        Ok(Self { table, before, stored: AtomicBool::new(false) })
    }

    /// The table.
    pub(crate) fn table(&self) -> &Arc<MaskTable> {
        &self.table
    }

    /// The record that counts this table, where it has masks and is not counted.
    pub(crate) fn put(&self, tenant: &Tenant, run: &RunId) -> Option<Put> {
        if self.table.is_empty() { None } else { self.put_now(tenant, run) }
    }

    /// The same before it has any.
    pub(crate) fn put_now(&self, tenant: &Tenant, run: &RunId) -> Option<Put> {
        if self.stored.load(Ordering::Acquire) {
            return None;
        }
        let stored = RunMasksRecord { v: VERSION, tables: self.before.saturating_add(1) };
        let value = canonical::of(&stored, Profile::Record).ok()?;
        Some(Put { key: key(tenant, run), value, expires_at: None })
    }

    /// Notes that the record is written.
    pub(crate) fn stored(&self) {
        self.stored.store(true, Ordering::Release);
    }
}

/// Whether the batch writes the record. Only then does the table count as recorded: another call may
/// have put the first mask into it since the batch was made.
pub(crate) fn are_counted_by(batch: &Batch) -> bool {
    batch.put.iter().any(|put| put.key.namespace == Namespace::Masks)
}

fn key(tenant: &Tenant, run: &RunId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Masks, run)
}

fn tables(value: &[u8]) -> Result<u32, KernelError> {
    let stored = |problem: String| KernelError::Stored { what: "the masks of a run", problem };
    let value = canonical::parse(value, Profile::Record).map_err(|e| stored(e.to_string()))?;
    let version = value.get("v").and_then(serde_json::Value::as_u64);
    if version != Some(VERSION.into()) {
        let said = format!("its version is {version:?}, this build knows 1; use a newer build");
        return Err(stored(said));
    }
    let read: RunMasksRecord = serde_json::from_value(value).map_err(|e| stored(e.to_string()))?;
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

    fn text(put: Option<Put>) -> Option<String> {
        put.map(|put| String::from_utf8(put.value).unwrap())
    }

    #[test]
    fn a_table_is_counted_with_its_first_mask_and_only_once() {
        let ledger = MemoryLedger::fresh(Arc::new(SeededRandom::new(1))).unwrap();
        let masks = masks(&ledger);
        let put = || text(masks.put(&Tenant::default(), &run()));
        assert_eq!(put(), None, "nothing is masked yet");
        assert!(text(masks.put_now(&Tenant::default(), &run())).is_some());
        let batch = |put: Option<Put>| {
            let mut batch = Batch::new(Durability::Os);
            batch.put.extend(put);
            batch
        };
        let made_before = batch(masks.put(&Tenant::default(), &run()));
        mask(&masks);
        assert!(!are_counted_by(&made_before), "the mask came while it was on its way");
        assert!(are_counted_by(&batch(masks.put(&Tenant::default(), &run()))));
        assert_eq!(put().as_deref(), Some("{\"tables\":1,\"v\":1}"));
        assert!(put().is_some(), "until it is recorded");
        masks.stored();
        assert_eq!(put(), None);
        assert!(masks.put_now(&Tenant::default(), &run()).is_none());
    }

    #[test]
    fn no_mask_of_a_run_comes_again_after_a_restart() {
        let ledger = MemoryLedger::fresh(Arc::new(SeededRandom::new(1))).unwrap();
        let mut shown = Vec::new();
        for tables in 1..4 {
            let masks = masks(&ledger);
            shown.push(mask(&masks));
            let put = masks.put(&Tenant::default(), &run()).unwrap();
            assert_eq!(put.value, format!("{{\"tables\":{tables},\"v\":1}}").into_bytes());
            ledger.commit(Batch { put: vec![put], ..Batch::new(Durability::Os) }).wait().unwrap();
        }
        assert!(shown[0] != shown[1] && shown[1] != shown[2] && shown[0] != shown[2], "{shown:?}");
    }

    #[test]
    fn a_record_of_another_form_is_an_error() {
        assert_eq!(tables(b"{\"tables\":7,\"v\":1}").unwrap(), 7);
        for (wrong, problem) in [
            ("{\"tables\":7,\"v\":2}", "its version is Some(2), this build knows 1"),
            ("{\"tables\":7}", "its version is None"),
            ("{\"more\":1,\"tables\":7,\"v\":1}", "unknown field"),
            ("nonsense", "the masks of a run in the ledger cannot be read"),
        ] {
            let error = tables(wrong.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
