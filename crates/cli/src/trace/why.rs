//! `weaver trace why` and `weaver trace show`.

use serde_json::json;
use weaver_text::escape;
use weaver_trace_store::project::{Step, Story, Subject};
use weaver_trace_store::query::{Facts, Field, Filter, Question, ask};
use weaver_trace_store::verify::Source as _;

use super::args::EventSelector;
use super::event;
use super::log::Log;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &EventSelector) -> Result<Exit, Failure> {
    let subject = subject(&args.id)?;
    let mut log = Log::open(&args.store)?;
    log.prepare()?;
    let story =
        Story::of(&log.reader, log.lookup(), &subject).map_err(|error| log.failed(error))?;
    let story = story.ok_or_else(|| unknown(&args.id))?;
    if args.output.json {
        output::json(&json!({
            "calls": story.calls,
            "steps": story.steps.iter().map(step_json).collect::<Vec<_>>(),
            "missing": story.missing,
        }))?;
    } else {
        output::text(&text(&story))?;
    }
    Ok(Exit::Ok)
}

fn step_json(step: &Step) -> serde_json::Value {
    json!({
        "seq": step.seq,
        "at": step.at.map(|at| at.rfc3339()),
        "call": step.call,
        "part": step.part.as_str(),
        "said": step.said,
    })
}

fn text(story: &Story) -> String {
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
        let mut lines = step.said.lines();
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

/// Every event of one call, request, handle or token in full, or one event.
pub(super) fn show(args: &EventSelector) -> Result<Exit, Failure> {
    let subject = subject(&args.id)?;
    let mut log = Log::open(&args.store)?;
    log.prepare()?;
    let events = events(&log, &subject)?;
    if events.is_empty() {
        return Err(unknown(&args.id));
    }
    for facts in &events {
        if args.output.json {
            output::json(&event::json(facts, None))?;
        } else {
            output::text(&event::block(facts))?;
        }
    }
    Ok(Exit::Ok)
}

fn events(log: &Log, subject: &Subject) -> Result<Vec<Facts>, Failure> {
    let (field, id) = match subject {
        Subject::Event(seq) => {
            let rows = log.reader.rows(*seq, 1).map_err(|error| log.failed(error.into()))?;
            let found = rows.iter().filter(|row| row.event.seq == *seq);
            return Ok(found.map(|row| Facts::of(&row.event)).collect());
        }
        Subject::Call(id) => (Field::Call, id),
        Subject::Request(id) => (Field::Request, id),
        Subject::Handle(id) => (Field::Handle, id),
        Subject::Token(id) => (Field::Token, id),
    };
    let filter = Filter::default().with(field, id);
    let question = Question { limit: 1_000, ..Question::oldest(filter) };
    let page = ask(&log.reader, log.lookup(), &question).map_err(|error| log.failed(error))?;
    Ok(page.events)
}

pub(super) fn subject(text: &str) -> Result<Subject, Failure> {
    Subject::parse(text).ok_or_else(|| {
        let shown = escape::line(escape::truncate(text, 80)).into_owned();
        let message = format!("`{shown}` is neither an event number nor the id of a call");
        Failure::new(Exit::Usage, "trace.subject", message).next(
            "give a number, call_…, apr_…, hdl_… or tok_…; for a run: `weaver trace list run:ID`",
        )
    })
}

fn unknown(text: &str) -> Failure {
    let message = format!("the log knows nothing of {}", escape::line(escape::truncate(text, 80)));
    Failure::new(Exit::Unknown, "trace.unknown", message)
        .next("`weaver trace list` shows events with their calls")
}
