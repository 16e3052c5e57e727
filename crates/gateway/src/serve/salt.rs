//! The salt of a ledger, for digests of observed facts that nobody should be able to guess from the
//! log.

use weaver_types::ledger::{Batch, Durability, Ledger, LedgerError, Namespace, RecordKey};
use weaver_types::{Random, Tenant};

use super::error::ServeError;

/// The length of a salt.
const SALT_BYTES: usize = 32;

/// Reads the salt, or creates it in a ledger without one.
pub(crate) fn load_or_create(
    ledger: &dyn Ledger,
    tenant: &Tenant,
    random: &dyn Random,
) -> Result<[u8; SALT_BYTES], ServeError> {
    let key = RecordKey::new(tenant.clone(), Namespace::Salt, "preconditions");
    if let Some(record) = ledger.read(&key)? {
        return <[u8; SALT_BYTES]>::try_from(record.value.as_slice()).map_err(|_| {
            LedgerError::Damaged(format!("the salt has {} bytes", record.value.len())).into()
        });
    }
    let mut salt = [0; SALT_BYTES];
    random
        .fill(&mut salt)
        .map_err(|error| LedgerError::Failed(format!("no salt could be created: {error}")))?;
    ledger.commit(Batch::new(Durability::Disk).create(key, salt.to_vec(), None)).wait()?;
    Ok(salt)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weaver_trace_store::MemoryLedger;
    use weaver_types::{LogId, OsRandom};

    use super::*;

    #[test]
    fn a_ledger_keeps_its_salt() {
        let id = LogId::random(&OsRandom).unwrap();
        let ledger = MemoryLedger::new(id, Arc::new(OsRandom));
        let salt = || load_or_create(&ledger, &Tenant::default(), &OsRandom).unwrap();
        assert_eq!(salt(), salt());
        assert_ne!(salt(), [0; SALT_BYTES]);
    }
}
