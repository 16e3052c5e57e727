//! The decision: what every check contributes, joined.

use std::collections::BTreeSet;

use toml::{Table, Value};
use weaver_policy::signal::{Severity, SignalKind, SignalSubject};
use weaver_types::{
    ApprovalAuthority, CheckKind, Confidentiality, Constraints, Decision, Integrity, Operation,
    ReasonCode, Remedy, ResponseMode, Rung, SafetyClass, SafetyMode, SinkKind, Timestamp, Verdict,
};

use super::capability::{Effective, Status, is_visible};
use super::flow;
use super::history::{self, Call};
use super::reading::{Word, fits_one, moment, texts, whole};
use super::request::Asked;
use super::rules;
use super::words::CLASSES;

/// What one check says.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) check: CheckKind,
    pub(crate) verdict: Verdict,
    pub(crate) reason: ReasonCode,
    /// The name of the rule that says it.
    pub(crate) rule: Option<String>,
    pub(crate) authority: ApprovalAuthority,
    pub(crate) constraints: Constraints,
    pub(crate) wait_ms: Option<u64>,
}

impl Part {
    pub(crate) fn new(check: CheckKind, verdict: Verdict, reason: ReasonCode) -> Self {
        Self {
            check,
            verdict,
            reason,
            rule: None,
            authority: ApprovalAuthority::default(),
            constraints: Constraints::default(),
            wait_ms: None,
        }
    }

    pub(crate) fn deny(check: CheckKind, reason: ReasonCode) -> Self {
        Self::new(check, Verdict::Deny, reason)
    }

    pub(crate) fn hold(check: CheckKind, reason: ReasonCode) -> Self {
        Self::new(check, Verdict::Hold, reason)
    }

    pub(crate) fn of_rule(self, rule: &Table) -> Self {
        Self { rule: rule["name"].as_str().map(str::to_owned), ..self }
    }

    fn said(&self) -> Said {
        // What was released says who released it instead.
        let rule = self.rule.clone().filter(|_| !RELEASES.contains(&self.reason));
        (self.check, self.verdict, self.reason, rule)
    }
}

/// Check, verdict, reason and the name of the rule.
type Said = (CheckKind, Verdict, ReasonCode, Option<String>);

/// Without names where so many are said that a decision lists only some of them.
fn comparable(said: impl Iterator<Item = Said>) -> BTreeSet<Said> {
    let all: BTreeSet<Said> = said.collect();
    if all.len() <= 10 {
        return all;
    }
    all.into_iter().map(|(check, verdict, reason, _)| (check, verdict, reason, None)).collect()
}

/// An answer, in the form in which two are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) primary: ReasonCode,
    /// Everything that was said.
    pub(crate) said: BTreeSet<Said>,
    pub(crate) waits_ms: BTreeSet<u64>,
    pub(crate) authority: ApprovalAuthority,
    pub(crate) constraints: Constraints,
}

/// The order in which the checks settle the primary reason.
const ORDER: [CheckKind; 15] = [
    CheckKind::Mode,
    CheckKind::Prohibited,
    CheckKind::Rule,
    CheckKind::Role,
    CheckKind::Permission,
    CheckKind::Attribute,
    CheckKind::Sensitivity,
    CheckKind::Justification,
    CheckKind::Floor,
    CheckKind::Signal,
    CheckKind::Flow,
    CheckKind::Limit,
    CheckKind::Contract,
    CheckKind::Precondition,
    CheckKind::System,
];

/// What people released says so first.
const RELEASES: [ReasonCode; 2] = [ReasonCode::ApprovalGranted, ReasonCode::StandingApproval];

fn place<T: PartialEq>(list: &[T], one: &T) -> usize {
    list.iter().position(|other| other == one).unwrap()
}

impl Answer {
    fn join(parts: &[Part]) -> Self {
        let verdict = parts.iter().map(|part| part.verdict).max().unwrap();
        let first = parts.iter().filter(|part| part.verdict == verdict).min_by_key(|part| {
            let people = verdict == Verdict::Allow && RELEASES.contains(&part.reason);
            let order = place(&ORDER, &part.check);
            (!people, order, place(ReasonCode::ALL, &part.reason))
        });
        let mut authority = ApprovalAuthority::default();
        let mut constraints = Constraints::default();
        for part in parts {
            higher(&mut authority, &part.authority);
            if part.verdict == Verdict::Hold {
                authority.quorum = authority.quorum.max(1);
            }
            tighten(&mut constraints, &part.constraints);
        }
        Self {
            verdict,
            primary: first.unwrap().reason,
            said: comparable(parts.iter().map(Part::said)),
            waits_ms: parts.iter().filter_map(|part| part.wait_ms).collect(),
            authority,
            constraints,
        }
    }

