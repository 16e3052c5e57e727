//! The items that score most for one question, without scoring all of them.

use super::postings::{Place, Scored};
use super::selection::Selection;
use super::source::{LOOK_UP, Source};

/// Scores while they are summed up. It is clear before and after.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By place; zero where there is none.
    scores: Vec<u32>,
    /// The places that have a score and can still be among the best.
    places: Vec<Place>,
    /// For words that stand for another, by place; zero but while one source is read.
    beside: Vec<u32>,
    sorted: Vec<u32>,
}

impl Tally {
    /// At least so many places.
    pub(super) fn fit(&mut self, items: usize) {
        if self.scores.len() < items {
            self.scores.resize(items, 0);
            self.beside.resize(items, 0);
        }
    }

    /// What [`Source::each`] needs.
    pub(super) fn beside(&mut self) -> &mut [u32] {
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
        let mut size: usize = sources.iter().map(Source::size).sum();
        let mut left: u64 = sources.iter().map(Source::most).sum();
        let (mut read, mut least, mut open) = (0, 1, count > 0);
        for source in &sources {
            // No item has more than what the sources so far can bring. To look for the last of the
            // best takes as long as reading some.
            if read > left && self.places.len() >= count && size > self.places.len() {
                least = self.nth(count).max(least);
            }
            open = open && left >= least;
            if open {
                self.add(source, selection);
            } else {
                self.drop_below(least.saturating_sub(left));
                self.add_to_known(source);
            }
            let most = source.most();
            (read, left, size) = (read + most, left.saturating_sub(most), size - source.size());
        }
        if self.places.len() > count {
            let last = self.nth(count).max(1);
            self.drop_below(last);
        }
        let scores = &mut self.scores;
        let take = |place: Place| (place, scores.get_mut(place as usize).map_or(0, std::mem::take));
        self.places.drain(..).map(take).collect()
    }

    /// So many have this score or more.
    fn nth(&mut self, count: usize) -> u64 {
        let Some(last) = count.checked_sub(1) else { return u64::MAX };
        let score = |place: &Place| self.scores.get(*place as usize).copied();
        self.sorted.clear();
        self.sorted.extend(self.places.iter().filter_map(score));
        if last >= self.sorted.len() {
            return 1;
        }
        (*self.sorted.select_nth_unstable_by(last, |a, b| b.cmp(a)).1).into()
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

    fn add(&mut self, source: &Source<'_>, selection: &Selection) {
        let (scores, places) = (&mut self.scores, &mut self.places);
        let all = selection.is_every_place();
        source.each(&mut self.beside, |place, score| {
            let Some(sum) = scores.get_mut(place as usize) else { return };
            if *sum == 0 {
                if !all && !selection.sees(place) {
                    return;
                }
                places.push(place);
            }
            *sum = sum.saturating_add(score);
        });
    }

    /// Adds to the items that have a score already.
    fn add_to_known(&mut self, source: &Source<'_>) {
        let scores = &mut self.scores;
        if self.places.len() * LOOK_UP < source.size() {
            for place in &self.places {
                if let Some(sum) = scores.get_mut(*place as usize) {
                    *sum = sum.saturating_add(source.at(*place));
                }
            }
        } else {
            source.each(&mut self.beside, |place, score| {
                if let Some(sum) = scores.get_mut(place as usize).filter(|sum| **sum > 0) {
                    *sum = sum.saturating_add(score);
                }
            });
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
            prop_assert!(tally.scores.iter().chain(&tally.beside).all(|score| *score == 0));
        }
    }
}
