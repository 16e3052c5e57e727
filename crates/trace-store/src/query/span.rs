//! Finds the range of log positions that a time span covers.

use std::ops::Range;

use weaver_types::Timestamp;
use weaver_types::ledger::LedgerError;

use super::facts::EventFacts;
use super::filter::EventFilter;
use crate::verify::LogSource;

/// The positions that the filter's time bounds cover. Times never decrease along the log, so a
/// binary search reads few events, whatever the size.
pub(super) fn time_range(
    source: &dyn LogSource,
    filter: &EventFilter,
    size: u64,
) -> Result<Range<u64>, LedgerError> {
    let start = match filter.since() {
        Some(since) => first_at_or_after(source, since, size)?,
        None => 0,
    };
    let end = match filter.until() {
        Some(until) => first_at_or_after(source, until, size)?,
        None => size,
    };
    Ok(start..end.max(start))
}

/// The same for the whole log.
pub(crate) fn range_of_filter(
    source: &dyn LogSource,
    filter: &EventFilter,
) -> Result<Range<u64>, LedgerError> {
    let size = source.extent()?.head.size;
    time_range(source, filter, size)
}

/// The first event at or after a time.
fn first_at_or_after(source: &dyn LogSource, at: Timestamp, size: u64) -> Result<u64, LedgerError> {
    let (mut low, mut high) = (0, size);
    while low < high {
        let middle = low + (high - low) / 2;
        let rows = source.rows(middle, 1)?;
        // An event without a readable time counts as early; the filter rejects it later.
        let later = rows
            .first()
            .and_then(|row| EventFacts::from_event(&row.event).at())
            .is_some_and(|t| t >= at);
        if later {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low)
}
