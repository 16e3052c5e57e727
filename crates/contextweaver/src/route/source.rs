//! What the score of a query is made of.

use super::document;
use super::postings::{List, Place, Posting};

/// To look an item up in a list takes as long as reading so many of its items.
pub(super) const LOOK_UP: usize = 16;

/// What takes in what items gain.
pub(super) trait Takes {
    /// Whether it matters what this item gains.
    fn wants(&self, place: Place) -> bool;

    /// An item gains so much; it may be one that does not matter.
    fn take(&mut self, place: Place, score: u32);
}

/// What items gain by words that stand for another, while these are read. It is clear before and
/// after.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// By place; zero where there is none.
    most: Vec<u32>,
    places: Vec<Place>,
}

impl Beside {
    /// At least so many places.
    pub(super) fn fit(&mut self, items: usize) {
        if self.most.len() < items {
            self.most.resize(items, 0);
        }
    }

    #[cfg(test)]
    pub(super) fn is_clear(&self) -> bool {
        self.places.is_empty() && self.most.iter().all(|most| *most == 0)
    }

    #[inline]
    fn raise(&mut self, place: Place, score: u32) {
        let Some(most) = self.most.get_mut(place as usize) else { return };
        if *most == 0 {
            self.places.push(place);
        }
        *most = score.max(*most);
    }

    /// Gives what each item gains that is not in this list.
    fn give(&mut self, own: List<'_>, to: &mut impl Takes) {
        let most = &mut self.most;
        let mut out = |place: Place| most.get_mut(place as usize).map_or(0, std::mem::take);
        let look_up = LOOK_UP * self.places.len() < own.size();
        if !look_up {
            own.postings().for_each(|posting| _ = out(posting.place()));
        }
        for place in self.places.drain(..) {
            let score = out(place);
            if score > 0 && !(look_up && own.at(place).is_some()) {
                to.take(place, score);
            }
        }
    }
}

/// A list, and what a whole weight in it is worth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Worth<'a> {
    pub(super) list: List<'a>,
    pub(super) gain: u64,
}

impl Worth<'_> {
    /// What it brings the item at this place, where it holds it.
    pub(super) fn at(self, place: Place) -> Option<u32> {
        self.list.at(place).map(|weight| brings(self.gain, weight))
    }

    /// Calls with each item of the list and what it gains, those that were taken away among them.
    #[inline]
    fn each(self, mut take: impl FnMut(Place, u32)) {
        let mut take =
            |posting: &Posting| take(posting.place(), brings(self.gain, posting.weight()));
        self.list.base.postings.iter().for_each(&mut take);
        self.list.added.iter().for_each(take);
    }

    fn most(self) -> u32 {
        brings(self.gain, self.list.top())
    }
}

/// A part of the score of a query. An item has the sum of what all of them bring it.
#[derive(Debug)]
pub(super) enum Source<'a> {
    /// The items of a list gain what their weight is worth.
    Word(Worth<'a>),
    /// Items that do not have the word itself gain what the best of these brings them.
    Instead { own: List<'a>, others: Vec<Worth<'a>> },
}

impl Source<'_> {
    /// No item gains more.
    pub(super) fn most(&self) -> u64 {
        u64::from(match self {
            Self::Word(worth) => worth.most(),
            Self::Instead { others, .. } => {
                others.iter().map(|other| other.most()).max().unwrap_or(0)
            }
        })
    }

    /// How many postings are read for all of it.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Word(worth) => worth.list.size(),
            Self::Instead { own, others } => {
                let others = size(others);
                own.size().min(LOOK_UP * others) + 2 * others
            }
        }
    }

    /// In how many lists an item is looked up.
    pub(super) fn lists(&self) -> usize {
        match self {
            Self::Word(_) => 1,
            Self::Instead { others, .. } => 1 + others.len(),
        }
    }

    /// What it brings the item at this place.
    pub(super) fn at(&self, place: Place) -> u32 {
        match self {
            Self::Word(worth) => worth.at(place).unwrap_or(0),
            Self::Instead { own, others } => match own.at(place) {
                Some(_) => 0,
                None => others.iter().filter_map(|other| other.at(place)).max().unwrap_or(0),
            },
        }
    }

    /// Gives what each item gains, those that were taken away among them.
    #[inline]
    pub(super) fn each(&self, beside: &mut Beside, to: &mut impl Takes) {
        match self {
            Self::Word(worth) => worth.each(|place, score| to.take(place, score)),
            Self::Instead { own, others } => {
                for other in others {
                    other.each(|place, score| {
                        if to.wants(place) {
                            beside.raise(place, score);
                        }
                    });
                }
                beside.give(*own, to);
            }
        }
    }
}

fn size(lists: &[Worth<'_>]) -> usize {
    lists.iter().map(|worth| worth.list.size()).sum()
}

/// What a term brings an item; at least one unit, so that what matches is never lost to rounding.
#[inline]
pub(super) fn brings(gain: u64, weight: u64) -> u32 {
    u32::try_from(((gain * weight) >> document::DIGITS).max(1)).unwrap_or(u32::MAX)
}
