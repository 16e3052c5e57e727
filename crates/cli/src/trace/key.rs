//! `weaver trace key`.

use std::path::Path;

use serde_json::json;
use weaver_gateway::secret::KeyFile;
use weaver_trace_store::checkpoint::{KeyChange, KeyHistory, VerifierKey};
use weaver_types::EventKind;
use weaver_types::ledger::{Batch, Durability, Ledger as _, NewEvent};

use super::proof_args::{Change, Key};
use super::trust_files::checkpoint_failure;
use super::writable_ledger;
use crate::output::OutputFormat;
use crate::{Exit, Failure, ledger_clock, output};

pub(super) fn run(args: &Key) -> Result<Exit, Failure> {
    match args {
        Key::Show { ledger, output } => show_keys(&ledger.store, output.format()),
        Key::Declare(change) => apply_change(change, &KeyAction::Declare),
        Key::Rotate { change, to } => apply_change(change, &KeyAction::Rotate(to)),
        Key::End(change) => apply_change(change, &KeyAction::End),
    }
}

#[derive(Clone, Copy)]
enum KeyAction<'a> {
    Declare,
    Rotate(&'a Path),
    End,
}

fn show_keys(store: &Path, format: OutputFormat) -> Result<Exit, Failure> {
    let history = KeyHistory::from_log(&super::open_ledger(store)?)
        .map_err(|error| checkpoint_failure(Some(store), error))?;
    let keys: Vec<String> = history.keys().map(ToString::to_string).collect();
    let current = history.current().map(ToString::to_string);
    if format == OutputFormat::Json {
        output::json(&json!({ "current": current, "keys": keys }))?;
        return Ok(Exit::Ok);
    }
    for key in &keys {
        let word = if current.as_ref() == Some(key) { "in force" } else { "ended   " };
        output::line(&format!("{word}  {key}"))?;
    }
    if current.is_none() {
        output::line("the log names no key in force; `weaver trace key declare` names one")?;
    }
    Ok(Exit::Ok)
}

/// Appends the change to the log, if verifiers would accept it.
fn apply_change(args: &Change, action: &KeyAction<'_>) -> Result<Exit, Failure> {
    let store = args.ledger.store.as_path();
    let failed = |error| checkpoint_failure(Some(store), error);
    let next = match action {
        KeyAction::Rotate(to) => Some(*KeyFile::read(to)?.public()),
        KeyAction::Declare | KeyAction::End => None,
    };
    drop(super::open_ledger(store)?);
    let signer = args.passphrase.unlock(&args.key, &KeyFile::read(&args.key)?)?;
    // The ledger is opened after the passphrase was typed, so that nobody waits for it.
    let opened = writable_ledger::open(store, "weaver trace key")?;
    let ledger = &opened.ledger;
    let head = ledger.head().map_err(|error| Failure::store(store, &error))?;
    let (log, from) = (&head.log, head.size);
    let signer_key = VerifierKey::log(log, signer.public()).map_err(failed)?;
    let change = match (action, next) {
        (KeyAction::Declare, _) => KeyChange::declare(signer_key, from),
        (_, next) => {
            let next = next.map(|next| VerifierKey::log(log, next)).transpose().map_err(failed)?;
            KeyChange::sign(log, &signer, next, from).map_err(failed)?
        }
    };
    let payload = change.to_payload().map_err(failed)?;
    let mut history = KeyHistory::from_log(ledger).map_err(failed)?;
    if history.current().is_none() && !matches!(action, KeyAction::Declare) {
        let message = "the log names no key in force, so there is none to rotate or to end";
        return Err(Failure::new(Exit::Failed, "checkpoint.key_event", message)
            .with_next_step("name the key that signs it: `weaver trace key declare`"));
    }
    history.apply_event(log, from, &payload).map_err(failed)?;
    let event = NewEvent {
        kind: EventKind::LogKey,
        at: ledger_clock::now(store, ledger)?,
        run: None,
        call: None,
        payload: payload.into(),
    };
    let done = ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait();
    let seq = done.map_err(|error| Failure::store(store, &error))?.first_seq;
    let (seq, current) = (seq.unwrap_or(from), history.current().map(ToString::to_string));
    if args.output.json {
        output::json(&json!({ "event": seq, "current": current }))?;
    } else {
        let good = output::good("recorded");
        output::text(&match current {
            Some(key) => format!(
                "{good} as event {seq}; from there on the log is signed by\n{key}\nGive that to \
                 whoever is to verify, by another way than the log.\n"
            ),
            None => format!("{good} as event {seq}; the log has no key from there on\n"),
        })?;
    }
    Ok(Exit::Ok)
}
