//! Words of a catalog that a misspelt word may mean.
//!
//! Symmetric deletion (FastSS, Bocek, Hunt and Stiller 2007; known as SymSpell): a word with one
//! wrong letter and the right one share what is left of each when a letter is taken
//! out. All these remainders of all words are kept as numbers in their order, so a word is looked
//! up by as many searches as it has letters, and what is found is held against the word itself.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::slots::Slots;

/// A shorter word has too many neighbours, and a longer one is no word.
const LETTERS: RangeInclusive<usize> = 4..=24;
/// From this length on, a letter may be lost in one place and another be added elsewhere.
const LONG: usize = 8;
/// Remainders that begin alike, on average.
const REMAINDERS_OF_SLOT: usize = 8;
/// How many words are looked at that share one remainder; the first by the alphabet.
const MAX_SHARED: usize = 64;

/// Stems, findable by stems that differ in a letter.
#[derive(Debug, Clone, Default)]
pub(super) struct Spelling {
    words: Vec<Box<str>>,
    /// A remainder and the word that it is of, sorted.
    remainders: Vec<(u32, u32)>,
    slots: Slots,
}

impl Spelling {
    /// Of these stems, those that can be a word.
    pub(super) fn of<'a>(stems: impl IntoIterator<Item = &'a str>) -> Self {
        let words: BTreeSet<&str> = stems.into_iter().collect();
        let words: Vec<Box<str>> =
            words.into_iter().filter(|word| letters(word).is_some()).map(Box::from).collect();
        let mut remainders = Vec::new();
        for (at, word) in (0..).zip(&words) {
            for remainder in letters(word).iter().flat_map(|word| all(word)) {
                remainders.push((remainder, at));
            }
        }
        remainders.sort_unstable();
        let numbers = remainders.iter().map(|(remainder, _)| wide(*remainder));
        let slots = Slots::of(numbers, REMAINDERS_OF_SLOT);
        Self { words, remainders, slots }
    }

    /// Whether it has this stem.
    pub(super) fn has(&self, stem: &str) -> bool {
        self.words.binary_search_by(|word| (**word).cmp(stem)).is_ok()
    }

    /// The words that have this remainder, by the alphabet.
    fn sharing(&self, remainder: u32) -> impl Iterator<Item = &str> {
        let around = self.remainders.get(self.slots.around(wide(remainder))).unwrap_or_default();
        let from = around.partition_point(|(other, _)| *other < remainder);
        let equal = around.iter().skip(from).take_while(move |(other, _)| *other == remainder);
        let mut last = None;
        let new = equal.filter(move |(_, at)| last.replace(*at) != Some(*at));
        new.filter_map(|(_, at)| self.words.get(*at as usize)).map(AsRef::as_ref)
    }

    pub(super) fn bytes(&self) -> usize {
        let words: usize = self.words.iter().map(|word| size_of_val(word) + word.len()).sum();
        words + size_of_val(self.remainders.as_slice()) + self.slots.bytes()
    }
}

/// The words that a stem may mean, each with how far it is: one letter changed, lost, added or
/// swapped with the next, or, for long words, one letter moved. The first letter is right.
///
/// Only words that are seen count, as if there were no others. What is found does not depend on how
/// words are spread over these lists.
pub(super) fn near<'a>(
    lists: impl Iterator<Item = &'a Spelling> + Clone,
    stem: &str,
    seen: impl Fn(&str) -> bool,
) -> BTreeSet<(usize, &'a str)> {
    let mut found = BTreeSet::new();
    let Some(asked) = letters(stem) else { return found };
    let mut shared = Vec::new();
    for remainder in all(&asked) {
        for list in lists.clone() {
            shared.extend(list.sharing(remainder).filter(|word| seen(word)).take(MAX_SHARED));
        }
        shared.sort_unstable();
        shared.dedup();
        for word in shared.drain(..).take(MAX_SHARED) {
            let far = letters(word).and_then(|word| far(&asked, &word));
            found.extend(far.map(|far| (far, word)));
        }
    }
    found
}

/// Remainders as numbers of which the first bits count.
fn wide(remainder: u32) -> u64 {
    u64::from(remainder) << 32
}

/// The letters of a word; nothing for what is no word, or too short or long to be put right.
fn letters(word: &str) -> Option<Vec<char>> {
    // A letter has a byte at least, so this never looks at a long text.
    if word.len() > 4 * LETTERS.end() {
        return None;
    }
    let letters: Vec<char> = word.chars().collect();
    let fits = LETTERS.contains(&letters.len()) && letters.iter().all(|c| c.is_alphabetic());
    fits.then_some(letters)
}

/// A number for the word, and one for what is left of it without each of its letters but the first.
fn all(word: &[char]) -> impl Iterator<Item = u32> {
    let mix = |sum: u64, c: &char| (sum ^ u64::from(*c)).wrapping_mul(0x0100_0000_01B3);
    // Of the letters before the one that is left out.
    let mut front = 0xCBF2_9CE4_8422_2325;
    word.iter().enumerate().map(move |(without, letter)| {
        let rest = if without == 0 { word } else { word.get(without + 1..).unwrap_or_default() };
        let sum = rest.iter().fold(front, mix);
        front = mix(front, letter);
        // The upper half is the better mixed one.
        u32::try_from(sum >> 32).unwrap_or_default()
    })
}

