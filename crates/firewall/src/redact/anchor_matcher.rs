//! The anchor matcher: a prefilter that finds all literals at which rules can match.
//!
//! A hashed q-gram filter after Wu and Manber (1994): two bit sets contain the hashes of the first
//! three and the first four bytes of every literal. They are small enough for the first-level cache
//! and rule out nearly every position of a text. Only where both contain the hash are the literals
//! of that hash compared. A hash collision costs one comparison; no literal can be missed, since
//! each entered its own hashes. A test compares the result with an Aho-Corasick automaton, which
//! finds the same but takes a step per byte.

/// The shortest literal that can be found, in bytes.
pub(crate) const MIN_LITERAL_BYTES: usize = 3;
/// Bits of a hash.
const HASH_BITS: u32 = 15;
const BUCKETS: usize = 1 << HASH_BITS;

/// Literals to find, ignoring ASCII case; matches may overlap.
#[derive(Debug)]
pub(crate) struct AnchorMatcher {
    literals: Vec<Vec<u8>>,
    /// The hashes of the first three bytes of the literals.
    three_byte_hashes: HashBitSet,
    /// The hashes of the first four bytes of the literals.
    four_byte_hashes: HashBitSet,
    /// For each three-byte hash, where its literals begin in `bucket_literals`.
    bucket_starts: Vec<u32>,
    bucket_literals: Vec<u32>,
}

/// A set of hashes, one bit each.
#[derive(Debug)]
struct HashBitSet(Box<[u64; BUCKETS / 64]>);

impl HashBitSet {
    fn new(hashes: impl Iterator<Item = usize>) -> Self {
        let mut bits = Box::new([0; BUCKETS / 64]);
        for hash in hashes {
            if let Some(word) = bits.get_mut(hash / 64) {
                *word |= 1 << (hash % 64);
            }
        }
        Self(bits)
    }

    #[inline]
    fn contains(&self, hash: usize) -> bool {
        self.0.get(hash / 64).is_some_and(|word| word >> (hash % 64) & 1 == 1)
    }
}

/// The hash of four bytes. Setting bit 5 makes it independent of ASCII case.
#[inline]
fn hash_four(bytes: [u8; 4]) -> usize {
    hash(u32::from_le_bytes(bytes) | 0x2020_2020)
}

/// The hash of the first three of four bytes.
#[inline]
fn hash_three(bytes: [u8; 4]) -> usize {
    hash(u32::from_le_bytes(bytes) & 0x00ff_ffff | 0x0020_2020)
}

#[inline]
fn hash(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x9e37_79b1) >> (u32::BITS - HASH_BITS)) as usize
}

/// All values of the first four bytes of a text that begins with this literal.
fn possible_prefixes(literal: &[u8]) -> impl Iterator<Item = [u8; 4]> {
    let at = |at: usize| match literal.get(at) {
        Some(byte) => *byte..=*byte,
        None => 0..=u8::MAX,
    };
    let (a, b, c, d) = (at(0), at(1), at(2), at(3));
    a.flat_map(move |a| {
        let (c, d) = (c.clone(), d.clone());
        b.clone().flat_map(move |b| {
            let d = d.clone();
            c.clone().flat_map(move |c| d.clone().map(move |d| [a, b, c, d]))
        })
    })
}

impl AnchorMatcher {
    /// A matcher for these literals. Literals of less than three bytes are never found.
    pub(crate) fn new<'l>(literals: impl Iterator<Item = &'l str>) -> Self {
        let literals: Vec<Vec<u8>> = literals.map(|literal| literal.as_bytes().to_vec()).collect();
        let mut fours = Vec::new();
        let mut threes = Vec::new();
        for (number, literal) in
            (0_u32..).zip(&literals).filter(|known| known.1.len() >= MIN_LITERAL_BYTES)
        {
            fours.extend(possible_prefixes(literal).map(hash_four));
            threes.extend(possible_prefixes(literal).map(|bytes| (hash_three(bytes), number)));
        }
        threes.sort_unstable();
        threes.dedup();
        let starts = |hash: usize| threes.partition_point(|pair| pair.0 < hash);
        let bucket_starts =
            (0..=BUCKETS).map(|p| u32::try_from(starts(p)).unwrap_or(u32::MAX)).collect();
        Self {
            four_byte_hashes: HashBitSet::new(fours.into_iter()),
            three_byte_hashes: HashBitSet::new(threes.iter().map(|pair| pair.0)),
            bucket_starts,
            bucket_literals: threes.iter().map(|pair| pair.1).collect(),
            literals,
        }
    }

    /// Calls `found` with the position and the number of every literal in the text. Linear in the
    /// text.
    #[inline]
    pub(crate) fn for_each_match(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        for (at, bytes) in text.array_windows::<4>().enumerate() {
            let hash = hash_three(*bytes);
            if self.three_byte_hashes.contains(hash)
                && self.four_byte_hashes.contains(hash_four(*bytes))
            {
                self.report_matches(text, at, hash, &mut found);
            }
        }
        // The last three bytes have no fourth; shorter texts contain no literal.
        if let Some([a, b, c]) = text.last_chunk() {
            let hash = hash_three([*a, *b, *c, 0]);
            if self.three_byte_hashes.contains(hash) {
                self.report_matches(text, text.len() - MIN_LITERAL_BYTES, hash, &mut found);
            }
        }
    }

    /// True if the text contains any of the literals.
    #[inline]
    pub(crate) fn has_match(&self, text: &[u8]) -> bool {
        let mut any = false;
        self.for_each_match(text, |_, _| any = true);
        any
    }

    #[cold]
    fn report_matches(
        &self,
        text: &[u8],
        at: usize,
        hash: usize,
        found: &mut impl FnMut(usize, usize),
    ) {
        let end = |hash: usize| self.bucket_starts.get(hash).map_or(0, |end| *end as usize);
        let numbers = self.bucket_literals.get(end(hash)..end(hash + 1));
        for number in numbers.unwrap_or_default() {
            let number = *number as usize;
            let literal = self.literals.get(number).map_or(&[][..], Vec::as_slice);
            let here = text.get(at..at + literal.len());
            if here.is_some_and(|here| here.eq_ignore_ascii_case(literal)) {
                found(at, number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_matcher_finds_what_an_automaton_finds(
            literals in proptest::collection::btree_set("[a-cA-C_é@]{3,6}", 1..20),
            text in "[a-cA-C_é@ ]{0,200}",
        ) {
            let search = AhoCorasick::builder().ascii_case_insensitive(true).build(&literals).unwrap();
            let mut expected: Vec<_> = search
                .find_overlapping_iter(&text)
                .map(|hit| (hit.start(), hit.pattern().as_usize()))
                .collect();
            expected.sort_unstable();
            let anchor_matcher = AnchorMatcher::new(literals.iter().map(String::as_str));
            let mut found = Vec::new();
            anchor_matcher.for_each_match(text.as_bytes(), |at, number| found.push((at, number)));
            found.sort_unstable();
            prop_assert_eq!(anchor_matcher.has_match(text.as_bytes()), !found.is_empty());
            prop_assert!(literals.iter().all(|literal| anchor_matcher.has_match(literal.as_bytes())));
            prop_assert_eq!(found, expected);
        }
    }
}
