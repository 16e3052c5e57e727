//! The positions of a sweep, one for each age: records that are written in the same batch as the
//! pruning.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, LedgerError, Namespace, RecordKey, RecordWrite};
use weaver_types::{Tenant, hex};

use super::Retention;

/// The version of the record, in its field `v`.
const VERSION: u64 = 1;

/// The record of a retention for events of one of its ages. A changed retention has other records,
/// so it starts from the beginning. That of the highest age names none: it has always been there.
pub(super) fn key(retention: &Retention, age: Option<Duration>) -> Result<RecordKey, LedgerError> {
    let mut identity = retention.identity_value();
    if let (Some(age), Some(members)) = (age, identity.as_object_mut()) {
        members.insert("age".to_owned(), Value::from(age.as_micros().to_string()));
    }
    let form = canonical::to_bytes(&identity, Profile::Record)
        .map_err(|error| LedgerError::Malformed(format!("the retention has no form: {error}")))?;
    let id = hex(&Sha256::digest(form));
    Ok(RecordKey::new(Tenant::default(), Namespace::Retention, id))
}

/// The first event that must still be examined; all before it are done.
pub(super) fn read(ledger: &dyn Ledger, key: &RecordKey) -> Result<u64, LedgerError> {
    let Some(record) = ledger.read(key)? else { return Ok(0) };
    let bad = || LedgerError::Damaged(format!("record {key} is not a position of a sweep"));
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

/// The write of the position.
pub(super) fn put(key: &RecordKey, next: u64) -> Result<RecordWrite, LedgerError> {
    let value = canonical::to_bytes(&json!({ "v": VERSION, "next": next }), Profile::Record)
        .map_err(|error| LedgerError::Malformed(error.to_string()))?;
    Ok(RecordWrite { key: key.clone(), value, expires_at: None })
}