/// How many letters two words that share a remainder differ in, if they may mean one another.
fn far(asked: &[char], word: &[char]) -> Option<usize> {
    if asked.first() != word.first() {
        return None;
    }
    let same = |(a, b): &(&char, &char)| a == b;
    let front = asked.iter().zip(word).take_while(same).count();
    let (asked, word) = (asked.get(front..)?, word.get(front..)?);
    let back = asked.iter().rev().zip(word.iter().rev()).take_while(same).count();
    let middle = |word: &[char]| word.len().saturating_sub(back);
    let long = front + asked.len() >= LONG && front + word.len() >= LONG;
    match (middle(asked), middle(word)) {
        (0, 0) => None,
        (0 | 1, 0 | 1) => Some(1),
        (2, 2) if asked.first() == word.get(1) && asked.get(1) == word.first() => Some(1),
        (a, b) if long && a == b && moved(asked.get(..a)?, word.get(..b)?) => Some(2),
        _ => None,
    }
}

/// Whether one letter was taken out at one end and one put in at the other.
fn moved(asked: &[char], word: &[char]) -> bool {
    asked.get(1..) == word.get(..word.len().saturating_sub(1))
        || word.get(1..) == asked.get(..asked.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(words: &[&str], stem: &str) -> Vec<(usize, String)> {
        let spelling = Spelling::of(words.iter().copied());
        let found = super::near(std::iter::once(&spelling), stem, |_| true);
        found.into_iter().map(|(far, word)| (far, word.to_owned())).collect()
    }

    /// Words that are all left the same without their fifth letter.
    fn look_alikes(count: u32) -> Vec<String> {
        let letters = ('\u{4e00}'..).take(count as usize);
        letters.map(|letter| format!("mean{letter}ing")).collect()
    }

    #[test]
    fn only_so_many_words_of_one_remainder_are_looked_at() {
        let words = look_alikes(5_000);
        let spelling = Spelling::of(words.iter().map(String::as_str));
        let asked = std::cell::Cell::new(0);
        let seen = |_: &str| {
            asked.set(asked.get() + 1);
            true
        };
        let found = super::near(std::iter::once(&spelling), "meanzing", seen);
        assert_eq!((found.len(), asked.get()), (MAX_SHARED, MAX_SHARED));
        assert!(found.iter().zip(&words).all(|((_, found), word)| found == word));
    }

    #[test]
    fn what_is_found_is_the_same_in_however_many_lists_words_lie() {
        let words = look_alikes(300);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (even, odd): (Vec<_>, Vec<_>) = words.chunks(2).map(|two| (two[0], two[1])).unzip();
        let lists = [even, odd, words[40..90].to_vec()].map(Spelling::of);
        let all = Spelling::of(words);
        let hidden = |word: &str| !word.contains(['\u{4e03}', '\u{4e10}']);
        let one = super::near(std::iter::once(&all), "meanzing", hidden);
        assert_eq!(super::near(lists.iter(), "meanzing", hidden), one);
        assert_eq!(one.len(), MAX_SHARED);
    }

    #[test]
    fn each_error_of_one_letter_is_put_right() {
        let words = ["invoic", "calendar", "schedul", "reserv", "file", "mail"];
        for (wrong, right) in [
            ("invoc", "invoic"),
            ("invoiic", "invoic"),
            ("invioc", "invoic"),
            ("inboic", "invoic"),
            ("calender", "calendar"),
            ("shcedul", "schedul"),
            ("fiel", "file"),
        ] {
            assert_eq!(near(&words, wrong), [(1, right.to_owned())], "{wrong}");
        }
        assert_eq!(near(&words, "caelndar"), [(1, "calendar".to_owned())]);
        assert_eq!(near(&words, "caldenar"), [(2, "calendar".to_owned())]);
    }

    #[test]
    fn what_is_no_word_or_too_far_finds_nothing() {
        let words = ["invoic", "base64", "abc", "日本語版", "file"];
        for other in ["invoic", "xnvoic", "invxyc", "base65", "abd", "fil", "fiels", "", "日本語"]
        {
            assert!(near(&words, other).is_empty(), "{other}");
        }
        assert!(near(&[&"x".repeat(99)], &"x".repeat(98)).is_empty());
    }

    proptest! {
        /// Against the plain way: one edit anywhere but at the first letter.
        #[test]
        fn one_edit_is_always_found(word in "[a-e]{5,10}", at in 1usize..4, how in 0..4_u8) {
            let mut letters: Vec<char> = word.chars().collect();
            match how {
                0 => drop(letters.remove(at)),
                1 => letters.insert(at, 'z'),
                2 => letters.swap(at, at + 1),
                _ => letters[at] = 'z',
            }
            let wrong: String = letters.into_iter().collect();
            let found = near(&[&word, "other", "words"], &wrong);
            prop_assert_eq!(found.contains(&(1, word.clone())), wrong != word);
        }
    }
}
