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
use weaver_types::ledger::{Ledger, Namespace, Put, RecordKey};
use weaver_types::{RunId, Tenant};

use crate::error::KernelError;

/// The version of the stored form.
const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
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
        let stored = Stored { v: VERSION, tables: self.before.saturating_add(1) };
        let value = canonical::of(&stored, Profile::Record).ok()?;
        Some(Put { key: key(tenant, run), value, expires_at: None })
    }

    /// Notes that what was to be recorded is.
    pub(crate) fn stored(&self) {
        if !self.table.is_empty() {
            self.stored.store(true, Ordering::Release);
        }
    }
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
    let read: Stored = serde_json::from_value(value).map_err(|e| stored(e.to_string()))?;
    Ok(read.tables)
}