    /// What the crate answered.
    pub(crate) fn shown(decision: &Decision) -> Self {
        let rule = |detail: &str| -> Option<String> {
            let (name, rest) = detail.strip_prefix("rule `")?.split_once('`')?;
            (rest.is_empty() || rest.starts_with(": ")).then(|| name.to_owned())
        };
        let said = decision.check_results().iter();
        let waits = decision.check_results().iter().filter_map(|one| match one.discharge {
            Remedy::Wait { retry_after_ms } => Some(retry_after_ms),
            _ => None,
        });
        Self {
            verdict: decision.verdict(),
            primary: decision.primary_reason(),
            said: comparable(
                said.map(|one| (one.check, one.verdict, one.reason, rule(&one.detail))),
            ),
            waits_ms: waits.collect(),
            authority: decision.authority().clone(),
            constraints: decision.constraints().clone(),
        }
    }
}

fn higher(into: &mut ApprovalAuthority, other: &ApprovalAuthority) {
    into.min_trust = into.min_trust.max(other.min_trust);
    into.clearance = into.clearance.max(other.clearance);
    into.quorum = into.quorum.max(other.quorum);
    into.scopes.extend(other.scopes.iter().cloned());
    into.roles.extend(other.roles.iter().cloned());
}

fn tighten(into: &mut Constraints, other: &Constraints) {
    let least = |a: Option<u32>, b: Option<u32>| a.into_iter().chain(b).min();
    into.max_rows = least(into.max_rows, other.max_rows);
    into.max_fields = least(into.max_fields, other.max_fields);
    into.max_chars = least(into.max_chars, other.max_chars);
    into.timeout_ms = least(into.timeout_ms, other.timeout_ms);
    into.mode = into.mode.into_iter().chain(other.mode).max();
    into.allowed_fields = match (into.allowed_fields.take(), &other.allowed_fields) {
        (Some(a), Some(b)) => Some(a.into_iter().filter(|field| b.contains(field)).collect()),
        (a, b) => a.or_else(|| b.clone()),
    };
}

pub(crate) fn authority_in(value: Option<&Value>) -> ApprovalAuthority {
    let Some(table) = value.and_then(Value::as_table) else { return ApprovalAuthority::default() };
    ApprovalAuthority {
        min_trust: whole(table, "min_trust"),
        clearance: table.get("clearance").map(|w| Confidentiality::of(w.as_str().unwrap())),
        scopes: texts(table, "scopes").into_iter().map(str::to_owned).collect(),
        roles: table
            .contains_key("roles")
            .then(|| texts(table, "roles").into_iter().map(str::to_owned).collect())
            .into_iter()
            .collect(),
        quorum: whole(table, "quorum").unwrap_or(0),
    }
}

/// The documents, as TOML, read anew for every question.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) policy: &'a Table,
    pub(crate) contracts: &'a Table,
}

