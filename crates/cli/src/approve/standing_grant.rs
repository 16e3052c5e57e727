//! Writes and signs standing approvals.

use std::path::Path;

use serde_json::json;
use weaver_gateway::bounded_file;
use weaver_policy::Pattern;
use weaver_policy::approval::{
    HeldCheck, MAX_SIGNED_FILE_BYTES, Rejection, SignedFile, SignedStandingApproval,
    StandingApproval, verify_standing_approval,
};
use weaver_types::CheckKind;
use weaver_types::signature::Envelope;

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::{SignWith, StandingGrant, StandingSign};
use super::rejections::rejection_failure;
use super::signer::Signer;
use super::terms::{self, Terms};
use super::{confirm, inbox, terminal_text};
use crate::{Exit, Failure, output};

/// The most requests that are named as ones that a standing approval would not release.
const MAX_NOTES: usize = 3;

pub(super) fn grant(args: &StandingGrant) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.place)?;
    if let Some(out) = args.out.as_ref().filter(|out| out.exists()) {
        let message = format!("{} is there already", out.display());
        return Err(Failure::new(Exit::Invalid, "approve.exists", message).with_next_step(
            "choose another name; to add a signature, `weaver approve standing sign`",
        ));
    }
    let standing = Terms::read(args)?.standing(store.log_id()?, store.tenant.clone(), now())?;
    let question = "Approve all these calls in advance?";
    for note in unreleased_notes(&store, &standing)? {
        output::stderr(&format!("note: {note}\n"));
    }
    let envelope = show_and_sign(&store, &args.sign, &standing, question)?;
    let signed = SignedStandingApproval { standing, envelopes: vec![envelope] };
    let missing = missing_signatures(&store, &signed)?;
    match &args.out {
        None => match missing {
            Some(rejection) => Err(rejection_failure(&rejection)),
            None => submit(&store, &args.sign, &signed),
        },
        Some(out) => {
            write(out, &signed)?;
            report_unsent(&args.sign, &signed, out, missing.as_ref())
        }
    }
}

pub(super) fn sign(args: &StandingSign) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let mut signed = read(&args.file)?;
    if signed.standing.log != store.log_id()? {
        return Err(rejection_failure(&Rejection::WrongLog));
    }
    if now() >= signed.standing.expires {
        return Err(rejection_failure(&Rejection::TooLate));
    }
    let question = "Approve all these calls in advance, with those who signed before?";
    let envelope = show_and_sign(&store, &args.sign, &signed.standing, question)?;
    if signed.envelopes.iter().any(|earlier| earlier.key() == envelope.key()) {
        return Err(rejection_failure(&Rejection::Replayed));
    }
    signed.envelopes.push(envelope);
    let missing = missing_signatures(&store, &signed)?;
    write(&args.file, &signed)?;
    if args.keep || missing.is_some() {
        report_unsent(&args.sign, &signed, &args.file, missing.as_ref())
    } else {
        submit(&store, &args.sign, &signed)
    }
}

/// A line for each request that waits, that the terms name, and that is held by a check which no approval given in
/// advance releases: what a run has read, a changed contract or a signal.
fn unreleased_notes(
    store: &ApprovalStore,
    standing: &StandingApproval,
) -> Result<Vec<String>, Failure> {
    let now = now();
    let waiting = approval_records::find_all(store, |record| record.status(now) == "requested")?;
    let notes = waiting.iter().filter_map(|record| {
        let ApprovalRecord::Open(open) = record else { return None };
        let request = &open.request;
        let fits = |patterns: &[Pattern], name: &str| patterns.iter().any(|one| one.matches(name));
        if !fits(&standing.capability, request.capability.as_str())
            || !fits(&standing.principals, request.principal.as_str())
        {
            return None;
        }
        let is_releasable =
            |held: &&HeldCheck| matches!(held.check, CheckKind::Rule | CheckKind::Floor);
        let held = request.holds.iter().find(|held| !is_releasable(held))?;
        let (id, tool) = (&request.id, terminal_text::escape_line(request.capability.as_str(), 120));
        Some(format!(
            "{id} ({tool}) is also held by `{}`, which no standing approval releases; `weaver approve grant \
             {id}` releases that call",
            held.reason.as_str()
        ))
    });
    Ok(notes.take(MAX_NOTES).collect())
}

