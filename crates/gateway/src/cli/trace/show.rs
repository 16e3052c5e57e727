//! `weaver trace show`.

use serde_json::{Value, json};
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::entry::Header;
use weaver_types::CallId;
use weaver_types::ledger::{MAX_PAGE, StoredEvent};

use crate::cli::args::TraceShow;
use crate::cli::{Exit, Failure, output};

/// How much of a payload a line shows, in characters.
const MAX_SHOWN: usize = 160;

pub(super) fn run(args: &TraceShow) -> Result<Exit, Failure> {
    let call = match &args.call {
        None => None,
        Some(text) => Some(CallId::parse(text).map_err(|error| {
            Failure::new(Exit::Usage, error.code(), error).next("`weaver trace show` lists calls")
        })?),
    };
    let reader = super::open(&args.store)?;
    let failed = |error| Failure::store(&args.store, &error);
    let size = reader.head().map_err(failed)?.size;
    // Without a place to begin, the last events; those of one call are looked for in all.
    let default = if call.is_some() { 0 } else { size.saturating_sub(args.limit) };
    let mut next = args.from.unwrap_or(default);
    let mut left = args.limit;
    while left > 0 && next < size {
        let page = page(&reader, next).map_err(failed)?;
        let Some(last) = page.last() else { break };
        next = last.seq + 1;
        for event in &page {
            let shown = Shown::new(event);
            if left > 0 && call.as_ref().is_none_or(|call| shown.is_of(call)) {
                left -= 1;
                output::line(&if args.json { shown.json() } else { shown.text() })?;
            }
        }
    }
    Ok(Exit::Ok)
}

fn page(reader: &Reader, from: u64) -> Result<Vec<StoredEvent>, weaver_types::ledger::LedgerError> {
    reader.events(from, MAX_PAGE)
}

/// One event as a reader sees it. Nothing here is verified.
struct Shown<'e> {
    event: &'e StoredEvent,
    header: Option<Header>,
}

impl<'e> Shown<'e> {
    fn new(event: &'e StoredEvent) -> Self {
        Self { event, header: Header::parse(&event.header).ok() }
    }

    fn is_of(&self, call: &CallId) -> bool {
        self.header.as_ref().is_some_and(|header| header.call.as_ref() == Some(call))
    }

    fn payload(&self) -> Value {
        let Some(bytes) = &self.event.payload else { return Value::Null };
        serde_json::from_slice(bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn json(&self) -> String {
        let header = self.header.as_ref();
        json!({
            "seq": self.event.seq,
            "at": header.map(|header| header.at.rfc3339()),
            "type": header.map(|header| header.kind.as_str()),
            "run": header.and_then(|header| header.run.as_ref()).map(|run| run.as_str()),
            "call": header.and_then(|header| header.call.as_ref()).map(|call| call.as_str()),
            "readable": header.is_some(),
            "payload_missing": self.event.payload.is_none(),
            "durability": self.event.durability,
            "payload": self.payload(),
        })
        .to_string()
    }

    fn text(&self) -> String {
        let seq = self.event.seq;
        let Some(header) = &self.header else {
            return format!("{seq:>6}  an event that cannot be read; run `weaver trace verify`");
        };
        let call = header.call.as_ref().map_or("-", |call| call.as_str());
        let payload = match &self.event.payload {
            None => "its payload is gone; run `weaver trace verify`".to_owned(),
            Some(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                escape::shorten(&escape::line(&text), MAX_SHOWN).into_owned()
            }
        };
        let (at, kind) = (header.at, header.kind.as_str());
        let call = escape::line(call);
        format!("{seq:>6}  {at}  {kind:<20}  {call}  {}", output::dim(&payload))
    }
}
