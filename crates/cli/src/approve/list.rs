//! `weaver approve list`.

use serde_json::json;
use weaver_types::{ApprovalAuthority, Timestamp};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::List;
use super::argument_line::DifferingArguments;
use super::duration::duration_text;
use super::terminal_text;
use crate::{Exit, Failure, output};

/// The longest reason in a line, in characters.
const MAX_CHARS: usize = 120;
/// The same for a folder.
const MAX_PATH_CHARS: usize = 4_096;
/// The same for the reasons why a call is held.
const MAX_REASON_CHARS: usize = 400;

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let now = now();
    let mut records =
        approval_records::find_all(&store, |record| args.all || record.is_pending(now))?;
    let gone = approval_records::gone_runs(&store)?;
    // Requests that wait for somebody come before those that are granted already, and those whose
    // client is gone come last.
    records.sort_by_key(|record| (record.is_of_any(&gone), record.status(now) == "granted"));
    let differing = DifferingArguments::among(&records);
    for record in &records {
        if args.output.json {
            let mut summary = approval_records::summary(record, now);
            if let (true, Some(fields)) = (record.is_of_any(&gone), summary.as_object_mut()) {
                fields.insert("client_gone".to_owned(), json!(true));
            }
            output::line(&terminal_text::escape_json(&summary))?;
        } else {
            let mut lines = request_lines(record, &differing, now);
            if record.is_of_any(&gone) {
                lines.push_str("    its client has ended, so nobody makes this call again\n");
            }
            output::text(&lines)?;
        }
    }
    if args.output.json {
        return Ok(Exit::Ok);
    }
    let waits =
        |record: &&ApprovalRecord| record.status(now) == "requested" && !record.is_of_any(&gone);
    match records.iter().find(waits) {
        Some(first) => {
            output::stderr(&format!(
                "next: weaver approve grant {}   shows all of it and asks; `deny` refuses it\n",
                terminal_text::escape_line(first.id(), MAX_CHARS)
            ));
            if records.iter().filter(waits).count() > 1 {
                output::stderr(
                    "      weaver approve grant --all-shown   shows all that wait, and asks once\n",
                );
            }
        }
        None if records.is_empty() => output::line("nothing waits for an approval")?,
        None => {}
    }
    Ok(Exit::Ok)
}

/// A request in up to four lines: what, for whom and until when; its arguments; its folder; the reason and the
/// authority it needs.
pub(super) fn request_lines(
    record: &ApprovalRecord,
    differing: &DifferingArguments<'_>,
    now: Timestamp,
) -> String {
    let status = record.status(now);
    match record {
        ApprovalRecord::Open(open) => {
            let request = &open.request;
            let (capability, principal) = (&request.capability, &request.principal);
            let age = duration_text(now.since(request.opened_at));
            let left = duration_text(open.time_left(now));
            let (agreed, needed) = (open.state.votes().len(), open.required_approvers());
            let why = terminal_text::escape_line(&request.detail, MAX_REASON_CHARS);
            let authority = authority_text(&request.authority);
            let arguments = differing.arguments_line(open);
            let arguments = arguments.map(|line| format!("    {line}\n")).unwrap_or_default();
            let folder = request.folder.as_deref().map(|folder| {
                format!("    in {}\n", terminal_text::escape_line(folder, MAX_PATH_CHARS))
            });
            let folder = folder.unwrap_or_default();
            format!(
                "{}  {}  {}  {status}, {age} old, {left} left, {agreed} of {needed} agreed\n\
                 {arguments}{folder}    {why}{}\n",
                request.id,
                output::bold(&terminal_text::escape_line(capability.as_str(), MAX_CHARS)),
                terminal_text::escape_line(principal.as_str(), MAX_CHARS),
                output::dim(&format!("  needs {authority}")),
            )
        }
        ApprovalRecord::Ended(ended) => {
            let (by, reason) = approval_records::ended_by_and_reason(&ended.phase);
            let by = by.map(|by| format!(" by {}", terminal_text::escape_line(by, MAX_CHARS)));
            let reason = reason.filter(|reason| !reason.is_empty());
            let reason =
                reason.map(|reason| format!(": {}", terminal_text::escape_line(reason, MAX_CHARS)));
            format!(
                "{}  {}  {}  {status}{}{}, {} ago\n",
                ended.id,
                terminal_text::escape_line(ended.capability.as_str(), MAX_CHARS),
                terminal_text::escape_line(ended.principal.as_str(), MAX_CHARS),
                by.unwrap_or_default(),
                reason.unwrap_or_default(),
                duration_text(now.since(ended.ended_at)),
            )
        }
        ApprovalRecord::Unreadable { id, problem } => {
            let problem = terminal_text::escape_line(problem, MAX_CHARS * 2);
            format!("{}  {status}: {problem}\n", terminal_text::escape_line(id, MAX_CHARS))
        }
    }
}

/// The required authority in words.
pub(super) fn authority_text(authority: &ApprovalAuthority) -> String {
    let mut out = match authority.quorum {
        0 | 1 => "one person".to_owned(),
        many => format!("{many} people"),
    };
    if let Some(trust) = authority.min_trust {
        out.push_str(&format!(", trust {trust}"));
    }
    if let Some(clearance) = authority.clearance {
        out.push_str(&format!(", clearance {}", json!(clearance).as_str().unwrap_or_default()));
    }
    if !authority.scopes.is_empty() {
        let scopes: Vec<_> =
            authority.scopes.iter().map(|s| terminal_text::escape_line(s, 80)).collect();
        out.push_str(&format!(", scopes {}", scopes.join(" ")));
    }
    if let Some(roles) = authority.roles_in_words() {
        out.push_str(&format!(", role {}", terminal_text::escape_line(&roles, MAX_CHARS)));
    }
    out
}
