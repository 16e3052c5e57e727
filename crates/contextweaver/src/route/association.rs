//! Word associations: the words of tools that the words of a request imply.
//!
//! This is query expansion by a translation lexicon (Berger and Lafferty 1999, "Information retrieval as
//! statistical translation"), with weights that were trained end to end on requests and the tools that
//! answer them, as in learned sparse retrieval (SPLADE; Formal, Piwowarski and Clinchant 2021), but by
//! single words and pairs of neighbouring words instead of a network. Requests profit from it where no
//! table is given. `benches/routing/associate.py` writes the file.

use std::collections::HashMap;
use std::sync::LazyLock;

use weaver_text::stem;

use super::hashing::KeyMap;
use super::intent::Token;
use super::term_key::{self, TermKey};
use crate::fixed_point;

const BUILT_IN: &str = include_str!("../../assets/associations.txt");
/// The most associations of one word or pair.
const MAX_ASSOCIATIONS: usize = 64;
/// The strength in the file that counts as one.
const FULL_STRENGTH: u64 = 16;
/// The most tokens of a request whose associations are read.
const MAX_TOKENS: usize = 256;

/// A word of tools that a request implies, and how strongly: at most one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Association {
    pub(super) key: TermKey,
    pub(super) strength: u64,
}

/// A table of word associations, by the stem of the word of the request, or the stems of two neighbours.
#[derive(Debug, Default)]
pub(super) struct Associations {
    /// The stems of the words of tools.
    targets: Vec<TermKey>,
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

