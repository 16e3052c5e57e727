//! What operators say: a request or a standing approval is taken back, the clock is right, a run
//! is over.

use serde_json::json;
use weaver_gateway::serve::{ClientKey, CurrentRun, ProcessTable};
use weaver_policy::approval::{
    APPROVAL_VERSION, Nonce, OperatorAction, OperatorWord, Rejection, verify_operator_word,
};
use weaver_types::ledger::Namespace;
use weaver_types::{OsRandom, RunId};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::{Clock, EndRun, Revoke, SignWith};
use super::argument_line::DifferingArguments;
use super::rejections::{refused, unknown};
use super::signer::Signer;
use super::{confirm, duration, inbox, list, screen};
use crate::{Exit, Failure, output};

/// How many runs a message names.
const MAX_SHOWN: usize = 8;

pub(super) fn revoke_request(args: &Revoke) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    if args.id.starts_with("std_") {
        let message = format!("`{}` is a standing approval", screen::line(&args.id, 160));
        return Err(Failure::new(Exit::Usage, "approve.standing", message)
            .next("`weaver approve standing revoke` takes it back"));
    }
    let held = approval_records::one(&place, &args.id)?;
    let request = match &held {
        ApprovalRecord::Open(open) => open.request.id.clone(),
        ApprovalRecord::Ended(_) => return Err(refused(&Rejection::AlreadyResolved)),
        ApprovalRecord::Unreadable { id, .. } => {
            weaver_types::RequestId::parse(id).map_err(|_| unknown("request", id))?
        }
    };
    let shown = list::line(&held, &DifferingArguments::default(), now());
    say(
        &place,
        &args.sign,
        OperatorAction::RevokeRequest { request },
        &shown,
        "Take this request back?",
    )
}

pub(super) fn confirm_clock(args: &Clock) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let now = now();
    let until = duration::point(&args.until, now)?;
    if until <= now {
        let message = format!("{until} is over: it is {now} on this machine");
        return Err(
            Failure::new(Exit::Usage, "approve.time", message).next("give a time in the future")
        );
    }
    let last = place
        .last_event()?
        .map_or_else(String::new, |at| format!("The last event in the log is of {at}.\n"));
    let shown =
        format!("{last}The clock of this machine says {now}.\nIt is confirmed up to {until}.\n");
    say(
        &place,
        &args.sign,
        OperatorAction::ConfirmClock { until },
        &shown,
        "Is that the right time?",
    )
}

pub(super) fn end_run(args: &EndRun) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let run = match &args.run {
        Some(id) => known_run(&place, id)?,
        None => current_run(&place)?,
    };
    let shown = format!("run {}\n", screen::line(run.as_str(), 160));
    say(&place, &args.sign, OperatorAction::EndRun { run }, &shown, "End this run?")
}

/// Signs a word and drops it into the inbox.
pub(super) fn say(
    place: &ApprovalStore,
    args: &SignWith,
    word: OperatorAction,
    shown: &str,
    question: &str,
) -> Result<Exit, Failure> {
    let inbox = place.inbox()?;
    let person = Signer::find(args, place, now())?;
    if person.approver(place).is_some_and(|approver| !approver.operator) {
        return Err(refused(&Rejection::NotOperator));
    }
    let notes: String = place.notes.iter().map(|note| format!("note: {note}\n")).collect();
    confirm::ask(args, &format!("{shown}{notes}"), question)?;
    let key = person.unlock(args)?;
    let (log, at) = (place.log()?, now());
    let nonce = Nonce::random(&OsRandom)
        .map_err(|error| Failure::new(Exit::Internal, "approve.random", error))?;
    let internal = |error: String| Failure::new(Exit::Internal, "approve.signing", error);
    let said = OperatorWord {
        v: APPROVAL_VERSION,
        word,
        log: log.clone(),
        approver: person.name.clone(),
        at,
        nonce,
    };
    let signed = said.sign(&key).map_err(|error| internal(error.to_string()))?;
    if let Some(keys) = place.keys() {
        // The very check that the gateway makes.
        verify_operator_word(keys, &log, &signed, place.moment(at), |_| false)
            .map_err(|rejection| refused(&rejection))?;
    }
    let bytes = signed.to_json().map_err(|error| internal(error.to_string()))?;
    let file = inbox::drop(inbox, &about(&signed.operator_word.word), &bytes)?;
    report(args, &signed.operator_word, &file)
}

