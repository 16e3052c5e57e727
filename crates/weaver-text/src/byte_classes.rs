//! Bitmaps of byte classes: one pass over a text answers where bytes of each class stand.
//!
//! A scanner that tests every byte for several patterns reads the text several times.
//! [`ByteClassBitmaps`] reads it once, without branches, and then gives the positions of a class,
//! its runs, and the positions where classes follow each other.
//!
//! Each byte is mapped by a table to up to eight class bits. The bits of 64 bytes are then
//! transposed, first as 8×8 bit matrices and then as an 8×8 byte matrix, into one word for each
//! class.
//!
//! ```
//! use weaver_text::byte_classes::{self, ByteClassBitmaps};
//!
//! const DIGIT: usize = 0;
//! const LETTER: usize = 1;
//! let classes = byte_classes::class_table(|byte: u8| {
//!     u8::from(byte.is_ascii_digit()) << DIGIT | u8::from(byte.is_ascii_alphabetic()) << LETTER
//! });
//! let bitmaps = ByteClassBitmaps::from_bytes(b"a1 long 22", &classes);
//! assert_eq!(bitmaps.positions(DIGIT).collect::<Vec<_>>(), [1, 8, 9]);
//! assert_eq!(bitmaps.runs(LETTER, 3, 0..10).collect::<Vec<_>>(), [3..7]);
//! let turns = bitmaps.positions_where(0..10, |near| near.class_bits(LETTER) & near.class_bits(DIGIT) >> 1);
//! assert_eq!(turns.collect::<Vec<_>>(), [0]);
//! ```

use std::ops::Range;

use crate::work;

/// The maximum number of classes: the bits of a byte.
pub const CLASSES: usize = 8;

/// The classes of every byte, as bits.
pub type ClassTable = [u8; 256];

/// Builds the table from a function that gives the classes of a byte.
#[must_use]
pub fn class_table(classes: impl Fn(u8) -> u8) -> ClassTable {
    std::array::from_fn(|byte| u8::try_from(byte).map_or(0, &classes))
}

/// Bytes in a block: one for each bit of a word.
const BLOCK: usize = 64;

/// For each block of 64 bytes and each class, a word with one bit for each byte.
#[derive(Debug, Clone, Default)]
pub struct ByteClassBitmaps {
    blocks: Vec<[u64; CLASSES]>,
}

/// The class bits of a block and the one after it: 128 bytes of a text.
#[derive(Debug, Clone, Copy)]
pub struct BlockPair<'m> {
    here: &'m [u64; CLASSES],
    next: &'m [u64; CLASSES],
}

/// The bits of a block beyond the end of the text.
static NONE: [u64; CLASSES] = [0; CLASSES];

