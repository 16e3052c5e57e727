//! JSON lines: each event exactly as stored.

use std::io::Write;

use serde_json::Value;
use weaver_types::ledger::StoredEvent;

use super::error::ExportError;
use crate::query::{CandidateLookup, EventFilter, for_each_event, rows_in};
use crate::verify::{self, LogSource};

/// Writes one object per event: `header` as its canonical text and, unless pruned, `salt` in base64
/// and `payload` as its canonical text.
pub(super) fn write(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let mut count = 0;
    if *filter == EventFilter::default() {
        let size = source.extent()?.head.size;
        let mut at = 0;
        while at < size {
            let end = at.saturating_add(500).min(size);
            for row in rows_in(source, at..end)? {
                event(out, &row.event)?;
                count += 1;
            }
            at = end;
        }
        return Ok(count);
    }
    for_each_event(source, lookup, filter, |facts| {
        for row in source.rows(facts.seq, 1)? {
            event(out, &row.event)?;
            count += 1;
        }
        Ok::<_, ExportError>(())
    })?;
    Ok(count)
}

fn event(out: &mut dyn Write, event: &StoredEvent) -> Result<(), ExportError> {
    let line = verify::line(event).map_err(|error| ExportError::form(&error))?;
    out.write_all(&line)?;
    out.write_all(b"\n")?;
    Ok(())
}

pub(super) fn line(out: &mut dyn Write, value: &Value) -> Result<(), ExportError> {
    writeln!(out, "{value}")?;
    Ok(())
}
