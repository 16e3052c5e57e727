//! Scoring items against a query.

use crate::fixed::{self, ONE};
use crate::route::analyse::{Asked, Query, Terms};
use crate::route::best::Scores;
use crate::route::board::{self, Board};
use crate::route::common_words;
use crate::route::index::Index;
use crate::route::intent::Expansion;
use crate::route::key::{self, Key};
use crate::route::meant::Meant;
use crate::route::pool::Pools;
use crate::route::postings::{List, Place, Scored};
use crate::route::selection::Selection;
use crate::route::source::{Beside, Source, Takes, Worth, brings};
use crate::route::thesaurus::Thesaurus;

/// What an item gains that has only a word standing for the one asked for, of what the word itself
/// would bring.
const INSTEAD: u64 = ONE / 2;
/// What an item gains that has a word which the request implies, of what the word itself would
/// bring had it been asked for.
const IMPLIED: u64 = ONE * 7 / 10;
/// The same for a word that everyday words of the request mean in general.
const EVERYDAY: u64 = ONE * 4 / 10;
/// The same where the everyday words lead the request: there stands the verb of what is wanted.
const LEADING: u64 = ONE * 6 / 10;
/// How many words lead a request.
const LEADING_WORDS: u16 = 2;
/// What a word counts that everyday requests are full of.
const COMMON: u64 = ONE / 2;
/// The same for the meaning of the request.
const IMPLIED_MEANING: u64 = ONE * 7 / 10;
/// The same for the meaning of everyday words.
const EVERYDAY_MEANING: u64 = ONE * 3 / 10;
/// Requests of more words than this imply less.
const SHORT: u64 = 8;
/// The same where it takes a value of a type that the request names.
const TYPE: u64 = ONE / 2;
/// How many items are looked at for words that a request does not have but means.
const MAX_EXPANSION: u64 = 1024;
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

impl<'a> Scorer<'a> {
    /// What the visible items score for the whole query and for its parts.
    pub(super) fn scores(self, query: &Query<'_>) -> Scores {
        let mut tally = self.pools.tally(self.index.places());
        let mut scored = |terms| {
            let mut board = self.pools.board(self.index.places());
            self.terms(terms, &mut board, tally.beside());
            board
        };
        let whole = scored(&query.whole);
        let parts = query.parts.iter().map(|part| scored(&part.terms)).collect();
        self.pools.tallies.give(tally);
        Scores::new(whole, parts, board::group(self.index.places()))
    }

    /// The visible items with the `count` highest scores for some terms, and what equals the last
    /// of them; in no particular order.
    pub(super) fn best(self, terms: &Asked, count: usize) -> Vec<Scored> {
        let mut tally = self.pools.tally(self.index.places());
        let found = tally.best(self.sources(terms), self.selection, count);
        self.pools.tallies.give(tally);
        found
    }

    /// All visible items.
    pub(super) fn visible(self) -> impl Iterator<Item = Place> {
        let items = Place::try_from(self.index.places()).unwrap_or(Place::MAX);
        (0..items).filter(move |place| self.selection.sees(*place))
    }

    /// Adds the scores of some terms to the board.
    fn terms(self, terms: &Asked, board: &mut Board, beside: &mut Beside) {
        let selection = self.selection;
        for source in self.sources(terms) {
            source.each(beside, &mut Visible { board, selection, all: selection.is_all() });
        }
        if selection.is_all() {
            // No list was asked which of its items are still there.
            for place in self.index.gone() {
                board.take(*place);
            }
        }
    }

