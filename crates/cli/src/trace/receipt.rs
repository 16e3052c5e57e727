//! Makes and checks receipts for single calls.

use std::path::Path;

use serde_json::json;
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::checkpoint::{
    CallReceipt, Checkpoint, SignedNote, TrustPolicy, VerifiedReceipt, events_of_call,
};
use weaver_trace_store::entry::EventHeader;
use weaver_trace_store::project::StorySubject;
use weaver_trace_store::verify::LogSource as _;
use weaver_types::CallId;
use weaver_types::canonical::{self, Profile};

use super::proof_args::{Prove, TrustArgs};
use super::prove::{no_key_failure, write_proof};
use super::trust_files::{self, checkpoint_failure};
use super::{open_ledger, why};
use crate::{Exit, Failure, config_path, output};

pub(super) fn make(args: &Prove, id: &str) -> Result<Exit, Failure> {
    let store = match &args.store {
        Some(store) => store.clone(),
        None => config_path::default_store()?,
    };
    let store = store.as_path();
    let failed = |error| checkpoint_failure(Some(store), error);
    let (log, call) = find_call(store, id)?;
    let (log, note, checkpoint, trust) = covering_checkpoint(args, store, log)?;
    let positions = events_of_call(&log, &call, checkpoint.size).map_err(failed)?;
    if !has_event_of(&log, store, &positions, &call)? {
        let message =
            format!("the checkpoint of {} events covers no event of {call}", checkpoint.size);
        return Err(Failure::new(Exit::NotFound, "trace.not_covered", message)
            .with_next_step("sign a newer one: leave --checkpoint out and give --key FILE"));
    }
    let receipt =
        CallReceipt::make(&log, &note, &call, &positions, args.disclose).map_err(failed)?;
    let bytes = receipt.to_bytes().map_err(failed)?;
    // Parses the receipt as its receiver will, and verifies it if a key was given.
    let read = CallReceipt::parse(&bytes).map_err(failed)?;
    let report = trust.map(|trust| read.verify(&trust)).transpose().map_err(failed)?;
    write_proof(args, bytes)?;
    match (report, &args.out) {
        // The receipt itself is on standard output.
        (_, None) => {}
        (Some(report), Some(_)) if args.output.json => output::json(&receipt_json(&report))?,
        (Some(report), Some(path)) => {
            let good = output::good("proven");
            let count = report.events.len();
            output::line(&format!("{good} {count} events of {call} → {}", path.display()))?;
        }
        (None, Some(path)) if args.output.json => {
            output::json(&json!({ "call": call, "file": path, "verified": false }))?;
        }
        (None, Some(path)) => {
            let name = path.display();
            output::line(&format!("{name} is written, not verified: give --key FILE to check it"))?;
        }
    }
    Ok(Exit::Ok)
}

/// The call with this id, or the call of this event.
fn find_call(store: &Path, id: &str) -> Result<(Reader, CallId), Failure> {
    let log = open_ledger(store)?;
    let unknown = |message: String| {
        Failure::new(Exit::NotFound, "trace.unknown", message)
            .with_next_step("`weaver trace list` shows events with their calls")
    };
    match why::parse_subject(id)? {
        StorySubject::Call(id) => {
            let call = CallId::parse(&id).map_err(|error| unknown(error.to_string()))?;
            Ok((log, call))
        }
        StorySubject::Event(seq) => {
            let rows = log.rows(seq, 1).map_err(|error| Failure::store(store, &error))?;
            let row = rows.iter().find(|row| row.event.seq == seq);
            let row = row.ok_or_else(|| unknown(format!("the log has no event {seq}")))?;
            let header = EventHeader::parse(&row.event.header).ok();
            let call = header.and_then(|header| header.call);
            let call = call.ok_or_else(|| unknown(format!("event {seq} belongs to no call")))?;
            Ok((log, call))
        }
        _ => {
            let message = "a receipt is for one call";
            Err(Failure::new(Exit::Usage, "trace.subject", message).with_next_step(
                "give call_… or an event number; `weaver trace why` finds the call of an id",
            ))
        }
    }
}

/// The given checkpoint, or a newly signed one; and the trust policy, if a key was given. A new one
/// comes with the log as it was opened for signing.
fn covering_checkpoint(
    args: &Prove,
    store: &Path,
    log: Reader,
) -> Result<(Reader, SignedNote, Checkpoint, Option<TrustPolicy>), Failure> {
    if let Some(path) = &args.checkpoint {
        let (note, checkpoint) = trust_files::read_checkpoint(path)?;
        let trust = trust_files::trust_policy(&args.believed, &checkpoint.origin)?;
        return Ok((log, note, checkpoint, trust));
    }
    let TrustArgs { key, until, witness, .. } = &args.believed;
    let key = key.as_deref().ok_or_else(no_key_failure)?;
    if until.is_some() || !witness.is_empty() {
        let message = "--until and --witness judge a checkpoint, and none is given";
        return Err(Failure::new(Exit::Usage, "trace.no_checkpoint", message)
            .with_next_step("give --checkpoint FILE, or leave them out"));
    }
    drop(log);
    let (note, checkpoint, key, log) =
        super::checkpoint::sign(store, Path::new(key), &args.passphrase)?;
    Ok((log, note, checkpoint, Some(TrustPolicy::new(key))))
}

fn has_event_of(
    log: &Reader,
    store: &Path,
    positions: &[u64],
    call: &CallId,
) -> Result<bool, Failure> {
    for position in positions {
        let rows = log.rows(*position, 1).map_err(|error| Failure::store(store, &error))?;
        let header = rows.first().and_then(|row| EventHeader::parse(&row.event.header).ok());
        if header.is_some_and(|header| header.call.as_ref() == Some(call)) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn check(args: &Prove, bytes: &[u8]) -> Result<Exit, Failure> {
    let failed = |error| checkpoint_failure(None, error);
    // Whoever took it out of an answer may have written its JSON in another way.
    let canonical = canonical::parse(bytes, Profile::Record)
        .ok()
        .and_then(|value| canonical::to_bytes(&value, Profile::Record).ok());
    let receipt = CallReceipt::parse(canonical.as_deref().unwrap_or(bytes)).map_err(failed)?;
    let checkpoint = Checkpoint::parse(receipt.checkpoint.text()).map_err(failed)?;
    let trust = trust_files::trust_policy(&args.believed, &checkpoint.origin)?
        .ok_or_else(no_key_failure)?;
    let report = receipt.verify(&trust).map_err(failed)?;
    if args.output.json {
        output::json(&receipt_json(&report))?;
    } else {
        output::text(&receipt_text(&report))?;
    }
    Ok(Exit::Ok)
}

fn receipt_json(report: &VerifiedReceipt) -> serde_json::Value {
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
        "ended": report.shows_end(),
        "events": events.collect::<Vec<_>>(),
    })
}

fn receipt_text(report: &VerifiedReceipt) -> String {
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
    if !report.shows_end() {
        out.push_str(&format!("{open}: how the call ended; the receipt does not show it\n"));
    }
    out.push_str(&format!("{open}: that the call has no further events\n"));
    out
}
