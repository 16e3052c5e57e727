//! Which bytes of a text are of which class, as bits: one pass finds the places of many kinds.
//!
//! A scanner that stops at every digit, sign and long word of a text looks at each byte several
//! times. [`ByteClassBitmaps`] looks at each byte once, without a branch, and answers afterwards: where are
//! the bytes of a class, where are runs of them, where do classes stand in a row.
//!
//! ```
//! use weaver_text::byte_classes::{self, ByteClassBitmaps};
//!
//! const DIGIT: usize = 0;
//! const LETTER: usize = 1;
//! let classes = byte_classes::class_table(|byte: u8| {
//!     u8::from(byte.is_ascii_digit()) << DIGIT | u8::from(byte.is_ascii_alphabetic()) << LETTER
//! });
//! let masks = ByteClassBitmaps::of(b"a1 long 22", &classes);
//! assert_eq!(masks.places(DIGIT).collect::<Vec<_>>(), [1, 8, 9]);
//! assert_eq!(masks.runs(LETTER, 3, 0..10).collect::<Vec<_>>(), [3..7]);
//! let turns = masks.places_where(0, |near| near.of(LETTER) & near.of(DIGIT) >> 1);
//! assert_eq!(turns.collect::<Vec<_>>(), [0]);
//! ```

use std::ops::Range;

/// How many classes there can be: the bits of a byte.
pub const CLASSES: usize = 8;

/// The classes of every byte, as bits.
pub type ClassTable = [u8; 256];

/// A table, from the classes of each byte.
#[must_use]
pub fn class_table(classes: impl Fn(u8) -> u8) -> ClassTable {
    std::array::from_fn(|byte| u8::try_from(byte).map_or(0, &classes))
}

/// Bytes in a block: the bits of a word.
const BLOCK: usize = 64;

/// For every 64 bytes of a text and every class, one word with a bit for each byte.
#[derive(Debug, Clone, Default)]
pub struct ByteClassBitmaps {
    blocks: Vec<[u64; CLASSES]>,
}

/// The class bits of two blocks, this one and the next: 128 bytes of a text.
#[derive(Debug, Clone, Copy)]
pub struct BlockPair<'m> {
    here: &'m [u64; CLASSES],
    next: &'m [u64; CLASSES],
}

/// The bits beyond the end.
static NONE: [u64; CLASSES] = [0; CLASSES];

impl BlockPair<'_> {
    /// Bit `k` tells whether the byte `k` of these is of the class; classes count from 0.
    #[inline]
    #[must_use]
    pub fn of(&self, class: usize) -> u128 {
        let word = |words: &[u64; CLASSES]| words.get(class).copied().unwrap_or(0);
        u128::from(word(self.here)) | u128::from(word(self.next)) << BLOCK
    }

    /// Bit `k` tells whether at least `least` bytes in a row, from byte `k` on, are of the class.
    /// At most 64.
    #[inline]
    #[must_use]
    pub fn run(&self, class: usize, least: u32) -> u128 {
        let mut bits = self.of(class);
        let mut known = 1;
        while known < least {
            let step = known.min(least - known);
            bits &= bits >> step;
            known += step;
        }
        bits
    }
}

impl ByteClassBitmaps {
    /// The classes of each byte, by a table.
    #[must_use]
    pub fn of(bytes: &[u8], classes: &ClassTable) -> Self {
        let (whole, rest) = bytes.as_chunks::<BLOCK>();
        let mut blocks = Vec::with_capacity(whole.len() + 1);
        blocks.extend(whole.iter().map(|block| words(block, classes)));
        if !rest.is_empty() {
            // What fills the last block is of no class.
            let mut block = [0; BLOCK];
            block.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
            let keep = u64::MAX >> (BLOCK - rest.len());
            blocks.push(words(&block, classes).map(|word| word & keep));
        }
        Self { blocks }
    }

    /// The bit of a byte, and those after it in its block, from the lowest bit on; zero beyond.
    #[inline]
    fn from(&self, class: usize, at: usize) -> u64 {
        let word = self.blocks.get(at / BLOCK).and_then(|words| words.get(class));
        word.map_or(0, |word| word >> (at % BLOCK))
    }

