//! Exports: the log, or the events of a filter, in forms that others read.
//!
//! | form | what |
//! |---|---|
//! | [`Form::Jsonl`] | header, salt and payload of each event exactly, for another verifier |
//! | [`Form::Bundle`] | one run as the public contract `TraceBundle` |
//! | [`Form::Otlp`] | spans of OpenTelemetry's conventions for generative AI, as an OTLP JSON file |
//! | [`Form::Csv`] | a table for people, safe to open in a spreadsheet |
//! | [`Form::Actions`] | the action traces of agent-kernel (Python) |
//! | [`Form::Runs`] | run records |

mod error;
mod lines;
mod spans;
mod table;

use std::io::Write;

use serde_json::json;

pub use error::ExportError;
pub use spans::SCHEMA_URL;

use crate::project::{ActionTrace, CallEvents, MAX_BUNDLE, Pairing, TraceBundle, runs};
use crate::query::{Facts, Field, Filter, Lookup, each};
use crate::verify::Source;

/// In which form events are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Form {
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

impl Form {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::Jsonl, Self::Bundle, Self::Otlp, Self::Csv, Self::Actions, Self::Runs];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Bundle => "bundle",
            Self::Otlp => "otlp",
            Self::Csv => "csv",
            Self::Actions => "actions",
            Self::Runs => "runs",
        }
    }

    /// Reads its name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|form| form.as_str() == text)
    }
}

/// Writes the events of a filter, in the order of the log. Gives how many events it read.
///
/// # Errors
/// [`ExportError`], when the log cannot be read, the output cannot be written, or the form does not
/// hold what is asked for.
pub fn write(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    filter: &Filter,
    form: Form,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    match form {
        Form::Jsonl => lines::write(source, lookup, filter, out),
        Form::Bundle => {
            let (bundle, count) = bundle(source, lookup, filter)?;
            let mut bytes = bundle.to_bytes().map_err(|error| ExportError::form(&error))?;
            bytes.push(b'\n');
            out.write_all(&bytes)?;
            Ok(count)
        }
        Form::Otlp => spans::write(source, lookup, filter, out),
        Form::Csv => table::write(source, lookup, filter, out),
        Form::Actions => actions(source, lookup, filter, out),
        Form::Runs => {
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

/// The bundle of the one run that a filter names, and how many events it has.
///
/// # Errors
/// [`ExportError`], when the filter names no run, the run is unknown or too large, or the log
/// cannot be read.
pub fn bundle(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    filter: &Filter,
) -> Result<(TraceBundle, u64), ExportError> {
    let run = filter.only(Field::Run).ok_or(ExportError::NoRun)?;
    let mut events: Vec<Facts> = Vec::new();
    each(source, lookup, filter, |facts| {
        if events.len() >= MAX_BUNDLE {
            return Err(ExportError::TooLarge("it holds more than 20,000 events"));
        }
        events.push(facts);
        Ok(())
    })?;
    let log = source.extent()?.head.log;
    let bundle = TraceBundle::of(log.as_str(), run, &events).ok_or(ExportError::Nothing)?;
    Ok((bundle, u64::try_from(events.len()).unwrap_or(u64::MAX)))
}

fn actions(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    filter: &Filter,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    paired(source, lookup, filter, &mut |paired| match ActionTrace::of(paired) {
        Some(action) => lines::line(out, &json!(action)),
        None => Ok(()),
    })
}

/// Shows the events of a filter as calls.
fn paired(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    filter: &Filter,
    see: &mut dyn FnMut(&CallEvents) -> Result<(), ExportError>,
) -> Result<u64, ExportError> {
    let mut pairing = Pairing::default();
    let mut count = 0;
    each(source, lookup, filter, |facts| {
        count += 1;
        pairing.take(facts).map_or(Ok(()), |paired| see(&paired))
    })?;
    pairing.rest().try_for_each(|paired| see(&paired))?;
    Ok(count)
}