impl BlockPair<'_> {
    /// Bit `k` says whether byte `k` belongs to the class. Classes are numbered from 0.
    #[inline]
    #[must_use]
    pub fn class_bits(&self, class: usize) -> u128 {
        let word = |words: &[u64; CLASSES]| words.get(class).copied().unwrap_or(0);
        u128::from(word(self.here)) | u128::from(word(self.next)) << BLOCK
    }

    /// Bit `k` says whether at least `least` consecutive bytes from byte `k` on belong to the
    /// class. `least` is at most 64. Doubles the known run length with each step.
    #[inline]
    #[must_use]
    pub fn run_starts(&self, class: usize, least: u32) -> u128 {
        let mut bits = self.class_bits(class);
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
    /// Classifies each byte by a table.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], classes: &ClassTable) -> Self {
        let (whole, rest) = bytes.as_chunks::<BLOCK>();
        let mut blocks = Vec::with_capacity(whole.len() + 1);
        blocks.extend(whole.iter().map(|block| classify_block(block, classes)));
        if !rest.is_empty() {
            // The padding of the last block belongs to no class.
            let mut block = [0; BLOCK];
            block.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
            let keep = u64::MAX >> (BLOCK - rest.len());
            blocks.push(classify_block(&block, classes).map(|word| word & keep));
        }
        Self { blocks }
    }

    /// The class bits of a block from byte `at` on, shifted to the lowest bit; 0 beyond the end.
    #[inline]
    fn bits_from(&self, class: usize, at: usize) -> u64 {
        let word = self.blocks.get(at / BLOCK).and_then(|words| words.get(class));
        word.map_or(0, |word| word >> (at % BLOCK))
    }

    /// Whether the byte at `at` belongs to the class.
    #[inline]
    #[must_use]
    pub fn has(&self, class: usize, at: usize) -> bool {
        self.bits_from(class, at) & 1 == 1
    }

    /// The positions of the bytes of a class, in order.
    pub fn positions(&self, class: usize) -> impl Iterator<Item = usize> {
        let word = move |words: &[u64; CLASSES]| words.get(class).copied().unwrap_or(0);
        self.blocks
            .iter()
            .enumerate()
            .flat_map(move |(block, words)| bit_positions(block, word(words)))
    }

    /// The positions within a range where `pick` sets a bit. It gets the bits of 128 bytes; only
    /// the first 64 bits of its result count. Reads only the blocks of the range and the one after
    /// it, so that a text cut into many ranges is read once.
    pub fn positions_where(
        &self,
        within: Range<usize>,
        pick: impl Fn(BlockPair<'_>) -> u128,
    ) -> impl Iterator<Item = usize> {
        let end = within.end.div_ceil(BLOCK).min(self.blocks.len());
        let first = (within.start / BLOCK).min(end);
        let blocks = self.blocks.get(first..end).unwrap_or_default().iter().enumerate();
        let places = blocks.flat_map(move |(index, here)| {
            let block = first + index;
            let next = self.blocks.get(block + 1).unwrap_or(&NONE);
            work::add_steps(BLOCK);
            // The low half is what is decided.
            let word = pick(BlockPair { here, next }) as u64;
            bit_positions(block, word)
        });
        places.skip_while(move |at| *at < within.start).take_while(move |at| *at < within.end)
    }

    /// The maximal runs of bytes of a class within a range that have at least `least` bytes, in
    /// order. `least` is at most 64.
    pub fn runs(
        &self,
        class: usize,
        least: u32,
        within: Range<usize>,
    ) -> impl Iterator<Item = Range<usize>> {
        let length = least as usize;
        // A run may have begun before the range.
        let mut after = self.run_end_within(class, within.clone());
        let first = within.start..after.min(within.end);
        let starts = self.positions_where(after..within.end, move |near| {
            let runs = near.run_starts(class, least);
            runs & !(runs << 1)
        });
        let rest = starts.filter_map(move |start| {
            if start < after {
                return None;
            }
            after = self.run_end_within(class, start..within.end);
            Some(start..after.min(within.end))
        });
        std::iter::once(first).chain(rest).filter(move |run| run.len() >= length)
    }

    /// The end of the run of bytes of a class that starts at `start`.
    #[inline]
    #[must_use]
    pub fn run_end(&self, class: usize, start: usize) -> usize {
        self.run_end_within(class, start..usize::MAX)
    }

    /// Like [`Self::run_end`], but reads no further than the block in which the range ends.
    #[inline]
    fn run_end_within(&self, class: usize, range: Range<usize>) -> usize {
        let mut at = range.start;
        while at < range.end {
            work::add_steps(1);
            let room = BLOCK - at % BLOCK;
            let len = self.bits_from(class, at).trailing_ones() as usize;
            at += len.min(room);
            if len < room {
                break;
            }
        }
        at
    }

    /// Whether the range contains a byte of the class. Linear in its length.
    #[inline]
    #[must_use]
    pub fn contains_any(&self, class: usize, range: Range<usize>) -> bool {
        let mut at = range.start;
        while at < range.end {
            let ahead = self.bits_from(class, at).trailing_zeros() as usize;
            let room = BLOCK - at % BLOCK;
            if ahead < room {
                return at + ahead < range.end;
            }
            at += room;
        }
        false
    }
}

/// The positions in the text of the set bits of a block's word.
#[inline]
fn bit_positions(block: usize, mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let at = block * BLOCK + word.trailing_zeros() as usize;
        word &= word - 1;
        Some(at)
    })
}

/// The class words of one block.
#[inline]
fn classify_block(block: &[u8; BLOCK], classes: &ClassTable) -> [u64; CLASSES] {
    let mut found = [0_u8; BLOCK];
    for (slot, byte) in found.iter_mut().zip(block) {
        *slot = classes.get(usize::from(*byte)).copied().unwrap_or(0);
    }
    let (rows, _) = found.as_chunks::<CLASSES>();
    let mut words = [0_u64; CLASSES];
    words.iter_mut().zip(rows).for_each(|(word, row)| *word = u64::from_le_bytes(*row));
    transpose_bytes(transpose_bits(words))
}