    /// Whether a byte is of a class.
    #[inline]
    #[must_use]
    pub fn has(&self, class: usize, at: usize) -> bool {
        self.from(class, at) & 1 == 1
    }

    /// The places of the bytes of a class, in order.
    pub fn places(&self, class: usize) -> impl Iterator<Item = usize> {
        let word = move |words: &[u64; CLASSES]| words.get(class).copied().unwrap_or(0);
        self.blocks.iter().enumerate().flat_map(move |(block, words)| bits(block, word(words)))
    }

    /// The places from `from` on where `pick` sets a bit. It sees 128 bytes and decides about the
    /// first 64.
    pub fn places_where(
        &self,
        from: usize,
        pick: impl Fn(BlockPair<'_>) -> u128,
    ) -> impl Iterator<Item = usize> {
        let blocks = self.blocks.iter().enumerate().skip(from / BLOCK);
        let places = blocks.flat_map(move |(block, here)| {
            let next = self.blocks.get(block + 1).unwrap_or(&NONE);
            #[expect(clippy::cast_possible_truncation, reason = "the low half is what is decided")]
            let word = pick(BlockPair { here, next }) as u64;
            bits(block, word)
        });
        places.skip_while(move |at| *at < from)
    }

    /// The longest stretches of bytes of a class within a range, in order, that have at least so
    /// many bytes. At most 64 can be asked for.
    pub fn runs(
        &self,
        class: usize,
        least: u32,
        within: Range<usize>,
    ) -> impl Iterator<Item = Range<usize>> {
        let length = least as usize;
        // A run that goes on at the start of the range began before it.
        let mut after = self.end(class, within.start);
        let first = within.start..after.min(within.end);
        let starts = self.places_where(after, move |near| {
            let runs = near.run(class, least);
            runs & !(runs << 1)
        });
        let rest = starts.take_while(move |start| *start < within.end).filter_map(move |start| {
            if start < after {
                return None;
            }
            after = self.end(class, start);
            Some(start..after.min(within.end))
        });
        std::iter::once(first).chain(rest).filter(move |run| run.len() >= length)
    }

    /// Where the bytes of a class end that begin at a place.
    #[inline]
    #[must_use]
    pub fn end(&self, class: usize, start: usize) -> usize {
        let mut at = start;
        loop {
            let room = BLOCK - at % BLOCK;
            let len = self.from(class, at).trailing_ones() as usize;
            at += len.min(room);
            if len < room {
                return at;
            }
        }
    }

    /// Whether a byte of the class stands in this range. Linear in its length.
    #[inline]
    #[must_use]
    pub fn any(&self, class: usize, range: Range<usize>) -> bool {
        let mut at = range.start;
        while at < range.end {
            let ahead = self.from(class, at).trailing_zeros() as usize;
            let room = BLOCK - at % BLOCK;
            if ahead < room {
                return at + ahead < range.end;
            }
            at += room;
        }
        false
    }
}

/// The places of the bits of a block's word.
#[inline]
fn bits(block: usize, mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let at = block * BLOCK + word.trailing_zeros() as usize;
        word &= word - 1;
        Some(at)
    })
}

/// The words of one block.
#[inline]
fn words(block: &[u8; BLOCK], classes: &ClassTable) -> [u64; CLASSES] {
    let mut found = [0_u8; BLOCK];
    for (slot, byte) in found.iter_mut().zip(block) {
        *slot = classes.get(usize::from(*byte)).copied().unwrap_or(0);
    }
    let (rows, _) = found.as_chunks::<CLASSES>();
    let mut words = [0_u64; CLASSES];
    words.iter_mut().zip(rows).for_each(|(word, row)| *word = u64::from_le_bytes(*row));
    transposed(turned(words))
}

/// Eight words, each of eight bytes as a square of bits, turned over its diagonal: byte `k` of
/// each then holds the bits `k`.
#[inline]
fn turned(mut rows: [u64; CLASSES]) -> [u64; CLASSES] {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        for bits in &mut rows {
            let moved = (*bits ^ (*bits >> shift)) & mask;
            *bits ^= moved ^ (moved << shift);
        }
    }
    rows
}

