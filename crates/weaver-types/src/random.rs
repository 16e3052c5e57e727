//! Randomness as a parameter.

use std::sync::Mutex;

use sha2::{Digest as _, Sha256};

/// The source of randomness failed; the caller must refuse what needed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the source of randomness failed; nothing that needs a fresh value can go on")]
pub struct RandomError;

/// A source of unpredictable bytes.
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

/// How many bytes are drawn from the source at once.
const REFILL_BYTES: usize = 2_048;
/// Requests up to this size are served from the buffer, in bytes.
const MAX_BUFFERED_BYTES: usize = 32;

/// Buffers another source. Ids and salts are small, and one system call for each would dominate
/// their cost. Bytes that were handed out are erased from the buffer. A process that forks must not
/// share an instance with its child.
///
/// ```
/// use weaver_types::{BufferedRandom, OsRandom, Random};
///
/// let random = BufferedRandom::new(OsRandom);
/// let (mut a, mut b) = ([0; 16], [0; 16]);
/// random.fill(&mut a)?;
/// random.fill(&mut b)?;
/// assert_ne!(a, b);
/// # Ok::<(), weaver_types::RandomError>(())
/// ```
#[derive(Debug)]
pub struct BufferedRandom<R> {
    source: R,
    unused: Mutex<Vec<u8>>,
}

impl<R: Random> BufferedRandom<R> {
    /// An empty buffer over `source`.
    #[must_use]
    pub fn new(source: R) -> Self {
        Self { source, unused: Mutex::default() }
    }
}

impl<R: Random> Random for BufferedRandom<R> {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError> {
        if buffer.len() > MAX_BUFFERED_BYTES {
            return self.source.fill(buffer);
        }
        let mut unused = self.unused.lock().map_err(|_| RandomError)?;
        if unused.len() < buffer.len() {
            // Taken out, so that no stale bytes remain if the source fails half way.
            let mut block = std::mem::take(&mut *unused);
            block.resize(REFILL_BYTES, 0);
            self.source.fill(&mut block)?;
            *unused = block;
        }
        let left = unused.len().saturating_sub(buffer.len());
        if let Some(last) = unused.get_mut(left..) {
            buffer.copy_from_slice(last);
            last.fill(0);
        }
        unused.truncate(left);
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Counts upwards, and fails after the given number of draws.
    struct Counting(Mutex<(u64, u64)>);

    impl Random for Counting {
        fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError> {
            let mut state = self.0.lock().unwrap();
            state.1 = state.1.checked_sub(1).ok_or(RandomError)?;
            for chunk in buffer.chunks_mut(8) {
                state.0 += 1;
                chunk.copy_from_slice(&state.0.to_be_bytes()[8 - chunk.len()..]);
            }
            Ok(())
        }
    }

    #[test]
    fn nothing_is_handed_out_twice_and_a_source_that_fails_fails_here() {
        let random = BufferedRandom::new(Counting(Mutex::new((0, 3))));
        let mut seen = BTreeSet::new();
        let mut taken = 0;
        loop {
            let mut value = [0; 16];
            let Ok(()) = random.fill(&mut value) else { break };
            for half in value.chunks(8) {
                assert!(half != [0; 8] && seen.insert(half.to_vec()), "{half:?}");
            }
            taken += 1;
        }
        assert_eq!(taken, 3 * REFILL_BYTES / 16);
        assert!(random.fill(&mut [0; 64]).is_err(), "larger ones go to the source");
    }
}