/// Decides. The calls of late are those that were allowed; released is everything that is held, or
/// nothing.
pub(crate) fn decide(
    documents: &Read<'_>,
    capability: &Effective,
    status: Status,
    asked: &Asked,
    late: &[Call],
    released: bool,
) -> Answer {
    let invoked = asked.operation == Operation::Invoke;
    let mut parts = rules::parts(documents.policy, capability, asked);
    parts.extend(access(documents, capability, asked));
    parts.extend(floor(capability, invoked));
    if asked.mode != SafetyMode::Normal
        && (capability.effects.class() != SafetyClass::ReadOnly || capability.rung != Rung::L0)
    {
        parts.push(Part::deny(CheckKind::Mode, ReasonCode::ModeForbids));
    }
    parts.extend(history::parts(documents.policy, capability, asked, late));
    if invoked && capability.sink != SinkKind::None {
        if asked.label.confidentiality > capability.clearance {
            parts.push(Part::hold(CheckKind::Flow, ReasonCode::ClearanceExceeded));
        }
        if asked.label.integrity == Integrity::Untrusted && !flow::released(capability, asked) {
            parts.push(Part::hold(CheckKind::Flow, ReasonCode::UntrustedInfluence));
        }
    }
    let is_tainted = asked.label.integrity == Integrity::Untrusted;
    if invoked && capability.sink == SinkKind::None && is_tainted && flow::names_machine(asked) {
        parts.push(Part::hold(CheckKind::Flow, ReasonCode::UntrustedInfluence));
    }
    parts.extend(signals(documents.policy, capability, asked));
    join_approvals(documents.policy, &mut parts);
    if released {
        for part in parts.iter_mut().filter(|part| part.verdict == Verdict::Hold) {
            part.verdict = Verdict::Allow;
            part.reason = ReasonCode::ApprovalGranted;
            part.authority = ApprovalAuthority::default();
        }
    }
    let strictest = parts.iter().map(|part| part.verdict).max();
    if invoked && asked.arguments.is_none() && strictest == Some(Verdict::Hold) {
        let ask = Verdict::Ask;
        parts.push(Part::new(CheckKind::Justification, ask, ReasonCode::ArgumentsRequired));
    }
    parts.extend(contract(documents.policy, status));
    parts.extend(limits_that_go_with_it(capability, asked, invoked));
    Answer::join(&parts)
}

fn floor(capability: &Effective, invoked: bool) -> Option<Part> {
    match capability.rung {
        Rung::L5 => Some(Part::deny(CheckKind::Prohibited, ReasonCode::Prohibited)),
        Rung::L4 if invoked => Some(Part::hold(CheckKind::Floor, ReasonCode::FloorHold)),
        _ => None,
    }
}

fn access(documents: &Read<'_>, capability: &Effective, asked: &Asked) -> Vec<Part> {
    let mut parts = Vec::new();
    let principal = &asked.principal;
    if !capability.permissions.is_subset(&principal.permissions) {
        parts.push(Part::deny(CheckKind::Permission, ReasonCode::MissingPermission));
    }
    if !capability.agents.admits(principal.agent.as_ref()) {
        parts.push(Part::deny(CheckKind::Permission, ReasonCode::AgentNotAllowed));
    }
    parts.extend(declared(documents.policy, capability, asked));
    if !is_visible(documents.contracts, capability, asked) {
        parts.push(Part::deny(CheckKind::Contract, ReasonCode::NotFound));
    }
    let void = |table: &Table, now: Timestamp| {
        table.get("expires").is_some_and(|expires| now >= moment(expires))
    };
    if void(documents.policy, asked.now) || void(documents.contracts, asked.now) {
        parts.push(Part::deny(CheckKind::System, ReasonCode::PolicyUnavailable));
    }
    parts
}

/// What the policy declares of the agent.
fn declared(policy: &Table, capability: &Effective, asked: &Asked) -> Vec<Part> {
    let agents = policy.get("agents").and_then(Value::as_table).filter(|all| !all.is_empty());
    let (Some(agents), Some(name)) = (agents, &asked.principal.agent) else { return Vec::new() };
    let mut parts = Vec::new();
    let unlisted = Part::deny(CheckKind::Permission, ReasonCode::AgentNotAllowed);
    let Some(agent) = agents.get(name.as_str()).and_then(Value::as_table) else {
        return vec![unlisted];
    };
    if !fits_one(&texts(agent, "tool_allowlist"), &capability.id) {
        parts.push(unlisted);
    }
    let rank = |word: &str| CLASSES.iter().position(|class| *class == word).unwrap();
    let ceiling = agent["safety_class_ceiling"].as_str().unwrap();
    if rank(super::reading::class(capability.effects.class())) > rank(ceiling) {
        parts.push(Part::deny(CheckKind::Permission, ReasonCode::AgentCeiling));
    }
    let (keys, intent) = (texts(agent, "decision_keys"), asked.request.intent.as_deref());
    let stated = intent.is_some_and(|intent| keys.contains(&intent));
    if asked.operation == Operation::Invoke && !keys.is_empty() && !stated {
        parts.push(Part::deny(CheckKind::Rule, ReasonCode::IntentNotAllowed));
    }
    parts
}

