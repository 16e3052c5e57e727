//! `weaver approve standing`: approvals given in advance.

use serde_json::{Value, json};
use weaver_agent_kernel::{KernelError, read_standing_approval};
use weaver_policy::Pattern;
use weaver_policy::approval::{OperatorAction, Rejection, StandingApprovalState};
use weaver_types::ledger::Namespace;
use weaver_types::{StandingApprovalId, Timestamp};

use super::approval_store::{ApprovalStore, now};
use super::args::{ApprovalSource, List, SignWith, StandingCommand};
use super::rejections::{not_found_failure, rejection_failure};
use super::{operator_statement, standing_grant, terminal_text, terms};
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// The longest list of patterns in a line, in characters.
const MAX_CHARS: usize = 120;

pub(super) fn run(args: StandingCommand) -> Result<Exit, Failure> {
    match args {
        StandingCommand::List(args) => list(&args),
        StandingCommand::Show { id, from, output } => show(&id, &from, output.format()),
        StandingCommand::Grant(args) => standing_grant::grant(&args),
        StandingCommand::Sign(args) => standing_grant::sign(&args),
        StandingCommand::Revoke { id, sign, from } => revoke(&id, &sign, &from),
    }
}

/// The record of a standing approval, or why it cannot be read.
struct StandingRecord {
    id: String,
    standing: Result<StandingApprovalState, KernelError>,
}

impl StandingRecord {
    fn status(&self, now: Timestamp) -> &'static str {
        match &self.standing {
            Err(_) => "unreadable",
            Ok(usage) if usage.revoked_by().is_some() => "revoked",
            Ok(usage) if now >= usage.standing_approval().expires => "expired",
            Ok(usage) if usage.uses_left() == 0 => "used up",
            Ok(_) => "in force",
        }
    }

    fn json(&self, now: Timestamp) -> Value {
        let status = self.status(now);
        match &self.standing {
            Err(problem) => {
                json!({ "id": self.id, "status": status, "problem": problem.to_string() })
            }
            Ok(usage) => json!({
                "id": self.id,
                "status": status,
                "uses": usage.standing_approval().uses,
                "used": usage.use_count(),
                "left": usage.uses_left(),
                "revoked_by": usage.revoked_by(),
                "expires": usage.standing_approval().expires.rfc3339(),
                "digest": usage.standing_approval().signed_digest().ok(),
                "standing": usage.standing_approval(),
            }),
        }
    }

    fn line(&self, now: Timestamp) -> String {
        let (id, status) = (terminal_text::escape_line(&self.id, 160), self.status(now));
        match &self.standing {
            Err(problem) => {
                format!(
                    "{id}  {status}: {}\n",
                    terminal_text::escape_line(&problem.to_string(), 240)
                )
            }
            Ok(usage) => {
                let standing = usage.standing_approval();
                format!(
                    "{id}  {}  {}  {status}, {} of {} uses left, expires {}\n",
                    output::bold(&patterns_text(&standing.capability)),
                    patterns_text(&standing.principals),
                    usage.uses_left(),
                    standing.uses,
                    standing.expires,
                )
            }
        }
    }
}

fn patterns_text(patterns: &[Pattern]) -> String {
    let all: Vec<&str> = patterns.iter().map(Pattern::as_str).collect();
    terminal_text::escape_line(&all.join(" "), MAX_CHARS)
}

fn all_records(store: &ApprovalStore) -> Result<Vec<StandingRecord>, Failure> {
    let mut all = Vec::new();
    store.for_each_record(Namespace::Standing, |id, record| {
        let standing = read_standing_approval(id, record);
        all.push(StandingRecord { id: id.to_owned(), standing });
    })?;
    Ok(all)
}

fn find_record(store: &ApprovalStore, id: &str) -> Result<StandingRecord, Failure> {
    let found = all_records(store)?.into_iter().find(|found| found.id == id);
    found.ok_or_else(|| not_found_failure("standing approval", id))
}

fn list(args: &List) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let now = now();
    let mut found = all_records(&store)?;
    found.retain(|found| args.all || matches!(found.status(now), "in force" | "unreadable"));
    for standing in &found {
        if args.output.json {
            output::line(&terminal_text::escape_json(&standing.json(now)))?;
        } else {
            output::text(&standing.line(now))?;
        }
    }
    if found.is_empty() && !args.output.json {
        output::line("no standing approval is in force")?;
    }
    Ok(Exit::Ok)
}

fn show(id: &str, from: &ApprovalSource, format: OutputFormat) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(from)?;
    let now = now();
    let found = find_record(&store, id)?;
    if format == OutputFormat::Json {
        output::line(&terminal_text::escape_json(&found.json(now)))?;
    } else {
        output::text(&found.line(now))?;
        if let Ok(usage) = &found.standing {
            output::text(&terms::statement_text(usage.standing_approval())?)?;
        }
    }
    Ok(Exit::Ok)
}

fn revoke(id: &str, sign: &SignWith, from: &ApprovalSource) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(from)?;
    let found = find_record(&store, id)?;
    if found.status(now()) == "revoked" {
        return Err(rejection_failure(&Rejection::Revoked));
    }
    let standing =
        StandingApprovalId::parse(id).map_err(|_| not_found_failure("standing approval", id))?;
    let shown = found.line(now());
    let question = "Take this standing approval back?";
    operator_statement::sign_and_submit(
        &store,
        sign,
        OperatorAction::RevokeStanding { standing },
        &shown,
        question,
    )
}
