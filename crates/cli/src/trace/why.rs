//! `weaver trace why` and `weaver trace show`.

use serde_json::json;
use weaver_text::escape;
use weaver_trace_store::project::{CallStory, StoryStep, StorySubject};
use weaver_trace_store::query::{
    EventFacts, EventFilter, FilterField, LogQuery, MAX_PAGE_EVENTS, run_query,
};
use weaver_trace_store::verify::LogSource as _;

use super::args::EventSelector;
use super::event;
use super::log::Log;
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &EventSelector) -> Result<Exit, Failure> {
    let subject = parse_subject(&args.id)?;
    let mut log = Log::open(&args.store)?;
    log.update_index()?;
    let story = CallStory::from_log(&log.reader, log.lookup(), &subject)
        .map_err(|error| log.failed(error))?;
    let story = story.ok_or_else(|| unknown_failure(&args.id))?;
    if args.output.json {
        output::json(&json!({
            "calls": story.calls,
            "steps": story.steps.iter().map(step_json).collect::<Vec<_>>(),
            "missing": story.missing,
        }))?;
    } else {
        output::text(&story_text(&story))?;
    }
    Ok(Exit::Ok)
}

fn step_json(step: &StoryStep) -> serde_json::Value {
    json!({
        "seq": step.seq,
        "at": step.at.map(|at| at.rfc3339()),
        "call": step.call,
        "part": step.part.as_str(),
        "said": step.text,
    })
}

fn story_text(story: &CallStory) -> String {
    let mut out = String::new();
    let mut last = None;
    for step in &story.steps {
        if last != Some(step.seq) {
            last = Some(step.seq);
            let at = step.at.map(|at| at.rfc3339()).unwrap_or_default();
            let call = step.call.as_deref().map(escape::line).unwrap_or_default();
            let head = format!("#{}  {at}  {call}", step.seq);
            out.push_str(&format!("{}\n", output::dim(head.trim_end())));
        }
        let part = format!("{:<10}", step.part.as_str());
        let mut lines = step.text.lines();
        let first = escape::line(lines.next().unwrap_or_default()).into_owned();
        out.push_str(&format!("  {} {first}\n", output::bold(&part)));
        for line in lines {
            out.push_str(&format!("             {}\n", escape::line(line)));
        }
    }
    for missing in &story.missing {
        out.push_str(&format!("{}\n", output::dim(&format!("not told: {missing}"))));
    }
    out
}

/// Prints every event of one call, request, handle or token in full, or one event.
pub(super) fn show(args: &EventSelector) -> Result<Exit, Failure> {
    let subject = parse_subject(&args.id)?;
    let mut log = Log::open(&args.store)?;
    log.update_index()?;
    let printed = match &subject {
        StorySubject::Event(seq) => {
            let rows = log.reader.rows(*seq, 1).map_err(|error| log.failed(error.into()))?;
            let found = rows.iter().filter(|row| row.event.seq == *seq);
            let events: Vec<_> = found.map(|row| EventFacts::from_event(&row.event)).collect();
            print_events(&events, args.output.format())?
        }
        StorySubject::Call(id) => print_all(args, &log, FilterField::Call, id)?,
        StorySubject::Request(id) => print_all(args, &log, FilterField::Request, id)?,
        StorySubject::Handle(id) => print_all(args, &log, FilterField::Handle, id)?,
        StorySubject::Token(id) => print_all(args, &log, FilterField::Token, id)?,
    };
    if printed == 0 { Err(unknown_failure(&args.id)) } else { Ok(Exit::Ok) }
}

/// Prints all events with this id, page by page. Returns their number.
fn print_all(
    args: &EventSelector,
    log: &Log,
    field: FilterField,
    id: &str,
) -> Result<usize, Failure> {
    let filter = EventFilter::default().with(field, id);
    let mut query = LogQuery { limit: MAX_PAGE_EVENTS, ..LogQuery::oldest(filter) };
    let mut printed = 0;
    loop {
        let page =
            run_query(&log.reader, log.lookup(), &query).map_err(|error| log.failed(error))?;
        printed += print_events(&page.events, args.output.format())?;
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(printed),
        }
    }
}

fn print_events(events: &[EventFacts], format: OutputFormat) -> Result<usize, Failure> {
    for facts in events {
        match format {
            OutputFormat::Json => output::json(&event::event_json(facts, None))?,
            OutputFormat::Text => output::text(&event::event_block(facts))?,
        }
    }
    Ok(events.len())
}

pub(super) fn parse_subject(text: &str) -> Result<StorySubject, Failure> {
    StorySubject::parse(text).ok_or_else(|| {
        let shown = escape::excerpt(text, 80);
        let message = format!("`{shown}` is neither an event number nor the id of a call");
        Failure::new(Exit::Usage, "trace.subject", message).with_next_step(
            "give a number, call_…, apr_…, hdl_… or tok_…; for a run: `weaver trace list run:ID`",
        )
    })
}

fn unknown_failure(text: &str) -> Failure {
    let message = format!("the log knows nothing of {}", escape::excerpt(text, 80));
    Failure::new(Exit::NotFound, "trace.unknown", message)
        .with_next_step("`weaver trace list` shows events with their calls")
}
