//! `weaver approve list`.

use serde_json::json;
use weaver_types::{Authority, Timestamp};

use super::approval_records::{self, ApprovalRecord};
use super::approval_store::{ApprovalStore, now};
use super::args::List;
use super::argument_line::DifferingArguments;
use super::duration::words;
use super::screen;
use crate::{Exit, Failure, output};

/// How much of a reason a line shows, in characters.
const MAX_SHOWN: usize = 120;

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let now = now();
    let mut found = approval_records::all(&place, |held| args.all || held.waits(now))?;
    // What waits for somebody comes before what somebody has granted already.
    found.sort_by_key(|held| held.status(now) == "granted");
    let differing = DifferingArguments::among(&found);
    for held in &found {
        if args.output.json {
            output::line(&screen::json(&approval_records::summary(held, now)))?;
        } else {
            output::text(&line(held, &differing, now))?;
        }
    }
    if found.is_empty() && !args.output.json {
        output::line("nothing waits for an approval")?;
    }
    Ok(Exit::Ok)
}

/// What, for whom and how long still; its arguments; why, and what it needs: three lines at most.
pub(super) fn line(
    held: &ApprovalRecord,
    differing: &DifferingArguments<'_>,
    now: Timestamp,
) -> String {
    let status = held.status(now);
    match held {
        ApprovalRecord::Open(open) => {
            let request = &open.request;
            let (capability, principal) = (&request.capability, &request.principal);
            let age = words(now.since(request.opened_at));
            let left = words(open.left(now));
            let (agreed, needed) = (open.state.votes().len(), open.needed());
            let why = screen::line(&request.detail, MAX_SHOWN);
            let authority = authority(&request.authority);
            let arguments = differing.line(open);
            let arguments = arguments.map(|line| format!("    {line}\n")).unwrap_or_default();
            format!(
                "{}  {}  {}  {status}, {age} old, {left} left, {agreed} of {needed} agreed\n\
                 {arguments}    {why}{}\n",
                request.id,
                output::bold(&screen::line(capability.as_str(), MAX_SHOWN)),
                screen::line(principal.as_str(), MAX_SHOWN),
                output::dim(&format!("  needs {authority}")),
            )
        }
        ApprovalRecord::Ended(ended) => {
            let (by, reason) = approval_records::ending(&ended.phase);
            let by = by.map(|by| format!(" by {}", screen::line(by, MAX_SHOWN)));
            let reason = reason.filter(|reason| !reason.is_empty());
            let reason = reason.map(|reason| format!(": {}", screen::line(reason, MAX_SHOWN)));
            format!(
                "{}  {}  {}  {status}{}{}, {} ago\n",
                ended.id,
                screen::line(ended.capability.as_str(), MAX_SHOWN),
                screen::line(ended.principal.as_str(), MAX_SHOWN),
                by.unwrap_or_default(),
                reason.unwrap_or_default(),
                words(now.since(ended.ended_at)),
            )
        }
        ApprovalRecord::Unreadable { id, problem } => {
            let problem = screen::line(problem, MAX_SHOWN * 2);
            format!("{}  {status}: {problem}\n", screen::line(id, MAX_SHOWN))
        }
    }
}

/// An authority in words.
pub(super) fn authority(authority: &Authority) -> String {
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
        let scopes: Vec<_> = authority.scopes.iter().map(|s| screen::line(s, 80)).collect();
        out.push_str(&format!(", scopes {}", scopes.join(" ")));
    }
    if let Some(roles) = authority.roles_in_words() {
        out.push_str(&format!(", role {}", screen::line(&roles, MAX_SHOWN)));
    }
    out
}
