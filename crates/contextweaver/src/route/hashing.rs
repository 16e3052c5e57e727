//! Tables of keys that nobody can fill badly on purpose.
//!
//! A key is a hash already, but one that anybody can work out. So it is mixed with a number that
//! each process draws for itself. Nothing ever depends on the order of such a table.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use super::key::Key;

pub(super) type KeyMap<V> = HashMap<Key, V, SeededHashers>;
pub(super) type KeySet = HashSet<Key, SeededHashers>;

/// Makes hashers that begin with the number of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeededHashers(u64);

impl Default for SeededHashers {
    fn default() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        Self(*SEED.get_or_init(|| RandomState::new().hash_one(0_u64)))
    }
}

impl BuildHasher for SeededHashers {
    type Hasher = FoldedHasher;

    fn build_hasher(&self) -> FoldedHasher {
        FoldedHasher(self.0)
    }
}

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A product of 128 bits, folded.
#[derive(Debug)]
pub(super) struct FoldedHasher(u64);

impl Hasher for FoldedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let product = u128::from(self.0 ^ key) * u128::from(ODD);
        #[expect(clippy::cast_possible_truncation, reason = "both halves are folded into one")]
        let folded = product as u64 ^ (product >> 64) as u64;
        self.0 = folded;
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
        let seeded = SeededHashers::default();
        let low: HashSet<u64> = (0..4_096_u64).map(|n| seeded.hash_one(n << 48) % 65_536).collect();
        assert!(low.len() > 3_500, "{}", low.len());
        assert_eq!(seeded.hash_one(7_u64), SeededHashers::default().hash_one(7_u64));
    }
}
