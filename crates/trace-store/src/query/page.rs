//! Asking: pages of events, from a lookup where it knows, and from a scan where it does not.

use std::ops::Range;

use weaver_types::ledger::LedgerError;

use super::cursor::{Cursor, Order};
use super::error::QueryError;
use super::facts::Facts;
use super::filter::Filter;
use super::span;
use crate::log::Row;
use crate::project::Stats;
use crate::verify::Source;

/// The most events on one page.
pub const MAX_FOUND: usize = 1_000;
/// How many events a scan reads at once at most.
const STRIDE: u64 = 500;

/// Something that proposes where the events of a filter may stand. It is never believed: what it
/// proposes is read and tested again, and when it fails the log is scanned.
pub trait Lookup {
    /// How many events from the beginning it knows.
    fn position(&self) -> u64;

    /// At most `limit` places within `range`, in this order, where the filter may hold; none that
    /// holds is left out. `None` when it cannot say.
    fn candidates(
        &self,
        filter: &Filter,
        range: Range<u64>,
        order: Order,
        limit: usize,
    ) -> Option<Vec<u64>>;

    /// The sums over the block of events that begins at `first`, and where that block ends, when it
    /// keeps them. These are taken as they are: whoever wants to be sure asks without a lookup.
    fn sums(&self, first: u64) -> Option<(Stats, u64)> {
        let _ = first;
        None
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Which events.
    pub filter: Filter,
    /// In which order.
    pub order: Order,
    /// After which page.
    pub after: Option<Cursor>,
    /// How many at most; never more than [`MAX_FOUND`].
    pub limit: usize,
}

impl Question {
    /// The latest fifty.
    #[must_use]
    pub fn newest(filter: Filter) -> Self {
        Self { filter, order: Order::Newest, after: None, limit: 50 }
    }

    /// The earliest fifty.
    #[must_use]
    pub fn oldest(filter: Filter) -> Self {
        Self { filter, order: Order::Oldest, after: None, limit: 50 }
    }
}

/// A page of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The events.
    pub events: Vec<Facts>,
    /// Where the next page begins; `None` when this was the last.
    pub next: Option<Cursor>,
    /// How many events the log had.
    pub size: u64,
    /// How many of them the lookup knew.
    pub known: u64,
    /// How many events were read to answer.
    pub read: u64,
}

/// Answers a question.
///
/// # Errors
/// [`QueryError`], when the log cannot be read or the cursor belongs to another question.
pub fn ask(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    question: &Question,
) -> Result<Page, QueryError> {
    ask_with(source, lookup, question, &mut |_, _| {})
}

/// As [`ask`]; `progress` is told now and then how many of how many events were looked at.
///
/// # Errors
/// As [`ask`].
pub fn ask_with(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    question: &Question,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Page, QueryError> {
    let Question { filter, order, after, limit } = question;
    // The lookup is asked first, so that it never knows more than the log that is read.
    let known = lookup.filter(|_| filter.names_fields()).map_or(0, Lookup::position);
    let size = source.extent()?.head.size;
    let known = known.min(size);
    let mut range = span::of(source, filter, size)?;
    if let Some(cursor) = after {
        cursor.check(*order, filter)?;
        match order {
            Order::Newest => range.end = range.end.min(cursor.seq),
            Order::Oldest => range.start = range.start.max(cursor.seq.saturating_add(1)),
        }
    }
    let wanted = (*limit).clamp(1, MAX_FOUND);
    let mut search =
        Search { source, filter, order: *order, wanted, found: Vec::new(), read: 0, progress };
    search.run(lookup, known, range)?;
    let Search { mut found, read, .. } = search;
    let more = found.len() > wanted;
    found.truncate(wanted);
    let next = found.last().filter(|_| more).map(|last| Cursor::new(last.seq, *order, filter));
    Ok(Page { events: found, next, size, known, read })
}

struct Search<'a> {
    source: &'a dyn Source,
    filter: &'a Filter,
    order: Order,
    /// One more is looked for, to know whether there is another page.
    wanted: usize,
    found: Vec<Facts>,
    read: u64,
    progress: &'a mut dyn FnMut(u64, u64),
}

