//! Shows one event to a person or a script. Nothing is verified here.

use serde_json::{Value, json};
use weaver_text::escape;
use weaver_trace_store::query::{EventFacts, PageCursor};
use weaver_types::EventKind;

use crate::output;

/// The longest text in a line, in characters.
const MAX_TEXT_CHARS: usize = 120;

/// The event as JSON, with its payload and, on a page, the cursor after it.
pub(super) fn event_json(facts: &EventFacts, cursor: Option<&PageCursor>) -> Value {
    let mut value = json!({
        "seq": facts.seq,
        "at": facts.at().map(|at| at.rfc3339()),
        "type": facts.kind().map(EventKind::as_str),
        "run": facts.run(),
        "call": facts.call(),
        "readable": facts.header.is_some(),
        "payload_missing": facts.payload.is_none(),
        "durability": facts.durability,
        "payload": facts.payload,
    });
    if let (Some(cursor), Value::Object(map)) = (cursor, &mut value) {
        map.insert("cursor".to_owned(), cursor.to_string().into());
    }
    value
}

/// The event on one line.
pub(super) fn event_line(facts: &EventFacts) -> String {
    let seq = facts.seq;
    let (Some(at), Some(kind)) = (facts.at(), facts.kind()) else {
        return format!("{seq:>6}  an event that cannot be read; run `weaver trace verify`");
    };
    let call = escape::line(facts.call().unwrap_or("-")).into_owned();
    format!("{seq:>6}  {at}  {kind:<20}  {}  {}", highlights(facts), output::dim(&call))
}

/// The most important fields.
fn highlights(facts: &EventFacts) -> String {
    if facts.payload.is_none() {
        return output::dim("pruned");
    }
    let mut words = Vec::new();
    if let Some(verdict) = facts.verdict() {
        words.push(coloured(verdict, "allow"));
    }
    if let Some(outcome) = facts.outcome() {
        words.push(coloured(outcome, "success"));
    }
    let rest = [facts.capability(), facts.reason(), facts.request(), facts.handle()];
    words.extend(rest.into_iter().flatten().map(shorten));
    if words.is_empty() {
        let payload = facts.payload.as_ref().map(Value::to_string).unwrap_or_default();
        return output::dim(&shorten(&payload));
    }
    if let Some(principal) = facts.principal() {
        words.push(format!("for {}", shorten(principal)));
    }
    words.join(" ")
}

/// Green if the word is the good one, else red.
fn coloured(word: &str, good: &str) -> String {
    if word == good { output::good(&shorten(word)) } else { output::bad(&shorten(word)) }
}

fn shorten(text: &str) -> String {
    escape::shorten(&escape::line(text), MAX_TEXT_CHARS).into_owned()
}

/// The whole event, over several lines.
pub(super) fn event_block(facts: &EventFacts) -> String {
    let mut text = format!("{}\n", event_line(facts));
    if let Some(run) = facts.run() {
        text.push_str(&format!("        run {}\n", escape::line(run)));
    }
    match &facts.payload {
        None => text.push_str("        its payload is gone; `weaver trace verify` says why\n"),
        Some(payload) => {
            let pretty = serde_json::to_string_pretty(payload).unwrap_or_default();
            for row in pretty.lines() {
                text.push_str(&format!("        {}\n", escape::line(row)));
            }
        }
    }
    text
}
