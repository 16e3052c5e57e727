//! What a batch does to the records, decided before anything is written. Every backend uses it,
//! so that they agree by construction.

use std::collections::BTreeMap;

use weaver_types::Timestamp;
use weaver_types::ledger::{Add, Batch, LedgerError, Record, RecordKey};

/// A record with all that is stored of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) version: u64,
    pub(crate) value: Vec<u8>,
    pub(crate) expires_at: Option<Timestamp>,
}

impl From<Kept> for Record {
    fn from(kept: Kept) -> Self {
        Self { version: kept.version, value: kept.value }
    }
}

/// The records after a batch; `None` for one that is gone. The keys are those of the batch.
pub(crate) type Writes<'b> = BTreeMap<&'b RecordKey, Option<Kept>>;

/// The records as they stand before a batch.
pub(crate) trait Before {
    /// One of them.
    fn record(&mut self, key: &RecordKey) -> Result<Option<&Kept>, LedgerError>;
}

/// Decides a batch against the records before it.
///
/// Guards see the state before the batch. Then counters move, records are written and records are
/// removed, in this order; a later step sees the earlier ones.
pub(crate) fn plan<'b>(
    batch: &'b Batch,
    before: &mut impl Before,
) -> Result<Writes<'b>, LedgerError> {
    for guard in &batch.expect {
        if before.record(&guard.key)?.map(|kept| kept.version) != guard.version {
            return Err(LedgerError::Conflict { key: guard.key.clone() });
        }
    }
    let mut writes = Writes::new();
    for add in &batch.add {
        let earlier = match writes.get(&add.key) {
            Some(written) => written.as_ref(),
            None => before.record(&add.key)?,
        };
        let moved = moved(earlier, add)?;
        writes.insert(&add.key, Some(moved));
    }
    for (place, put) in batch.put.iter().enumerate() {
        let version = match (writes.get(&put.key), batch.expect.get(place)) {
            (Some(written), _) => written.as_ref().map(|kept| kept.version),
            // A record and its guard are mostly added to a batch together.
            (None, Some(guard)) if guard.key == put.key => guard.version,
            (None, _) => before.record(&put.key)?.map(|kept| kept.version),
        };
        let kept = Kept {
            version: version.unwrap_or(0).saturating_add(1),
            value: put.value.clone(),
            expires_at: put.expires_at,
        };
        writes.insert(&put.key, Some(kept));
    }
    writes.extend(batch.delete.iter().map(|key| (key, None)));
    Ok(writes)
}

/// The counter after the step. A record that expires goes on expiring.
fn moved(before: Option<&Kept>, add: &Add) -> Result<Kept, LedgerError> {
    let (version, value, expires_at) = match before {
        None => (0, 0, None),
        Some(kept) => (kept.version, number(&kept.value, &add.key)?, kept.expires_at),
    };
    let after = value
        .checked_add(add.delta)
        .filter(|after| (add.min..=add.max).contains(after))
        .ok_or_else(|| LedgerError::OutOfBounds { key: add.key.clone() })?;
    Ok(Kept { version: version.saturating_add(1), value: after.to_string().into(), expires_at })
}

fn number(value: &[u8], key: &RecordKey) -> Result<i64, LedgerError> {
    str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse::<i64>().ok())
        .ok_or_else(|| LedgerError::Malformed(format!("record {key} is no counter")))
}
