//! Word associations: the words of tools that the words of a request imply.
//!
//! This is query expansion by a translation lexicon (Berger and Lafferty 1999, "Information retrieval as
//! statistical translation"), with weights that were trained end to end on requests and the tools that
//! answer them, as in learned sparse retrieval (SPLADE; Formal, Piwowarski and Clinchant 2021), but by
//! single words and pairs of neighbouring words instead of a network. Requests profit from it where no
//! table is given. `benches/routing/associate.py` writes the file.

use std::sync::LazyLock;

use weaver_text::stem;

use super::hashing::KeyMap;
use super::intent::Token;
use super::term_key::{self, TermKey};

const BUILT_IN: &str = include_str!("../../assets/associations.txt");
/// The most associations of one word or pair.
const MAX_ASSOCIATIONS: usize = 128;
/// The strength in the file that counts as one.
pub(super) const FULL_STRENGTH: u64 = 16;
/// The most that sources imply a word together: full strength.
const MOST: u8 = 16;
/// The most tokens of a request whose associations are read.
const MAX_TOKENS: usize = 256;
/// The first of the [`DIGITS`] characters that number words of tools.
const FIRST_DIGIT: u8 = b'0';
const DIGITS: u16 = 64;

/// A table of word associations, by the stem of the word of the request, or the stems of two neighbours.
#[derive(Debug, Default)]
pub(super) struct Associations {
    /// The stems of the words of tools, which are known by their numbers here.
    words: Vec<TermKey>,
    /// Where the associations of a word are in `lists`: from, and how many.
    sources: KeyMap<(u32, u16)>,
    /// Numbers of words of tools, and strengths in units of one over [`FULL_STRENGTH`].
    lists: Vec<(u16, u8)>,
}

impl Associations {
    /// The built-in table.
    pub(super) fn built_in() -> &'static Self {
        static READ: LazyLock<Associations> = LazyLock::new(|| Associations::parse(BUILT_IN));
        &READ
    }

    /// Reads the words of tools, on lines that begin with `=`, and lines of a source and what it implies: a
    /// strength as a hexadecimal digit, with two characters for the number of each word that has it.
    fn parse(text: &str) -> Self {
        let mut this = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split_ascii_whitespace();
            match fields.next() {
                Some("=") => this.words.extend(fields.map(key_of)),
                Some(source) => this.read_list(source, fields),
                None => {}
            }
        }
        this
    }

    fn read_list<'t>(&mut self, source: &str, fields: impl Iterator<Item = &'t str>) {
        let from = self.lists.len();
        for field in fields {
            let Some((strength, numbers)) = field.split_at_checked(1) else { continue };
            let Ok(strength) = u8::from_str_radix(strength, 16) else { continue };
            let numbers = numbers.as_bytes().chunks_exact(2).filter_map(number_of);
            let known = numbers.filter(|number| usize::from(*number) < self.words.len());
            self.lists.extend(known.map(|number| (number, strength)));
        }
        self.lists.truncate(from + MAX_ASSOCIATIONS);
        let count = u16::try_from(self.lists.len() - from).unwrap_or(0);
        let place = (u32::try_from(from).unwrap_or(u32::MAX), count);
        // Of several words with one stem, the first counts.
        self.sources.entry(key_of_source(source)).or_insert(place);
    }

    /// The words of tools, in the order of their numbers.
    pub(super) fn words(&self) -> &[TermKey] {
        &self.words
    }

    /// How strongly some sources together imply each word of tools, by number: the sums of their strengths, at
    /// most [`FULL_STRENGTH`]. `None` if they imply nothing.
    pub(super) fn implied_by(&self, sources: impl Iterator<Item = TermKey>) -> Option<Vec<u8>> {
        let mut sums: Vec<u8> = Vec::new();
        for (number, strength) in sources.flat_map(|key| self.of_source(key)) {
            if sums.is_empty() {
                sums.resize(self.words.len(), 0);
            }
            if let Some(sum) = sums.get_mut(usize::from(*number)) {
                *sum = sum.saturating_add(*strength).min(MOST);
            }
        }
        (!sums.is_empty()).then_some(sums)
    }

    fn of_source(&self, key: TermKey) -> &[(u16, u8)] {
        let range = |(from, count): &(u32, u16)| {
            let from = *from as usize;
            self.lists.get(from..from + usize::from(*count))
        };
        self.sources.get(&key).and_then(range).unwrap_or_default()
    }
}

