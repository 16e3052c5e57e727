//! `weaver approve show`.

use serde_json::{Value, json};
use weaver_agent_kernel::OpenApproval;
use weaver_policy::TrustedDestination;
use weaver_policy::approval::{HeldCheck, Phase};
use weaver_types::canonical::CanonicalError;
use weaver_types::{Digest, Integrity, Label, ReasonCode, Timestamp};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::Show;
use super::argument_line::DifferingArguments;
use super::duration::duration_text;
use super::list::{self, authority_text};
use super::terminal_text;
use super::writes_since::WritesSince;
use crate::{Exit, Failure, output};

/// The longest reason in a line, in characters.
const MAX_REASON_CHARS: usize = 400;

/// What is to happen, by the names of the request's fields.
const CALL_FIELDS: [&str; 3] = ["capability", "arguments", "folder"];
/// Who asks, what they say, and what has to be as it was. The remaining fields tie the answer to this
/// log, these documents and this version of the tool.
const REQUESTER_FIELDS: [&str; 6] =
    ["principal", "agent", "intent", "justification", "preconditions", "deadline"];

/// A request as the approver sees it, with the digest of the bytes that it was rendered from.
pub(super) struct ShownRequest {
    pub(super) text: String,
    pub(super) digest: Digest,
    /// What the run has written since, which the text has too.
    pub(super) writes: WritesSince,
}

/// How much of a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestDetail {
    /// The call and what a person needs to judge it.
    Call,
    /// Every field that is signed.
    Full,
}

impl ShownRequest {
    /// Renders a request. The text ends with the digest; both come from the same bytes.
    pub(super) fn of(
        store: &ApprovalStore,
        open: &OpenApproval,
        now: Timestamp,
        detail: RequestDetail,
    ) -> Result<Self, Failure> {
        let request = &open.request;
        let digest = request.digest().map_err(|error| not_canonical(&error))?;
        let writes = WritesSince::of(store, open)?;
        let status = status_line(open, now);
        let header = format!("{}{}", header_text(store, open, now), writes.text());
        let fields =
            |names: &[&str]| request.render_fields(names).map_err(|error| not_canonical(&error));
        let text = match detail {
            RequestDetail::Full => {
                let rendered = request.render().map_err(|error| not_canonical(&error))?;
                format!("{status}{header}\n{rendered}")
            }
            RequestDetail::Call => {
                let said = REQUESTER_FIELDS.iter().copied();
                let said: Vec<&str> =
                    said.filter(|name| *name != "intent" || !request.intent.is_empty()).collect();
                format!(
                    "{status}\n{}\n{header}\n{}digest: {digest}\n",
                    fields(&CALL_FIELDS)?,
                    fields(&said)?
                )
            }
        };
        Ok(Self { text, digest, writes })
    }
}

pub(super) fn run(args: &Show) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let now = now();
    let record = approval_records::find(&store, &args.id)?;
    if args.output.json {
        let value = request_json(&store, &record, now)?;
        output::line(&terminal_text::escape_json(&value))?;
        return Ok(Exit::Ok);
    }
    match &record {
        ApprovalRecord::Open(open) => {
            let detail = if args.full { RequestDetail::Full } else { RequestDetail::Call };
            output::text(&ShownRequest::of(&store, open, now, detail)?.text)?;
        }
        ApprovalRecord::Ended(ended) => {
            let text = list::request_lines(&record, &DifferingArguments::default(), now);
            let run = terminal_text::escape_line(ended.run.as_str(), 160);
            output::text(&format!(
                "{text}run: {run}\ndigest: {}\nIts arguments were erased when it ended.\n",
                ended.digest
            ))?;
        }
        ApprovalRecord::Unreadable { .. } => {
            output::text(&list::request_lines(&record, &DifferingArguments::default(), now))?
        }
    }
    Ok(Exit::Ok)
}

fn request_json(
    store: &ApprovalStore,
    record: &ApprovalRecord,
    now: Timestamp,
) -> Result<Value, Failure> {
    let mut value = approval_records::summary(record, now);
    if let (ApprovalRecord::Open(open), Value::Object(fields)) = (record, &mut value) {
        let shown = ShownRequest::of(store, open, now, RequestDetail::Full)?;
        fields.insert("request".to_owned(), json!(open.request));
        fields.insert("shown".to_owned(), json!(shown.text));
        fields.insert("can_release".to_owned(), json!(eligible_approvers(store, open, now)));
        fields.insert("notes".to_owned(), json!(notes(store, open)?));
    }
    Ok(value)
}

