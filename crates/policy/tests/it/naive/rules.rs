//! The rules, and the mildest shortfall.

use toml::{Table, Value};
use weaver_types::{
    CheckKind, Constraints, JustificationSource, Operation, ReasonCode, ResponseMode, Verdict,
};

use super::capability::Effective;
use super::decision::{Part, authority_in};
use super::matching::{applies, has, has_named};
use super::reading::{Word, source, tables, texts, whole};
use super::request::Asked;

/// How the justification of an allow rule stands, from mild to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Justified {
    Met,
    Asks,
    Holds,
}

/// What an allow rule that matches still lacks.
#[derive(Debug)]
struct Lack<'a> {
    rule: &'a Table,
    /// Of roles (0), permissions (1) and attributes (2), those that are not met.
    unmet: Vec<usize>,
    justified: Justified,
    min_chars: usize,
    sources: usize,
}

impl Lack<'_> {
    fn is_nothing(&self) -> bool {
        self.unmet.is_empty() && self.justified == Justified::Met
    }

    /// The least is the mildest.
    fn rank(&self) -> impl Ord + '_ {
        (
            self.unmet.len(),
            self.justified,
            self.min_chars,
            std::cmp::Reverse(self.sources),
            self.unmet.first().copied(),
            self.rule["name"].as_str().unwrap().as_bytes(),
        )
    }
}

fn lack<'a>(rule: &'a Table, asked: &Asked) -> Lack<'a> {
    let empty = Table::new();
    let require = rule.get("require").and_then(Value::as_table).unwrap_or(&empty);
    let principal = &asked.principal;
    let table = |key| require.get(key).and_then(Value::as_table);
    let met = [
        table("roles").is_none_or(|roles| has(roles, &principal.roles)),
        texts(require, "permissions").iter().all(|one| principal.permissions.contains(*one)),
        table("attributes").is_none_or(|named| has_named(named, &principal.attributes)),
    ];
    let unmet = (0..met.len()).filter(|at| !met[*at]).collect();
    let Some(need) = table("justification") else {
        return Lack { rule, unmet, justified: Justified::Met, min_chars: 0, sources: 3 };
    };
    let min_chars: usize = whole(need, "min_chars").unwrap_or(15);
    let mut sources = texts(need, "sources");
    if sources.is_empty() {
        sources = vec!["human", "host"];
    }
    let given = asked.request.justification.as_ref().is_some_and(|given| {
        sources.contains(&source(given.source)) && given.text.trim().chars().count() >= min_chars
    });
    let justified = if given || asked.operation == Operation::View {
        Justified::Met
    } else if asked.human || sources.contains(&source(JustificationSource::Model)) {
        Justified::Asks
    } else {
        Justified::Holds
    };
    if justified == Justified::Met {
        return Lack { rule, unmet, justified, min_chars: 0, sources: 3 };
    }
    Lack { rule, unmet, justified, min_chars, sources: sources.len() }
}

pub(crate) fn constraints_of(rule: &Table) -> Constraints {
    let Some(table) = rule.get("constraints").and_then(Value::as_table) else {
        return Constraints::default();
    };
    Constraints {
        max_tokens: whole(table, "max_tokens"),
        max_rows: whole(table, "max_rows"),
        max_fields: whole(table, "max_fields"),
        max_chars: whole(table, "max_chars"),
        timeout_ms: whole(table, "timeout_ms"),
        mode: table.get("mode").map(|word| ResponseMode::of(word.as_str().unwrap())),
        allowed_fields: table
            .contains_key("allowed_fields")
            .then(|| texts(table, "allowed_fields").into_iter().map(str::to_owned).collect()),
    }
}

fn denial(rule: &Table) -> Part {
    let code = rule.get("code").and_then(Value::as_str).unwrap_or("explicit_deny_rule");
    let check = match code {
        "explicit_deny_rule" | "intent_not_allowed" | "scope_not_allowed" => CheckKind::Rule,
        "missing_role" => CheckKind::Role,
        "missing_permission" | "agent_not_allowed" => CheckKind::Permission,
        "missing_attribute" | "missing_tenant_attribute" => CheckKind::Attribute,
        "memory_write_requires_writer" | "memory_sensitive_read_denied" => CheckKind::Sensitivity,
        other => panic!("no such code: {other}"),
    };
    Part::deny(check, ReasonCode::parse(code).unwrap()).of_rule(rule)
}

fn shortfall(mildest: &Lack<'_>) -> Vec<Part> {
    const CODES: [(CheckKind, ReasonCode); 3] = [
        (CheckKind::Role, ReasonCode::MissingRole),
        (CheckKind::Permission, ReasonCode::MissingPermission),
        (CheckKind::Attribute, ReasonCode::MissingAttribute),
    ];
    if !mildest.unmet.is_empty() {
        let denials = mildest.unmet.iter().map(|at| Part::deny(CODES[*at].0, CODES[*at].1));
        return denials.collect();
    }
    let verdict = if mildest.justified == Justified::Holds { Verdict::Hold } else { Verdict::Ask };
    let reason = ReasonCode::InsufficientJustification;
    let mut part = Part::new(CheckKind::Justification, verdict, reason);
    part.constraints = constraints_of(mildest.rule);
    vec![part]
}

/// What the rules say.
pub(crate) fn parts(policy: &Table, capability: &Effective, asked: &Asked) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lacks = Vec::new();
    for rule in tables(policy.get("rules")) {
        let view = asked.operation == Operation::View;
        let matches = applies(rule["match"].as_table().unwrap(), capability, asked);
        match rule["effect"].as_str().unwrap() {
            "deny" if matches.unwrap_or(!view) => parts.push(denial(rule)),
            "require_approval" if matches != Some(false) && view => {
                let part = Part::new(CheckKind::Rule, Verdict::Allow, ReasonCode::RuleAllow);
                let mut part = part.of_rule(rule);
                part.constraints = constraints_of(rule);
                parts.push(part);
            }
            "require_approval" if matches != Some(false) => {
                let part = Part::hold(CheckKind::Rule, ReasonCode::ApprovalRequired);
                let mut part = part.of_rule(rule);
                part.authority = authority_in(rule.get("authority"));
                part.constraints = constraints_of(rule);
                parts.push(part);
            }
            "allow" if matches.unwrap_or(view) => lacks.push(lack(rule, asked)),
            _ => {}
        }
    }
    if lacks.iter().any(Lack::is_nothing) {
        for met in lacks.iter().filter(|lack| lack.is_nothing()) {
            let part = Part::new(CheckKind::Rule, Verdict::Allow, ReasonCode::RuleAllow);
            let mut part = part.of_rule(met.rule);
            part.constraints = constraints_of(met.rule);
            parts.push(part);
        }
    } else if let Some(mildest) = lacks.iter().min_by(|a, b| a.rank().cmp(&b.rank())) {
        parts.extend(shortfall(mildest));
    }
    if parts.is_empty() {
        parts.push(Part::deny(CheckKind::Rule, ReasonCode::NoMatchingRule));
    }
    parts
}
