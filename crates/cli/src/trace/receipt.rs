//! Receipts for single calls.

use std::path::Path;

use serde_json::json;
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::checkpoint::{
    Checkpoint, Note, Receipt, ReceiptReport, Trust, events_of_call,
};
use weaver_trace_store::entry::Header;
use weaver_trace_store::project::Subject;
use weaver_trace_store::verify::Source as _;
use weaver_types::CallId;

use super::proof_args::{Prove, TrustArgs};
use super::prove::{no_key, write};
use super::trust_files::{self, refused};
use super::{checkpoint, open, why};
use crate::{Exit, Failure, output};

pub(super) fn make(args: &Prove, id: &str) -> Result<Exit, Failure> {
    let store = args.store.as_deref().unwrap_or(Path::new("ledger.db"));
    let failed = |error| refused(Some(store), error);
    let (log, call) = named(store, id)?;
    drop(log);
    let (log, note, said, trust) = covering(args, store)?;
    let places = events_of_call(&log, &call, said.size).map_err(failed)?;
    if !holds(&log, store, &places, &call)? {
        let message = format!("the checkpoint of {} events covers no event of {call}", said.size);
        return Err(Failure::new(Exit::Unknown, "trace.not_covered", message)
            .next("sign a newer one: leave --checkpoint out and give --key FILE"));
    }
    let receipt = Receipt::make(&log, &note, &call, &places, args.disclose).map_err(failed)?;
    let bytes = receipt.to_bytes().map_err(failed)?;
    // What is handed out was read and verified as its receiver will do it.
    let read = Receipt::parse(&bytes).map_err(failed)?;
    let report = trust.map(|trust| read.verify(&trust)).transpose().map_err(failed)?;
    write(args, bytes)?;
    if let (Some(report), Some(path)) = (report, &args.out) {
        if args.output.json {
            output::json(&as_json(&report))?;
        } else {
            let good = output::good("proven");
            let count = report.events.len();
            output::line(&format!("{good} {count} events of {call} → {}", path.display()))?;
        }
    }
    Ok(Exit::Ok)
}

/// The call that was named, by itself or by one of its events.
fn named(store: &Path, id: &str) -> Result<(Reader, CallId), Failure> {
    let log = open(store)?;
    let unknown = |message: String| {
        Failure::new(Exit::Unknown, "trace.unknown", message)
            .next("`weaver trace list` shows events with their calls")
    };
    match why::subject(id)? {
        Subject::Call(id) => {
            let call = CallId::parse(&id).map_err(|error| unknown(error.to_string()))?;
            Ok((log, call))
        }
        Subject::Event(seq) => {
            let rows = log.rows(seq, 1).map_err(|error| Failure::store(store, &error))?;
            let row = rows.iter().find(|row| row.event.seq == seq);
            let row = row.ok_or_else(|| unknown(format!("the log has no event {seq}")))?;
            let header = Header::parse(&row.event.header).ok();
            let call = header.and_then(|header| header.call);
            let call = call.ok_or_else(|| unknown(format!("event {seq} belongs to no call")))?;
            Ok((log, call))
        }
        _ => {
            let message = "a receipt is for one call";
            Err(Failure::new(Exit::Usage, "trace.subject", message)
                .next("give call_… or an event number; `weaver trace why` finds the call of an id"))
        }
    }
}

/// The checkpoint that was given, or one that is signed now; and who is believed, if it is said.
fn covering(
    args: &Prove,
    store: &Path,
) -> Result<(Reader, Note, Checkpoint, Option<Trust>), Failure> {
    if let Some(path) = &args.checkpoint {
        let (note, said) = trust_files::note(path)?;
        let trust = trust_files::trust(&args.believed, &said.origin)?;
        return Ok((open(store)?, note, said, trust));
    }
    let TrustArgs { key, until, witness, .. } = &args.believed;
    let key = key.as_deref().ok_or_else(no_key)?;
    if until.is_some() || !witness.is_empty() {
        let message = "--until and --witness judge a checkpoint, and none is given";
        return Err(Failure::new(Exit::Usage, "trace.no_checkpoint", message)
            .next("give --checkpoint FILE, or leave them out"));
    }
    let (note, said, key, log) = checkpoint::sign(store, Path::new(key), &args.passphrase)?;
    Ok((log, note, said, Some(Trust::of(key))))
}

fn holds(log: &Reader, store: &Path, places: &[u64], call: &CallId) -> Result<bool, Failure> {
    for place in places {
        let rows = log.rows(*place, 1).map_err(|error| Failure::store(store, &error))?;
        let header = rows.first().and_then(|row| Header::parse(&row.event.header).ok());
        if header.is_some_and(|header| header.call.as_ref() == Some(call)) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn check(args: &Prove, bytes: &[u8]) -> Result<Exit, Failure> {
    let failed = |error| refused(None, error);
    let receipt = Receipt::parse(bytes).map_err(failed)?;
    let said = Checkpoint::parse(receipt.checkpoint.text()).map_err(failed)?;
    let trust = trust_files::trust(&args.believed, &said.origin)?.ok_or_else(no_key)?;
    let report = receipt.verify(&trust).map_err(failed)?;
    if args.output.json {
        output::json(&as_json(&report))?;
    } else {
        output::text(&text(&report))?;
    }
    Ok(Exit::Ok)
}

fn as_json(report: &ReceiptReport) -> serde_json::Value {
    let events = report.events.iter().map(|event| {
        let payload = event.payload.as_deref();
        json!({
            "seq": event.header.seq,
            "at": event.header.at.rfc3339(),
            "type": event.header.kind.as_str(),
            "disclosed": payload.is_some(),
            "payload": payload.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(bytes).ok()),
        })
    });
    json!({
        "ok": true,
        "call": report.call,
        "log": report.verified.checkpoint.origin,
        "size": report.verified.checkpoint.size,
        "key": report.verified.key.to_string(),
        "witnesses": trust_files::witnesses(&report.verified),
        "ended": report.ended(),
        "events": events.collect::<Vec<_>>(),
    })
}

fn text(report: &ReceiptReport) -> String {
    let checkpoint = &report.verified.checkpoint;
    let mut out = format!(
        "call    {}\nlog     {}, {} events\nkey     {}\n",
        report.call, checkpoint.origin, checkpoint.size, report.verified.key
    );
    for event in &report.events {
        let header = &event.header;
        let payload = match &event.payload {
            Some(payload) => escape::line(&String::from_utf8_lossy(payload)).into_owned(),
            None => output::dim("not disclosed"),
        };
        let (seq, at, kind) = (header.seq, header.at, header.kind);
        out.push_str(&format!("{seq:>6}  {at}  {kind:<20}  {payload}\n"));
    }
    let good = output::good("proven");
    out.push_str(&format!("{good}: these events stand in the log that the key signed\n"));
    let open = output::bold("not proven");
    if !report.ended() {
        out.push_str(&format!("{open}: how the call ended; the receipt does not show it\n"));
    }
    out.push_str(&format!("{open}: that the call has no further events\n"));
    out
}
