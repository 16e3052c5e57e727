//! From scores to an order: copies behind what they copy, meaning beside words.

use std::cmp::{Ordering, Reverse};

use super::analyse::Query;
use super::best::Scores;
use super::cover;
use super::fuse::{self, MEANING};
use super::index::Index;
use super::postings::{Place, Scored};
use super::score::Scorer;
use super::seeded::{KeyMap, KeySet, Seeded};

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
    /// What accepted routes add to its score.
    pub(super) learned: u64,
}

impl Ranked {
    pub(super) fn new((place, words): Scored, score: u64, copy: bool) -> Self {
        Self { place, score, words, near: None, copy, learned: 0 }
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
    scores: Scores,
}

impl Ranker<'_> {
    /// The first `k` by words alone.
    pub(super) fn by_words(self, query: &Query<'_>, k: usize) -> Vec<Ranked> {
        let ByWords { first, copies, scores } = self.words(query, k.max(cover::POOL));
        self.scorer.pools.give(scores.into_boards());
        let first = first.into_iter().map(|hit| Ranked::new(hit, hit.1.into(), false));
        let copies = copies.into_iter().map(|hit| Ranked::new(hit, hit.1.into(), true));
        self.chosen(query, first.chain(copies).collect(), k)
    }

    /// The first `k` by words and by how near they are to the whole query and to each part of it.
    /// Items beyond the candidates follow in the order of their words, with no score.
    pub(super) fn by_meaning(
        self,
        query: &Query<'_>,
        near: impl Fn(usize, &[Place]) -> Vec<i64>,
        k: usize,
    ) -> Vec<Ranked> {
        let ByWords { mut first, mut copies, scores } = self.words(query, k.max(CANDIDATES));
        let mut compared = CANDIDATES;
        if first.len() < FEW {
            compared = k.max(2 * CANDIDATES);
            (first, copies) = self.nearest(&[first, copies].concat(), &near, compared);
        }
        let rest = first.split_off(compared.min(first.len()));
        let places: Vec<Place> = first.iter().map(|(place, _)| *place).collect();
        let pairs = pairs(first.iter().map(|(_, words)| *words), near(0, &places));
        let mut fused = fuse::fuse(&pairs, MEANING);
        add_parts(&mut fused, &places, &scores, near);
        self.scorer.pools.give(scores.into_boards());
        let least = fused.iter().copied().min().unwrap_or(0);
        let best = first.iter().zip(&pairs).zip(fused).map(|((hit, (_, near)), fused)| Ranked {
            near: Some(*near),
            ..Ranked::new(*hit, fused.abs_diff(least) + 1, false)
        });
        let mut best: Vec<Ranked> = best.collect();
        self.sort_fused(&mut best, k.max(cover::POOL));
        best.extend(rest.into_iter().map(|hit| Ranked::new(hit, 0, false)));
        best.extend(copies.into_iter().map(|hit| Ranked::new(hit, 0, true)));
        self.chosen(query, best, k)
    }

    fn chosen(self, query: &Query<'_>, mut ranked: Vec<Ranked>, k: usize) -> Vec<Ranked> {
        if !query.parts.is_empty() {
            cover::cover(self.scorer, self.index, &query.whole, &mut ranked);
        }
        ranked.truncate(k);
        ranked
    }

    /// At least `least` items that are no copies, where there are so many.
    fn words(self, query: &Query<'_>, least: usize) -> ByWords {
        // Copies of the first few may fill many places, so it looks further than it has to.
        let mut depth = least + least.div_ceil(4);
        let scores = self.scorer.scores(query);
        loop {
            let mut scored = scores.best(depth);
            let all = scored.len() < depth;
            self.sort(&mut scored);
            scored.truncate(depth);
            let (first, copies) = self.apart(scored);
            if first.len() >= least || all {
                return ByWords { first, copies, scores };
            }
            depth *= 4;
        }
    }

    /// What is known to share words with the query, and of all other visible items those that are
    /// nearest to it; so many at the most.
    fn nearest(
        self,
        known: &[Scored],
        near: &impl Fn(usize, &[Place]) -> Vec<i64>,
        most: usize,
    ) -> (Vec<Scored>, Vec<Scored>) {
        let scores: KeyMap<u32> = known.iter().map(|(p, s)| (u64::from(*p), *s)).collect();
        let places: Vec<Place> = self.scorer.visible().collect();
        let mut found: Vec<(Reverse<i64>, Scored)> = if places.len() <= most {
            places.iter().map(|place| (Reverse(0), (*place, 0))).collect()
        } else {
            let all = near(0, &places).into_iter().chain(std::iter::repeat(0));
            places.iter().zip(all).map(|(place, near)| (Reverse(near), (*place, 0))).collect()
        };
        for (near, (place, score)) in &mut found {
            if let Some(known) = scores.get(&u64::from(*place)) {
                (*near, *score) = (Reverse(i64::MAX), *known);
            }
        }
        if found.len() > most {
            found.select_nth_unstable_by(most, |a, b| {
                a.0.cmp(&b.0).then_with(|| self.compare(a.1, b.1))
            });
            found.truncate(most);
        }
        let mut found: Vec<Scored> = found.into_iter().map(|(_, hit)| hit).collect();
        self.sort(&mut found);
        self.apart(found)
    }

    /// What stands first among its near copies, and the copies.
    fn apart(self, ranked: Vec<Scored>) -> (Vec<Scored>, Vec<Scored>) {
        let mut gists = KeySet::with_capacity_and_hasher(ranked.len(), Seeded::default());
        ranked.into_iter().partition(|(place, _)| {
            self.index.mark(*place).is_none_or(|mark| gists.insert(mark.gist))
        })
    }

    /// The higher score, then the shorter name, then the lower id.
    fn sort(self, hits: &mut [Scored]) {
        hits.sort_unstable_by(|a, b| self.compare(*a, *b));
    }

    /// By the common score, then as by words; only so many have to be in their place.
    fn sort_fused(self, hits: &mut Vec<Ranked>, count: usize) {
        let order = |a: &Ranked, b: &Ranked| {
            let words = |hit: &Ranked| (hit.place, hit.words);
            b.score.cmp(&a.score).then_with(|| self.compare(words(a), words(b)))
        };
        if let Some(last) = count.checked_sub(1).filter(|last| *last < hits.len()) {
            hits.select_nth_unstable_by(last, order);
            hits.truncate(count);
        }
        hits.sort_unstable_by(order);
    }

    fn compare(self, a: Scored, b: Scored) -> Ordering {
        let length = |place| self.index.mark(place).map_or(0, |mark| mark.length);
        let by_name = || length(a.0).cmp(&length(b.0));
        b.1.cmp(&a.1).then_with(by_name).then_with(|| self.index.compare_ids(a.0, b.0))
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
    scores: &Scores,
    near: impl Fn(usize, &[Place]) -> Vec<i64>,
) {
    if scores.parts.is_empty() {
        return;
    }
    let mut best = vec![i64::MIN; places.len()];
    for (part, board) in (1..).zip(&scores.parts) {
        let words = places.iter().map(|place| board.get(*place));
        let mut scores = fuse::fuse(&pairs(words, near(part, places)), MEANING);
        fuse::level(&mut scores);
        best.iter_mut().zip(scores).for_each(|(best, score)| *best = score.max(*best));
    }
    fuse::level(fused);
    fused.iter_mut().zip(best).for_each(|(score, best)| *score = score.saturating_add(best));
}
