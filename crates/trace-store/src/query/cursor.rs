//! The cursor at which the next page begins.

use std::fmt;
use std::str::FromStr;

use super::error::QueryError;
use super::filter::Filter;

/// In which order events are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The latest first.
    #[default]
    Newest,
    /// In the order of the log.
    Oldest,
}

/// Where the next page begins. It names a place in the log, so events that come in the meantime
/// move nothing. It holds for one filter and order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The last event of the page before.
    pub(super) seq: u64,
    pub(super) order: Order,
    /// Eight hexadecimal digits that tell filters apart.
    filter: String,
}

impl Cursor {
    /// The cursor after this event.
    #[must_use]
    pub fn new(seq: u64, order: Order, filter: &Filter) -> Self {
        Self { seq, order, filter: mark(filter) }
    }

    /// Refuses a cursor of another question.
    pub(super) fn check(&self, order: Order, filter: &Filter) -> Result<(), QueryError> {
        if self.order != order {
            return Err(QueryError::Cursor("goes the other way through the log"));
        }
        if self.filter != mark(filter) {
            return Err(QueryError::Cursor("belongs to another filter"));
        }
        Ok(())
    }
}

/// Times are left out: `since:2h` is another moment on each page.
fn mark(filter: &Filter) -> String {
    filter.digest().to_string().chars().skip(7).take(8).collect()
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            Order::Newest => 'n',
            Order::Oldest => 'o',
        };
        write!(f, "1{order}{}-{:x}", self.filter, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let malformed = || QueryError::Cursor("is not one that this build made");
        let (head, seq) = text.split_once('-').ok_or_else(malformed)?;
        let seq = u64::from_str_radix(seq, 16).map_err(|_| malformed())?;
        let (order, filter) = match head.split_at_checked(2) {
            Some(("1n", filter)) => (Order::Newest, filter),
            Some(("1o", filter)) => (Order::Oldest, filter),
            _ => return Err(malformed()),
        };
        let cursor = Self { seq, order, filter: filter.to_owned() };
        // One text for one cursor.
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
        let filter = Filter::parse(["verdict:deny", "since:2h"], now).unwrap();
        let later = Filter::parse(["verdict:deny", "since:2h"], Timestamp::from_micros(2)).unwrap();
        let other = Filter::parse(["verdict:hold"], now).unwrap();
        let cursor = Cursor::new(0xabc, Order::Newest, &filter);
        let read: Cursor = cursor.to_string().parse().unwrap();
        assert_eq!(read, cursor);
        assert_eq!(read.check(Order::Newest, &later), Ok(()));
        assert!(read.check(Order::Newest, &other).is_err());
        assert!(read.check(Order::Oldest, &filter).is_err());
        for wrong in ["", "1n", "1n-1", "2n00000000-1", "1n00000000-g", "1n00000000-01", "ß-1"] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong}");
        }
    }
}