    /// Reads lines of a source and what it implies: a number is the strength of the words after it.
    fn parse(text: &str) -> Self {
        let (mut this, mut numbers) = (Self::default(), HashMap::new());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut fields = line.split_whitespace();
            let Some(source) = fields.next() else { continue };
            let from = this.lists.len();
            let mut strength = 0;
            for field in fields {
                if let Ok(number) = field.parse() {
                    strength = number;
                } else if this.lists.len() < from + MAX_ASSOCIATIONS {
                    let next = u16::try_from(this.targets.len()).unwrap_or(u16::MAX);
                    let target = *numbers.entry(field).or_insert(next);
                    if target == next {
                        this.targets.push(key_of(field));
                    }
                    this.lists.push((target, strength));
                }
            }
            let count = u16::try_from(this.lists.len() - from).unwrap_or(0);
            let place = (u32::try_from(from).unwrap_or(u32::MAX), count);
            // Of several words with one stem, the first counts.
            this.sources.entry(key_of_source(source)).or_insert(place);
        }
        this
    }

    /// The words of tools that some sources imply together, each once. Their strengths are added, up to one.
    pub(super) fn implied_by(&self, sources: impl Iterator<Item = TermKey>) -> Vec<Association> {
        let mut found: Vec<(u16, u8)> =
            sources.flat_map(|key| self.of_source(key)).copied().collect();
        found.sort_unstable();
        let implied = found.chunk_by(|a, b| a.0 == b.0).filter_map(|same| {
            let key = *self.targets.get(usize::from(same.first()?.0))?;
            let sum: u64 = same.iter().map(|(_, strength)| u64::from(*strength)).sum();
            let strength = fixed_point::ratio(sum.min(FULL_STRENGTH), FULL_STRENGTH);
            Some(Association { key, strength })
        });
        implied.collect()
    }

    fn of_source(&self, key: TermKey) -> &[(u16, u8)] {
        let range = |(from, count): &(u32, u16)| {
            let from = *from as usize;
            self.lists.get(from..from + usize::from(*count))
        };
        self.sources.get(&key).and_then(range).unwrap_or_default()
    }
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
    use crate::fixed_point::ONE;

    fn tokens(words: &[&str]) -> Vec<Token> {
        words.iter().map(|word| Token::Word(key_of(word))).collect()
    }

    fn implied(read: &Associations, words: &[&str]) -> Vec<(TermKey, u64)> {
        let found = read.implied_by(sources(&tokens(words)).into_iter());
        let mut found: Vec<_> = found.iter().map(|found| (found.key, found.strength)).collect();
        found.sort_unstable();
        found
    }

    fn sixteenths(expected: &[(&str, u64)]) -> Vec<(TermKey, u64)> {
        let all = expected.iter().map(|(word, part)| (key_of(word), ONE * part / 16));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn associations_are_read_by_stems_and_by_pairs() {
        let read = Associations::parse(
            "# a remark\nparcels 8 shipment 4 tracking odd\nparcel 9 other\nget_rid 15 delete\n",
        );
        let parcel = sixteenths(&[("shipment", 8), ("tracking", 4), ("odd", 4)]);
        assert_eq!(implied(&read, &["parcel"]), parcel);
        assert_eq!(implied(&read, &["getting", "rid"]), sixteenths(&[("delete", 15)]));
        for words in [&["rid", "get"][..], &["get"], &["remark"], &[]] {
            assert!(implied(&read, words).is_empty(), "{words:?}");
        }
    }

    #[test]
    fn what_several_words_imply_adds_up_to_one_at_most() {
        let read = Associations::parse("zig 9 parcel 2 letter\nzag 9 parcel 2 stamp\n");
        let expected = sixteenths(&[("parcel", 16), ("letter", 2), ("stamp", 2)]);
        assert_eq!(implied(&read, &["zig", "zag", "zig"]), expected);
    }

    #[test]
    fn a_value_that_is_known_by_its_form_parts_its_neighbours() {
        let read = Associations::parse("get_rid 15 delete\n");
        let mut parted = tokens(&["get", "rid"]);
        parted.insert(1, Token::Typed(ArgumentTypes::classify("a.txt")));
        assert!(read.implied_by(sources(&parted).into_iter()).is_empty());
    }

    #[test]
    fn a_hostile_line_is_bounded() {
        let line: String = (0..1_000).map(|n| format!(" 255 w{n} 99999")).collect();
        let read = Associations::parse(&format!("word{line}"));
        let found = implied(&read, &["word"]);
        assert!(found.len() <= MAX_ASSOCIATIONS && found.iter().all(|(_, part)| *part == ONE));
    }

    #[test]
    fn the_built_in_table_is_well_formed() {
        let number = |field: &str| field.parse::<u64>().ok();
        for line in BUILT_IN.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split(' ').skip(1).collect();
            let strengths: Vec<u64> = fields.iter().copied().filter_map(number).collect();
            assert!(fields.first().copied().and_then(number).is_some(), "{line}");
            assert!(strengths.is_sorted_by(|a, b| a > b), "{line}");
            assert!(strengths.iter().all(|one| (1..FULL_STRENGTH).contains(one)), "{line}");
            assert!((1..=MAX_ASSOCIATIONS).contains(&(fields.len() - strengths.len())), "{line}");
        }
        let built_in = Associations::built_in();
        assert!(built_in.sources.len() > 10_000 && built_in.targets.len() < usize::from(u16::MAX));
    }

    type Lists = Vec<BTreeMap<u16, u8>>;

    fn lists() -> impl Strategy<Value = Lists> {
        prop::collection::vec(prop::collection::btree_map(0_u16..12, 1_u8..16, 1..6), 1..5)
    }

    proptest! {
        #[test]
        fn strengths_are_those_of_a_plain_sum(lists in lists(), asked in prop::collection::vec(0_usize..6, 0..6)) {
            let line = |(at, list): (usize, &BTreeMap<u16, u8>)| {
                let fields: String = list.iter().map(|(word, part)| format!(" {part} t{word}")).collect();
                format!("s{at}{fields}\n")
            };
            let text: String = lists.iter().enumerate().map(line).collect();
            let mut plain = BTreeMap::<TermKey, f64>::new();
            for at in asked.iter().collect::<BTreeSet<_>>() {
                for (word, part) in lists.get(*at).into_iter().flatten() {
                    *plain.entry(key_of(&format!("t{word}"))).or_default() += f64::from(*part) / 16.0;
                }
            }
            let words: Vec<String> = asked.iter().map(|at| format!("s{at}")).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let expected: Vec<_> =
                plain.into_iter().map(|(key, sum)| (key, (sum.min(1.0) * 65_536.0) as u64)).collect();
            prop_assert_eq!(implied(&Associations::parse(&text), &words), expected);
        }
    }
}
