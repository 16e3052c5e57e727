//! Scoring items against a query.

use std::collections::BTreeMap;

use crate::fixed::{self, ONE};
use crate::route::analyse::{Query, Terms};
use crate::route::index::{Index, Place, Posting};

/// Which items may be seen, and how many they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// `None`: all of them.
    visible: Option<Vec<bool>>,
    count: u64,
}

impl Selection {
    pub(super) fn all(count: usize) -> Self {
        Self { visible: None, count: count as u64 }
    }

    pub(super) fn of(visible: Vec<bool>) -> Self {
        let count = visible.iter().filter(|seen| **seen).count() as u64;
        Self { visible: Some(visible), count }
    }

    /// How many items may be seen.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    fn sees(&self, place: Place) -> bool {
        self.visible.as_ref().is_none_or(|v| v.get(place as usize).copied().unwrap_or(false))
    }

    /// How many of these items may be seen.
    fn seen(&self, postings: &[Posting]) -> u64 {
        match self.visible {
            None => postings.len() as u64,
            Some(_) => postings.iter().filter(|p| self.sees(p.place)).count() as u64,
        }
    }
}

/// Scores by place, with the places that have one.
struct Board {
    scores: Vec<u64>,
    touched: Vec<Place>,
}

impl Board {
    fn new(items: usize) -> Self {
        Self { scores: vec![0; items], touched: Vec::new() }
    }

    fn add(&mut self, place: Place, score: u64) {
        if let Some(sum) = self.scores.get_mut(place as usize) {
            if *sum == 0 && score > 0 {
                self.touched.push(place);
            }
            *sum += score;
        }
    }

    fn get(&self, place: Place) -> u64 {
        self.scores.get(place as usize).copied().unwrap_or(0)
    }

    fn best(&self) -> u64 {
        self.touched.iter().map(|place| self.get(*place)).max().unwrap_or(0)
    }

    fn pairs(&self) -> Vec<(Place, u64)> {
        self.touched.iter().map(|place| (*place, self.get(*place))).collect()
    }

    fn clear(&mut self) {
        for place in self.touched.drain(..) {
            if let Some(sum) = self.scores.get_mut(place as usize) {
                *sum = 0;
            }
        }
    }
}

/// Every visible item with a score, in no particular order.
///
/// Where the query has several sentences, an item that answers one of them well gains as much as
/// a third of the best score, so that a request for two things finds both.
pub(super) fn score(index: &Index, query: &Query, selection: &Selection) -> Vec<(Place, u64)> {
    let items = index.groups.len();
    let mut board = Board::new(items);
    score_terms(index, &query.whole, selection, &mut board);
    if query.sentences.is_empty() {
        return board.pairs();
    }
    let best = board.best();
    let mut part = Board::new(items);
    let mut parts = vec![0u64; items];
    for sentence in &query.sentences {
        score_terms(index, sentence, selection, &mut part);
        let best = part.best();
        for (place, score) in part.pairs() {
            if let Some(top) = parts.get_mut(place as usize) {
                *top = (*top).max(fixed::ratio(score, best));
            }
        }
        part.clear();
    }
    let blend = |(place, score): (Place, u64)| {
        let part = parts.get(place as usize).copied().unwrap_or(0);
        (place, (2 * score + fixed::mul(part, best)) / 3)
    };
    board.pairs().into_iter().map(blend).filter(|(_, score)| *score > 0).collect()
}

/// Adds the scores of some terms to the board.
fn score_terms(index: &Index, terms: &Terms, selection: &Selection, board: &mut Board) {
    for (term, count) in counted(&terms.single) {
        add(index.single(term), count, ONE, selection, board);
        add(index.pairs(term), count, ONE / 2, selection, board);
    }
    for (term, count) in counted(&terms.pairs) {
        add(index.pairs(term), count, ONE / 2, selection, board);
        add(index.single(term), count, ONE / 2, selection, board);
    }
}

/// Adds one list of postings: rare terms count more, repeated ones a little more.
fn add(postings: &[Posting], count: u64, factor: u64, selection: &Selection, board: &mut Board) {
    let seen = selection.seen(postings);
    if seen == 0 {
        return;
    }
    let rarity = fixed::ln(2 * selection.count + 2, 2 * seen + 1);
    let gain = fixed::mul(fixed::mul(rarity, ONE + fixed::ln(count, 1)), factor);
    for posting in postings {
        if selection.sees(posting.place) {
            // At least one unit, so that what matches is never lost to rounding.
            board.add(posting.place, fixed::mul(gain, u64::from(posting.weight)).max(1));
        }
    }
}

fn counted(terms: &[String]) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for term in terms {
        *counts.entry(term.as_str()).or_insert(0) += 1;
    }
    counts
}
