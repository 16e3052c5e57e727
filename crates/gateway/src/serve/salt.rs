//! The salt of a ledger, for digests of observed facts that nobody should be able to guess from the
//! log.

use sha2::{Digest as _, Sha256};
use weaver_types::ledger::{Batch, Durability, Ledger, LedgerError, Namespace, RecordKey};
use weaver_types::{Random, Tenant, hex};

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

/// An id of the ledger that says nothing of its salt, in the form of a UUID of version 8.
pub(crate) fn public_id(salt: &[u8; SALT_BYTES]) -> String {
    let digest = Sha256::new().chain_update(b"weaver public id\0").chain_update(salt).finalize();
    let mut id: Vec<u8> = digest.iter().copied().take(16).collect();
    if let [.., version, _, variant, _, _, _, _, _, _, _] = id.as_mut_slice() {
        *version = *version & 0x0f | 0x80;
        *variant = *variant & 0x3f | 0x80;
    }
    let text = hex(&id);
    let parts =
        [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| text.get(part).unwrap_or_default());
    parts.join("-")
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

    #[test]
    fn the_public_id_of_a_ledger_is_a_uuid_of_its_own() {
        let id = public_id(&[1; SALT_BYTES]);
        assert_eq!(id, public_id(&[1; SALT_BYTES]));
        assert_ne!(id, public_id(&[2; SALT_BYTES]));
        let parts: Vec<&str> = id.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('8') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
    }
}
