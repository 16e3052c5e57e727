//! What waits for the next query, so that none is made for each.

use std::sync::Mutex;

use super::analyser::Analyser;
use super::board::Board;
use super::tally::Tally;

/// How many of a sort are kept.
const MAX_KEPT: usize = 16;

/// Things that were used and can be used again.
#[derive(Debug)]
pub(super) struct Pool<T> {
    free: Mutex<Vec<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { free: Mutex::default() }
    }
}

impl<T: Default> Pool<T> {
    pub(super) fn take(&self) -> T {
        self.free.lock().ok().and_then(|mut free| free.pop()).unwrap_or_default()
    }

    /// Takes it back, unless there are enough.
    pub(super) fn give(&self, used: T) {
        if let Ok(mut free) = self.free.lock()
            && free.len() < MAX_KEPT
        {
            free.push(used);
        }
    }
}

/// What the queries of a router need.
#[derive(Debug, Default)]
pub(super) struct Pools {
    boards: Pool<Board>,
    pub(super) tallies: Pool<Tally>,
    pub(super) analysers: Pool<Analyser>,
}

impl Pools {
    /// A clear board of at least so many places.
    pub(super) fn board(&self, items: usize) -> Board {
        let mut board = self.boards.take();
        board.fit(items);
        board
    }

    /// A tally of at least so many places.
    pub(super) fn tally(&self, items: usize) -> Tally {
        let mut tally = self.tallies.take();
        tally.fit(items);
        tally
    }

    /// Takes boards back.
    pub(super) fn give(&self, boards: impl IntoIterator<Item = Board>) {
        for mut board in boards {
            board.clear();
            self.boards.give(board);
        }
    }
}
