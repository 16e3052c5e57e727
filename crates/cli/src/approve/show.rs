//! `weaver approve show`.

use serde_json::{Value, json};
use weaver_agent_kernel::OpenApproval;
use weaver_policy::TrustedDestination;
use weaver_policy::approval::HeldCheck;
use weaver_types::canonical::CanonicalError;
use weaver_types::{Digest, ReasonCode, Timestamp};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::Show;
use super::argument_line::DifferingArguments;
use super::duration::words;
use super::list::{self, authority};
use super::screen;
use crate::{Exit, Failure, output};

/// A request as the approver sees it, with the digest of the bytes that it was made from.
pub(super) struct ShownRequest {
    pub(super) text: String,
    pub(super) digest: Digest,
}

impl ShownRequest {
    /// Renders a request. The text ends with the digest, and both come from the same bytes.
    pub(super) fn of(
        place: &ApprovalStore,
        open: &OpenApproval,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let rendered = open.request.render().map_err(|error| unprintable(&error))?;
        let digest = open.request.digest().map_err(|error| unprintable(&error))?;
        Ok(Self { text: format!("{}{rendered}", head(place, open, now)), digest })
    }
}

pub(super) fn run(args: &Show) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let now = now();
    let held = approval_records::one(&place, &args.id)?;
    if args.output.json {
        let value = whole(&place, &held, now)?;
        output::line(&screen::json(&value))?;
        return Ok(Exit::Ok);
    }
    match &held {
        ApprovalRecord::Open(open) => output::text(&ShownRequest::of(&place, open, now)?.text)?,
        ApprovalRecord::Ended(ended) => {
            let text = list::line(&held, &DifferingArguments::default(), now);
            let run = screen::line(ended.run.as_str(), 160);
            output::text(&format!(
                "{text}run: {run}\ndigest: {}\nIts arguments were erased when it ended.\n",
                ended.digest
            ))?;
        }
        ApprovalRecord::Unreadable { .. } => {
            output::text(&list::line(&held, &DifferingArguments::default(), now))?
        }
    }
    Ok(Exit::Ok)
}

fn whole(place: &ApprovalStore, held: &ApprovalRecord, now: Timestamp) -> Result<Value, Failure> {
    let mut value = approval_records::summary(held, now);
    if let (ApprovalRecord::Open(open), Value::Object(fields)) = (held, &mut value) {
        let shown = ShownRequest::of(place, open, now)?;
        fields.insert("request".to_owned(), json!(open.request));
        fields.insert("shown".to_owned(), json!(shown.text));
        fields.insert("can_release".to_owned(), json!(able(place, open, now)));
        fields.insert("notes".to_owned(), json!(notes(place, open)?));
    }
    Ok(value)
}

/// What stands above the request itself: where it stands and who could release it.
fn head(place: &ApprovalStore, open: &OpenApproval, now: Timestamp) -> String {
    let request = &open.request;
    let status = held_status(open, now);
    let left = match open.left(now) {
        left if left.is_zero() => "its deadline is over".to_owned(),
        left => format!("{} left", words(left)),
    };
    let mut out = format!("{} {status}, {left}\n", request.id);
    let agreed: Vec<_> = open.state.votes().keys().map(|name| screen::line(name, 80)).collect();
    let agreed = if agreed.is_empty() { "nobody yet".to_owned() } else { agreed.join(", ") };
    out.push_str(&format!("needs       {}\n", authority(&request.authority)));
    out.push_str(&format!("agreed      {agreed}\n"));
    if let Some(able) = able(place, open, now) {
        let able: Vec<_> = able.iter().map(|name| screen::line(name, 80)).collect();
        let able = if able.is_empty() {
            "nobody in the keys document".to_owned()
        } else {
            able.join(", ")
        };
        out.push_str(&format!("can agree   {able}\n"));
    }
    if let Some(host) = host_of_tainted_read(open) {
        out.push_str(&format!(
            "note        where it only reads: `weaver allow CALL` reads on from {host} without asking \
             (`weaver trace` has the call)\n"
        ));
    }
    for note in notes(place, open).unwrap_or_default() {
        out.push_str(&format!("note        {note}\n"));
    }
    out.push('\n');
    out
}

/// The host of a call that waits for nothing but that somebody else may have chosen its address.
fn host_of_tainted_read(open: &OpenApproval) -> Option<TrustedDestination> {
    let tainted = |held: &HeldCheck| held.reason == ReasonCode::UntrustedInfluence;
    let request = &open.request;
    let destination = TrustedDestination::of_arguments(&request.arguments)?;
    request.holds.iter().all(tainted).then_some(destination)
}

fn held_status(open: &OpenApproval, now: Timestamp) -> &'static str {
    if now >= open.request.deadline {
        "has expired"
    } else {
        match approval_records::word(open.state.phase()) {
            "requested" => "waits for an approval",
            other => other,
        }
    }
}

/// The people whose agreement would still count, where the keys document can be read.
fn able<'p>(place: &'p ApprovalStore, open: &OpenApproval, now: Timestamp) -> Option<Vec<&'p str>> {
    let keys = place.keys()?;
    let asked = |name: &str| open.state.votes().contains_key(name);
    Some(
        keys.approvers
            .iter()
            .filter(|(name, _)| !asked(name))
            .filter(|(name, person)| person.may_answer(name, &open.request, now).is_ok())
            .map(|(name, _)| name.as_str())
            .collect(),
    )
}

fn notes(place: &ApprovalStore, open: &OpenApproval) -> Result<Vec<String>, Failure> {
    let mut notes = place.notes.clone();
    if open.request.log != place.log()? {
        notes.push(
            "it names another log: this gateway did not open it, do not answer it".to_owned(),
        );
    }
    Ok(notes)
}

fn unprintable(error: &CanonicalError) -> Failure {
    let message = format!("the request has no canonical form: {error}");
    Failure::new(Exit::Invalid, "approve.unreadable", message)
        .next("`weaver trace verify` says whether the ledger is what it should be")
}
