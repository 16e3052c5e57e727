//! Words of a catalog that a misspelt word may mean.
//!
//! A word with one wrong letter and the right one share what is left of each when a letter is taken
//! out. All these remainders of all words are kept as numbers in their order, so a word is looked
//! up by as many searches as it has letters, and what is found is held against the word itself.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// A shorter word has too many neighbours, and a longer one is no word.
const LETTERS: RangeInclusive<usize> = 4..=24;
/// From so many letters on, a letter may be lost in one place and another be added elsewhere.
const LONG: usize = 8;

/// Stems, findable by stems that differ in a letter.
#[derive(Debug, Clone, Default)]
pub(super) struct Spelling {
    words: Vec<Box<str>>,
    /// A remainder and the word that it is of, sorted.
    remainders: Vec<(u32, u32)>,
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
        Self { words, remainders }
    }

    /// Whether it has this stem.
    pub(super) fn has(&self, stem: &str) -> bool {
        self.words.binary_search_by(|word| (**word).cmp(stem)).is_ok()
    }

    /// The words that a stem may mean, each with how far it is: one letter changed, lost, added or
    /// swapped with the next, or, for long words, one letter moved. The first letter is right.
    pub(super) fn near<'a>(&'a self, stem: &str, found: &mut BTreeSet<(usize, &'a str)>) {
        let Some(asked) = letters(stem) else { return };
        for remainder in all(&asked) {
            let from = self.remainders.partition_point(|(other, _)| *other < remainder);
            let equal = self.remainders.iter().skip(from);
            for (_, at) in equal.take_while(|(other, _)| *other == remainder) {
                let Some(word) = self.words.get(*at as usize) else { continue };
                found.extend(
                    letters(word).and_then(|word| far(&asked, &word)).map(|f| (f, &**word)),
                );
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let words: usize = self.words.iter().map(|word| size_of_val(word) + word.len()).sum();
        words + size_of_val(self.remainders.as_slice())
    }
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
    (0..word.len()).map(move |without| {
        let left = word.iter().enumerate().filter(|(at, _)| without == 0 || *at != without);
        let mix = |sum: u64, c: char| (sum ^ u64::from(c)).wrapping_mul(0x0100_0000_01B3);
        let sum = left.fold(0xCBF2_9CE4_8422_2325, |sum, (_, c)| mix(sum, *c));
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
        let mut found = BTreeSet::new();
        spelling.near(stem, &mut found);
        found.into_iter().map(|(far, word)| (far, word.to_owned())).collect()
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
