//! The items that score most for one question, without scoring all of them.

use super::postings::{Place, Scored};
use super::selection::Selection;
use super::source::{Beside, LOOK_UP, Source, Takes};

/// Scores while they are summed up. It is clear before and after.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By place; zero where there is none.
    scores: Vec<u32>,
    /// The places that have a score and can still be among the best.
    places: Vec<Place>,
    /// Those of them with a score that so many as are wanted are known to have.
    top: Vec<Place>,
    beside: Beside,
    sorted: Vec<u32>,
}

impl Tally {
    /// At least so many places.
    pub(super) fn fit(&mut self, items: usize) {
        if self.scores.len() < items {
            self.scores.resize(items, 0);
            self.beside.fit(items);
        }
    }

    /// What [`Source::each`] needs.
    pub(super) fn beside(&mut self) -> &mut Beside {
        &mut self.beside
    }

    /// The visible items with the `count` highest sums, and what equals the last of them; in no
    /// particular order.
    ///
    /// Short sources are read first. As soon as so many items have more than all sources that are
    /// left can bring, no other item is looked at; and of those that have a score, one goes as soon
    /// as what is left cannot lift it among the best. What is left never brings less than nothing,
    /// so nothing is lost.
    pub(super) fn best(
        &mut self,
        mut sources: Vec<Source<'_>>,
        selection: &Selection,
        count: usize,
    ) -> Vec<Scored> {
        sources.sort_by_cached_key(Source::size);
        let mut left: u64 = sources.iter().map(Source::most).sum();
        let (mut read, mut least, mut open) = (0, 1, count > 0);
        for source in &sources {
            // No item has more than what the sources so far can bring. To look for a higher bound
            // takes as long as the top is, so it is not done for the sake of a shorter source.
            if read > left && source.size() >= self.top.len() {
                least = self.raise(count, least);
            }
            open = open && left >= least.into();
            if open {
                self.add(source, selection, least);
            } else {
                self.add_to_known(source, left, least);
            }
            let most = source.most();
            (read, left) = (read + most, left.saturating_sub(most));
        }
        self.raise(count, least);
        let score = |place: Place| (place, self.scores.get(place as usize).copied().unwrap_or(0));
        let best = self.top.drain(..).map(score).collect();
        for place in self.places.drain(..) {
            if let Some(score) = self.scores.get_mut(place as usize) {
                *score = 0;
            }
        }
        best
    }

    /// The score that so many have at the least: no lower than before. Leaves at the top what has
    /// it.
    fn raise(&mut self, count: usize, least: u32) -> u32 {
        let Some(last) = count.checked_sub(1).filter(|last| *last < self.top.len()) else {
            return least;
        };
        let score = |place: &Place| self.scores.get(*place as usize).copied().unwrap_or(0);
        self.sorted.clear();
        self.sorted.extend(self.top.iter().map(score));
        let least = *self.sorted.select_nth_unstable_by(last, |a, b| b.cmp(a)).1;
        self.top.retain(|place| score(place) >= least);
        least
    }

    fn drop_below(&mut self, least: u64) {
        let scores = &mut self.scores;
        self.places.retain(|place| {
            let Some(score) = scores.get_mut(*place as usize) else { return false };
            let stays = u64::from(*score) >= least;
            if !stays {
                *score = 0;
            }
            stays
        });
    }

    fn add(&mut self, source: &Source<'_>, selection: &Selection, least: u32) {
        let Self { scores, places, top, beside, .. } = self;
        let sums = Sums { scores, top, least };
        source.each(beside, &mut Open { sums, places, selection });
    }

    /// Adds to the items that have a score already; those go that cannot be among the best by so
    /// much as is left.
    fn add_to_known(&mut self, source: &Source<'_>, left: u64, least: u32) {
        let size = source.size();
        if self.places.len() < size {
            self.drop_below(u64::from(least).saturating_sub(left));
        }
        let Self { scores, places, top, beside, .. } = self;
        let mut sums = Sums { scores, top, least };
        if places.len() * LOOK_UP * source.lists() < size {
            places.iter().for_each(|place| sums.add(*place, source.at(*place)));
        } else {
            source.each(beside, &mut Known { sums });
        }
    }
}

/// The scores, and the places of those that are no lower than `least`.
struct Sums<'a> {
    scores: &'a mut [u32],
    top: &'a mut Vec<Place>,
    least: u32,
}

impl Sums<'_> {
    fn has(&self, place: Place) -> bool {
        self.scores.get(place as usize).is_some_and(|sum| *sum > 0)
    }

    #[inline]
    fn add(&mut self, place: Place, score: u32) {
        let Some(sum) = self.scores.get_mut(place as usize) else { return };
        let before = *sum;
        *sum = before.saturating_add(score);
        if before < self.least && *sum >= self.least {
            self.top.push(place);
        }
    }
}