/// What allows, with limits.
fn limits_that_go_with_it(capability: &Effective, asked: &Asked, invoked: bool) -> Vec<Part> {
    use weaver_types::SensitivityTag::{Pci, Pii};
    let mut parts = Vec::new();
    let mut carry = |check, constraints| {
        let part = Part::new(check, Verdict::Allow, ReasonCode::RuleAllow);
        parts.push(Part { constraints, ..part });
    };
    if asked.request.constraints != Constraints::default() {
        carry(CheckKind::Limit, asked.request.constraints.clone());
    }
    let tags = &capability.sensitivity;
    let personal = !tags.is_empty() && tags.iter().all(|tag| matches!(tag, Pii | Pci));
    let exempt = personal && asked.principal.roles.contains("pii_reader");
    if !capability.allowed_fields.is_empty() && !exempt {
        let allowed_fields = Some(capability.allowed_fields.clone());
        carry(CheckKind::Contract, Constraints { allowed_fields, ..Constraints::default() });
    }
    if asked.mode == SafetyMode::Strict {
        let mode = if invoked { ResponseMode::HandleOnly } else { ResponseMode::Summary };
        carry(CheckKind::Mode, Constraints { mode: Some(mode), ..Constraints::default() });
    }
    parts
}

fn contract(policy: &Table, status: Status) -> Option<Part> {
    let word = policy.get("contract_enforcement").and_then(Value::as_str).unwrap_or("enforce");
    let verdict = match (status, word) {
        (Status::Changed, "enforce") => Verdict::Deny,
        (Status::Changed, "observe") => Verdict::Allow,
        _ => return None,
    };
    Some(Part::new(CheckKind::Contract, verdict, ReasonCode::ContractChanged))
}

/// From which rungs on a severity holds and denies.
fn reach(policy: &Table, severity: &str) -> (Option<Rung>, Option<Rung>) {
    let written = policy.get("signals").and_then(|signals| signals.get(severity));
    if let Some(table) = written.and_then(Value::as_table) {
        let rung = |key| {
            let word = table.get(key).and_then(Value::as_str).unwrap_or("never");
            (word != "never").then(|| Rung::of(word))
        };
        return (rung("hold_from"), rung("deny_from"));
    }
    match severity {
        "warning" => (Some(Rung::L2), None),
        "critical" => (Some(Rung::L1), None),
        "unavailable" => (Some(Rung::L2), None),
        "low_confidence" => (Some(Rung::L3), None),
        _ => (None, None),
    }
}

fn signals(policy: &Table, capability: &Effective, asked: &Asked) -> Vec<Part> {
    let rung = if asked.operation == Operation::View { Rung::L0 } else { capability.rung };
    let mut parts = Vec::new();
    let says = |severity: &&str| {
        let (hold, deny) = reach(policy, severity);
        if deny.is_some_and(|from| rung >= from) {
            Verdict::Deny
        } else if hold.is_some_and(|from| rung >= from) {
            Verdict::Hold
        } else {
            Verdict::Allow
        }
    };
    if asked.a_source_failed && says(&"unavailable") > Verdict::Allow {
        let verdict = says(&"unavailable");
        parts.push(Part::new(CheckKind::Signal, verdict, ReasonCode::SignalUnavailable));
    }
    for signal in
        asked.signals.iter().filter(|one| !matches!(one.subject, SignalSubject::Action(_)))
    {
        let severities: &[&str] = match (signal.kind, signal.severity) {
            (SignalKind::LowConfidenceBelief, _) => &["low_confidence"],
            (_, Severity::Info) => &["info"],
            (_, Severity::Warning) => &["info", "warning"],
            (_, Severity::Critical) => &["info", "warning", "critical"],
        };
        let verdict = severities.iter().map(says).max().unwrap();
        if verdict > Verdict::Allow {
            parts.push(Part::new(CheckKind::Signal, verdict, ReasonCode::SignalRaised));
        }
    }
    parts
}

/// The authority that the policy asks for beyond that of the holds of three checks.
fn join_approvals(policy: &Table, parts: &mut [Part]) {
    for part in parts.iter_mut().filter(|part| part.verdict == Verdict::Hold) {
        let key = match part.check {
            CheckKind::Floor => "floor",
            CheckKind::Flow => "flow",
            CheckKind::Signal => "signal",
            _ => continue,
        };
        let more = policy.get("approvals").and_then(|approvals| approvals.get(key));
        higher(&mut part.authority, &authority_in(more));
    }
}
