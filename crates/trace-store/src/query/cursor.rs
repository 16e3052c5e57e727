//! The cursor of the next page.

use std::fmt;
use std::str::FromStr;

use super::error::QueryError;
use super::filter::EventFilter;

/// The order of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventOrder {
    /// Latest first.
    #[default]
    Newest,
    /// Log order.
    Oldest,
}

/// Where the next page begins. It names a position in the log, so new events shift nothing. It is
/// valid for one filter and order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCursor {
    /// The last event of the previous page.
    pub(super) seq: u64,
    pub(super) order: EventOrder,
    /// Eight hexadecimal digits that distinguish filters.
    filter: String,
}

impl PageCursor {
    /// The cursor after this event.
    #[must_use]
    pub fn new(seq: u64, order: EventOrder, filter: &EventFilter) -> Self {
        Self { seq, order, filter: filter_fingerprint(filter) }
    }

    /// Refuses a cursor of another query.
    pub(super) fn check(&self, order: EventOrder, filter: &EventFilter) -> Result<(), QueryError> {
        if self.order != order {
            return Err(QueryError::Cursor("goes the other way through the log"));
        }
        if self.filter != filter_fingerprint(filter) {
            return Err(QueryError::Cursor("belongs to another filter"));
        }
        Ok(())
    }
}

/// Time bounds are left out: `since:2h` is another instant on each page.
fn filter_fingerprint(filter: &EventFilter) -> String {
    filter.digest().to_string().chars().skip(7).take(8).collect()
}

impl fmt::Display for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            EventOrder::Newest => 'n',
            EventOrder::Oldest => 'o',
        };
        write!(f, "1{order}{}-{:x}", self.filter, self.seq)
    }
}

impl FromStr for PageCursor {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let malformed = || QueryError::Cursor("is not one that this build made");
        let (head, seq) = text.split_once('-').ok_or_else(malformed)?;
        let seq = u64::from_str_radix(seq, 16).map_err(|_| malformed())?;
        let (order, filter) = match head.split_at_checked(2) {
            Some(("1n", filter)) => (EventOrder::Newest, filter),
            Some(("1o", filter)) => (EventOrder::Oldest, filter),
            _ => return Err(malformed()),
        };
        let cursor = Self { seq, order, filter: filter.to_owned() };
        // Each cursor has exactly one text.
        if cursor.to_string() == text && filter.len() == 8 { Ok(cursor) } else { Err(malformed()) }
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::Timestamp;

    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_holds_for_its_question() {
        let now = Timestamp::from_micros(1_000_000_000_000_000);
        let filter = EventFilter::parse(["verdict:deny", "since:2h"], now).unwrap();
        let later =
            EventFilter::parse(["verdict:deny", "since:2h"], Timestamp::from_micros(2)).unwrap();
        let other = EventFilter::parse(["verdict:hold"], now).unwrap();
        let cursor = PageCursor::new(0xabc, EventOrder::Newest, &filter);
        let read: PageCursor = cursor.to_string().parse().unwrap();
        assert_eq!(read, cursor);
        assert_eq!(read.check(EventOrder::Newest, &later), Ok(()));
        assert!(read.check(EventOrder::Newest, &other).is_err());
        assert!(read.check(EventOrder::Oldest, &filter).is_err());
        for wrong in ["", "1n", "1n-1", "2n00000000-1", "1n00000000-g", "1n00000000-01", "ß-1"] {
            assert!(wrong.parse::<PageCursor>().is_err(), "{wrong}");
        }
    }
}
