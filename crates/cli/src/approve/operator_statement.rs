//! Operator statements: revoke a request or a standing approval, confirm the clock, end a run.

use serde_json::json;
use weaver_gateway::serve::{ClientKey, CurrentRun, ProcessTable};
use weaver_policy::approval::{
    APPROVAL_VERSION, Nonce, OperatorAction, OperatorStatement, Rejection,
    verify_operator_statement,
};
use weaver_types::ledger::Namespace;
use weaver_types::{OsRandom, RunId};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::{Clock, EndRun, Revoke, SignWith};
use super::argument_line::DifferingArguments;
use super::rejections::{not_found_failure, rejection_failure};
use super::signer::Signer;
use super::{confirm, duration, inbox, list, terminal_text};
use crate::{Exit, Failure, output};

/// How many runs a message lists.
const MAX_RUNS_SHOWN: usize = 8;

pub(super) fn revoke_request(args: &Revoke) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    if args.id.starts_with("std_") {
        let message =
            format!("`{}` is a standing approval", terminal_text::escape_line(&args.id, 160));
        return Err(Failure::new(Exit::Usage, "approve.standing", message)
            .with_next_step("`weaver approve standing revoke` takes it back"));
    }
    let record = approval_records::find(&store, &args.id)?;
    let request = match &record {
        ApprovalRecord::Open(open) => open.request.id.clone(),
        ApprovalRecord::Ended(_) => return Err(rejection_failure(&Rejection::AlreadyResolved)),
        ApprovalRecord::Unreadable { id, .. } => weaver_types::ApprovalRequestId::parse(id)
            .map_err(|_| not_found_failure("request", id))?,
    };
    let shown = list::request_lines(&record, &DifferingArguments::default(), now());
    sign_and_submit(
        &store,
        &args.sign,
        OperatorAction::RevokeRequest { request },
        &shown,
        "Take this request back?",
    )
}

pub(super) fn confirm_clock(args: &Clock) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let now = now();
    let until = duration::parse_time(&args.until, now)?;
    if until <= now {
        let message = format!("{until} is over: it is {now} on this machine");
        return Err(Failure::new(Exit::Usage, "approve.time", message)
            .with_next_step("give a time in the future"));
    }
    let last = store
        .last_event_time()?
        .map_or_else(String::new, |at| format!("The last event in the log is of {at}.\n"));
    let shown =
        format!("{last}The clock of this machine says {now}.\nIt is confirmed up to {until}.\n");
    sign_and_submit(
        &store,
        &args.sign,
        OperatorAction::ConfirmClock { until },
        &shown,
        "Is that the right time?",
    )
}

pub(super) fn end_run(args: &EndRun) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let run = match &args.run {
        Some(id) => find_run(&store, id)?,
        None => current_run(&store)?,
    };
    let shown = format!("run {}\n", terminal_text::escape_line(run.as_str(), 160));
    sign_and_submit(&store, &args.sign, OperatorAction::EndRun { run }, &shown, "End this run?")
}

/// Signs an operator statement and submits it to the inbox.
pub(super) fn sign_and_submit(
    store: &ApprovalStore,
    args: &SignWith,
    word: OperatorAction,
    shown: &str,
    question: &str,
) -> Result<Exit, Failure> {
    let inbox = store.inbox()?;
    let person = Signer::find(args, store, now())?;
    if person.approver(store).is_some_and(|approver| !approver.operator) {
        return Err(rejection_failure(&Rejection::NotOperator));
    }
    let notes: String = store.notes.iter().map(|note| format!("note: {note}\n")).collect();
    confirm::ask(args, &format!("{shown}{notes}"), question)?;
    let key = person.unlock(args)?;
    let (log, at) = (store.log_id()?, now());
    let nonce = Nonce::random(&OsRandom)
        .map_err(|error| Failure::new(Exit::Internal, "approve.random", error))?;
    let internal = |error: String| Failure::new(Exit::Internal, "approve.signing", error);
    let statement = OperatorStatement {
        v: APPROVAL_VERSION,
        action: word,
        log: log.clone(),
        approver: person.name.clone(),
        at,
        nonce,
    };
    let signed = statement.sign(&key).map_err(|error| internal(error.to_string()))?;
    if let Some(keys) = store.keys() {
        // The same check that the gateway makes.
        verify_operator_statement(keys, &log, &signed, store.receipt_time(at), |_| false)
            .map_err(|rejection| rejection_failure(&rejection))?;
    }
    let bytes = signed.to_json().map_err(|error| internal(error.to_string()))?;
    let file = inbox::submit(inbox, &file_subject(&signed.operator_statement.action), &bytes)?;
    print_statement(args, &signed.operator_statement, &file)
}

