//! Scoring items against a query.

use crate::fixed::{self, ONE};
use crate::route::analyse::{Asked, Query, Terms};
use crate::route::best::Scores;
use crate::route::board::{self, Board};
use crate::route::document;
use crate::route::index::Index;
use crate::route::key::{self, Key};
use crate::route::meant::Meant;
use crate::route::pool::Pools;
use crate::route::postings::{List, Place, Posting};
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
    pub(super) pools: &'a Pools,
    pub(super) selection: &'a Selection,
    pub(super) thesaurus: &'a Thesaurus,
    pub(super) meant: &'a Meant,
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
    /// What the visible items score for the whole query and for its parts.
    pub(super) fn scores(self, query: &Query<'_>) -> Scores {
        let mut spare = self.pools.board(self.index.places());
        let mut scored = |terms| {
            let mut board = self.pools.board(self.index.places());
            self.terms(terms, &mut board, &mut spare);
            board
        };
        let whole = scored(&query.whole);
        let parts = query.parts.iter().map(|part| scored(&part.terms)).collect();
        self.pools.give([spare]);
        Scores::new(whole, parts, board::group(self.index.places()))
    }

    /// All visible items.
    pub(super) fn visible(self) -> impl Iterator<Item = Place> {
        let items = Place::try_from(self.index.places()).unwrap_or(Place::MAX);
        (0..items).filter(move |place| self.selection.sees(*place))
    }

    /// Adds the scores of some terms to the board: rare terms count more, repeated ones a little
    /// more. The spare board is clear before and after.
    fn terms(self, terms: &Asked, board: &mut Board, spare: &mut Board) {
        for (key, count) in &terms.single {
            let (own, pairs) = (self.index.single(*key), self.index.pairs(*key));
            self.add(own, *count, ONE, board);
            self.add(pairs, *count, ONE / 2, board);
            self.instead(terms, (*key, *count), board, spare);
        }
        for (key, count) in &terms.pairs {
            self.add(self.index.pairs(*key), *count, ONE / 2, board);
            self.add(self.index.single(*key), *count, ONE / 2, board);
        }
        if self.selection.is_all() {
            // No list was asked which of its items are still there.
            for place in self.index.gone() {
                board.take(*place);
            }
        }
    }

    /// Adds what items gain that have not a word but one that stands for it: the most that one such
    /// word brings, and never more for a rarer word than for the one asked for.
    fn instead(
        self,
        asked: &Asked,
        (key, count): (Key, u64),
        board: &mut Board,
        found: &mut Board,
    ) {
        let is_asked = |other: &Key| asked.single.binary_search_by_key(other, |(key, _)| *key);
        let others = self.thesaurus.keys(key).iter().chain(self.meant.keys(key));
        let others = others.filter(|other| is_asked(other).is_err());
        let lists = others.map(|other| self.index.single(*other)).filter(|list| !list.is_empty());
        let mut lists: Vec<_> = lists.map(|list| (self.selection.seen(list), list)).collect();
        if lists.is_empty() {
            return;
        }
        lists.sort_by_key(|(seen, _)| *seen);
        let own = self.index.single(key);
        let most = match self.gain(self.selection.seen(own), count, INSTEAD) {
            0 => u64::MAX,
            gain => gain,
        };
        let mut room = MAX_INSTEAD;
        lists.retain(|(seen, _)| {
            // What comes behind one without room is no rarer, so it has none either.
            let left = room.checked_sub(*seen);
            room = left.unwrap_or(0);
            left.is_some()
        });
        for (seen, list) in &lists {
            let gain = self.gain(*seen, count, INSTEAD).min(most);
            self.each(*list, gain, |place, score| found.raise(place, score));
        }
        for posting in own.postings() {
            found.take(posting.place());
        }
        for posting in lists.iter().flat_map(|(_, list)| list.postings()) {
            let score = found.take(posting.place());
            if score > 0 {
                board.add(posting.place(), score);
            }
        }
    }

    fn add(self, list: List<'_>, count: u64, factor: u64, board: &mut Board) {
        let gain = self.gain(self.selection.seen(list), count, factor);
        self.each(list, gain, |place, score| board.add(place, score));
    }

    /// Whether no visible item has the word, and no other stands for it.
    pub(super) fn is_unknown(self, key: Key) -> bool {
        let none = |list| self.selection.seen(list) == 0;
        !self.thesaurus.knows(key) && none(self.index.single(key)) && none(self.index.pairs(key))
    }

    /// Whether a visible item has the word.
    pub(super) fn sees_any(self, key: Key) -> bool {
        self.selection.seen(self.index.single(key)) > 0
    }

    /// What all terms would be worth to an item that has each of them once.
    pub(super) fn worth_of_all(self, terms: &Asked) -> u64 {
        terms.single.iter().map(|(key, _)| self.rarity(*key)).sum()
    }

    /// What each term brings the item at this place, in the order in which terms are scored.
    pub(super) fn shares_of(self, terms: &Terms, place: Place) -> Vec<Share> {
        let mut shares = Vec::new();
        let mut add = |term: &str, found: &str, by, list: List<'_>, gain: u64| {
            let score = list.at(place).map_or(0, |weight| brings(gain, weight));
            if gain > 0 && score > 0 {
                let (term, found) = (term.to_owned(), found.to_owned());
                shares.push(Share { term, found, by, score });
            }
        };
        let gain = |list, count, factor| self.gain(self.selection.seen(list), count, factor);
        for (term, count) in counted(&terms.single) {
            let (single, pairs) =
                (self.index.single(key::of(term)), self.index.pairs(key::of(term)));
            add(term, term, "word", single, gain(single, count, ONE));
            add(term, term, "pair", pairs, gain(pairs, count, ONE / 2));
            if single.at(place).is_none()
                && let Some((other, gain)) = self.best_instead(terms, term, count, place)
            {
                let known = self.thesaurus.knows(key::of(term));
                let by = if known { "instead" } else { "spelling" };
                add(term, &other, by, self.index.single(key::of(&other)), gain);
            }
        }
        for (term, count) in counted(&terms.pairs) {
            let (single, pairs) =
                (self.index.single(key::of(term)), self.index.pairs(key::of(term)));
            add(term, term, "pair", pairs, gain(pairs, count, ONE / 2));
            add(term, term, "word", single, gain(single, count, ONE / 2));
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
        let gain = |list| self.gain(self.selection.seen(list), count, INSTEAD);
        let most = match gain(self.index.single(key::of(term))) {
            0 => u64::MAX,
            gain => gain,
        };
        let others = self.thesaurus.others(term).chain(self.meant.words(key::of(term)));
        let others = others.filter(|other| !asked.single.iter().any(|asked| asked == other));
        let worth = others.filter_map(|other| {
            let list = self.index.single(key::of(other));
            let gain = gain(list).min(most);
            Some((gain * list.at(place)?, other.to_owned(), gain))
        });
        worth.max().map(|(_, other, gain)| (other, gain))
    }

    /// Each of these terms that a visible item has, and how rare it is.
    pub(super) fn worth(self, terms: &Asked) -> Vec<(Key, u64)> {
        let worth = terms.single.iter().map(|(key, _)| {
            (*key, self.gain(self.selection.seen(self.index.single(*key)), 1, ONE))
        });
        worth.filter(|(_, worth)| *worth > 0).collect()
    }

    /// How rare a stem is among the visible items, also where none has it.
    pub(super) fn rarity(self, key: Key) -> u64 {
        self.rare(self.selection.seen(self.index.single(key)))
    }

    fn rare(self, seen: u64) -> u64 {
        fixed::ln(2 * self.selection.count() + 2, 2 * seen + 1)
    }

    /// Calls with each visible item of the list and what it gains. Where every item is, those that
    /// were taken away are among them.
    #[inline]
    fn each(self, list: List<'_>, gain: u64, mut take: impl FnMut(Place, u32)) {
        if gain == 0 {
            return;
        }
        let mut take = |posting: &Posting| {
            take(posting.place(), narrow(brings(gain, posting.weight())));
        };
        if self.selection.is_all() {
            list.base.iter().for_each(&mut take);
            list.added.iter().for_each(take);
        } else {
            let all = list.base.iter().chain(list.added);
            all.filter(|posting| self.selection.sees(posting.place())).for_each(take);
        }
    }

    /// What a whole weight of a term is worth that so many visible items hold; nothing where none
    /// does.
    fn gain(self, seen: u64, count: u64, factor: u64) -> u64 {
        if seen == 0 {
            return 0;
        }
        let repeated = ONE + fixed::ln(count, 1);
        fixed::mul(fixed::mul(self.rare(seen), repeated), factor).max(1)
    }
}

/// What a term brings an item; at least one unit, so that what matches is never lost to rounding.
fn brings(gain: u64, weight: u64) -> u64 {
    ((gain * weight) >> document::DIGITS).max(1)
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