    /// What brings the items their scores: rare terms count more, repeated ones a little more.
    fn sources(self, terms: &Asked) -> Vec<Source<'a>> {
        let mut sources = Vec::with_capacity(4 * terms.single.len());
        for (key, count) in &terms.single {
            let (own, pairs) = (self.index.single(*key), self.index.pairs(*key));
            let factor = if common_words::contains(*key) { COMMON } else { ONE };
            sources.extend(self.word(own, *count, factor));
            sources.extend(self.word(pairs, *count, factor / 2));
            sources.extend(self.instead(terms, (*key, *count), own));
        }
        for (key, count) in &terms.pairs {
            sources.extend(self.word(self.index.pairs(*key), *count, ONE / 2));
            sources.extend(self.word(self.index.single(*key), *count, ONE / 2));
        }
        sources.extend(self.expansions(terms));
        for key in &terms.types {
            sources.extend(self.word(self.index.single(*key), 1, TYPE));
        }
        sources
    }

    /// What items gain by words that the request does not have: the rarest first, as they say most
    /// and are read fastest, until so many items were looked at as may be.
    fn expansions(self, asked: &Asked) -> impl Iterator<Item = Source<'a>> {
        let implied = asked.implied.iter().filter_map(|words| self.implied(asked, words));
        let everyday = asked.everyday.iter().filter_map(|words| self.everyday(asked, words));
        let mut all: Vec<_> = implied.chain(everyday).collect();
        all.sort_by_key(|(seen, _)| *seen);
        let mut room = MAX_EXPANSION;
        let fits = move |(seen, source)| {
            room = u64::checked_sub(room, seen)?;
            Some(source)
        };
        all.into_iter().map_while(fits)
    }

    /// What words that the request does not have but means bring the item at this place.
    pub(super) fn meant_share(self, asked: &Asked, place: Place) -> Option<Share> {
        let score = self.expansions(asked).map(|source| u64::from(source.at(place))).sum();
        let none = String::new;
        (score > 0).then(|| Share { term: none(), found: none(), by: "meant", score })
    }

    /// What items gain by words that a request implies: by the best of those that stand for one
    /// another. Nothing where one of them was asked for as it is.
    fn implied(self, asked: &Asked, expansion: &Expansion<'_>) -> Option<(u64, Source<'a>)> {
        let keys = &expansion.implied.keys;
        match keys.iter().any(|key| asked.has(*key)) {
            true => None,
            false => self.best_of(asked, keys, IMPLIED, List::default()),
        }
    }

    /// What items gain by words that everyday words mean: by the best of them. Nothing where they
    /// have the word that was asked for.
    fn everyday(self, asked: &Asked, expansion: &Expansion<'_>) -> Option<(u64, Source<'a>)> {
        let keys = &expansion.implied.keys;
        let own = keys.iter().find(|key| asked.has(**key));
        let own = own.map(|key| self.index.single(*key)).unwrap_or_default();
        let share = if expansion.position < LEADING_WORDS { LEADING } else { EVERYDAY };
        self.best_of(asked, keys, share, own)
    }

    /// What items gain by the best of these words that were not asked for, and how many have any.
    fn best_of(
        self,
        asked: &Asked,
        keys: &[Key],
        share: u64,
        own: List<'a>,
    ) -> Option<(u64, Source<'a>)> {
        // The more a request says, the less depends on what is read into it.
        let factor = fixed::ratio(share * SHORT, ONE * asked.length.max(SHORT));
        let mut all = 0;
        let worth = |key: &Key| {
            let list = self.index.single(*key);
            let seen = self.selection.seen(list);
            all += seen;
            Some(Worth { list, gain: self.gain(seen, 1, factor) }).filter(|worth| worth.gain > 0)
        };
        let others: Vec<_> =
            keys.iter().filter(|key| !asked.has(**key)).filter_map(worth).collect();
        (!others.is_empty()).then_some((all, Source::Instead { own, others }))
    }

    /// Words that a request implies, and what each is worth for the meaning of it.
    pub(super) fn implied_words(self, asked: &Asked) -> impl Iterator<Item = (&str, u64)> {
        let factor = |share| fixed::ratio(share * SHORT, ONE * asked.length.max(SHORT));
        let (implied, everyday) = (factor(IMPLIED_MEANING), factor(EVERYDAY_MEANING));
        let implied = asked.implied.iter().map(move |expansion| (expansion, implied));
        let everyday = asked.everyday.iter().map(move |expansion| (expansion, everyday));
        implied.chain(everyday).flat_map(move |(expansion, factor)| {
            let list = expansion.implied;
            let words = list.words.iter().zip(&list.keys);
            let share = factor / (list.words.len() as u64).max(1);
            words.map(move |(word, key)| (&**word, fixed::mul(self.rarity(*key), share)))
        })
    }

    fn word(self, list: List<'a>, count: u64, factor: u64) -> Option<Source<'a>> {
        let gain = self.gain(self.selection.seen(list), count, factor);
        (gain > 0).then_some(Source::Word(Worth { list, gain }))
    }

    /// What items gain that have not a word but one that stands for it: the most that one such
    /// word brings, and never more for a rarer word than for the one asked for.
    fn instead(self, asked: &Asked, (key, count): (Key, u64), own: List<'a>) -> Option<Source<'a>> {
        let is_asked = |other: &Key| asked.single.binary_search_by_key(other, |(key, _)| *key);
        let others = self.thesaurus.keys(key).iter().chain(self.meant.keys(key));
        let others = others.filter(|other| is_asked(other).is_err());
        let lists = others.map(|other| self.index.single(*other)).filter(|list| !list.is_empty());
        let mut lists: Vec<_> = lists.map(|list| (self.selection.seen(list), list)).collect();
        if lists.is_empty() {
            return None;
        }
        lists.sort_by_key(|(seen, _)| *seen);
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
        let worth = |(seen, list)| Worth { list, gain: self.gain(seen, count, INSTEAD).min(most) };
        let others: Vec<_> = lists.into_iter().map(worth).filter(|worth| worth.gain > 0).collect();
        (!others.is_empty()).then_some(Source::Instead { own, others })
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
            let score = list.at(place).map_or(0, |weight| brings(gain, weight).into());
            if gain > 0 && score > 0 {
                let (term, found) = (term.to_owned(), found.to_owned());
                shares.push(Share { term, found, by, score });
            }
        };
        let gain = |list, count, factor| self.gain(self.selection.seen(list), count, factor);
        for (term, count) in counted(&terms.single) {
            let (single, pairs) =
                (self.index.single(key::of(term)), self.index.pairs(key::of(term)));
            let factor = if common_words::contains(key::of(term)) { COMMON } else { ONE };
            add(term, term, "word", single, gain(single, count, factor));
            add(term, term, "pair", pairs, gain(pairs, count, factor / 2));
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

/// Takes what is visible, and where all is, what was taken away too.
struct Visible<'a> {
    board: &'a mut Board,
    selection: &'a Selection,
    all: bool,
}

impl Takes for Visible<'_> {
    #[inline]
    fn wants(&self, place: Place) -> bool {
        self.all || self.selection.sees(place)
    }

    #[inline]
    fn take(&mut self, place: Place, score: u32) {
        if self.wants(place) {
            self.board.add(place, score);
        }
    }
}

/// The terms in their order, each once, and how often each occurs.
fn counted(terms: &[String]) -> Vec<(&str, u64)> {
    let mut terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    terms.sort_unstable();
    let runs = terms.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
}
