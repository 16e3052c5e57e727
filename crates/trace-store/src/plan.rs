//! Decides what a batch does to the records, before anything is written. Every backend uses this
//! module, so backends agree by construction.
//!
//! This is optimistic concurrency control (Kung and Robinson, *On Optimistic Methods for
//! Concurrency Control*, 1981): a batch names the versions that it was computed from, and is
//! rejected as a whole if any of them has changed. Batches are decided one after the other, so no
//! further isolation is needed.

use std::collections::BTreeMap;

use weaver_types::Timestamp;
use weaver_types::ledger::{
    Batch, CounterChange, GuardedWrite, LedgerError, Record, RecordKey, RecordWrite,
};

/// A record with its version and expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionedRecord {
    pub(crate) version: u64,
    pub(crate) value: Vec<u8>,
    pub(crate) expires_at: Option<Timestamp>,
}

impl From<VersionedRecord> for Record {
    fn from(kept: VersionedRecord) -> Self {
        Self { version: kept.version, value: kept.value }
    }
}

/// The records after a batch, each once; `None` for a deleted one. The keys are borrowed from the
/// batch.
pub(crate) type PlannedWrites<'b> = Vec<(&'b RecordKey, Option<VersionedRecord>)>;

/// Up to this many writes are searched linearly; beyond that, through a map.
const MAX_LINEAR_SEARCH: usize = 16;

/// The records that the steps so far have written.
#[derive(Default)]
struct PendingWrites<'b> {
    writes: PlannedWrites<'b>,
    /// The index of each write in `writes`, maintained once there are more than a few.
    positions: BTreeMap<&'b RecordKey, usize>,
}

impl<'b> PendingWrites<'b> {
    #[inline]
    fn position(&self, key: &RecordKey) -> Option<usize> {
        if self.writes.len() > MAX_LINEAR_SEARCH {
            return self.positions.get(key).copied();
        }
        self.writes.iter().position(|(own, _)| *own == key)
    }

    /// Applies a step to a record. `step` receives the result of an earlier step on the same
    /// record, if any, and returns the new state.
    fn step(
        &mut self,
        key: &'b RecordKey,
        step: impl FnOnce(
            Option<&Option<VersionedRecord>>,
        ) -> Result<Option<VersionedRecord>, LedgerError>,
    ) -> Result<(), LedgerError> {
        let place = self.position(key);
        let earlier = place.and_then(|place| self.writes.get_mut(place)).map(|(_, kept)| kept);
        let kept = step(earlier.as_deref())?;
        if let Some(earlier) = earlier {
            *earlier = kept;
            return Ok(());
        }
        self.writes.push((key, kept));
        if self.writes.len() > MAX_LINEAR_SEARCH {
            let new = self.writes.iter().enumerate().skip(self.positions.len());
            self.positions.extend(new.map(|(place, (key, _))| (*key, place)));
        }
        Ok(())
    }

    /// Writes a record. `before` gives its version before the batch, unless an earlier step has
    /// written it.
    fn put(
        &mut self,
        put: &'b RecordWrite,
        before: impl FnOnce() -> Result<Option<u64>, LedgerError>,
    ) -> Result<(), LedgerError> {
        self.step(&put.key, |earlier| {
            let version = match earlier {
                Some(earlier) => earlier.as_ref().map(|kept| kept.version),
                None => before()?,
            };
            Ok(Some(VersionedRecord {
                version: version.unwrap_or(0).saturating_add(1),
                value: put.value.clone(),
                expires_at: put.expires_at,
            }))
        })
    }
}

/// The records before a batch.
pub(crate) trait RecordLookup {
    /// The record with this key.
    fn record(&mut self, key: &RecordKey) -> Result<Option<&VersionedRecord>, LedgerError>;
}

/// Decides a batch against the records before it.
///
/// Guards see the state before the batch. Then counters change, records are written and records are
/// deleted, in this order; a later step sees the earlier ones.
pub(crate) fn plan<'b>(
    batch: &'b Batch,
    before: &mut impl RecordLookup,
) -> Result<PlannedWrites<'b>, LedgerError> {
    let version = |record: Option<&VersionedRecord>| record.map(|kept| kept.version);
    batch.guards().try_for_each(|(key, wanted)| {
        if version(before.record(key)?) == wanted {
            Ok(())
        } else {
            Err(LedgerError::Conflict { key: key.clone() })
        }
    })?;
    let steps = batch.add.len() + batch.replace.len() + batch.put.len() + batch.delete.len();
    let mut written =
        PendingWrites { writes: Vec::with_capacity(steps), ..PendingWrites::default() };
    for add in &batch.add {
        written.step(&add.key, |earlier| match earlier {
            Some(earlier) => apply_counter_change(earlier.as_ref(), add).map(Some),
            None => apply_counter_change(before.record(&add.key)?, add).map(Some),
        })?;
    }
    for GuardedWrite { put, version } in &batch.replace {
        written.put(put, || Ok(*version))?;
    }
    for (place, put) in batch.put.iter().enumerate() {
        // A separate guard for a write usually has the same index as the write.
        let guard = batch.expect.get(place).filter(|guard| guard.key == put.key);
        written.put(put, || match guard {
            Some(guard) => Ok(guard.version),
            None => before.record(&put.key).map(version),
        })?;
    }
    for key in &batch.delete {
        written.step(key, |_| Ok(None))?;
    }
    Ok(written.writes)
}

