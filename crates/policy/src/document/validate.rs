//! Validates constraints beyond the format, for documents and for values built in code.

mod matches;

use std::collections::BTreeMap;

use weaver_types::{ApprovalAuthority, CapabilityId, Constraints, TIMEOUT_MS};

use super::MAX_DOCUMENT_ENTRIES;
use super::reader::{DocumentReader, PathStep, excerpt};
use crate::contract::{Contract, Contracts};
use crate::error::{DocumentFinding, LoadError};
use crate::pattern::Pattern;
use crate::policy::Policy;
use crate::rule::{DENY_RULE_CODES, Effect, Requirements, Rule};

/// The maximum length of a rule's name, in bytes.
const MAX_NAME: usize = 128;
/// The largest minimum length of a justification that a rule may require.
const MAX_JUSTIFICATION: u32 = 1_000;

/// A problem and the path to it.
pub(super) struct Problem {
    steps: Vec<PathStep>,
    code: &'static str,
    message: String,
    remedy: &'static str,
}

fn key_step(name: &str) -> PathStep {
    PathStep::Key(name.to_owned())
}

fn key_path(steps: &[PathStep]) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            PathStep::Index(index) => out.push_str(&format!("[{index}]")),
            PathStep::Key(name) => {
                let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(&if plain { name.clone() } else { format!("\"{}\"", excerpt(name)) });
            }
        }
    }
    out
}

/// Reports problems as findings with positions.
pub(super) fn report_problems(reader: &mut DocumentReader<'_>, problems: Vec<Problem>) {
    for problem in problems {
        let span = reader.locate(&problem.steps);
        let steps = key_path(&problem.steps);
        reader.report(Some(span), &steps, problem.code, problem.message, problem.remedy);
    }
}

/// Validates values that were built in code.
pub(crate) fn validate(of: &Policy, with: &Contracts) -> Result<(), LoadError> {
    let findings: Vec<_> = policy_problems(of)
        .into_iter()
        .chain(contract_problems(with))
        .map(finding_in_code)
        .collect();
    if findings.is_empty() { Ok(()) } else { Err(LoadError::new(findings)) }
}

fn finding_in_code(problem: Problem) -> DocumentFinding {
    DocumentFinding {
        file: "code".to_owned(),
        line: None,
        column: None,
        key: Some(key_path(&problem.steps)),
        code: problem.code,
        message: problem.message,
        remedy: problem.remedy.to_owned(),
    }
}

/// The problems of a policy.
pub(super) fn policy_problems(policy: &Policy) -> Vec<Problem> {
    let mut out = Vec::new();
    if policy.rules.len() > MAX_DOCUMENT_ENTRIES {
        out.push(Problem {
            steps: vec![key_step("rules")],
            code: "policy.too_many",
            message: format!("{} rules, the limit is {MAX_DOCUMENT_ENTRIES}", policy.rules.len()),
            remedy: "merge rules or remove some",
        });
        return out;
    }
    let mut names = BTreeMap::new();
    for (index, rule) in policy.rules.iter().enumerate() {
        let mut problem = |field: &str, code, message: String, remedy| {
            let steps = vec![key_step("rules"), PathStep::Index(index), key_step(field)];
            out.push(Problem { steps, code, message, remedy });
        };
        check_rule(rule, &mut problem);
        if let Some(other) = names.insert(rule.name.as_str(), index) {
            let message = format!("rules[{other}] has the same name");
            problem("name", "policy.duplicate_name", message, "give each rule a name of its own");
        }
    }
    for (index, rule) in policy.rules.iter().enumerate() {
        let at = [key_step("rules"), PathStep::Index(index), key_step("match")];
        matches::validate(&rule.matches, &at, 0, &mut out);
    }
    matches::check_limits(policy, &mut out);
    for (id, principal) in &policy.principals {
        if *id != principal.id {
            out.push(Problem {
                steps: vec![key_step("principals"), key_step(id.as_str())],
                code: "policy.value",
                message: format!("the principal under this id is `{}`", principal.id),
                remedy: "use one id",
            });
        }
    }
    agent_problems(policy, &mut out);
    issuer_problems(policy, &mut out);
    out
}

/// The problems of a policy's issuers.
fn issuer_problems(policy: &Policy, out: &mut Vec<Problem>) {
    let mut seen = BTreeMap::new();
    for (name, issuer) in &policy.issuers {
        let place = |field: &str| vec![key_step("issuers"), key_step(name), key_step(field)];
        if let Some(other) = seen.insert(issuer.issuer.as_str(), name) {
            out.push(Problem {
                steps: place("issuer"),
                code: "policy.duplicate_name",
                message: format!("`issuers.{other}` has the same identifier"),
                remedy: "merge the two",
            });
        }
        for id in issuer.subjects.values().filter(|id| !policy.principals.contains_key(*id)) {
            out.push(Problem {
                steps: place("subjects"),
                code: "policy.value",
                message: format!("`principals` does not name `{id}`"),
                remedy: "name it there, with its roles",
            });
        }
    }
}

