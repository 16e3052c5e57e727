//! JSON lines: each event exactly as it is stored.

use std::io::Write;

use serde_json::Value;
use weaver_types::ledger::StoredEvent;

use super::error::ExportError;
use crate::query::{Filter, Lookup, each, rows_of};
use crate::verify::{self, Source};

/// One object an event: `header` as its canonical text, and `salt` in base64 with `payload` as its
/// canonical text unless they are pruned.
pub(super) fn write(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    filter: &Filter,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let mut count = 0;
    if *filter == Filter::default() {
        let size = source.extent()?.head.size;
        let mut at = 0;
        while at < size {
            let end = at.saturating_add(500).min(size);
            for row in rows_of(source, at..end)? {
                event(out, &row.event)?;
                count += 1;
            }
            at = end;
        }
        return Ok(count);
    }
    each(source, lookup, filter, |facts| {
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