/// Transposes each word as an 8×8 bit matrix, so that its byte `k` holds the bits `k` of its
/// bytes. Swaps blocks of 1, 2 and 4 bits.
#[inline]
fn transpose_bits(mut rows: [u64; CLASSES]) -> [u64; CLASSES] {
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

/// Transposes eight words as an 8×8 byte matrix, by swaps of blocks of 4, 2 and 1 bytes.
#[inline]
fn transpose_bytes(rows: [u64; CLASSES]) -> [u64; CLASSES] {
    let [a, b, c, d, e, f, g, h] = rows;
    let (a, e) = exchange(a, e, 32, 0x0000_0000_ffff_ffff);
    let (b, f) = exchange(b, f, 32, 0x0000_0000_ffff_ffff);
    let (c, g) = exchange(c, g, 32, 0x0000_0000_ffff_ffff);
    let (d, h) = exchange(d, h, 32, 0x0000_0000_ffff_ffff);
    let (a, c) = exchange(a, c, 16, 0x0000_ffff_0000_ffff);
    let (b, d) = exchange(b, d, 16, 0x0000_ffff_0000_ffff);
    let (e, g) = exchange(e, g, 16, 0x0000_ffff_0000_ffff);
    let (f, h) = exchange(f, h, 16, 0x0000_ffff_0000_ffff);
    let (a, b) = exchange(a, b, 8, 0x00ff_00ff_00ff_00ff);
    let (c, d) = exchange(c, d, 8, 0x00ff_00ff_00ff_00ff);
    let (e, f) = exchange(e, f, 8, 0x00ff_00ff_00ff_00ff);
    let (g, h) = exchange(g, h, 8, 0x00ff_00ff_00ff_00ff);
    [a, b, c, d, e, f, g, h]
}

/// Exchanges the high parts of `first` with the low parts of `second`.
#[inline]
fn exchange(first: u64, second: u64, shift: u32, low: u64) -> (u64, u64) {
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
            let bitmaps = ByteClassBitmaps::from_bytes(&bytes, &class_table(class));
            for bit in [0, 1, 5, 7] {
                let of = |at: usize| bytes.get(at).is_some_and(|b| class(*b) >> bit & 1 == 1);
                let places: Vec<usize> = (0..bytes.len()).filter(|at| of(*at)).collect();
                prop_assert_eq!(bitmaps.positions(bit).collect::<Vec<_>>(), places);
                let mut runs = Vec::new();
                let mut at = 0;
                while at < bytes.len() {
                    let len = (at..).take_while(|at| of(*at)).count();
                    if len >= least as usize {
                        runs.push(at..at + len);
                    }
                    at += len + 1;
                }
                let all = bitmaps.runs(bit, least, 0..bytes.len()).collect::<Vec<_>>();
                prop_assert_eq!(all, runs.clone());
                let within = bytes.len() / 3..bytes.len() * 2 / 3;
                let cut = runs.iter().map(|r| r.start.max(within.start)..r.end.min(within.end));
                let long: Vec<_> = cut.filter(|r| r.len() >= least as usize).collect();
                prop_assert_eq!(bitmaps.runs(bit, least, within).collect::<Vec<_>>(), long);
                for at in [0, 63, 64, 100, bytes.len()] {
                    prop_assert_eq!(bitmaps.run_end(bit, at), at + (at..).take_while(|at| of(*at)).count());
                    prop_assert_eq!(bitmaps.has(bit, at), of(at));
                    let range = at / 2..at;
                    prop_assert_eq!(bitmaps.contains_any(bit, range.clone()), range.clone().any(of));
                }
            }
        }
    }

    #[test]
    fn an_empty_text_has_no_places() {
        let bitmaps = ByteClassBitmaps::from_bytes(b"", &class_table(class));
        assert_eq!(bitmaps.positions(0).count() + bitmaps.runs(1, 1, 0..0).count(), 0);
        assert_eq!(
            (bitmaps.run_end(0, 0), bitmaps.has(0, 7), bitmaps.contains_any(1, 0..9)),
            (0, false, false)
        );
    }
}
