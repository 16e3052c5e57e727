//! From scores to an order: copies behind what they copy, meaning beside words.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use weaver_types::CapabilityId;

use super::analyse::Query;
use super::board::Board;
use super::cover;
use super::fuse::{self, MEANING};
use super::index::Index;
use super::postings::{Place, Scored};
use super::score::Scorer;

/// How many items are compared by meaning.
const CANDIDATES: usize = 200;
/// Where fewer items than this share a word with the query, all are compared.
const FEW: usize = 20;

/// One place of a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ranked {
    pub(super) place: Place,
    /// What it is ranked by.
    pub(super) score: u64,
    /// The score of its words.
    pub(super) words: u32,
    /// How near it is by meaning, where that was looked at.
    pub(super) near: Option<i64>,
    /// Whether it is a near copy of a better one.
    pub(super) copy: bool,
}

impl Ranked {
    fn new((place, words): Scored, score: u64, copy: bool) -> Self {
        Self { place, score, words, near: None, copy }
    }
}

/// What makes an order from scores.
#[derive(Clone, Copy)]
pub(super) struct Ranker<'a> {
    pub(super) index: &'a Index,
    pub(super) scorer: Scorer<'a>,
}

/// Items by their words, best first.
struct ByWords {
    first: Vec<Scored>,
    copies: Vec<Scored>,
    parts: Vec<Board>,
}

impl<'a> Ranker<'a> {
    /// The first `k` by words alone.
    pub(super) fn by_words(self, query: &Query, k: usize) -> Vec<Ranked> {
        let ByWords { first, copies, parts } = self.words(query, k.max(cover::POOL));
        self.scorer.boards.give(parts);
        let first = first.into_iter().map(|hit| Ranked::new(hit, hit.1.into(), false));
        let copies = copies.into_iter().map(|hit| Ranked::new(hit, hit.1.into(), true));
        self.chosen(query, first.chain(copies).collect(), k)
    }

    /// The first `k` by words and by how near they are to the whole query and to each part of it.
    /// Items beyond the candidates follow in the order of their words, with no score.
    pub(super) fn by_meaning(
        self,
        query: &Query,
        near: impl Fn(usize, &[Place]) -> Vec<i64>,
        k: usize,
    ) -> Vec<Ranked> {
        let ByWords { mut first, mut copies, parts } = self.words(query, k.max(CANDIDATES));
        let few = first.len() < FEW;
        if few {
            (first, copies) = self.apart(self.all(&[first, copies].concat()));
        }
        let rest = if few { Vec::new() } else { first.split_off(CANDIDATES.min(first.len())) };
        let places: Vec<Place> = first.iter().map(|(place, _)| *place).collect();
        let pairs = pairs(first.iter().map(|(_, words)| *words), near(0, &places));
        let mut fused = fuse::fuse(&pairs, MEANING);
        add_parts(&mut fused, &places, &parts, near);
        self.scorer.boards.give(parts);
        let least = fused.iter().copied().min().unwrap_or(0);
        let best = first.iter().zip(&pairs).zip(fused).map(|((hit, (_, near)), fused)| Ranked {
            near: Some(*near),
            ..Ranked::new(*hit, fused.abs_diff(least) + 1, false)
        });
        let mut best: Vec<Ranked> = best.collect();
        best.sort_by_key(|ranked| {
            (Reverse(ranked.score), self.order((ranked.place, ranked.words)))
        });
        best.extend(rest.into_iter().map(|hit| Ranked::new(hit, 0, false)));
        best.extend(copies.into_iter().map(|hit| Ranked::new(hit, 0, true)));
        self.chosen(query, best, k)
    }

    fn chosen(self, query: &Query, mut ranked: Vec<Ranked>, k: usize) -> Vec<Ranked> {
        if !query.parts.is_empty() {
            cover::cover(self.scorer, self.index, &query.whole, &mut ranked);
        }
        ranked.truncate(k);
        ranked
    }

    /// At least `least` items that are no copies, where there are so many.
    fn words(self, query: &Query, least: usize) -> ByWords {
        // Copies of the first few may fill many places, so it looks further than it has to.
        let mut depth = least * 2;
        loop {
            let found = self.scorer.best(query, depth);
            let (mut scored, parts) = (found.best, found.parts);
            let all = scored.len() < depth;
            scored.sort_unstable_by_key(|hit| self.order(*hit));
            scored.truncate(depth);
            let (first, copies) = self.apart(scored);
            if first.len() >= least || all {
                return ByWords { first, copies, parts };
            }
            self.scorer.boards.give(parts);
            depth *= 4;
        }
    }

    /// All visible items in their order, those without a shared word with no score.
    fn all(self, known: &[Scored]) -> Vec<Scored> {
        let scores: HashMap<_, _> = known.iter().copied().collect();
        let places = self.scorer.visible();
        let mut all: Vec<Scored> =
            places.map(|place| (place, scores.get(&place).copied().unwrap_or(0))).collect();
        all.sort_unstable_by_key(|hit| self.order(*hit));
        all
    }

    /// What stands first among its near copies, and the copies.
    fn apart(self, ranked: Vec<Scored>) -> (Vec<Scored>, Vec<Scored>) {
        let mut gists = HashSet::with_capacity(ranked.len());
        ranked.into_iter().partition(|(place, _)| {
            self.index.mark(*place).is_none_or(|mark| gists.insert(mark.gist))
        })
    }

    /// The higher score, then the shorter name, then the lower id.
    fn order(self, (place, score): Scored) -> (Reverse<u32>, u32, Option<&'a CapabilityId>) {
        let length = self.index.mark(place).map_or(0, |mark| mark.length);
        (Reverse(score), length, self.index.id(place))
    }
}

/// The score of the words of each candidate, and how near it is.
fn pairs(words: impl Iterator<Item = u32>, near: Vec<i64>) -> Vec<(u32, i64)> {
    words.zip(near.into_iter().chain(std::iter::repeat(0))).collect()
}

/// Adds to each candidate the best of its scores for a part of the query. Whole and parts are
/// levelled before, so that they count alike.
fn add_parts(
    fused: &mut [i64],
    places: &[Place],
    parts: &[Board],
    near: impl Fn(usize, &[Place]) -> Vec<i64>,
) {
    if parts.is_empty() {
        return;
    }
    let mut best = vec![i64::MIN; places.len()];
    for (part, board) in (1..).zip(parts) {
        let words = places.iter().map(|place| board.get(*place));
        let mut scores = fuse::fuse(&pairs(words, near(part, places)), MEANING);
        fuse::level(&mut scores);
        best.iter_mut().zip(scores).for_each(|(best, score)| *best = score.max(*best));
    }
    fuse::level(fused);
    fused.iter_mut().zip(best).for_each(|(score, best)| *score = score.saturating_add(best));
}
