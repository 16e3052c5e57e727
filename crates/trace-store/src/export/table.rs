//! CSV: a table of events for people and spreadsheets.

use std::io::Write;

use weaver_types::EventKind;

use super::error::ExportError;
use crate::query::{CandidateLookup, EventFacts, EventFilter, for_each_event};
use crate::verify::LogSource;

const COLUMNS: [&str; 17] = [
    "seq", "at", "event", "run", "call", "principal", "capability", "verdict", "reason", "outcome",
    "confidentiality", "integrity", "request", "handle", "token", "latency_us", "retries",
];
/// First characters by which a spreadsheet would take a cell for a formula (CSV injection).
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Writes RFC 4180 CSV with a header line. A cell that a spreadsheet would take for a formula is
/// prefixed with an apostrophe; so is one that begins with an apostrophe, so that the prefix can be
/// removed again.
pub(super) fn write(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let mut count = 0;
    write!(out, "{}\r\n", COLUMNS.join(","))?;
    for_each_event(source, lookup, filter, |facts| {
        let cells: Vec<String> = row(&facts).iter().map(|text| cell(text)).collect();
        write!(out, "{}\r\n", cells.join(","))?;
        count += 1;
        Ok::<_, ExportError>(())
    })?;
    Ok(count)
}

fn row(facts: &EventFacts) -> [String; 17] {
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let number = |value: Option<u64>| value.map(|n| n.to_string()).unwrap_or_default();
    let label = facts.label();
    [
        facts.seq.to_string(),
        facts.at().map(|at| at.rfc3339()).unwrap_or_default(),
        text(facts.kind().map(EventKind::as_str)),
        text(facts.run()),
        text(facts.call()),
        text(facts.principal()),
        text(facts.capability()),
        text(facts.verdict()),
        text(facts.reason()),
        text(facts.outcome()),
        text(label.map(|(confidentiality, _)| confidentiality)),
        text(label.map(|(_, integrity)| integrity)),
        text(facts.request()),
        text(facts.handle()),
        text(facts.token()),
        number(facts.number(&["latency_us"])),
        number(facts.number(&["retries"])),
    ]
}

fn cell(text: &str) -> String {
    let guarded = text.starts_with(FORMULA) || text.starts_with('\'');
    let text = if guarded { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        for (text, wanted) in [
            ("files.read", "files.read"),
            ("=1+1", "'=1+1"),
            ("+x", "'+x"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\tx", "'\tx"),
            ("\r=x", "\"'\r=x\""),
            ("'quoted", "''quoted"),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("a,b", "\"a,b\""),
        ] {
            assert_eq!(cell(text), wanted);
        }
    }
}