/// Takes any item that is visible.
struct Open<'a> {
    sums: Sums<'a>,
    places: &'a mut Vec<Place>,
    selection: &'a Selection,
}

impl Takes for Open<'_> {
    #[inline]
    fn wants(&self, place: Place) -> bool {
        self.selection.sees(place)
    }

    #[inline]
    fn take(&mut self, place: Place, score: u32) {
        if !self.sums.has(place) {
            if !self.wants(place) {
                return;
            }
            self.places.push(place);
        }
        self.sums.add(place, score);
    }
}

/// Takes the items that have a score already.
struct Known<'a> {
    sums: Sums<'a>,
}

impl Takes for Known<'_> {
    #[inline]
    fn wants(&self, place: Place) -> bool {
        self.sums.has(place)
    }

    #[inline]
    fn take(&mut self, place: Place, score: u32) {
        if self.sums.has(place) {
            self.sums.add(place, score);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::postings::{List, Posting, Run};
    use super::super::selection::{Bits, Stamp};
    use super::super::source::Worth;
    use super::*;

    const ITEMS: u32 = 400;

    type Lists = Vec<(u64, BTreeMap<Place, u16>, BTreeMap<Place, u16>)>;

    /// Lists of a few items and of many, with what they are worth; some of their items came later.
    fn lists() -> impl Strategy<Value = Lists> {
        let gain = prop_oneof![1..200_u64, 1..400_000_u64];
        let items = |most| prop::collection::btree_map(0..ITEMS, 0..9_000_u16, 0..most);
        let list = prop_oneof![items(12), items(300)];
        prop::collection::vec((gain, list, items(3)), 0..9)
    }

    fn worth((gain, base, added): &(u64, Vec<Posting>, Vec<Posting>)) -> Worth<'_> {
        Worth { gain: *gain, list: List { base: Run::of(base), added, gone: 0 } }
    }

    fn postings(items: &BTreeMap<Place, u16>, from: Place) -> Vec<Posting> {
        items.iter().map(|(place, weight)| Posting::new(from + place, *weight)).collect()
    }

    /// The same by looking at every item.
    fn exhaustive(sources: &[Source<'_>], selection: &Selection, count: usize) -> Vec<Scored> {
        let score = |place| sources.iter().map(|source| source.at(place)).sum::<u32>();
        let visible = (0..2 * ITEMS).filter(|place| selection.sees(*place));
        let mut all: Vec<Scored> = visible.map(|place| (place, score(place))).collect();
        all.retain(|(_, score)| *score > 0);
        all.sort_by_key(|(place, score)| (std::cmp::Reverse(*score), *place));
        let last = all.get(count.wrapping_sub(1)).map_or(0, |hit| hit.1);
        all.retain(|hit| count > 0 && hit.1 >= last);
        all
    }

    proptest! {
        #[test]
        fn what_is_not_looked_at_is_not_among_the_best(
            lists in lists(), instead in lists(), count in prop_oneof![0..8_usize, 0..500_usize],
            hidden in prop::option::of(prop::collection::vec(0..2 * ITEMS, 0..200)),
        ) {
            let lists: Vec<_> = lists.iter().chain(&instead).map(|(gain, base, added)| {
                (*gain, postings(base, 0), postings(added, ITEMS))
            }).collect();
            let (plain, others) = lists.split_at(lists.len() - instead.len());
            let sources = || {
                let mut sources: Vec<_> = plain.iter().map(|list| Source::Word(worth(list))).collect();
                for three in others.chunks(3).filter(|three| three.len() > 1) {
                    let own = worth(&three[0]).list;
                    sources.push(Source::Instead { own, others: three[1..].iter().map(worth).collect() });
                }
                sources
            };
            let selection = match &hidden {
                None => Selection::all(u64::from(2 * ITEMS), None, Stamp::default()),
                Some(hidden) => {
                    let seen = (0..2 * ITEMS).map(|place| !hidden.contains(&place));
                    Selection::of(Arc::new(Bits::of(seen)), Stamp::default())
                }
            };
            let mut tally = Tally::default();
            tally.fit(2 * ITEMS as usize);
            for _ in 0..2 {
                let mut best = tally.best(sources(), &selection, count);
                best.sort_by_key(|(place, score)| (std::cmp::Reverse(*score), *place));
                prop_assert_eq!(best, exhaustive(&sources(), &selection, count));
            }
            prop_assert!(tally.scores.iter().all(|score| *score == 0) && tally.beside.is_clear());
        }
    }
}
