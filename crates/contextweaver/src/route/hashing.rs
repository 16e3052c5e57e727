//! Hash tables of term keys that resist deliberate collisions.
//!
//! A term key is already a hash, but one that anybody can compute. So it is mixed with a random seed
//! of the process. Nothing depends on the iteration order of such a table.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use super::term_key::TermKey;

pub(super) type KeyMap<V> = HashMap<TermKey, V, SeededBuildHasher>;
pub(super) type KeySet = HashSet<TermKey, SeededBuildHasher>;

/// Makes hashers with the seed of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeededBuildHasher(u64);

impl Default for SeededBuildHasher {
    fn default() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        Self(*SEED.get_or_init(|| RandomState::new().hash_one(0_u64)))
    }
}

impl BuildHasher for SeededBuildHasher {
    type Hasher = FoldedHasher;

    fn build_hasher(&self) -> FoldedHasher {
        FoldedHasher(self.0)
    }
}

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hashes by a folded 128-bit product.
#[derive(Debug)]
pub(super) struct FoldedHasher(u64);

impl Hasher for FoldedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let product = u128::from(self.0 ^ key) * u128::from(MULTIPLIER);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_little_are_spread() {
        let seeded = SeededBuildHasher::default();
        let low: HashSet<u64> = (0..4_096_u64).map(|n| seeded.hash_one(n << 48) % 65_536).collect();
        assert!(low.len() > 3_500, "{}", low.len());
        assert_eq!(seeded.hash_one(7_u64), SeededBuildHasher::default().hash_one(7_u64));
    }
}
