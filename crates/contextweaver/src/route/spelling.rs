//! Finds words of a catalog that a misspelt word may stand for.
//!
//! Symmetric deletion (FastSS, Bocek, Hunt and Stiller 2007; known as SymSpell): a word with one wrong
//! letter and the right word become equal when a letter is deleted from each. The hashes of all
//! deletions of all words are kept sorted, so a lookup takes one search per letter of the word, and
//! every candidate is then compared with the word itself.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::slot_index::SlotIndex;

/// The lengths of words that are corrected: shorter ones have too many neighbours, longer ones are not
/// words.
const WORD_LENGTHS: RangeInclusive<usize> = 4..=24;
/// From this length on, one letter may be missing in one place and another be added elsewhere.
const LONG_WORD: usize = 8;
/// The average number of deletions per slot of the lookup table.
const DELETIONS_PER_SLOT: usize = 8;
/// The most words with the same deletion that are compared; the alphabetically first ones.
const MAX_WORDS_PER_DELETION: usize = 64;

/// Stems, indexed by their deletions.
#[derive(Debug, Clone, Default)]
pub(super) struct DeletionIndex {
    words: WordList,
    /// The hash of a deletion and the index of its word, sorted.
    deletions: Vec<(u32, u32)>,
    slots: SlotIndex,
}

impl DeletionIndex {
    /// Indexes those of the stems that can be words.
    pub(super) fn of<'a>(stems: impl IntoIterator<Item = &'a str>) -> Self {
        let stems: BTreeSet<&str> = stems.into_iter().collect();
        let (mut words, mut deletions) = (WordList::default(), Vec::new());
        let stems = stems.into_iter().filter_map(|stem| Some((stem, letters(stem)?)));
        for (at, (word, letters)) in (0..).zip(stems) {
            words.push(word);
            deletions.extend(deletion_hashes(&letters).map(|deletion| (deletion, at)));
        }
        deletions.sort_unstable();
        let numbers = deletions.iter().map(|(deletion, _)| wide(*deletion));
        let slots = SlotIndex::of(numbers, DELETIONS_PER_SLOT);
        Self { words, deletions, slots }
    }

    /// Whether the index contains this stem.
    pub(super) fn has(&self, stem: &str) -> bool {
        self.words.contains(stem)
    }

    /// The words with this deletion, in alphabetical order.
    fn words_with_deletion(&self, deletion: u32) -> impl Iterator<Item = &str> {
        let around = self.deletions.get(self.slots.range_of(wide(deletion))).unwrap_or_default();
        let from = around.partition_point(|(other, _)| *other < deletion);
        let equal = around.iter().skip(from).take_while(move |(other, _)| *other == deletion);
        let mut last = None;
        let new = equal.filter(move |(_, at)| last.replace(*at) != Some(*at));
        new.filter_map(|(_, at)| self.words.get(*at as usize))
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.bytes() + size_of_val(self.deletions.as_slice()) + self.slots.bytes()
    }
}

/// Words in alphabetical order in one text, which takes half of the memory of separate strings.
#[derive(Debug, Clone, Default)]
struct WordList {
    text: String,
    /// Where each word ends.
    ends: Vec<u32>,
}

impl WordList {
    /// Adds a word that comes after all others.
    fn push(&mut self, word: &str) {
        self.text.push_str(word);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    fn get(&self, at: usize) -> Option<&str> {
        let from = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(from as usize..*self.ends.get(at)? as usize)
    }

    fn contains(&self, word: &str) -> bool {
        let mut range = 0..self.ends.len();
        while !range.is_empty() {
            let middle = range.start.midpoint(range.end);
            match self.get(middle).map_or(Ordering::Greater, |found| found.cmp(word)) {
                Ordering::Less => range.start = middle + 1,
                Ordering::Equal => return true,
                Ordering::Greater => range.end = middle,
            }
        }
        false
    }

    fn bytes(&self) -> usize {
        self.text.len() + size_of_val(self.ends.as_slice())
    }
}

/// The words that a stem may stand for, each with its edit distance: one letter changed, missing, added
/// or swapped with the next, or, for long words, one letter moved. The first letter must be equal.
///
/// Only words for which `seen` is true are considered, as if there were no others. The result does not
/// depend on how words are distributed over the lists.
pub(super) fn find_similar<'a>(
    lists: impl Iterator<Item = &'a DeletionIndex> + Clone,
    stem: &str,
    seen: impl Fn(&str) -> bool,
) -> BTreeSet<(usize, &'a str)> {
    let mut found = BTreeSet::new();
    let Some(asked) = letters(stem) else { return found };
    let mut shared = Vec::new();
    for deletion in deletion_hashes(&asked) {
        for list in lists.clone() {
            shared.extend(
                list.words_with_deletion(deletion)
                    .filter(|word| seen(word))
                    .take(MAX_WORDS_PER_DELETION),
            );
        }
        shared.sort_unstable();
        shared.dedup();
        for word in shared.drain(..).take(MAX_WORDS_PER_DELETION) {
            let far = letters(word).and_then(|word| edit_distance(&asked, &word));
            found.extend(far.map(|far| (far, word)));
        }
    }
    found
}