fn file_subject(word: &OperatorAction) -> String {
    match word {
        OperatorAction::RevokeRequest { request } => format!("revoke-{request}"),
        OperatorAction::RevokeStanding { standing } => format!("revoke-{standing}"),
        OperatorAction::ConfirmClock { .. } => "clock".to_owned(),
        OperatorAction::EndRun { run } => format!("end-{run}"),
        OperatorAction::Outcome(_) => "outcome".to_owned(),
        _ => "word".to_owned(),
    }
}

fn print_statement(
    args: &SignWith,
    statement: &OperatorStatement,
    file: &std::path::Path,
) -> Result<Exit, Failure> {
    let file = file.display();
    if args.output.json {
        let value = json!({
            "ok": true,
            "word": statement.action,
            "approver": statement.approver,
            "at": statement.at.rfc3339(),
            "file": file.to_string(),
        });
        output::line(&terminal_text::escape_json(&value))?;
    } else {
        let good = output::good("signed");
        let name = terminal_text::escape_line(&statement.approver, 80);
        output::text(&format!(
            "{good} by {name}\n{file}\n  next: the gateway verifies it within 15 minutes, or it \
             counts for nothing; the log tells: `weaver trace list`\n"
        ))?;
    }
    Ok(Exit::Ok)
}

/// The run with this id, if the ledger has it.
fn find_run(store: &ApprovalStore, id: &str) -> Result<RunId, Failure> {
    let run = RunId::parse(id).map_err(|_| not_found_failure("run", id))?;
    let mut known = current_runs(store)?.iter().any(|current| current.run == run);
    store.for_each_record(Namespace::Run, |found, _| known |= found == run.as_str())?;
    if known { Ok(run) } else { Err(not_found_failure("run", id)) }
}

/// The run that a client of the gateway's principal works in now, if there is exactly one.
fn current_run(store: &ApprovalStore) -> Result<RunId, Failure> {
    let mut runs = current_runs(store)?;
    if let Some(principal) = &store.principal {
        runs.retain(|current| current.principal == *principal);
    }
    let processes = ProcessTable::default();
    runs.retain(|current| match &current.client {
        ClientKey::Process(process) => !processes.has_exited(process),
        _ => true,
    });
    let message = match runs.as_slice() {
        [] => "no run is under way".to_owned(),
        [only] => return Ok(only.run.clone()),
        several => {
            let shown: Vec<String> = several.iter().take(MAX_RUNS_SHOWN).map(run_line).collect();
            let more = several.len().saturating_sub(MAX_RUNS_SHOWN);
            let more = if more > 0 { format!("; {more} more") } else { String::new() };
            format!("several runs are under way: {}{more}", shown.join("; "))
        }
    };
    Err(Failure::new(Exit::NotFound, "approve.unknown", message)
        .with_next_step("name the run; `weaver trace list event:run.started` lists the runs"))
}

fn run_line(current: &CurrentRun) -> String {
    let CurrentRun { principal, client, run, last_used, .. } = current;
    let client = client.display_text();
    let (run, principal) = (
        terminal_text::escape_line(run.as_str(), 160),
        terminal_text::escape_line(principal.as_str(), 80),
    );
    format!("{run} ({principal}, {client}, used {})", last_used.rfc3339())
}

/// The current runs that can be read: one for each client process of a principal.
fn current_runs(store: &ApprovalStore) -> Result<Vec<CurrentRun>, Failure> {
    let mut runs = Vec::new();
    store.for_each_record(Namespace::CurrentRun, |_, record| {
        runs.extend(CurrentRun::from_bytes(&record.value));
    })?;
    Ok(runs)
}
