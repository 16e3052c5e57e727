//! Where a sweep came to: a record that is written in the batch it tells of.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, LedgerError, Namespace, Put, RecordKey};
use weaver_types::{Tenant, hex};

use super::Retention;

/// The version of the record, its field `v`.
const VERSION: u64 = 1;

/// The record of a retention. Another retention has another record, so it begins anew.
pub(super) fn key(retention: &Retention) -> Result<RecordKey, LedgerError> {
    let form = canonical::to_bytes(&retention.form(), Profile::Record)
        .map_err(|error| LedgerError::Malformed(format!("the retention has no form: {error}")))?;
    let id = hex(&Sha256::digest(form));
    Ok(RecordKey::new(Tenant::default(), Namespace::Retention, id))
}

/// The first event that has to be looked at: all before it are done with.
pub(super) fn read(ledger: &dyn Ledger, key: &RecordKey) -> Result<u64, LedgerError> {
    let Some(record) = ledger.read(key)? else { return Ok(0) };
    let bad = || LedgerError::Damaged(format!("record {key} is no position of a sweep"));
    let value = canonical::parse(&record.value, Profile::Record).map_err(|_| bad())?;
    let number = |name| value.get(name).and_then(Value::as_u64);
    match number("v") {
        Some(VERSION) => number("next").ok_or_else(bad),
        Some(found) if found > VERSION => {
            let what = "the position of a sweep".to_owned();
            Err(LedgerError::Newer { what, found, known: VERSION })
        }
        _ => Err(bad()),
    }
}

/// The record that says so.
pub(super) fn put(key: &RecordKey, next: u64) -> Result<Put, LedgerError> {
    let value = canonical::to_bytes(&json!({ "v": VERSION, "next": next }), Profile::Record)
        .map_err(|error| LedgerError::Malformed(error.to_string()))?;
    Ok(Put { key: key.clone(), value, expires_at: None })
}