/// Shows the standing approval, asks, and signs what was shown.
fn show_and_sign(
    store: &ApprovalStore,
    args: &SignWith,
    standing: &StandingApproval,
    question: &str,
) -> Result<Envelope, Failure> {
    let person = Signer::find(args, store, now())?;
    let notes: String = store.notes.iter().map(|note| format!("note: {note}\n")).collect();
    confirm::ask(args, &format!("{}{notes}", terms::statement_text(standing)?), question)?;
    let key = person.unlock(args)?;
    standing
        .envelope(&key, now())
        .map_err(|error| Failure::new(Exit::Internal, "approve.signing", error))
}

/// The rejection for too few signatures, if that is all the gateway would reject it for; any other
/// rejection is an error here.
fn missing_signatures(
    store: &ApprovalStore,
    signed: &SignedStandingApproval,
) -> Result<Option<Rejection>, Failure> {
    let (Some(keys), Some(set)) = (store.keys(), store.documents()) else { return Ok(None) };
    let (bounds, moment) = (&set.approvals().standing, store.receipt_time(now()));
    match verify_standing_approval(keys, &store.log_id()?, signed, bounds, moment) {
        Ok(_) => Ok(None),
        Err(quorum @ Rejection::Quorum { .. }) => Ok(Some(quorum)),
        Err(rejection) => Err(rejection_failure(&rejection)),
    }
}

fn read(path: &Path) -> Result<SignedStandingApproval, Failure> {
    let invalid = |problem: String| {
        Failure::new(Exit::Invalid, "approve.terms", format!("{}: {problem}", path.display()))
            .with_next_step("name a file that `weaver approve standing grant --out FILE` wrote")
    };
    let bytes = bounded_file::read_bytes(path, MAX_SIGNED_FILE_BYTES)
        .map_err(|error| invalid(error.to_string()))?;
    match SignedFile::parse(&bytes) {
        Ok(SignedFile::Standing(signed)) => Ok(signed),
        Ok(_) => Err(invalid("it is not a standing approval".to_owned())),
        Err(rejection) => Err(invalid(rejection.to_string())),
    }
}

fn bytes(signed: &SignedStandingApproval) -> Result<Vec<u8>, Failure> {
    signed.to_json().map_err(|error| Failure::new(Exit::Internal, "approve.signing", error))
}

fn write(path: &Path, signed: &SignedStandingApproval) -> Result<(), Failure> {
    inbox::write_atomically(path, &bytes(signed)?).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(Exit::Invalid, "approve.unwritable", message)
            .with_next_step("make the folder writable, then sign again")
    })
}

fn submit(
    store: &ApprovalStore,
    args: &SignWith,
    signed: &SignedStandingApproval,
) -> Result<Exit, Failure> {
    let id = &signed.standing.id;
    let file = inbox::submit(store.inbox()?, id.as_str(), &bytes(signed)?)?;
    let next = format!(
        "the gateway verifies it and puts it into force; `weaver approve standing show {id}` tells"
    );
    report(args, signed, &file, &SignOutcome { sent: true, next })
}

fn report_unsent(
    args: &SignWith,
    signed: &SignedStandingApproval,
    file: &Path,
    missing: Option<&Rejection>,
) -> Result<Exit, Failure> {
    let missing = missing.map_or_else(|| "enough people agreed".to_owned(), ToString::to_string);
    let next = format!(
        "{missing}; the next one signs with `weaver approve standing sign {} --key FILE`",
        file.display()
    );
    report(args, signed, file, &SignOutcome { sent: false, next })
}

/// Where a signed standing approval is now, and the next step.
struct SignOutcome {
    /// Whether it was submitted to the inbox.
    sent: bool,
    next: String,
}

fn report(
    args: &SignWith,
    signed: &SignedStandingApproval,
    file: &Path,
    outcome: &SignOutcome,
) -> Result<Exit, Failure> {
    let (id, file) = (&signed.standing.id, file.display());
    if args.output.json {
        let value = json!({
            "ok": true,
            "standing": id,
            "signatures": signed.envelopes.len(),
            "sent": outcome.sent,
            "file": file.to_string(),
        });
        output::line(&terminal_text::escape_json(&value))?;
    } else {
        let good = output::good("signed");
        let next = terminal_text::escape_line(&outcome.next, 400);
        output::text(&format!("{good} {id}\n{file}\n  next: {next}\n"))?;
    }
    Ok(Exit::Ok)
}
