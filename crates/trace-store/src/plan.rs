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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use weaver_types::Tenant;
    use weaver_types::ledger::{Durability, Expect, Namespace, Put};

    use super::*;

    type Records = BTreeMap<RecordKey, Kept>;

    impl Before for Records {
        fn record(&mut self, key: &RecordKey) -> Result<Option<&Kept>, LedgerError> {
            Ok(self.get(key))
        }
    }

    fn key() -> impl Strategy<Value = RecordKey> {
        let namespaces = select(vec![Namespace::Standing, Namespace::Run]);
        let key = |(namespace, id)| RecordKey::new(Tenant::default(), namespace, id);
        (namespaces, select(vec!["a", "b"])).prop_map(key)
    }

    fn batch() -> impl Strategy<Value = Batch> {
        let expect = (key(), select(vec![None, Some(1)]));
        let expect = expect.prop_map(|(key, version)| Expect { key, version });
        let add = (key(), -2_i64..=3).prop_map(|(key, delta)| Add { key, delta, min: 0, max: 4 });
        let put = (key(), 0..9_u8, any::<bool>()).prop_map(|(key, digit, ends)| Put {
            key,
            value: digit.to_string().into(),
            expires_at: ends.then(Timestamp::default),
        });
        (vec(expect, 0..2), vec(add, 0..4), vec(put, 0..4), vec(key(), 0..2)).prop_map(
            |(expect, add, put, delete)| Batch {
                expect,
                add,
                put,
                delete,
                ..Batch::new(Durability::Os)
            },
        )
    }

    /// One step after the other, each applied before the next.
    fn slowly(batch: &Batch, mut records: Records) -> Result<Records, LedgerError> {
        for guard in &batch.expect {
            if records.get(&guard.key).map(|kept| kept.version) != guard.version {
                return Err(LedgerError::Conflict { key: guard.key.clone() });
            }
        }
        for add in &batch.add {
            let moved = moved(records.get(&add.key), add)?;
            records.insert(add.key.clone(), moved);
        }
        for Put { key, value, expires_at } in batch.put.clone() {
            let version = records.get(&key).map_or(1, |kept| kept.version + 1);
            records.insert(key, Kept { version, value, expires_at });
        }
        records.retain(|key, _| !batch.delete.contains(key));
        Ok(records)
    }

    proptest! {
        #[test]
        fn a_plan_does_what_its_steps_do(first in batch(), then in batch()) {
            let first = slowly(&Batch { expect: vec![], ..first }, Records::new());
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
