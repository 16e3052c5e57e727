//! Random salts, drawn in advance: one call to the random source serves many events.

use std::sync::{Arc, Mutex};

use weaver_types::Random;
use weaver_types::ledger::LedgerError;

use crate::entry::SALT_BYTES;

/// How many salts are drawn in advance.
const REFILL_COUNT: usize = 64;

/// A pool of salts; each is used once.
pub(crate) struct SaltPool {
    random: Arc<dyn Random>,
    pool: Mutex<Vec<[u8; SALT_BYTES]>>,
}

impl SaltPool {
    pub(crate) fn new(random: Arc<dyn Random>) -> Self {
        Self { random, pool: Mutex::default() }
    }

    /// Takes `count` unused salts.
    pub(crate) fn take(&self, count: usize) -> Result<Vec<[u8; SALT_BYTES]>, LedgerError> {
        let poisoned = |_| LedgerError::Failed("a thread died while it drew salts".to_owned());
        let mut pool = self.pool.lock().map_err(poisoned)?;
        if pool.len() < count {
            let mut bytes = vec![0; (count + REFILL_COUNT) * SALT_BYTES];
            let failed =
                |error: weaver_types::RandomError| LedgerError::Malformed(error.to_string());
            self.random.fill(&mut bytes).map_err(failed)?;
            // The rest of the old pool is dropped: had the source failed half way, no stale salt
            // may remain.
            *pool = bytes.as_chunks::<SALT_BYTES>().0.to_vec();
        }
        let from = pool.len().saturating_sub(count);
        Ok(pool.split_off(from))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weaver_types::{OsRandom, RandomError};

    use super::*;

    #[test]
    fn no_salt_is_given_out_twice() {
        let salts = SaltPool::new(Arc::new(OsRandom));
        let mut seen = BTreeSet::new();
        let mut total = 0;
        for count in [1, 1, 63, 0, 64, 65, 200, 1, 1] {
            total += count;
            let given = salts.take(count).unwrap();
            assert_eq!(given.len(), count);
            seen.extend(given);
        }
        assert_eq!(seen.len(), total);
    }

    #[test]
    fn a_source_that_fails_gives_none() {
        struct Broken;
        impl Random for Broken {
            fn fill(&self, _: &mut [u8]) -> Result<(), RandomError> {
                Err(RandomError)
            }
        }
        assert!(SaltPool::new(Arc::new(Broken)).take(1).unwrap_err().is_refusal());
    }
}
