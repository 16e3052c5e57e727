//! `weaver trace list` (also `query`), and `weaver trace tail`.

use std::io::Write as _;
use std::time::Duration;

use weaver_trace_store::query::{Cursor, Facts, Filter, Order, Page, Question, ask_with};

use super::args::{List, Tail};
use super::event;
use super::log::{Log, filter};
use super::progress::Progress;
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// How often the log is asked for more.
const OFTEN: Duration = Duration::from_millis(300);

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let filter = filter(&args.terms)?;
    let after: Option<Cursor> = match &args.after {
        None => None,
        Some(text) => {
            Some(text.parse().map_err(|error| super::log::failed(&args.store.store, error))?)
        }
    };
    let order = if args.oldest_first { Order::Oldest } else { Order::Newest };
    let mut log = Log::open(&args.store)?;
    if filter.names_fields() {
        log.prepare()?;
    }
    let question = Question { filter, order, after, limit: usize::from(args.limit) };
    let page = asked(&log, &question)?;
    for facts in &page.events {
        print(facts, &question, args.output.format())?;
    }
    if let Some(next) = page.next.filter(|_| !args.output.json) {
        // It is no data: a script finds a cursor in each event.
        let text = format!("more: --after {next}\n");
        let _ = anstream::stderr().lock().write_all(output::dim(&text).as_bytes());
    }
    Ok(Exit::Ok)
}

fn print(facts: &Facts, question: &Question, format: OutputFormat) -> Result<(), Failure> {
    if format == OutputFormat::Json {
        let cursor = Cursor::new(facts.seq, question.order, &question.filter);
        output::json(&event::json(facts, Some(&cursor)))?;
    } else {
        output::line(&event::line(facts))?;
    }
    Ok(())
}

fn asked(log: &Log, question: &Question) -> Result<Page, Failure> {
    let mut progress = Progress::new("read");
    let page = ask_with(&log.reader, log.lookup(), question, &mut |done, all| {
        progress.at(done, all);
    });
    progress.end();
    page.map_err(|error| log.failed(error))
}

pub(super) fn tail(args: &Tail) -> Result<Exit, Failure> {
    let filter = filter(&args.terms)?;
    let mut log = Log::open(&args.store)?;
    if filter.names_fields() {
        log.prepare()?;
    }
    let latest = Question { limit: usize::from(args.lines), ..Question::newest(filter.clone()) };
    let page = asked(&log, &latest)?;
    let following = Question::oldest(filter.clone());
    for facts in page.events.iter().rev() {
        print(facts, &following, args.output.format())?;
    }
    // What is not the filter's was looked at as well: it goes on after the end of the log.
    let mut seen = page.size.checked_sub(1);
    if !args.follow {
        return Ok(Exit::Ok);
    }
    loop {
        std::thread::sleep(OFTEN);
        seen = follow(&log, &filter, seen, args.output.format())?;
    }
}

/// Prints what came after an event; gives the last that was looked at.
fn follow(
    log: &Log,
    filter: &Filter,
    seen: Option<u64>,
    format: OutputFormat,
) -> Result<Option<u64>, Failure> {
    let mut question = Question { limit: 500, ..Question::oldest(filter.clone()) };
    question.after = seen.map(|seq| Cursor::new(seq, Order::Oldest, filter));
    loop {
        let page = asked(log, &question)?;
        for facts in &page.events {
            print(facts, &question, format)?;
        }
        match page.next {
            Some(next) => question.after = Some(next),
            None => return Ok(page.size.checked_sub(1)),
        }
    }
}
