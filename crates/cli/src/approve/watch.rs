//! `weaver approve watch`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_types::Timestamp;

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
        if args.once || output::is_closed() || !wait_for_next_poll() {
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
        let is_reported = |held: &ApprovalRecord| self.reported.contains_key(held.id());
        let records =
            approval_records::find_all(store, |held| is_reported(held) || held.is_pending(now))?;
        for held in &records {
            report_change(args, held, self.reported.get(held.id()).copied(), now)?;
        }
        let waiting = || records.iter().filter(|held| held.is_pending(now));
        self.reported =
            waiting().map(|held| (held.id().to_owned(), reported_state(held, now))).collect();
        self.deadline = waiting().filter_map(ApprovalRecord::deadline).min();
        self.size = size;
        Ok(())
    }
}

fn reported_state(held: &ApprovalRecord, now: Timestamp) -> ReportedState {
    let agreed = match held {
        ApprovalRecord::Open(open) => open.state.votes().len(),
        ApprovalRecord::Ended(_) | ApprovalRecord::Unreadable { .. } => 0,
    };
    (held.status(now), agreed)
}

fn report_change(
    args: &Watch,
    held: &ApprovalRecord,
    last: Option<ReportedState>,
    now: Timestamp,
) -> Result<(), Failure> {
    let news = match last {
        None => "new",
        Some(last) if last == reported_state(held, now) => return Ok(()),
        Some((status, _)) if status == held.status(now) => "agreed",
        Some(_) => held.status(now),
    };
    if args.output.json {
        let mut value = approval_records::summary(held, now);
        if let Value::Object(fields) = &mut value {
            fields.insert("news".to_owned(), json!(news));
        }
        output::line(&terminal_text::escape_json(&value))?;
    } else {
        output::text(&format!(
            "{} {}",
            output::bold(news),
            list::request_lines(held, &DifferingArguments::default(), now)
        ))?;
    }
    Ok(())
}

/// Waits for one interval. False if the reader of standard output has gone.
#[cfg(unix)]
fn wait_for_next_poll() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let out = std::io::stdout();
    // No event is requested, so only an error or a hang-up ends the wait early.
    let mut watched = [PollFd::new(&out, PollFlags::empty())];
    let pause = Timespec::try_from(POLL_INTERVAL).ok();
    match poll(&mut watched, pause.as_ref()) {
        Ok(0) => return true,
        Ok(_) => {
            let closed = PollFlags::ERR | PollFlags::HUP;
            if watched.iter().any(|out| out.revents().intersects(closed)) {
                return false;
            }
        }
        Err(_) => {}
    }
    // Standard output cannot be polled.
    std::thread::sleep(POLL_INTERVAL);
    true
}

#[cfg(not(unix))]
fn wait_for_next_poll() -> bool {
    std::thread::sleep(POLL_INTERVAL);
    true
}
