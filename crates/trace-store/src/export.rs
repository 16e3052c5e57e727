//! Exports of the log, or of the events that match a filter, in formats for other programs.
//!
//! | form | what |
//! |---|---|
//! | [`ExportFormat::Jsonl`] | header, salt and payload of each event exactly, for another verifier |
//! | [`ExportFormat::Bundle`] | one run as the public contract `TraceBundle` |
//! | [`ExportFormat::Otlp`] | spans of OpenTelemetry's conventions for generative AI, as an OTLP JSON file |
//! | [`ExportFormat::Csv`] | a table for people, safe to open in a spreadsheet |
//! | [`ExportFormat::Actions`] | the action traces of agent-kernel (Python) |
//! | [`ExportFormat::Runs`] | run records |

mod error;
mod lines;
mod spans;
mod table;

use std::io::Write;

use serde_json::json;

pub use error::ExportError;
pub use spans::SCHEMA_URL;

use crate::project::{ActionTrace, CallEvents, CallPairing, MAX_BUNDLE_EVENTS, TraceBundle, runs};
use crate::query::{CandidateLookup, EventFacts, EventFilter, FilterField, for_each_event};
use crate::verify::LogSource;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ExportFormat {
    /// JSON lines: every event as stored.
    Jsonl,
    /// The public trace bundle of one run.
    Bundle,
    /// OTLP JSON.
    Otlp,
    /// A table.
    Csv,
    /// Action traces.
    Actions,
    /// Run records.
    Runs,
}

weaver_types::words! {
    ExportFormat: "Its name.",
    all "All of them.",
    parse "Reads its name.";
    Jsonl = "jsonl", Bundle = "bundle", Otlp = "otlp", Csv = "csv", Actions = "actions",
    Runs = "runs",
}

/// Writes the events that match a filter, in log order. Returns how many events were read.
///
/// # Errors
/// [`ExportError`], when the log cannot be read, the output cannot be written, or the format cannot
/// represent the request.
pub fn write(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
    format: ExportFormat,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    match format {
        ExportFormat::Jsonl => lines::write(source, lookup, filter, out),
        ExportFormat::Bundle => {
            let (bundle, count) = bundle(source, lookup, filter)?;
            let mut bytes = bundle.to_bytes().map_err(|error| ExportError::form(&error))?;
            bytes.push(b'\n');
            out.write_all(&bytes)?;
            Ok(count)
        }
        ExportFormat::Otlp => spans::write(source, lookup, filter, out),
        ExportFormat::Csv => table::write(source, lookup, filter, out),
        ExportFormat::Actions => write_actions(source, lookup, filter, out),
        ExportFormat::Runs => {
            let (runs, more) = runs(source, lookup, filter)?;
            if more {
                return Err(ExportError::TooLarge("it holds more than 10,000 runs"));
            }
            let count = runs.iter().map(|run| run.events).sum();
            for run in runs {
                lines::line(out, &json!(run))?;
            }
            Ok(count)
        }
    }
}

/// The bundle of the run that a filter names, and how many events it has.
///
/// # Errors
/// [`ExportError`], when the filter names no run, the run is unknown or too large, or the log
/// cannot be read.
pub fn bundle(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
) -> Result<(TraceBundle, u64), ExportError> {
    let run = filter.single_value(FilterField::Run).ok_or(ExportError::NoRun)?;
    let mut events: Vec<EventFacts> = Vec::new();
    for_each_event(source, lookup, filter, |facts| {
        if events.len() >= MAX_BUNDLE_EVENTS {
            return Err(ExportError::TooLarge("it holds more than 20,000 events"));
        }
        events.push(facts);
        Ok(())
    })?;
    let log = source.extent()?.head.log;
    let bundle =
        TraceBundle::from_events(log.as_str(), run, &events).ok_or(ExportError::Nothing)?;
    Ok((bundle, u64::try_from(events.len()).unwrap_or(u64::MAX)))
}

fn write_actions(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    for_each_call(source, lookup, filter, &mut |call| match ActionTrace::from_call(call) {
        Some(action) => lines::line(out, &json!(action)),
        None => Ok(()),
    })
}

/// Groups the events that match a filter into calls, and visits each call.
fn for_each_call(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
    visit: &mut dyn FnMut(&CallEvents) -> Result<(), ExportError>,
) -> Result<u64, ExportError> {
    let mut pairing = CallPairing::default();
    let mut count = 0;
    for_each_event(source, lookup, filter, |facts| {
        count += 1;
        pairing.push(facts).map_or(Ok(()), |call| visit(&call))
    })?;
    pairing.into_open_calls().try_for_each(|call| visit(&call))?;
    Ok(count)
}