/// The id of the request, its status and the time that is left.
fn status_line(open: &OpenApproval, now: Timestamp) -> String {
    let left = match open.time_left(now) {
        left if left.is_zero() => "its deadline is over".to_owned(),
        left => format!("{} left", duration_text(left)),
    };
    format!("{} {}, {left}\n", open.request.id, status_text(open, now))
}

/// Why the call is held, what its run has read, and who could release it.
fn header_text(store: &ApprovalStore, open: &OpenApproval, now: Timestamp) -> String {
    let request = &open.request;
    let mut out = String::new();
    let agreed: Vec<_> =
        open.state.votes().keys().map(|name| terminal_text::escape_line(name, 80)).collect();
    let agreed = if agreed.is_empty() { "nobody yet".to_owned() } else { agreed.join(", ") };
    out.push_str(&format!("why         {}\n", why_text(&request.detail)));
    out.push_str(&format!("has read    {}\n", read_text(&request.label)));
    out.push_str(&format!("needs       {}\n", authority_text(&request.authority)));
    out.push_str(&format!("agreed      {agreed}\n"));
    let is_open = *open.state.phase() == Phase::Requested;
    if let Some(able) = eligible_approvers(store, open, now).filter(|_| is_open) {
        let able: Vec<_> = able.iter().map(|name| terminal_text::escape_line(name, 80)).collect();
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
    for note in notes(store, open).unwrap_or_default() {
        out.push_str(&format!("note        {note}\n"));
    }
    out
}

/// What the run had read when the call was held.
pub(super) fn read_text(label: &Label) -> String {
    let confidentiality = json!(label.confidentiality);
    let data = format!("{} data", confidentiality.as_str().unwrap_or_default());
    match label.integrity {
        Integrity::Trusted => data,
        Integrity::Untrusted => format!("{data}, some of it from sources that nobody vouches for"),
    }
}

/// Why the call is held, one reason a line.
fn why_text(detail: &str) -> String {
    let reasons =
        detail.split("; ").map(|reason| terminal_text::escape_line(reason, MAX_REASON_CHARS));
    reasons.collect::<Vec<_>>().join("\n            ")
}

/// The host of a call that is held only because untrusted input may have chosen its address.
fn host_of_tainted_read(open: &OpenApproval) -> Option<TrustedDestination> {
    let tainted = |held: &HeldCheck| held.reason == ReasonCode::UntrustedInfluence;
    let request = &open.request;
    let destination = TrustedDestination::from_arguments(&request.arguments)?;
    request.holds.iter().all(tainted).then_some(destination)
}

fn status_text(open: &OpenApproval, now: Timestamp) -> &'static str {
    if now >= open.request.deadline {
        "has expired"
    } else {
        match approval_records::phase_name(open.state.phase()) {
            "requested" => "waits for an approval",
            other => other,
        }
    }
}

/// The people whose approval would still count; `None` without a keys document.
fn eligible_approvers<'p>(
    store: &'p ApprovalStore,
    open: &OpenApproval,
    now: Timestamp,
) -> Option<Vec<&'p str>> {
    let keys = store.keys()?;
    let has_answered = |name: &str| open.state.votes().contains_key(name);
    Some(
        keys.approvers
            .iter()
            .filter(|(name, _)| !has_answered(name))
            .filter(|(name, person)| person.check_may_answer(name, &open.request, now).is_ok())
            .map(|(name, _)| name.as_str())
            .collect(),
    )
}

fn notes(store: &ApprovalStore, open: &OpenApproval) -> Result<Vec<String>, Failure> {
    let mut notes = store.notes.clone();
    if open.request.log != store.log_id()? {
        notes.push(
            "it names another log: this gateway did not open it, do not answer it".to_owned(),
        );
    }
    Ok(notes)
}

fn not_canonical(error: &CanonicalError) -> Failure {
    let message = format!("the request has no canonical form: {error}");
    Failure::new(Exit::Invalid, "approve.unreadable", message)
        .with_next_step("`weaver trace verify` says whether the ledger is what it should be")
}
