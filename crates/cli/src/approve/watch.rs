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
use super::screen;
use crate::{Exit, Failure, output};

/// How often the ledger is looked at.
const PAUSE: Duration = Duration::from_millis(500);

/// What was said last of a request: where it stood, and how many had agreed.
type LastNotice = (&'static str, usize);

pub(super) fn run(args: &Watch) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let mut watched = WatchState { said: BTreeMap::new(), size: None, deadline: None };
    if !args.once && !args.output.json {
        output::line("watching; Ctrl-C ends it")?;
    }
    loop {
        watched.look(args, &place)?;
        if args.once || output::is_closed() || !pause() {
            return Ok(Exit::Ok);
        }
    }
}

/// What is watched: everything that has not ended. What had ended before is no news.
struct WatchState {
    said: BTreeMap<String, LastNotice>,
    /// The size of the log at the last look.
    size: Option<u64>,
    /// When the next request ends by itself.
    deadline: Option<Timestamp>,
}

impl WatchState {
    /// Tells what changed. Whatever happens to a request leaves an event or is its deadline, so
    /// that nothing is read where neither came.
    fn look(&mut self, args: &Watch, place: &ApprovalStore) -> Result<(), Failure> {
        let (now, size) = (now(), Some(place.size()?));
        if self.size == size && self.deadline.is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        let known = |held: &ApprovalRecord| self.said.contains_key(held.id());
        let found = approval_records::all(place, |held| known(held) || held.waits(now))?;
        for held in &found {
            tell(args, held, self.said.get(held.id()).copied(), now)?;
        }
        let waiting = || found.iter().filter(|held| held.waits(now));
        self.said = waiting().map(|held| (held.id().to_owned(), state(held, now))).collect();
        self.deadline = waiting().filter_map(ApprovalRecord::deadline).min();
        self.size = size;
        Ok(())
    }
}

fn state(held: &ApprovalRecord, now: Timestamp) -> LastNotice {
    let agreed = match held {
        ApprovalRecord::Open(open) => open.state.votes().len(),
        ApprovalRecord::Ended(_) | ApprovalRecord::Unreadable { .. } => 0,
    };
    (held.status(now), agreed)
}

fn tell(
    args: &Watch,
    held: &ApprovalRecord,
    before: Option<LastNotice>,
    now: Timestamp,
) -> Result<(), Failure> {
    let news = match before {
        None => "new",
        Some(before) if before == state(held, now) => return Ok(()),
        Some((status, _)) if status == held.status(now) => "agreed",
        Some(_) => held.status(now),
    };
    if args.output.json {
        let mut value = approval_records::summary(held, now);
        if let Value::Object(fields) = &mut value {
            fields.insert("news".to_owned(), json!(news));
        }
        output::line(&screen::json(&value))?;
    } else {
        output::text(&format!(
            "{} {}",
            output::bold(news),
            list::line(held, &DifferingArguments::default(), now)
        ))?;
    }
    Ok(())
}

/// Waits a little. False when nobody reads standard output any more.
#[cfg(unix)]
fn pause() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let out = std::io::stdout();
    // Nothing is asked for: only an error or a closed other end wakes it.
    let mut watched = [PollFd::new(&out, PollFlags::empty())];
    let pause = Timespec::try_from(PAUSE).ok();
    match poll(&mut watched, pause.as_ref()) {
        Ok(0) => return true,
        Ok(_) => {
            let gone = PollFlags::ERR | PollFlags::HUP;
            if watched.iter().any(|out| out.revents().intersects(gone)) {
                return false;
            }
        }
        Err(_) => {}
    }
    // An output that cannot be watched.
    std::thread::sleep(PAUSE);
    true
}

#[cfg(not(unix))]
fn pause() -> bool {
    std::thread::sleep(PAUSE);
    true
}
