//! Randomness as a parameter.

use std::sync::Mutex;

use sha2::{Digest as _, Sha256};

/// The source of randomness failed; whoever needed it must refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the source of randomness failed; nothing that needs a fresh value can go on")]
pub struct RandomError;

/// Where unpredictable bytes come from.
pub trait Random: Send + Sync {
    /// Fills the whole buffer with unpredictable bytes.
    ///
    /// # Errors
    /// [`RandomError`], when the source failed; the buffer's content is then unspecified.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError>;
}

/// The operating system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError> {
        getrandom::fill(buffer).map_err(|_| RandomError)
    }
}

/// A reproducible stream for tests and examples. Never for keys or salts that matter.
#[derive(Debug)]
pub struct SeededRandom(Mutex<(u64, u64)>);

impl SeededRandom {
    /// A stream that depends on `seed` alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new((seed, 0)))
    }
}

impl Random for SeededRandom {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError> {
        let mut state = self.0.lock().map_err(|_| RandomError)?;
        for chunk in buffer.chunks_mut(32) {
            let mut hasher = Sha256::new();
            hasher.update(state.0.to_be_bytes());
            hasher.update(state.1.to_be_bytes());
            state.1 = state.1.wrapping_add(1);
            for (to, from) in chunk.iter_mut().zip(hasher.finalize()) {
                *to = from;
            }
        }
        Ok(())
    }
}
