//! Numbers for fuzzed peers, the same in each run.

/// Numbers that look random and are the same in each run (xorshift64).
pub(crate) struct PseudoRandom(u64);

impl PseudoRandom {
    /// Seeds that lie beside each other begin sequences that do not.
    pub(crate) fn of(seed: u64) -> Self {
        let mut numbers = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        numbers.next();
        numbers
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