/// Eight words as a square of bytes, turned over its diagonal.
#[inline]
fn transposed(rows: [u64; CLASSES]) -> [u64; CLASSES] {
    let [a, b, c, d, e, f, g, h] = rows;
    let (a, e) = swapped(a, e, 32, 0x0000_0000_ffff_ffff);
    let (b, f) = swapped(b, f, 32, 0x0000_0000_ffff_ffff);
    let (c, g) = swapped(c, g, 32, 0x0000_0000_ffff_ffff);
    let (d, h) = swapped(d, h, 32, 0x0000_0000_ffff_ffff);
    let (a, c) = swapped(a, c, 16, 0x0000_ffff_0000_ffff);
    let (b, d) = swapped(b, d, 16, 0x0000_ffff_0000_ffff);
    let (e, g) = swapped(e, g, 16, 0x0000_ffff_0000_ffff);
    let (f, h) = swapped(f, h, 16, 0x0000_ffff_0000_ffff);
    let (a, b) = swapped(a, b, 8, 0x00ff_00ff_00ff_00ff);
    let (c, d) = swapped(c, d, 8, 0x00ff_00ff_00ff_00ff);
    let (e, f) = swapped(e, f, 8, 0x00ff_00ff_00ff_00ff);
    let (g, h) = swapped(g, h, 8, 0x00ff_00ff_00ff_00ff);
    [a, b, c, d, e, f, g, h]
}

/// Two rows with the upper parts of one and the lower parts of the other exchanged.
#[inline]
fn swapped(first: u64, second: u64, shift: u32, low: u64) -> (u64, u64) {
    ((first & low) | ((second & low) << shift), ((first >> shift) & low) | (second & !low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn class(byte: u8) -> u8 {
        u8::from(byte.is_ascii_digit())
            | u8::from(byte.is_ascii_alphabetic()) << 1
            | u8::from(byte == b' ') << 7
    }

    proptest! {
        #[test]
        fn masks_answer_as_a_look_at_each_byte(bytes in proptest::collection::vec(
            prop_oneof![Just(b'a'), Just(b'1'), Just(b' '), any::<u8>()], 0..400), least in 1_u32..=64)
        {
            let masks = ByteClassBitmaps::of(&bytes, &class_table(class));
            for bit in [0, 1, 5, 7] {
                let of = |at: usize| bytes.get(at).is_some_and(|b| class(*b) >> bit & 1 == 1);
                let places: Vec<usize> = (0..bytes.len()).filter(|at| of(*at)).collect();
                prop_assert_eq!(masks.places(bit).collect::<Vec<_>>(), places);
                let mut runs = Vec::new();
                let mut at = 0;
                while at < bytes.len() {
                    let len = (at..).take_while(|at| of(*at)).count();
                    if len >= least as usize {
                        runs.push(at..at + len);
                    }
                    at += len + 1;
                }
                let all = masks.runs(bit, least, 0..bytes.len()).collect::<Vec<_>>();
                prop_assert_eq!(all, runs.clone());
                let within = bytes.len() / 3..bytes.len() * 2 / 3;
                let cut = runs.iter().map(|r| r.start.max(within.start)..r.end.min(within.end));
                let long: Vec<_> = cut.filter(|r| r.len() >= least as usize).collect();
                prop_assert_eq!(masks.runs(bit, least, within).collect::<Vec<_>>(), long);
                for at in [0, 63, 64, 100, bytes.len()] {
                    prop_assert_eq!(masks.end(bit, at), at + (at..).take_while(|at| of(*at)).count());
                    prop_assert_eq!(masks.has(bit, at), of(at));
                    let range = at / 2..at;
                    prop_assert_eq!(masks.any(bit, range.clone()), range.clone().any(of));
                }
            }
        }
    }

    #[test]
    fn an_empty_text_has_no_places() {
        let masks = ByteClassBitmaps::of(b"", &class_table(class));
        assert_eq!(masks.places(0).count() + masks.runs(1, 1, 0..0).count(), 0);
        assert_eq!((masks.end(0, 0), masks.has(0, 7), masks.any(1, 0..9)), (0, false, false));
    }
}
