//! Scoring items against a query.

use std::collections::HashSet;

use crate::fixed::{self, ONE};
use crate::route::analyse::{Query, Terms};
use crate::route::board::{Board, Boards};
use crate::route::index::Index;
use crate::route::key::{self, Key};
use crate::route::postings::{List, Place, Scored};
use crate::route::selection::Selection;
use crate::route::thesaurus::Thesaurus;

/// What an item gains that has only a word standing for the one asked for, of what the word itself
/// would bring.
const INSTEAD: u64 = ONE / 2;
/// How many items with such words are looked at for one word; the rarest of them come first.
const MAX_INSTEAD: u64 = 16 * 1024;

/// What is needed to score.
#[derive(Clone, Copy)]
pub(super) struct Scorer<'a> {
    pub(super) index: &'a Index,
    pub(super) boards: &'a Boards,
    pub(super) selection: &'a Selection,
    pub(super) thesaurus: &'a Thesaurus,
}

/// What a query found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The items with the highest scores, in no particular order.
    pub(super) best: Vec<Scored>,
    /// The scores of all items for each part of the query.
    pub(super) parts: Vec<Board>,
}

/// What one term brings one item.
#[derive(Debug)]
pub(super) struct Share {
    /// The term that was asked for.
    pub(super) term: String,
    /// The term that was found.
    pub(super) found: String,
    /// How it was met.
    pub(super) by: &'static str,
    pub(super) score: u64,
}

