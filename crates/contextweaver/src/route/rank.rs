//! From scores to an order: copies behind what they copy, meaning beside words.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use weaver_types::CapabilityId;

use super::analyse::Query;
use super::fuse;
use super::index::Index;
use super::postings::{Place, Scored};
use super::score::{Found, Scorer};

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
    found: Found,
}

impl<'a> Ranker<'a> {
    /// The first `k` by words alone.
    pub(super) fn by_words(self, query: &Query, k: usize) -> Vec<Ranked> {
        let ByWords { first, copies, .. } = self.words(query, k);
        let ranked = |copy| {
            move |(place, words): Scored| Ranked {
                place,
                score: words.into(),
                words,
                near: None,
                copy,
            }
        };
        let first = first.into_iter().map(ranked(false));
        first.chain(copies.into_iter().map(ranked(true))).take(k).collect()
    }

    /// The first `k` by words and by how near they are otherwise. Items beyond the candidates
    /// follow in the order of their words, with no score.
    pub(super) fn by_meaning(
        self,
        query: &Query,
        near: impl Fn(Place) -> i64,
        k: usize,
    ) -> Vec<Ranked> {
        let ByWords { mut first, mut copies, found } = self.words(query, k.max(CANDIDATES));
        let few = first.len() < FEW;
        if few {
            (first, copies) = self.apart(self.all(&[first, copies].concat()));
        }
        let rest = if few { Vec::new() } else { first.split_off(CANDIDATES.min(first.len())) };
        let pairs: Vec<_> = first.iter().map(|(place, score)| (*score, near(*place))).collect();
        let fused = fuse::fuse(found.spread, &pairs);
        let least = fused.iter().copied().min().unwrap_or(0);
        let best = first.iter().zip(&pairs).zip(fused).map(|((hit, (words, near)), fused)| {
            let score = u64::try_from(fused - least).unwrap_or(0).saturating_add(1);
            Ranked { place: hit.0, score, words: *words, near: Some(*near), copy: false }
        });
        let mut best: Vec<Ranked> = best.collect();
        best.sort_by_key(|ranked| {
            (Reverse(ranked.score), self.order((ranked.place, ranked.words)))
        });
        let unscored = |copy| {
            move |(place, words): Scored| Ranked { place, score: 0, words, near: None, copy }
        };
        best.extend(rest.into_iter().map(unscored(false)));
        best.extend(copies.into_iter().map(unscored(true)));
        best.truncate(k);
        best
    }

    /// At least `least` items that are no copies, where there are so many.
    fn words(self, query: &Query, least: usize) -> ByWords {
        // Copies of the first few may fill many places, so it looks further than it has to.
        let mut depth = least * 2;
        loop {
            let mut found = self.scorer.best(query, depth);
            let mut scored = std::mem::take(&mut found.best);
            let all = scored.len() < depth;
            scored.sort_unstable_by_key(|hit| self.order(*hit));
            scored.truncate(depth);
            let (first, copies) = self.apart(scored);
            if first.len() >= least || all {
                return ByWords { first, copies, found };
            }
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