impl Search<'_> {
    fn run(
        &mut self,
        lookup: Option<&dyn Lookup>,
        known: u64,
        range: Range<u64>,
    ) -> Result<(), LedgerError> {
        let indexed = range.start..range.end.min(known);
        let tail = range.start.max(known)..range.end;
        match self.order {
            Order::Newest => {
                self.scan(tail)?;
                self.look(lookup, indexed)
            }
            Order::Oldest => {
                self.look(lookup, indexed)?;
                self.scan(tail)
            }
        }
    }

    fn full(&self) -> bool {
        self.found.len() > self.wanted
    }

    /// The part that the lookup knows; scanned from where it fails.
    fn look(
        &mut self,
        lookup: Option<&dyn Lookup>,
        mut range: Range<u64>,
    ) -> Result<(), LedgerError> {
        let most = self.wanted.saturating_add(1);
        while !self.full() && !range.is_empty() {
            let asked = range.clone();
            let places = lookup
                .and_then(|lookup| lookup.candidates(self.filter, asked.clone(), self.order, most));
            let Some(places) = places else { return self.scan(range) };
            for seq in &places {
                // Whatever lies outside, or behind, is no honest proposal.
                if !self.full() && range.contains(seq) {
                    self.rest(&mut range, *seq);
                    self.try_at(*seq)?;
                }
            }
            if places.len() < most {
                return Ok(());
            }
            if range == asked {
                return self.scan(range);
            }
        }
        Ok(())
    }

    fn try_at(&mut self, seq: u64) -> Result<(), LedgerError> {
        let rows = self.source.rows(seq, 1)?;
        self.read += 1;
        if let Some(row) = rows.first().filter(|row| row.event.seq == seq) {
            self.take(row);
        }
        Ok(())
    }

    /// What is left of a range after a place.
    fn rest(&self, range: &mut Range<u64>, seq: u64) {
        match self.order {
            Order::Newest => range.end = seq,
            Order::Oldest => range.start = seq.saturating_add(1),
        }
    }

    fn scan(&mut self, mut range: Range<u64>) -> Result<(), LedgerError> {
        let all = range.end.saturating_sub(range.start);
        // Little at first: most pages are filled from the next few events.
        let mut stride = 16;
        while !self.full() && !range.is_empty() {
            let part = match self.order {
                Order::Newest => range.end.saturating_sub(stride).max(range.start)..range.end,
                Order::Oldest => range.start..range.start.saturating_add(stride).min(range.end),
            };
            stride = (stride * 2).min(STRIDE);
            let mut rows = rows_of(self.source, part.clone())?;
            if self.order == Order::Newest {
                rows.reverse();
            }
            for row in &rows {
                self.read += 1;
                self.take(row);
                if self.full() {
                    return Ok(());
                }
            }
            match self.order {
                Order::Newest => range.end = part.start,
                Order::Oldest => range.start = part.end,
            }
            (self.progress)(all - range.end.saturating_sub(range.start), all);
        }
        Ok(())
    }

    fn take(&mut self, row: &Row) {
        let facts = Facts::of(&row.event);
        if self.filter.matches(&facts) {
            self.found.push(facts);
        }
    }
}

/// The rows that stand within a range.
pub(crate) fn rows_of(source: &dyn Source, range: Range<u64>) -> Result<Vec<Row>, LedgerError> {
    let count = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let mut rows = source.rows(range.start, count)?;
    rows.retain(|row| range.contains(&row.event.seq));
    Ok(rows)
}

/// Shows every event of a filter to `see`, in the order of the log, page by page.
///
/// # Errors
/// As [`ask`], or what `see` reports.
pub(crate) fn each<E: From<QueryError>>(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    filter: &Filter,
    mut see: impl FnMut(Facts) -> Result<(), E>,
) -> Result<(), E> {
    let mut question = Question { limit: 200, ..Question::oldest(filter.clone()) };
    loop {
        let page = ask(source, lookup, &question)?;
        for facts in page.events {
            see(facts)?;
        }
        match page.next {
            Some(cursor) => question.after = Some(cursor),
            None => return Ok(()),
        }
    }
}