/// A hash with its bits in the upper half, as [`SlotIndex`] expects.
fn wide(deletion: u32) -> u64 {
    u64::from(deletion) << 32
}

/// The letters of a word; `None` if it is not a word, or too short or too long to be corrected.
fn letters(word: &str) -> Option<Vec<char>> {
    // A letter has at most four bytes, so a longer text is rejected without being read.
    if word.len() > 4 * WORD_LENGTHS.end() {
        return None;
    }
    let letters: Vec<char> = word.chars().collect();
    let fits = WORD_LENGTHS.contains(&letters.len()) && letters.iter().all(|c| c.is_alphabetic());
    fits.then_some(letters)
}

/// The hash of the word itself, and of the word without each of its letters except the first.
fn deletion_hashes(word: &[char]) -> impl Iterator<Item = u32> {
    let mix = |sum: u64, c: &char| (sum ^ u64::from(*c)).wrapping_mul(0x0100_0000_01B3);
    // The hash of the letters before the deleted one (FNV-1a).
    let mut front = 0xCBF2_9CE4_8422_2325;
    word.iter().enumerate().map(move |(without, letter)| {
        let rest = if without == 0 { word } else { word.get(without + 1..).unwrap_or_default() };
        let sum = rest.iter().fold(front, mix);
        front = mix(front, letter);
        // The upper half is better mixed.
        u32::try_from(sum >> 32).unwrap_or_default()
    })
}

/// The edit distance of two words that share a deletion, if one may be a misspelling of the other.
fn edit_distance(asked: &[char], word: &[char]) -> Option<usize> {
    if asked.first() != word.first() {
        return None;
    }
    let same = |(a, b): &(&char, &char)| a == b;
    let front = asked.iter().zip(word).take_while(same).count();
    let (asked, word) = (asked.get(front..)?, word.get(front..)?);
    let back = asked.iter().rev().zip(word.iter().rev()).take_while(same).count();
    let middle = |word: &[char]| word.len().saturating_sub(back);
    let long = front + asked.len() >= LONG_WORD && front + word.len() >= LONG_WORD;
    match (middle(asked), middle(word)) {
        (0, 0) => None,
        (0 | 1, 0 | 1) => Some(1),
        (2, 2) if asked.first() == word.get(1) && asked.get(1) == word.first() => Some(1),
        (a, b) if long && a == b && is_letter_moved(asked.get(..a)?, word.get(..b)?) => Some(2),
        _ => None,
    }
}

/// Whether one letter is missing at one end and one is added at the other.
fn is_letter_moved(asked: &[char], word: &[char]) -> bool {
    asked.get(1..) == word.get(..word.len().saturating_sub(1))
        || word.get(1..) == asked.get(..asked.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(words: &[&str], stem: &str) -> Vec<(usize, String)> {
        let spelling = DeletionIndex::of(words.iter().copied());
        let found = super::find_similar(std::iter::once(&spelling), stem, |_| true);
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
        let spelling = DeletionIndex::of(words.iter().map(String::as_str));
        let asked = std::cell::Cell::new(0);
        let seen = |_: &str| {
            asked.set(asked.get() + 1);
            true
        };
        let found = super::find_similar(std::iter::once(&spelling), "meanzing", seen);
        assert_eq!((found.len(), asked.get()), (MAX_WORDS_PER_DELETION, MAX_WORDS_PER_DELETION));
        assert!(found.iter().zip(&words).all(|((_, found), word)| found == word));
    }

    #[test]
    fn what_is_found_is_the_same_in_however_many_lists_words_lie() {
        let words = look_alikes(300);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (even, odd): (Vec<_>, Vec<_>) = words.chunks(2).map(|two| (two[0], two[1])).unzip();
        let lists = [even, odd, words[40..90].to_vec()].map(DeletionIndex::of);
        let all = DeletionIndex::of(words);
        let hidden = |word: &str| !word.contains(['\u{4e03}', '\u{4e10}']);
        let one = super::find_similar(std::iter::once(&all), "meanzing", hidden);
        assert_eq!(super::find_similar(lists.iter(), "meanzing", hidden), one);
        assert_eq!(one.len(), MAX_WORDS_PER_DELETION);
    }

    #[test]
    fn a_list_of_words_has_exactly_those_that_were_added() {
        let words = ["calendar", "file", "invoic", "reserv", "日本語版"];
        let spelling = DeletionIndex::of(words.into_iter().rev().chain(["abc", "base64"]));
        let found: Vec<_> = (0..6).map_while(|at| spelling.words.get(at)).collect();
        assert_eq!(found, words);
        assert!(words.into_iter().all(|word| spelling.has(word)));
        for other in ["", "abc", "calenda", "filefile", "in", "zebra"] {
            assert!(!spelling.has(other), "{other}");
        }
        assert!(!DeletionIndex::default().has("file"));
        let letters: usize = words.iter().map(|word| word.len()).sum();
        assert_eq!(spelling.words.bytes(), letters + 4 * words.len());
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
