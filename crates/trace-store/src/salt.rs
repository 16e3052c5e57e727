//! Fresh salts, drawn ahead: one question to the system serves many events.

use std::sync::{Arc, Mutex};

use weaver_types::Random;
use weaver_types::ledger::LedgerError;

use crate::entry::SALT;

/// Salts that are drawn at once.
const AHEAD: usize = 64;

/// Gives out salts, each once.
pub(crate) struct Salts {
    random: Arc<dyn Random>,
    ahead: Mutex<Vec<[u8; SALT]>>,
}

impl Salts {
    pub(crate) fn new(random: Arc<dyn Random>) -> Self {
        Self { random, ahead: Mutex::default() }
    }

    /// That many fresh salts.
    pub(crate) fn take(&self, count: usize) -> Result<Vec<[u8; SALT]>, LedgerError> {
        let poisoned = |_| LedgerError::Failed("a thread died while it drew salts".to_owned());
        let mut ahead = self.ahead.lock().map_err(poisoned)?;
        if ahead.len() < count {
            let mut bytes = vec![0; (count + AHEAD) * SALT];
            let failed =
                |error: weaver_types::RandomError| LedgerError::Malformed(error.to_string());
            self.random.fill(&mut bytes).map_err(failed)?;
            // What was left is dropped: should the source have failed half way, nothing old stays.
            *ahead = bytes.as_chunks::<SALT>().0.to_vec();
        }
        let from = ahead.len().saturating_sub(count);
        Ok(ahead.split_off(from))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weaver_types::{OsRandom, RandomError};

    use super::*;

    #[test]
    fn no_salt_is_given_out_twice() {
        let salts = Salts::new(Arc::new(OsRandom));
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
        assert!(Salts::new(Arc::new(Broken)).take(1).unwrap_err().is_refusal());
    }
}
