//! `weaver approve watch`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use weaver_types::{EventKind, Timestamp};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::Watch;
use super::argument_line::DifferingArguments;
use super::list;
use super::terminal_text;
use crate::{Exit, Failure, output};

/// How often the ledger is read.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What was last printed of a request: its status, and the number of approvals.
type ReportedState = (&'static str, usize);

pub(super) fn run(args: &Watch) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let mut watched = WatchState { reported: BTreeMap::new(), size: None, deadline: None };
    if !args.once && !args.output.json {
        output::line("watching; Ctrl-C ends it")?;
    }
    loop {
        watched.poll(args, &store)?;
        if args.once || !output::wait_while_read(POLL_INTERVAL) {
            return Ok(Exit::Ok);
        }
    }
}

/// The requests that have not ended, as last printed. Requests that ended before the start are not
/// reported.
struct WatchState {
    reported: BTreeMap<String, ReportedState>,
    /// The size of the log at the last poll.
    size: Option<u64>,
    /// The earliest deadline of a pending request.
    deadline: Option<Timestamp>,
}

impl WatchState {
    /// Prints what changed. Every change to a request appends an event or is its deadline, so that
    /// without either nothing needs to be read.
    fn poll(&mut self, args: &Watch, store: &ApprovalStore) -> Result<(), Failure> {
        let (now, size) = (now(), Some(store.log_size()?));
        if self.size == size && self.deadline.is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        // A request may have been opened and ended since the last poll.
        let opened = self.size.map(|size| opened_since(store, size)).transpose()?;
        let opened = opened.unwrap_or_default();
        let is_reported = |record: &ApprovalRecord| self.reported.contains_key(record.id());
        let records = approval_records::find_all(store, |record| {
            is_reported(record) || record.is_pending(now) || opened.contains(record.id())
        })?;
        for record in &records {
            report_change(args, record, self.reported.get(record.id()).copied(), now)?;
        }
        let waiting = || records.iter().filter(|record| record.is_pending(now));
        self.reported =
            waiting().map(|record| (record.id().to_owned(), reported_state(record, now))).collect();
        self.deadline = waiting().filter_map(ApprovalRecord::deadline).min();
        self.size = size;
        Ok(())
    }
}

/// The ids of the requests that were opened since the log had this size.
fn opened_since(store: &ApprovalStore, size: u64) -> Result<BTreeSet<String>, Failure> {
    let mut opened = BTreeSet::new();
    store.for_each_event(size, |header, payload| {
        if header.kind == EventKind::ApprovalRequested {
            let id = payload.get("request").and_then(Value::as_str);
            opened.extend(id.map(str::to_owned));
        }
    })?;
    Ok(opened)
}

fn reported_state(record: &ApprovalRecord, now: Timestamp) -> ReportedState {
    let votes = match record {
        ApprovalRecord::Open(open) => open.state.votes().len(),
        ApprovalRecord::Ended(_) | ApprovalRecord::Unreadable { .. } => 0,
    };
    (record.status(now), votes)
}

fn report_change(
    args: &Watch,
    record: &ApprovalRecord,
    last: Option<ReportedState>,
    now: Timestamp,
) -> Result<(), Failure> {
    let change = match last {
        None if record.is_pending(now) => "new",
        None => record.status(now),
        Some(last) if last == reported_state(record, now) => return Ok(()),
        Some((status, _)) if status == record.status(now) => "agreed",
        Some(_) => record.status(now),
    };
    if args.output.json {
        let mut value = approval_records::summary(record, now);
        if let Value::Object(fields) = &mut value {
            fields.insert("news".to_owned(), json!(change));
        }
        output::line(&terminal_text::escape_json(&value))?;
    } else {
        output::text(&format!(
            "{} {}",
            output::bold(change),
            list::request_lines(record, &DifferingArguments::default(), now)
        ))?;
    }
    Ok(())
}