/// The counter after the step. Its expiry does not change.
fn apply_counter_change(
    before: Option<&VersionedRecord>,
    add: &CounterChange,
) -> Result<VersionedRecord, LedgerError> {
    let (version, value, expires_at) = match before {
        None => (0, 0, None),
        Some(kept) => (kept.version, parse_counter(&kept.value, &add.key)?, kept.expires_at),
    };
    let after = value
        .checked_add(add.delta)
        .filter(|after| (add.min..=add.max).contains(after))
        .ok_or_else(|| LedgerError::OutOfBounds { key: add.key.clone() })?;
    Ok(VersionedRecord {
        version: version.saturating_add(1),
        value: after.to_string().into(),
        expires_at,
    })
}

fn parse_counter(value: &[u8], key: &RecordKey) -> Result<i64, LedgerError> {
    str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse::<i64>().ok())
        .ok_or_else(|| LedgerError::Malformed(format!("record {key} is not a counter")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use weaver_types::Tenant;
    use weaver_types::ledger::{Durability, Namespace, VersionGuard};

    use super::*;

    type Records = BTreeMap<RecordKey, VersionedRecord>;

    impl RecordLookup for Records {
        fn record(&mut self, key: &RecordKey) -> Result<Option<&VersionedRecord>, LedgerError> {
            Ok(self.get(key))
        }
    }

    fn key(ids: u8) -> impl Strategy<Value = RecordKey> {
        let namespaces = select(vec![Namespace::Standing, Namespace::Run]);
        let key = |(namespace, id)| RecordKey::new(Tenant::default(), namespace, id);
        (namespaces, select((0..ids).map(|id| id.to_string()).collect::<Vec<_>>())).prop_map(key)
    }

    /// A batch over `ids` ids, with a maximum number of steps of each kind.
    fn batch(ids: u8, steps: usize) -> impl Strategy<Value = Batch> {
        let expect = (key(ids), select(vec![None, Some(1)]));
        let expect = expect.prop_map(|(key, version)| VersionGuard { key, version });
        let add = (key(ids), -2_i64..=3).prop_map(|(key, delta)| CounterChange {
            key,
            delta,
            min: 0,
            max: 4,
        });
        let put = || {
            (key(ids), 0..9_u8, any::<bool>()).prop_map(|(key, digit, ends)| RecordWrite {
                key,
                value: digit.to_string().into(),
                expires_at: ends.then(Timestamp::default),
            })
        };
        let replace = (put(), select(vec![None, Some(1)]));
        let replace = replace.prop_map(|(put, version)| GuardedWrite { put, version });
        let guarded = (vec(expect, 0..2), vec(replace, 0..2));
        (guarded, vec(add, 0..4), vec(put(), 0..steps), vec(key(ids), 0..2)).prop_map(
            |((expect, replace), add, put, delete)| Batch {
                expect,
                add,
                replace,
                put,
                delete,
                ..Batch::new(Durability::Os)
            },
        )
    }

    /// One step after the other, each applied before the next.
    fn slowly(batch: &Batch, mut records: Records) -> Result<Records, LedgerError> {
        for (key, version) in batch.guards() {
            if records.get(key).map(|kept| kept.version) != version {
                return Err(LedgerError::Conflict { key: key.clone() });
            }
        }
        for add in &batch.add {
            let moved = apply_counter_change(records.get(&add.key), add)?;
            records.insert(add.key.clone(), moved);
        }
        for RecordWrite { key, value, expires_at } in batch.puts().cloned() {
            let version = records.get(&key).map_or(1, |kept| kept.version + 1);
            records.insert(key, VersionedRecord { version, value, expires_at });
        }
        records.retain(|key, _| !batch.delete.contains(key));
        Ok(records)
    }

    /// Few records and many.
    fn batches() -> impl Strategy<Value = (Batch, Batch)> {
        let few = (batch(2, 4), batch(2, 4));
        let many = (batch(12, 4 * MAX_LINEAR_SEARCH), batch(12, 4 * MAX_LINEAR_SEARCH));
        prop_oneof![few, many]
    }

    proptest! {
        #[test]
        fn a_plan_does_what_its_steps_do((first, then) in batches()) {
            let first = slowly(&Batch { expect: vec![], replace: vec![], ..first }, Records::new());
            let mut records = first.unwrap_or_default();
            let slowly = slowly(&then, records.clone());
            let planned = plan(&then, &mut records).map(|writes| {
                let mut after = records.clone();
                for (key, kept) in writes {
                    match kept {
                        Some(kept) => after.insert(key.clone(), kept),
                        None => after.remove(key),
                    };
                }
                after
            });
            prop_assert_eq!(planned, slowly);
        }
    }
}
