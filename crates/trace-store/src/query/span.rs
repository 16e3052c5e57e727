//! Finds the positions of the log that a time span covers.

use std::ops::Range;

use weaver_types::Timestamp;
use weaver_types::ledger::LedgerError;

use super::facts::Facts;
use super::filter::Filter;
use crate::verify::Source;

/// The places of the events that the filter's times cover: times never fall along the log, so a
/// few events are read, whatever the log's size.
pub(super) fn of(
    source: &dyn Source,
    filter: &Filter,
    size: u64,
) -> Result<Range<u64>, LedgerError> {
    let start = match filter.since() {
        Some(since) => first_from(source, since, size)?,
        None => 0,
    };
    let end = match filter.until() {
        Some(until) => first_from(source, until, size)?,
        None => size,
    };
    Ok(start..end.max(start))
}

/// The same over the whole log.
pub(crate) fn span_of(source: &dyn Source, filter: &Filter) -> Result<Range<u64>, LedgerError> {
    let size = source.extent()?.head.size;
    of(source, filter, size)
}

/// The first event at or after a time.
fn first_from(source: &dyn Source, at: Timestamp, size: u64) -> Result<u64, LedgerError> {
    let (mut low, mut high) = (0, size);
    while low < high {
        let middle = low + (high - low) / 2;
        let rows = source.rows(middle, 1)?;
        // An event without a readable time counts as early: it is looked at and left out there.
        let later =
            rows.first().and_then(|row| Facts::of(&row.event).at()).is_some_and(|t| t >= at);
        if later {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}
