//! Runs queries: pages of events, from a lookup where it covers the log and from a scan elsewhere.

use std::ops::Range;

use weaver_types::ledger::LedgerError;

use super::cursor::{EventOrder, PageCursor};
use super::error::QueryError;
use super::facts::EventFacts;
use super::filter::EventFilter;
use super::span;
use crate::log::EventRow;
use crate::project::LogStats;
use crate::verify::LogSource;

/// The most events on one page.
pub const MAX_PAGE_EVENTS: usize = 1_000;
/// The most events that a scan reads at once.
const MAX_SCAN_STRIDE: u64 = 500;

/// Proposes where matching events may be. It is never trusted: each candidate is read and tested,
/// and if it fails the log is scanned.
pub trait CandidateLookup {
    /// How many events from the beginning it covers.
    fn position(&self) -> u64;

    /// At most `limit` positions within `range`, in the given order, where the filter may match. No
    /// match may be omitted. `None` when the lookup cannot answer.
    fn candidates(
        &self,
        filter: &EventFilter,
        range: Range<u64>,
        order: EventOrder,
        limit: usize,
    ) -> Option<Vec<u64>>;

    /// The sums over the block of events that begins at `first`, and the end of that block, if it
    /// stores them. Unlike candidates these are not checked; a query without a lookup avoids them.
    fn sums(&self, first: u64) -> Option<(LogStats, u64)> {
        let _ = first;
        None
    }
}

/// A query on the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogQuery {
    /// Which events.
    pub filter: EventFilter,
    /// In which order.
    pub order: EventOrder,
    /// After which page.
    pub after: Option<PageCursor>,
    /// The most results; never more than [`MAX_PAGE_EVENTS`].
    pub limit: usize,
}

impl LogQuery {
    /// The latest fifty events.
    #[must_use]
    pub fn newest(filter: EventFilter) -> Self {
        Self { filter, order: EventOrder::Newest, after: None, limit: 50 }
    }

    /// The earliest fifty events.
    #[must_use]
    pub fn oldest(filter: EventFilter) -> Self {
        Self { filter, order: EventOrder::Oldest, after: None, limit: 50 }
    }
}

/// A page of results.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPage {
    /// The events.
    pub events: Vec<EventFacts>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<PageCursor>,
    /// The size of the log.
    pub size: u64,
    /// How many events the lookup covered.
    pub known: u64,
    /// How many events were read.
    pub read: u64,
}

/// Runs a query.
///
/// # Errors
/// [`QueryError`], when the log cannot be read or the cursor belongs to another query.
pub fn run_query(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    query: &LogQuery,
) -> Result<QueryPage, QueryError> {
    run_query_with_progress(source, lookup, query, &mut |_, _| {})
}

/// As [`run_query`]; `progress` regularly receives how many of how many events were examined.
///
/// # Errors
/// As [`run_query`].
pub fn run_query_with_progress(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    query: &LogQuery,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<QueryPage, QueryError> {
    let LogQuery { filter, order, after, limit } = query;
    // The lookup's position is read first, so that it never exceeds the size that is read next.
    let known = lookup.filter(|_| filter.has_field_terms()).map_or(0, CandidateLookup::position);
    let size = source.extent()?.head.size;
    let known = known.min(size);
    let mut range = span::time_range(source, filter, size)?;
    if let Some(cursor) = after {
        cursor.check(*order, filter)?;
        match order {
            EventOrder::Newest => range.end = range.end.min(cursor.seq),
            EventOrder::Oldest => range.start = range.start.max(cursor.seq.saturating_add(1)),
        }
    }
    let wanted = (*limit).clamp(1, MAX_PAGE_EVENTS);
    let mut search =
        Search { source, filter, order: *order, wanted, found: Vec::new(), read: 0, progress };
    search.run(lookup, known, range)?;
    let Search { mut found, read, .. } = search;
    let more = found.len() > wanted;
    found.truncate(wanted);
    let next = found.last().filter(|_| more).map(|last| PageCursor::new(last.seq, *order, filter));
    Ok(QueryPage { events: found, next, size, known, read })
}

struct Search<'a> {
    source: &'a dyn LogSource,
    filter: &'a EventFilter,
    order: EventOrder,
    /// The page size. One more result is searched for, to know whether there is another page.
    wanted: usize,
    found: Vec<EventFacts>,
    read: u64,
    progress: &'a mut dyn FnMut(u64, u64),
}

