//! `weaver approve standing`: approvals given in advance.

use serde_json::{Value, json};
use weaver_agent_kernel::{KernelError, read_standing};
use weaver_policy::Pattern;
use weaver_policy::approval::{OperatorAction, Rejection, StandingUse};
use weaver_types::ledger::Namespace;
use weaver_types::{StandingId, Timestamp};

use super::approval_store::{ApprovalStore, now};
use super::args::{ApprovalSource, List, SignWith, StandingCommand};
use super::rejections::{refused, unknown};
use super::{screen, standing_grant, terms, word};
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// How much of a list of patterns a line shows, in characters.
const MAX_SHOWN: usize = 120;

pub(super) fn run(args: StandingCommand) -> Result<Exit, Failure> {
    match args {
        StandingCommand::List(args) => list(&args),
        StandingCommand::Show { id, from, output } => show(&id, &from, output.format()),
        StandingCommand::Grant(args) => standing_grant::grant(&args),
        StandingCommand::Sign(args) => standing_grant::sign(&args),
        StandingCommand::Revoke { id, sign, from } => revoke(&id, &sign, &from),
    }
}

/// One record: a standing approval, or why it cannot be read.
struct StandingRecord {
    id: String,
    standing: Result<StandingUse, KernelError>,
}

impl StandingRecord {
    fn status(&self, now: Timestamp) -> &'static str {
        match &self.standing {
            Err(_) => "unreadable",
            Ok(used) if used.revoked_by().is_some() => "revoked",
            Ok(used) if now >= used.standing().expires => "expired",
            Ok(used) if used.left() == 0 => "used up",
            Ok(_) => "in force",
        }
    }

    fn json(&self, now: Timestamp) -> Value {
        let status = self.status(now);
        match &self.standing {
            Err(problem) => {
                json!({ "id": self.id, "status": status, "problem": problem.to_string() })
            }
            Ok(used) => json!({
                "id": self.id,
                "status": status,
                "uses": used.standing().uses,
                "used": used.used(),
                "left": used.left(),
                "revoked_by": used.revoked_by(),
                "expires": used.standing().expires.rfc3339(),
                "digest": used.standing().signed_digest().ok(),
                "standing": used.standing(),
            }),
        }
    }

    fn line(&self, now: Timestamp) -> String {
        let (id, status) = (screen::line(&self.id, 160), self.status(now));
        match &self.standing {
            Err(problem) => {
                format!("{id}  {status}: {}\n", screen::line(&problem.to_string(), 240))
            }
            Ok(used) => {
                let standing = used.standing();
                format!(
                    "{id}  {}  {}  {status}, {} of {} uses left, expires {}\n",
                    output::bold(&patterns(&standing.capability)),
                    patterns(&standing.principals),
                    used.left(),
                    standing.uses,
                    standing.expires,
                )
            }
        }
    }
}

fn patterns(patterns: &[Pattern]) -> String {
    let all: Vec<&str> = patterns.iter().map(Pattern::as_str).collect();
    screen::line(&all.join(" "), MAX_SHOWN)
}

fn all(place: &ApprovalStore) -> Result<Vec<StandingRecord>, Failure> {
    let mut all = Vec::new();
    place.records(Namespace::Standing, |id, record| {
        let standing = read_standing(id, record);
        all.push(StandingRecord { id: id.to_owned(), standing });
    })?;
    Ok(all)
}

fn one(place: &ApprovalStore, id: &str) -> Result<StandingRecord, Failure> {
    let found = all(place)?.into_iter().find(|found| found.id == id);
    found.ok_or_else(|| unknown("standing approval", id))
}

fn list(args: &List) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let now = now();
    let mut found = all(&place)?;
    found.retain(|found| args.all || matches!(found.status(now), "in force" | "unreadable"));
    for standing in &found {
        if args.output.json {
            output::line(&screen::json(&standing.json(now)))?;
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
    let place = ApprovalStore::open(from)?;
    let now = now();
    let found = one(&place, id)?;
    if format == OutputFormat::Json {
        output::line(&screen::json(&found.json(now)))?;
    } else {
        output::text(&found.line(now))?;
        if let Ok(used) = &found.standing {
            output::text(&terms::shown(used.standing())?)?;
        }
    }
    Ok(Exit::Ok)
}

fn revoke(id: &str, sign: &SignWith, from: &ApprovalSource) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(from)?;
    let found = one(&place, id)?;
    if found.status(now()) == "revoked" {
        return Err(refused(&Rejection::Revoked));
    }
    let standing = StandingId::parse(id).map_err(|_| unknown("standing approval", id))?;
    let shown = found.line(now());
    let question = "Take this standing approval back?";
    word::say(&place, sign, OperatorAction::RevokeStanding { standing }, &shown, question)
}
