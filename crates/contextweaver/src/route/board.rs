//! Scores by place while a query is answered.

use std::sync::Mutex;

use super::postings::{Place, Scored};

/// Places are cleared and walked in chunks of so many.
const CHUNK: usize = 64;
/// How many boards are kept for the next query.
const MAX_KEPT: usize = 16;

/// Scores by place, in units of 1/65,536. It remembers which chunks hold any, so that clearing and
/// walking cost what was written, not what there is.
#[derive(Debug, Default)]
pub(super) struct Board {
    scores: Vec<u32>,
    /// A bit for each chunk that was written to.
    dirty: Vec<u64>,
}

impl Board {
    /// A clear board of at least so many places.
    fn fit(&mut self, items: usize) {
        let chunks = items.div_ceil(CHUNK);
        if self.scores.len() < chunks * CHUNK {
            self.scores.resize(chunks * CHUNK, 0);
            self.dirty.resize(chunks.div_ceil(64), 0);
        }
    }

    pub(super) fn add(&mut self, place: Place, score: u32) {
        let place = place as usize;
        if let Some(sum) = self.scores.get_mut(place) {
            *sum = sum.saturating_add(score);
        }
        if let Some(bits) = self.dirty.get_mut(place / (CHUNK * 64)) {
            *bits |= 1 << (place / CHUNK % 64);
        }
    }

    /// Lifts a score to at least this.
    pub(super) fn raise(&mut self, place: Place, score: u32) {
        let more = score.saturating_sub(self.get(place));
        if more > 0 {
            self.add(place, more);
        }
    }

    /// Takes a score away.
    pub(super) fn lower(&mut self, place: Place) {
        if let Some(sum) = self.scores.get_mut(place as usize) {
            *sum = 0;
        }
    }

    pub(super) fn get(&self, place: Place) -> u32 {
        self.scores.get(place as usize).copied().unwrap_or(0)
    }

    /// Calls for each chunk with scores: its first place and its scores.
    pub(super) fn chunks(&self, mut each: impl FnMut(Place, &[u32])) {
        for (word, bits) in self.dirty.iter().enumerate() {
            let mut left = *bits;
            while left != 0 {
                let chunk = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let from = chunk * CHUNK;
                if let Some(scores) = self.scores.get(from..from + CHUNK) {
                    each(u32::try_from(from).unwrap_or(Place::MAX), scores);
                }
            }
        }
    }

    /// The highest score.
    pub(super) fn best(&self) -> u32 {
        let mut best = 0;
        self.chunks(|_, scores| best = scores.iter().copied().fold(best, u32::max));
        best
    }

    /// The places with the `count` highest scores, and what equals the last of them; in no
    /// particular order.
    pub(super) fn top(&self, count: usize) -> Vec<Scored> {
        let mut peaks = Vec::new();
        self.chunks(|_, scores| peaks.push(scores.iter().copied().max().unwrap_or(0)));
        // At least one place of each of the highest chunks is no lower than this.
        let least = match count.checked_sub(1).filter(|nth| *nth < peaks.len()) {
            Some(nth) => *peaks.select_nth_unstable_by(nth, |a, b| b.cmp(a)).1,
            None => 1,
        };
        let least = least.max(1);
        let mut found = Vec::new();
        self.chunks(|first, scores| {
            let high = (first..).zip(scores).filter(|(_, score)| **score >= least);
            found.extend(high.map(|(place, score)| (place, *score)));
        });
        if found.len() > count
            && let Some(nth) = count.checked_sub(1)
        {
            let least = found.select_nth_unstable_by(nth, |a, b| b.1.cmp(&a.1)).1.1;
            found.retain(|(_, score)| *score >= least);
        }
        found
    }

    pub(super) fn clear(&mut self) {
        for (word, bits) in self.dirty.iter_mut().enumerate() {
            let mut left = std::mem::take(bits);
            while left != 0 {
                let from = (word * 64 + left.trailing_zeros() as usize) * CHUNK;
                left &= left - 1;
                if let Some(scores) = self.scores.get_mut(from..from + CHUNK) {
                    scores.fill(0);
                }
            }
        }
    }
}

/// Boards that wait for the next query, so that none is made for each.
#[derive(Debug, Default)]
pub(super) struct Boards {
    free: Mutex<Vec<Board>>,
}

impl Boards {
    /// A clear board.
    pub(super) fn take(&self, items: usize) -> Board {
        let mut board = self.free.lock().ok().and_then(|mut free| free.pop()).unwrap_or_default();
        board.fit(items);
        board
    }

    /// Takes boards back.
    pub(super) fn give(&self, boards: impl IntoIterator<Item = Board>) {
        for mut board in boards {
            board.clear();
            if let Ok(mut free) = self.free.lock()
                && free.len() < MAX_KEPT
            {
                free.push(board);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_is_that_of_a_sorted_list() {
        let boards = Boards::default();
        for round in 0..40_u32 {
            let mut board = boards.take(1_000);
            let mut all = vec![0; 1_000];
            for n in 0..(round * 37) {
                let (place, score) = (n * 7_919 % 1_000, n * 31 % 97);
                board.add(place, score);
                all[place as usize] += score;
            }
            let mut sorted: Vec<u32> = all.iter().copied().filter(|s| *s > 0).collect();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(board.best(), sorted.first().copied().unwrap_or(0));
            for count in [0, 1, 5, 64, 2_000] {
                let mut top: Vec<_> = board.top(count).into_iter().map(|(p, s)| (s, p)).collect();
                top.sort_unstable_by(|a, b| b.cmp(a));
                let least = sorted.get(count.saturating_sub(1)).or(sorted.last());
                let expected = sorted.iter().filter(|s| count > 0 && Some(*s) >= least).count();
                assert!(top.iter().all(|(s, p)| all[*p as usize] == *s));
                if count > 0 {
                    assert_eq!(top.len(), expected, "round {round}, {count}");
                }
            }
            boards.give([board]);
        }
    }
}