impl Scorer<'_> {
    /// The visible items with the highest scores: at least `depth` of them, where so many have one.
    ///
    /// Where the query has several parts, an item that answers one of them well gains as much as
    /// half of the best score, so that a request for two things finds both.
    pub(super) fn best(self, query: &Query, depth: usize) -> Found {
        let items = self.index.places();
        let mut whole = self.boards.take(items);
        self.terms(&query.whole, &mut whole);
        if query.parts.is_empty() {
            let best = whole.top(depth);
            self.boards.give([whole]);
            return Found { best, parts: Vec::new() };
        }
        let parts: Vec<Board> = query.parts.iter().map(|part| self.part(&part.terms)).collect();
        let (shares, mut blend) = (self.shares(&parts), self.boards.take(items));
        let most = u64::from(whole.best());
        whole.chunks(|first, scores| {
            for (place, score) in (first..).zip(scores).filter(|(_, score)| **score > 0) {
                let part = fixed::mul(u64::from(shares.get(place)), most);
                blend.add(place, narrow(u64::midpoint(u64::from(*score), part)));
            }
        });
        let best = blend.top(depth);
        self.boards.give([whole, shares, blend]);
        Found { best, parts }
    }

    /// All visible items.
    pub(super) fn visible(self) -> impl Iterator<Item = Place> {
        let items = Place::try_from(self.index.places()).unwrap_or(Place::MAX);
        (0..items).filter(move |place| self.selection.sees(*place))
    }

    fn part(self, terms: &Terms) -> Board {
        let mut part = self.boards.take(self.index.places());
        self.terms(terms, &mut part);
        part
    }

    /// For each item the best of its scores for a part, as a share of that part's best.
    fn shares(self, parts: &[Board]) -> Board {
        let mut shares = self.boards.take(self.index.places());
        for part in parts {
            // A division less for each item: the best comes to exactly one.
            let scale = (1_u64 << 48).div_ceil(u64::from(part.best().max(1)));
            part.chunks(|first, scores| {
                for (place, score) in (first..).zip(scores).filter(|(_, score)| **score > 0) {
                    let share = narrow(((u64::from(*score) * scale) >> 32).min(ONE));
                    shares.raise(place, share);
                }
            });
        }
        shares
    }

    /// Adds the scores of some terms to the board.
    fn terms(self, terms: &Terms, board: &mut Board) {
        for (term, count) in counted(&terms.single) {
            let key = key::of(term);
            self.add(self.index.single(key), count, ONE, board);
            self.add(self.index.pairs(key), count, ONE / 2, board);
        }
        self.instead(&terms.single, board);
        for (term, count) in counted(&terms.pairs) {
            let key = key::of(term);
            self.add(self.index.pairs(key), count, ONE / 2, board);
            self.add(self.index.single(key), count, ONE / 2, board);
        }
    }

    /// Adds what items gain that have not a word but one that stands for it: the most that one such
    /// word brings, and never more for a rarer word than for the one asked for.
    fn instead(self, asked: &[String], board: &mut Board) {
        let keys: HashSet<Key> = asked.iter().map(|term| key::of(term)).collect();
        let mut found = self.boards.take(self.index.places());
        for (term, count) in counted(asked) {
            let own = self.index.single(key::of(term));
            let most = match self.gain(own, count, INSTEAD) {
                0 => u64::MAX,
                gain => gain,
            };
            let others = self.thesaurus.keys(term).filter(|key| !keys.contains(key));
            let lists = others.map(|key| self.index.single(key));
            let mut lists: Vec<_> = lists.map(|list| (self.selection.seen(list), list)).collect();
            lists.sort_by_key(|(seen, _)| *seen);
            let mut room = MAX_INSTEAD;
            for (seen, list) in lists {
                let Some(left) = room.checked_sub(seen) else { break };
                room = left;
                let gain = self.gain(list, count, INSTEAD).min(most);
                self.each(list, gain, |place, score| found.raise(place, score));
            }
            for place in own.places() {
                found.lower(place);
            }
            found.chunks(|first, scores| {
                for (place, score) in (first..).zip(scores).filter(|(_, score)| **score > 0) {
                    board.add(place, *score);
                }
            });
            found.clear();
        }
        self.boards.give([found]);
    }

    /// Adds one list: rare terms count more, repeated ones a little more.
    fn add(self, list: List<'_>, count: u64, factor: u64, board: &mut Board) {
        let gain = self.gain(list, count, factor);
        self.each(list, gain, |place, score| board.add(place, score));
    }

    /// What all terms would be worth to an item that has each of them once.
    pub(super) fn worth_of_all(self, terms: &Terms) -> u64 {
        counted(&terms.single).into_iter().map(|(term, _)| self.rarity(term)).sum()
    }

    /// What each term brings the item at this place, in the order in which terms are scored.
    pub(super) fn shares_of(self, terms: &Terms, place: Place) -> Vec<Share> {
        let mut shares = Vec::new();
        let mut add = |term: &str, found: &str, by, list: List<'_>, gain: u64| {
            let score =
                list.at(place).map_or(0, |weight| ((gain * u64::from(weight)) >> 14).max(1));
            if gain > 0 && score > 0 {
                let (term, found) = (term.to_owned(), found.to_owned());
                shares.push(Share { term, found, by, score });
            }
        };
        for (term, count) in counted(&terms.single) {
            let (single, pairs) =
                (self.index.single(key::of(term)), self.index.pairs(key::of(term)));
            add(term, term, "word", single, self.gain(single, count, ONE));
            add(term, term, "pair", pairs, self.gain(pairs, count, ONE / 2));
            if single.at(place).is_none()
                && let Some((other, gain)) = self.best_instead(terms, term, count, place)
            {
                add(term, &other, "instead", self.index.single(key::of(&other)), gain);
            }
        }
        for (term, count) in counted(&terms.pairs) {
            let (single, pairs) =
                (self.index.single(key::of(term)), self.index.pairs(key::of(term)));
            add(term, term, "pair", pairs, self.gain(pairs, count, ONE / 2));
            add(term, term, "word", single, self.gain(single, count, ONE / 2));
        }
        shares
    }

    /// The word that stands for this one and brings the item most, and what a whole weight of it
    /// is worth.
    fn best_instead(
        self,
        asked: &Terms,
        term: &str,
        count: u64,
        place: Place,
    ) -> Option<(String, u64)> {
        let most = match self.gain(self.index.single(key::of(term)), count, INSTEAD) {
            0 => u64::MAX,
            gain => gain,
        };
        let others = self
            .thesaurus
            .others(term)
            .filter(|other| !asked.single.iter().any(|asked| asked == other));
        let worth = others.filter_map(|other| {
            let list = self.index.single(key::of(other));
            let gain = self.gain(list, count, INSTEAD).min(most);
            let weight = u64::from(list.at(place)?);
            Some((gain * weight, other.to_owned(), gain))
        });
        worth.max().map(|(_, other, gain)| (other, gain))
    }

    /// Each of these terms that a visible item has, and how rare it is.
    pub(super) fn worth(self, terms: &Terms) -> Vec<(Key, u64)> {
        let keys = counted(&terms.single).into_iter().map(|(term, _)| key::of(term));
        let worth = keys.map(|key| (key, self.gain(self.index.single(key), 1, ONE)));
        worth.filter(|(_, worth)| *worth > 0).collect()
    }

    /// How rare a stem is among the visible items, also where none has it.
    pub(super) fn rarity(self, stem: &str) -> u64 {
        let seen = self.selection.seen(self.index.single(key::of(stem)));
        fixed::ln(2 * self.selection.count() + 2, 2 * seen + 1)
    }

    /// Calls with each visible item of the list and what it gains.
    fn each(self, list: List<'_>, gain: u64, mut take: impl FnMut(Place, u32)) {
        if gain == 0 {
            return;
        }
        for (place, weight) in list.pairs().filter(|(place, _)| self.selection.sees(*place)) {
            // At least one unit, so that what matches is never lost to rounding.
            take(place, narrow((gain * u64::from(weight)) >> 14).max(1));
        }
    }

    /// What a whole weight of a term is worth; nothing where no visible item holds it.
    fn gain(self, list: List<'_>, count: u64, factor: u64) -> u64 {
        let seen = self.selection.seen(list);
        if seen == 0 {
            return 0;
        }
        let rarity = fixed::ln(2 * self.selection.count() + 2, 2 * seen + 1);
        fixed::mul(fixed::mul(rarity, ONE + fixed::ln(count, 1)), factor).max(1)
    }
}

fn narrow(x: u64) -> u32 {
    u32::try_from(x).unwrap_or(u32::MAX)
}

/// The terms in their order, each once, and how often each occurs.
fn counted(terms: &[String]) -> Vec<(&str, u64)> {
    let mut terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    terms.sort_unstable();
    let runs = terms.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
}
