//! A fast hash for maps whose keys come from the operator's documents.
//!
//! Multiply and fold, eight bytes at a time, as in wyhash. It has no secret, so whoever chooses the
//! keys can make them collide. Here the operator chooses them. Names from elsewhere are only looked
//! up: they can hit an existing collision chain but never lengthen it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with names from documents as its keys.
pub(crate) type NameMap<V> = HashMap<String, V, BuildHasherDefault<NameHasher>>;

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Eight bytes at a time: multiply, and fold the high half onto the low one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NameHasher(u64);

impl NameHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word).wrapping_mul(u128::from(MULTIPLIER));
        let (low, high) = (product as u64, (product >> 64) as u64);
        self.0 = (low ^ high).wrapping_add(MULTIPLIER);
    }
}

impl Hasher for NameHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        if !rest.is_empty() {
            self.mix(u64::from_le_bytes(last));
        }
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn hash(bytes: &[u8]) -> u64 {
        let mut hasher = NameHasher::default();
        hasher.write(bytes);
        hasher.finish()
    }

    #[test]
    fn names_that_differ_in_one_letter_anywhere_have_other_hashes() {
        let mut names = BTreeSet::new();
        for length in 1..=20 {
            for place in 0..length {
                for letter in b'a'..=b'z' {
                    let mut name = vec![b'm'; length];
                    name[place] = letter;
                    names.insert(name);
                }
            }
        }
        let hashes: BTreeSet<u64> = names.iter().map(|name| hash(name)).collect();
        assert_eq!(hashes.len(), names.len());
        // A table with as many places as names takes its place from the low bits.
        let mask = (names.len().next_power_of_two() - 1) as u64;
        let places: BTreeSet<u64> = hashes.iter().map(|hash| hash & mask).collect();
        assert!(places.len() > names.len() / 2, "{} of {}", places.len(), names.len());
    }
}
