//! `weaver trace list` (also `query`), and `weaver trace tail`.

use std::io::Write as _;
use std::time::Duration;

use weaver_trace_store::query::{
    EventFacts, EventFilter, EventOrder, LogQuery, PageCursor, QueryPage, run_query_with_progress,
};

use super::args::{List, Tail};
use super::event;
use super::log::{Log, parse_filter};
use super::progress::Progress;
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// How often to query for new events.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let filter = parse_filter(&args.terms)?;
    let after: Option<PageCursor> = match &args.after {
        None => None,
        Some(text) => Some(
            text.parse().map_err(|error| super::log::failed(&args.store.ledger.store, error))?,
        ),
    };
    let order = if args.oldest_first { EventOrder::Oldest } else { EventOrder::Newest };
    let mut log = Log::open(&args.store)?;
    if filter.has_field_terms() {
        log.update_index()?;
    }
    let question = LogQuery { filter, order, after, limit: usize::from(args.limit) };
    let page = query_log(&log, &question)?;
    for facts in &page.events {
        print_event(facts, &question, args.output.format())?;
    }
    if let Some(next) = page.next.filter(|_| !args.output.json) {
        // A script reads the cursor from the events instead.
        let text = format!("more: --after {next}\n");
        let _ = anstream::stderr().lock().write_all(output::dim(&text).as_bytes());
    }
    Ok(Exit::Ok)
}

fn print_event(
    facts: &EventFacts,
    question: &LogQuery,
    format: OutputFormat,
) -> Result<(), Failure> {
    if format == OutputFormat::Json {
        let cursor = PageCursor::new(facts.seq, question.order, &question.filter);
        output::json(&event::event_json(facts, Some(&cursor)))?;
    } else {
        output::line(&event::event_line(facts))?;
    }
    Ok(())
}

fn query_log(log: &Log, question: &LogQuery) -> Result<QueryPage, Failure> {
    let mut progress = Progress::new("read");
    let page = run_query_with_progress(&log.reader, log.lookup(), question, &mut |done, all| {
        progress.at(done, all);
    });
    progress.end();
    page.map_err(|error| log.failed(error))
}

pub(super) fn tail(args: &Tail) -> Result<Exit, Failure> {
    let filter = parse_filter(&args.terms)?;
    let mut log = Log::open(&args.store)?;
    if filter.has_field_terms() {
        log.update_index()?;
    }
    let latest = LogQuery { limit: usize::from(args.lines), ..LogQuery::newest(filter.clone()) };
    let page = query_log(&log, &latest)?;
    let following = LogQuery::oldest(filter.clone());
    for facts in page.events.iter().rev() {
        print_event(facts, &following, args.output.format())?;
    }
    // Continue after the end of the log: events that do not match the filter were read as well.
    let mut last_seen = page.size.checked_sub(1);
    if !args.follow {
        return Ok(Exit::Ok);
    }
    while output::wait_while_read(POLL_INTERVAL) {
        last_seen = print_new_events(&log, &filter, last_seen, args.output.format())?;
    }
    Ok(Exit::Ok)
}

/// Prints the events after `last_seen`; returns the number of the last event that was read.
fn print_new_events(
    log: &Log,
    filter: &EventFilter,
    last_seen: Option<u64>,
    format: OutputFormat,
) -> Result<Option<u64>, Failure> {
    let mut question = LogQuery { limit: 500, ..LogQuery::oldest(filter.clone()) };
    question.after = last_seen.map(|seq| PageCursor::new(seq, EventOrder::Oldest, filter));
    loop {
        let page = query_log(log, &question)?;
        for facts in &page.events {
            print_event(facts, &question, format)?;
        }
        match page.next {
            Some(next) => question.after = Some(next),
            None => return Ok(page.size.checked_sub(1)),
        }
    }
}