/// The problems of a policy's agents.
fn agent_problems(policy: &Policy, out: &mut Vec<Problem>) {
    for (id, agent) in &policy.agents {
        if *id != agent.agent_name {
            out.push(Problem {
                steps: vec![key_step("agents"), key_step(id.as_str())],
                code: "policy.value",
                message: format!("the agent under this id is `{}`", agent.agent_name),
                remedy: "use one id",
            });
        }
    }
    let named = policy.principals.values().filter_map(|one| Some((&one.id, one.agent.as_ref()?)));
    for (id, agent) in named.filter(|_| !policy.agents.is_empty()) {
        if !policy.agents.contains_key(agent) {
            out.push(Problem {
                steps: vec![key_step("principals"), key_step(id.as_str()), key_step("agent")],
                code: "policy.unknown_agent",
                message: format!("`agents` does not declare `{agent}`"),
                remedy: "declare it, or every call of this principal is denied",
            });
        }
    }
}

/// The problem with the name of a rule or limit, if any.
fn name_problem(name: &str) -> Option<&'static str> {
    let hidden = weaver_text::escape::line(name) != name;
    let bad = name.trim().is_empty() || name.len() > MAX_NAME || hidden;
    bad.then_some("the name is empty, too long or holds hidden characters")
}

fn check_rule(rule: &Rule, problem: &mut impl FnMut(&str, &'static str, String, &'static str)) {
    if let Some(message) = name_problem(&rule.name) {
        problem("name", "policy.text", message.to_owned(), "write 1 to 128 visible bytes");
    }
    let known = |code| DENY_RULE_CODES.iter().any(|(known, _)| *known == code);
    if rule.code.is_some_and(|code| rule.effect != Effect::Deny || !known(code)) {
        let message =
            "only a deny rule gives a code, and only one of those for deny rules".to_owned();
        problem("code", "policy.code", message, "remove `code`, or make it a deny rule");
    }
    let effect = rule.effect.as_str();
    if rule.effect != Effect::Allow && rule.require != Requirements::default() {
        let message = format!("a rule with effect `{effect}` cannot require anything");
        let remedy = "move the conditions to `match`, or make it an allow rule";
        problem("require", "policy.require_without_allow", message, remedy);
    }
    if rule.effect == Effect::Deny && rule.constraints != Constraints::default() {
        let message = "a deny rule has nothing to limit".to_owned();
        problem("constraints", "policy.constraints_in_deny", message, "remove `constraints`");
    }
    if rule.effect != Effect::RequireApproval && rule.authority != ApprovalAuthority::default() {
        let message = format!("a rule with effect `{effect}` has nothing to approve");
        let remedy = "remove `authority`, or make it a require_approval rule";
        problem("authority", "policy.authority_without_approval", message, remedy);
    }
    if let Some(need) = &rule.require.justification {
        let within = (1..=MAX_JUSTIFICATION).contains(&need.min_chars);
        if !within || need.sources.is_empty() {
            let message = "the justification asks for no or too many characters, or no source";
            let remedy = "ask for 1 to 1000 characters from at least one source";
            problem("require", "policy.bounds", message.to_owned(), remedy);
        }
    }
}

/// The problems of contracts.
pub(super) fn contract_problems(contracts: &Contracts) -> Vec<Problem> {
    let mut out = Vec::new();
    for (pattern, contract) in &contracts.capabilities {
        let mut problem = |field: &str, code, message: String, remedy| {
            let steps = vec![key_step("capabilities"), key_step(pattern.as_str()), key_step(field)];
            out.push(Problem { steps, code, message, remedy });
        };
        check_contract(pattern, contract, &mut problem);
    }
    for (index, entry) in contracts.visible.iter().enumerate() {
        if entry.capabilities.is_empty() {
            out.push(Problem {
                steps: vec![key_step("visible"), PathStep::Index(index)],
                code: "policy.empty_list",
                message: "it names no capability".to_owned(),
                remedy: "name at least one pattern",
            });
        }
    }
    out
}

fn check_contract(
    pattern: &Pattern,
    contract: &Contract,
    problem: &mut impl FnMut(&str, &'static str, String, &'static str),
) {
    let exact = !pattern.as_str().contains('*');
    if exact && let Err(error) = CapabilityId::parse(pattern.as_str()) {
        problem("", "policy.value", error.to_string(), "write the id of a capability");
    }
    if !exact && contract.upstream_digest.is_some() {
        let message = "a digest names one capability, and this is a pattern".to_owned();
        problem("upstream_digest", "policy.digest_under_glob", message, "move it under the id");
    }
    if contract.allowed_fields.as_ref().is_some_and(std::collections::BTreeSet::is_empty) {
        let message = "no field is allowed".to_owned();
        problem("allowed_fields", "policy.empty_list", message, "name fields or leave it out");
    }
    if contract.timeout_ms.is_some_and(|ms| !TIMEOUT_MS.contains(&ms)) {
        let message = "the timeout is out of bounds".to_owned();
        problem("timeout_ms", "policy.bounds", message, "write 100 to 3600000");
    }
    if let (Some(effects), Some(rung), false) =
        (contract.effects, contract.rung, contract.lower_rung)
        && rung < effects.rung()
    {
        let message = format!("the effects give {:?}, and {rung:?} is lower", effects.rung());
        let remedy = "raise it, or say `lower_rung = true` in this entry";
        problem("rung", "policy.lowered_rung", message, remedy);
    }
}
