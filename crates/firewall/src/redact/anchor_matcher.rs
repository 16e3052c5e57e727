//! The anchor matcher: a prefilter for all literals at which rules begin.
//!
//! A hashed q-gram filter in the manner of Wu and Manber (1994): two bit tables hold the hashes of the
//! first three and four bytes of every literal, small enough to stay in the nearest cache, and tell
//! for nearly every place of a text that no literal begins there. Only where both tables answer yes
//! are the literals of that hash compared. A hash that collides costs a comparison; none is
//! missed, since each literal entered its own hashes. A test holds the result against an
//! Aho-Corasick automaton, which finds the same and takes a step for each byte.

/// The fewest bytes of a literal that can be found.
pub(crate) const SHORTEST: usize = 3;
/// Bits of a place in a table.
const BITS: u32 = 15;
const PLACES: usize = 1 << BITS;

/// Literals, found in any case of ASCII, overlaps included.
#[derive(Debug)]
pub(crate) struct AnchorMatcher {
    literals: Vec<Vec<u8>>,
    /// The places of three bytes that a literal begins with.
    threes: Table,
    /// The places of four bytes that a literal begins with.
    fours: Table,
    /// For each place of three bytes, which of `at_place` are its own.
    places: Vec<u32>,
    at_place: Vec<u32>,
}

/// A set of places, a bit for each.
#[derive(Debug)]
struct Table(Box<[u64; PLACES / 64]>);

impl Table {
    fn new(places: impl Iterator<Item = usize>) -> Self {
        let mut bits = Box::new([0; PLACES / 64]);
        for place in places {
            if let Some(word) = bits.get_mut(place / 64) {
                *word |= 1 << (place % 64);
            }
        }
        Self(bits)
    }

    #[inline]
    fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

/// The place of four bytes. Letters that differ in case have one place.
#[inline]
fn four(bytes: [u8; 4]) -> usize {
    hash(u32::from_le_bytes(bytes) | 0x2020_2020)
}

/// The place of the first three of four bytes.
#[inline]
fn three(bytes: [u8; 4]) -> usize {
    hash(u32::from_le_bytes(bytes) & 0x00ff_ffff | 0x0020_2020)
}

#[inline]
fn hash(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x9e37_79b1) >> (u32::BITS - BITS)) as usize
}

/// What four bytes can be that begin with this literal.
fn beginnings(literal: &[u8]) -> impl Iterator<Item = [u8; 4]> {
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
    /// A matcher for these literals. Those of less than three bytes are never found.
    pub(crate) fn new<'l>(literals: impl Iterator<Item = &'l str>) -> Self {
        let literals: Vec<Vec<u8>> = literals.map(|literal| literal.as_bytes().to_vec()).collect();
        let mut fours = Vec::new();
        let mut threes = Vec::new();
        for (number, literal) in (0_u32..).zip(&literals).filter(|known| known.1.len() >= SHORTEST)
        {
            fours.extend(beginnings(literal).map(four));
            threes.extend(beginnings(literal).map(|bytes| (three(bytes), number)));
        }
        threes.sort_unstable();
        threes.dedup();
        let starts = |place: usize| threes.partition_point(|pair| pair.0 < place);
        let places = (0..=PLACES).map(|p| u32::try_from(starts(p)).unwrap_or(u32::MAX)).collect();
        Self {
            fours: Table::new(fours.into_iter()),
            threes: Table::new(threes.iter().map(|pair| pair.0)),
            places,
            at_place: threes.iter().map(|pair| pair.1).collect(),
            literals,
        }
    }

    /// Tells `found` of every literal in the text: where it begins, and its number. Linear in the
    /// text.
    #[inline]
    pub(crate) fn each(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        for (at, bytes) in text.array_windows::<4>().enumerate() {
            let place = three(*bytes);
            if self.threes.has(place) && self.fours.has(four(*bytes)) {
                self.at(text, at, place, &mut found);
            }
        }
        // The last three have none after them; of fewer there is no literal.
        if let Some([a, b, c]) = text.last_chunk() {
            let place = three([*a, *b, *c, 0]);
            if self.threes.has(place) {
                self.at(text, text.len() - SHORTEST, place, &mut found);
            }
        }
    }

    /// Whether any of the literals stands in the text.
    #[inline]
    pub(crate) fn any(&self, text: &[u8]) -> bool {
        let mut any = false;
        self.each(text, |_, _| any = true);
        any
    }

    #[cold]
    fn at(&self, text: &[u8], at: usize, place: usize, found: &mut impl FnMut(usize, usize)) {
        let end = |place: usize| self.places.get(place).map_or(0, |end| *end as usize);
        let numbers = self.at_place.get(end(place)..end(place + 1));
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
            anchor_matcher.each(text.as_bytes(), |at, number| found.push((at, number)));
            found.sort_unstable();
            prop_assert_eq!(anchor_matcher.any(text.as_bytes()), !found.is_empty());
            prop_assert!(literals.iter().all(|literal| anchor_matcher.any(literal.as_bytes())));
            prop_assert_eq!(found, expected);
        }
    }
}