fn about(word: &OperatorAction) -> String {
    match word {
        OperatorAction::RevokeRequest { request } => format!("revoke-{request}"),
        OperatorAction::RevokeStanding { standing } => format!("revoke-{standing}"),
        OperatorAction::ConfirmClock { .. } => "clock".to_owned(),
        OperatorAction::EndRun { run } => format!("end-{run}"),
        OperatorAction::Outcome(_) => "outcome".to_owned(),
        _ => "word".to_owned(),
    }
}

fn report(args: &SignWith, said: &OperatorWord, file: &std::path::Path) -> Result<Exit, Failure> {
    let file = file.display();
    if args.output.json {
        let value = json!({
            "ok": true,
            "word": said.word,
            "approver": said.approver,
            "at": said.at.rfc3339(),
            "file": file.to_string(),
        });
        output::line(&screen::json(&value))?;
    } else {
        let good = output::good("signed");
        let name = screen::line(&said.approver, 80);
        output::text(&format!(
            "{good} by {name}\n{file}\n  next: the gateway verifies it within 15 minutes, or it \
             counts for nothing; the log tells: `weaver trace list`\n"
        ))?;
    }
    Ok(Exit::Ok)
}

/// The run of this name, if the ledger knows it.
fn known_run(place: &ApprovalStore, id: &str) -> Result<RunId, Failure> {
    let run = RunId::parse(id).map_err(|_| unknown("run", id))?;
    let mut known = current_runs(place)?.iter().any(|current| current.run == run);
    place.records(Namespace::Run, |found, _| known |= found == run.as_str())?;
    if known { Ok(run) } else { Err(unknown("run", id)) }
}

/// The run in which a client of the gateway's principal works now, where there is only one.
fn current_run(place: &ApprovalStore) -> Result<RunId, Failure> {
    let mut runs = current_runs(place)?;
    if let Some(principal) = &place.principal {
        runs.retain(|current| current.principal == *principal);
    }
    let processes = ProcessTable::default();
    let gone = |client: &Option<ClientKey>| match client {
        Some(ClientKey::Process(process)) => processes.is_gone(process),
        _ => false,
    };
    runs.retain(|current| !gone(&current.client));
    let message = match runs.as_slice() {
        [] => "no run is under way".to_owned(),
        [only] => return Ok(only.run.clone()),
        several => {
            let shown: Vec<String> = several.iter().take(MAX_SHOWN).map(run_line).collect();
            let more = several.len().saturating_sub(MAX_SHOWN);
            let more = if more > 0 { format!("; {more} more") } else { String::new() };
            format!("several runs are under way: {}{more}", shown.join("; "))
        }
    };
    Err(Failure::new(Exit::Unknown, "approve.unknown", message)
        .next("name the run; `weaver trace list event:run.started` lists the runs"))
}

fn run_line(current: &CurrentRun) -> String {
    let CurrentRun { principal, client, run, last_used, .. } = current;
    let client = client.as_ref().map_or_else(|| "any client".to_owned(), ClientKey::shown);
    let (run, principal) = (screen::line(run.as_str(), 160), screen::line(principal.as_str(), 80));
    format!("{run} ({principal}, {client}, used {})", last_used.rfc3339())
}

/// The current runs that can be read, one for each client process of a principal.
fn current_runs(place: &ApprovalStore) -> Result<Vec<CurrentRun>, Failure> {
    let mut runs = Vec::new();
    place.records(Namespace::CurrentRun, |id, record| {
        runs.extend(CurrentRun::read(id, &record.value));
    })?;
    Ok(runs)
}
