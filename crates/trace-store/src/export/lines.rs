//! JSON lines: each event exactly as it is stored.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use weaver_types::ledger::StoredEvent;

use super::error::ExportError;
use crate::query::{Filter, Lookup, each, rows_of};
use crate::verify::Source;

/// One object an event: `seq`, `durability`, `header` as its canonical text, and `salt` in base64
/// with `payload` as its canonical text unless they are pruned.
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
                line(out, &object(&row.event)?)?;
                count += 1;
            }
            at = end;
        }
        return Ok(count);
    }
    each(source, lookup, filter, |facts| {
        for row in source.rows(facts.seq, 1)? {
            line(out, &object(&row.event)?)?;
            count += 1;
        }
        Ok::<_, ExportError>(())
    })?;
    Ok(count)
}

fn object(event: &StoredEvent) -> Result<Value, ExportError> {
    let text = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            ExportError::Form(format!("event {} is not UTF-8: {error}", event.seq))
        });
        text.map(|text| Value::String(text.to_owned()))
    };
    let mut map = Map::new();
    map.insert("seq".to_owned(), event.seq.into());
    map.insert("durability".to_owned(), serde_json::json!(event.durability));
    map.insert("header".to_owned(), text(&event.header)?);
    if let Some(salt) = &event.salt {
        map.insert("salt".to_owned(), STANDARD.encode(salt).into());
    }
    if let Some(payload) = &event.payload {
        map.insert("payload".to_owned(), text(payload)?);
    }
    Ok(Value::Object(map))
}

pub(super) fn line(out: &mut dyn Write, value: &Value) -> Result<(), ExportError> {
    writeln!(out, "{value}")?;
    Ok(())
}