impl Search<'_> {
    fn run(
        &mut self,
        lookup: Option<&dyn CandidateLookup>,
        known: u64,
        range: Range<u64>,
    ) -> Result<(), LedgerError> {
        let indexed = range.start..range.end.min(known);
        let tail = range.start.max(known)..range.end;
        match self.order {
            EventOrder::Newest => {
                self.scan(tail)?;
                self.search_lookup(lookup, indexed)
            }
            EventOrder::Oldest => {
                self.search_lookup(lookup, indexed)?;
                self.scan(tail)
            }
        }
    }

    fn is_full(&self) -> bool {
        self.found.len() > self.wanted
    }

    /// Searches the part that the lookup covers, and scans from where the lookup fails.
    fn search_lookup(
        &mut self,
        lookup: Option<&dyn CandidateLookup>,
        mut range: Range<u64>,
    ) -> Result<(), LedgerError> {
        let most = self.wanted.saturating_add(1);
        while !self.is_full() && !range.is_empty() {
            let requested = range.clone();
            let candidates = lookup.and_then(|lookup| {
                lookup.candidates(self.filter, requested.clone(), self.order, most)
            });
            let Some(candidates) = candidates else { return self.scan(range) };
            for seq in &candidates {
                // A candidate outside the range, or out of order, is invalid and ignored.
                if !self.is_full() && range.contains(seq) {
                    self.narrow(&mut range, *seq);
                    self.test_event(*seq)?;
                }
            }
            if candidates.len() < most {
                return Ok(());
            }
            if range == requested {
                return self.scan(range);
            }
        }
        Ok(())
    }

    fn test_event(&mut self, seq: u64) -> Result<(), LedgerError> {
        let rows = self.source.rows(seq, 1)?;
        self.read += 1;
        if let Some(row) = rows.first().filter(|row| row.event.seq == seq) {
            self.test_row(row);
        }
        Ok(())
    }

    /// Narrows a range to the part after a position.
    fn narrow(&self, range: &mut Range<u64>, seq: u64) {
        match self.order {
            EventOrder::Newest => range.end = seq,
            EventOrder::Oldest => range.start = seq.saturating_add(1),
        }
    }

    fn scan(&mut self, mut range: Range<u64>) -> Result<(), LedgerError> {
        let all = range.end.saturating_sub(range.start);
        // Small at first: most pages are filled from the next few events.
        let mut stride = 16;
        while !self.is_full() && !range.is_empty() {
            let part = match self.order {
                EventOrder::Newest => range.end.saturating_sub(stride).max(range.start)..range.end,
                EventOrder::Oldest => {
                    range.start..range.start.saturating_add(stride).min(range.end)
                }
            };
            stride = (stride * 2).min(MAX_SCAN_STRIDE);
            let mut rows = rows_in(self.source, part.clone())?;
            if self.order == EventOrder::Newest {
                rows.reverse();
            }
            for row in &rows {
                self.read += 1;
                self.test_row(row);
                if self.is_full() {
                    return Ok(());
                }
            }
            match self.order {
                EventOrder::Newest => range.end = part.start,
                EventOrder::Oldest => range.start = part.end,
            }
            (self.progress)(all - range.end.saturating_sub(range.start), all);
        }
        Ok(())
    }

    fn test_row(&mut self, row: &EventRow) {
        let facts = EventFacts::from_event(&row.event);
        if self.filter.matches(&facts) {
            self.found.push(facts);
        }
    }
}

/// The rows within a range.
pub(crate) fn rows_in(
    source: &dyn LogSource,
    range: Range<u64>,
) -> Result<Vec<EventRow>, LedgerError> {
    let count = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let mut rows = source.rows(range.start, count)?;
    rows.retain(|row| range.contains(&row.event.seq));
    Ok(rows)
}

/// Passes every matching event to `visit`, in log order, page by page.
///
/// # Errors
/// As [`run_query`], or the error of `visit`.
pub(crate) fn for_each_event<E: From<QueryError>>(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
    mut visit: impl FnMut(EventFacts) -> Result<(), E>,
) -> Result<(), E> {
    let mut query = LogQuery { limit: 200, ..LogQuery::oldest(filter.clone()) };
    loop {
        let page = run_query(source, lookup, &query)?;
        for facts in page.events {
            visit(facts)?;
        }
        match page.next {
            Some(cursor) => query.after = Some(cursor),
            None => return Ok(()),
        }
    }
}
