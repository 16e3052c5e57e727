//! Reads recorded calls from a ledger or a file, for `replay`, `suggest` and `allow`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_policy_analysis::history::{CallHistory, HistoryEvent};
use weaver_trace_store::Reader;
use weaver_trace_store::query::EventFacts;
use weaver_types::ledger::{MAX_PAGE, StoredEvent};
use weaver_types::{EventKind, RunId, Timestamp};

use crate::{Exit, Failure};

/// The calls of the last `span`, from the ledger at `store`. The whole log is read, because the
/// label of a run's data depends on its earlier events.
pub(crate) fn read_ledger(
    store: &Path,
    span: Duration,
    now: Timestamp,
) -> Result<CallHistory, Failure> {
    if !store.is_file() {
        let message = format!("{}: nothing was called yet", store.display());
        return Err(Failure::new(Exit::Store, "policy.no_history", message).with_next_step(
            "let an agent work for a while, or name another ledger with `--store FILE`",
        ));
    }
    let failed = |error| Failure::store(store, &error);
    let reader = Reader::open(store).map_err(failed)?;
    let mut history = CallHistory::since(now.before(span));
    let mut next = 0;
    loop {
        let page = reader.events(next, MAX_PAGE).map_err(failed)?;
        let Some(last) = page.last() else { return Ok(history) };
        next = last.seq.saturating_add(1);
        for event in &page {
            let facts = EventFacts::from_event(event);
            let Some(header) = &facts.header else { continue };
            history.apply(&HistoryEvent {
                kind: header.kind,
                at: header.at,
                run: header.run.as_ref(),
                call: header.call.as_ref().map(|call| call.as_str()),
                payload: facts.payload.as_ref(),
            });
        }
    }
}

/// The longest line of a history file, in bytes.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// One event of a history file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryLine {
    kind: EventKind,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Value>,
}

/// A file of events, one JSON object a line, as `weaver replay --history` writes it.
pub(crate) struct HistoryFile(BufWriter<File>);

impl HistoryFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::options().write(true).create_new(true).open(path);
        file.map(|file| Self(BufWriter::new(file))).map_err(|error| {
            let message = format!("{} cannot be written: {error}", path.display());
            Failure::new(Exit::Invalid, "policy.unwritable", message)
                .with_next_step("name a new file in a folder that can be written")
        })
    }

    pub(crate) fn add(&mut self, events: &[StoredEvent]) -> std::io::Result<()> {
        for facts in events.iter().map(EventFacts::from_event) {
            let Some(header) = facts.header else { continue };
            let line = HistoryLine {
                kind: header.kind,
                at: header.at,
                run: header.run,
                call: header.call.map(|call| call.to_string()),
                payload: facts.payload,
            };
            serde_json::to_writer(&mut self.0, &line).map_err(std::io::Error::from)?;
            self.0.write_all(b"\n")?;
        }
        self.0.flush()
    }
}

/// All calls of a history file, of any time.
pub(super) fn read_file(path: &Path) -> Result<CallHistory, Failure> {
    let wrong = |number: usize, problem: &dyn std::fmt::Display| {
        let message = format!("{}:{number}: {problem}", path.display());
        Failure::new(Exit::Invalid, "policy.history", message)
            .with_next_step("name a file that `weaver replay --history FILE` wrote")
    };
    let file = File::open(path).map_err(|error| wrong(0, &error))?;
    let mut reader = BufReader::new(file);
    let mut history = CallHistory::since(Timestamp::from_micros(i64::MIN));
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        let mut bounded = (&mut reader).take(MAX_LINE_BYTES);
        let read = bounded.read_until(b'\n', &mut line).map_err(|error| wrong(number, &error))?;
        if read == 0 {
            return Ok(history);
        }
        let event: HistoryLine =
            serde_json::from_slice(&line).map_err(|error| wrong(number, &error))?;
        history.apply(&HistoryEvent {
            kind: event.kind,
            at: event.at,
            run: event.run.as_ref(),
            call: event.call.as_deref(),
            payload: event.payload.as_ref(),
        });
    }
}