/// The number that two characters stand for.
fn number_of(characters: &[u8]) -> Option<u16> {
    let digit = |at: usize| {
        let digit = u16::from(characters.get(at)?.checked_sub(FIRST_DIGIT)?);
        (digit < DIGITS).then_some(digit)
    };
    Some(digit(0)? * DIGITS + digit(1)?)
}

/// The words of a request and its pairs of neighbouring words, as keys of associations, sorted, each once.
pub(super) fn sources(tokens: &[Token]) -> Vec<TermKey> {
    let words = || {
        tokens.iter().take(MAX_TOKENS).map(|token| match token {
            Token::Word(key) => Some(*key),
            Token::Typed(_) => None,
        })
    };
    let pairs = words().zip(words().skip(1));
    let pairs = pairs.filter_map(|(first, second)| Some(key_of_pair(first?, second?)));
    let mut sources: Vec<TermKey> = words().flatten().chain(pairs).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

fn key_of(word: &str) -> TermKey {
    term_key::of_term(&stem::stem(word))
}

/// The key of two neighbouring words.
fn key_of_pair(first: TermKey, second: TermKey) -> TermKey {
    term_key::sequence([first, second].into_iter())
}

/// The key of a word, or of a pair, which is written with `_`.
fn key_of_source(source: &str) -> TermKey {
    match source.split_once('_') {
        Some((first, second)) => key_of_pair(key_of(first), key_of(second)),
        None => key_of(source),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::super::argument_type::ArgumentTypes;
    use super::*;

    fn tokens(words: &[&str]) -> Vec<Token> {
        words.iter().map(|word| Token::Word(key_of(word))).collect()
    }

    /// The words of tools with their strengths, in order.
    fn implied(read: &Associations, words: &[&str]) -> Vec<(TermKey, u8)> {
        let sums = read.implied_by(sources(&tokens(words)).into_iter()).unwrap_or_default();
        let found = read.words().iter().copied().zip(sums).filter(|(_, strength)| *strength > 0);
        sorted(found)
    }

    fn sorted(found: impl Iterator<Item = (TermKey, u8)>) -> Vec<(TermKey, u8)> {
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        found
    }

    fn expected(words: &[(&str, u8)]) -> Vec<(TermKey, u8)> {
        sorted(words.iter().map(|(word, strength)| (key_of(word), *strength)))
    }

    #[test]
    fn associations_are_read_by_stems_and_by_pairs() {
        let read = Associations::parse(
            "# a remark\n= shipment tracking\n= odd other delete\nparcels 800 40102\nparcel 903\nget_rid f04\n",
        );
        let parcel = expected(&[("shipment", 8), ("tracking", 4), ("odd", 4)]);
        assert_eq!(implied(&read, &["parcel"]), parcel);
        assert_eq!(implied(&read, &["getting", "rid"]), expected(&[("delete", 15)]));
        for words in [&["rid", "get"][..], &["get"], &["remark"], &["="], &[]] {
            assert!(implied(&read, words).is_empty(), "{words:?}");
        }
    }

    #[test]
    fn a_number_has_two_digits() {
        let words: String = (0..200).map(|n| format!(" t{n}")).collect();
        let read = Associations::parse(&format!("={words}\nzig 70oo 61032\n"));
        assert_eq!(implied(&read, &["zig"]), expected(&[("t63", 7), ("t64", 6), ("t194", 6)]));
    }

    #[test]
    fn what_several_words_imply_adds_up_to_one_at_most() {
        let read = Associations::parse("= parcel letter stamp\nzig 900 201\nzag 900 202\n");
        let all = expected(&[("parcel", 16), ("letter", 2), ("stamp", 2)]);
        assert_eq!(implied(&read, &["zig", "zag", "zig"]), all);
    }

    #[test]
    fn a_value_that_is_known_by_its_form_parts_its_neighbours() {
        let read = Associations::parse("= delete\nget_rid f00\n");
        let mut parted = tokens(&["get", "rid"]);
        parted.insert(1, Token::Typed(ArgumentTypes::classify("a.txt")));
        assert_eq!(read.implied_by(sources(&parted).into_iter()), None);
    }

    #[test]
    fn a_hostile_line_is_bounded() {
        let line =
            format!("= a b\nword {} x00 \u{e9}00 f f0 f0\u{e9} f~~ foo", "f0001".repeat(10_000));
        let read = Associations::parse(&line);
        assert_eq!(implied(&read, &["word"]), expected(&[("a", 16), ("b", 16)]));
        assert_eq!(read.lists.len(), MAX_ASSOCIATIONS);
    }

    #[test]
    fn the_built_in_table_is_well_formed() {
        let built_in = Associations::built_in();
        let mut read = 0;
        for line in BUILT_IN.lines().filter(|line| !line.starts_with(['#', '='])) {
            let mut strengths = Vec::new();
            for field in line.split(' ').skip(1) {
                let (strength, numbers) = field.split_at(1);
                strengths.push(u64::from_str_radix(strength, 16).unwrap());
                assert!(!numbers.is_empty() && numbers.len() % 2 == 0, "{line}");
                read += numbers.len() / 2;
            }
            assert!(!strengths.is_empty() && strengths.is_sorted_by(|a, b| a > b), "{line}");
            assert!(strengths.iter().all(|one| (1..FULL_STRENGTH).contains(one)), "{line}");
        }
        assert_eq!(built_in.lists.len(), read);
        let most = built_in.sources.values().map(|(_, count)| usize::from(*count)).max();
        assert!(built_in.sources.len() > 10_000 && most < Some(MAX_ASSOCIATIONS));
        assert!(built_in.words.len() <= usize::from(DIGITS * DIGITS));
    }

    type Lists = Vec<BTreeMap<u8, u8>>;

    fn lists() -> impl Strategy<Value = Lists> {
        prop::collection::vec(prop::collection::btree_map(0_u8..12, 1_u8..16, 1..6), 1..5)
    }

    proptest! {
        #[test]
        fn strengths_are_those_of_a_plain_sum(lists in lists(), asked in prop::collection::vec(0_usize..6, 0..6)) {
            let line = |(at, list): (usize, &BTreeMap<u8, u8>)| {
                let fields: String =
                    list.iter().map(|(word, part)| format!(" {part:x}0{}", char::from(b'0' + word))).collect();
                format!("s{at}{fields}\n")
            };
            let words: String = (0..12).map(|at| format!(" t{at}")).collect();
            let text: String = lists.iter().enumerate().map(line).collect();
            let mut plain = BTreeMap::<TermKey, u64>::new();
            for at in asked.iter().collect::<BTreeSet<_>>() {
                for (word, part) in lists.get(*at).into_iter().flatten() {
                    *plain.entry(key_of(&format!("t{word}"))).or_default() += u64::from(*part);
                }
            }
            let asked: Vec<String> = asked.iter().map(|at| format!("s{at}")).collect();
            let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
            let expected: Vec<_> =
                plain.into_iter().map(|(key, sum)| (key, sum.min(16) as u8)).collect();
            prop_assert_eq!(implied(&Associations::parse(&format!("={words}\n{text}")), &asked), expected);
        }
    }
}
