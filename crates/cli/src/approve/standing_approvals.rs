//! `weaver approve standing`: approvals given in advance.

use serde_json::{Value, json};
use weaver_agent_kernel::{KernelError, read_standing_approval};
use weaver_policy::approval::{OperatorAction, Rejection, StandingApprovalState};
use weaver_policy::{Pattern, PolicySet};
use weaver_types::ledger::Namespace;
use weaver_types::{PrincipalId, StandingApprovalId, Timestamp};

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
    /// Who signed it, by the keys document in force, or the key itself.
    signers: Vec<String>,
    /// Why it releases nothing of anybody, although it has not ended.
    without_effect: Option<Rejection>,
    /// The principals that it names and releases nothing for, and why.
    not_for: Vec<(PrincipalId, Rejection)>,
}

impl StandingRecord {
    /// Compares the record with the documents in force, if they can be read.
    fn new(
        id: &str,
        standing: Result<StandingApprovalState, KernelError>,
        documents: Option<&PolicySet>,
    ) -> Self {
        let (signers, without_effect, not_for) = (Vec::new(), None, Vec::new());
        let mut record = Self { id: id.to_owned(), standing, signers, without_effect, not_for };
        let Ok(state) = &record.standing else { return record };
        let keys = documents.and_then(PolicySet::keys);
        record.signers = state
            .signing_keys()
            .map(|key| match keys.and_then(|keys| keys.approver_of(key)) {
                Some(name) => name.to_owned(),
                None => format!("key {key}"),
            })
            .collect();
        let (Some(documents), Some(keys)) = (documents, keys) else { return record };
        let bounds = &documents.approvals().standing;
        let check = |requester| state.check_signers(keys, bounds, requester, now()).err();
        record.without_effect = check(None);
        if record.without_effect.is_some() {
            return record;
        }
        let patterns = &state.standing_approval().principals;
        let named = documents.policy().principals.keys();
        let named = named.filter(|id| patterns.iter().any(|one| one.matches(id.as_str())));
        let mut has_effect = patterns.iter().any(|one| !documents_name(documents, one));
        for id in named {
            match check(Some(id)) {
                Some(why) => record.not_for.push((id.clone(), why)),
                None => has_effect = true,
            }
        }
        if !has_effect {
            record.without_effect = record.not_for.first().map(|(_, why)| why.clone());
        }
        record
    }

    fn status(&self, now: Timestamp) -> &'static str {
        match &self.standing {
            Err(_) => "unreadable",
            Ok(usage) if usage.revoked_by().is_some() => "revoked",
            Ok(usage) if now >= usage.standing_approval().expires => "expired",
            Ok(usage) if usage.uses_left() == 0 => "used up",
            Ok(_) if self.without_effect.is_some() => "without effect",
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
                "signers": self.signers,
                "without_effect": self.without_effect.as_ref().map(ToString::to_string),
                "not_for": self.not_for.iter().map(|(id, why)| {
                    json!({ "principal": id, "why": why.to_string() })
                }).collect::<Vec<_>>(),
                "digest": usage.standing_approval().signed_digest().ok(),
                "standing": usage.standing_approval(),
            }),
        }
    }

    /// What it does not release although it looks as if it did.
    fn effect_lines(&self) -> String {
        let line = |what: &str, why: &Rejection| {
            format!("  {what}: {}\n", terminal_text::escape_line(&why.to_string(), 240))
        };
        if let Some(why) = &self.without_effect {
            return line("releases nothing", why);
        }
        let not_for = self.not_for.iter();
        not_for
            .map(|(id, why)| {
                line(&format!("not for {}", terminal_text::escape_line(id.as_str(), 160)), why)
            })
            .collect()
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
                    "{id}  {}  {}  {status}, {} of {} uses left, expires {}, signed by {}\n{}",
                    output::bold(&patterns_text(&standing.capability)),
                    patterns_text(&standing.principals),
                    usage.uses_left(),
                    standing.uses,
                    standing.expires,
                    terminal_text::escape_line(&self.signers.join(", "), MAX_CHARS),
                    self.effect_lines(),
                )
            }
        }
    }
}

/// Whether the policy names a principal that fits the pattern. Others come from logins, under names
/// that the policy does not list.
fn documents_name(documents: &PolicySet, pattern: &Pattern) -> bool {
    documents.policy().principals.keys().any(|id| pattern.matches(id.as_str()))
}

fn patterns_text(patterns: &[Pattern]) -> String {
    let all: Vec<&str> = patterns.iter().map(Pattern::as_str).collect();
    terminal_text::escape_line(&all.join(" "), MAX_CHARS)
}

fn all_records(store: &ApprovalStore) -> Result<Vec<StandingRecord>, Failure> {
    let mut all = Vec::new();
    store.for_each_record(Namespace::Standing, |id, record| {
        let standing = read_standing_approval(id, record);
        all.push(StandingRecord::new(id, standing, store.documents()));
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
    found.retain(|found| {
        args.all || matches!(found.status(now), "in force" | "without effect" | "unreadable")
    });
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
