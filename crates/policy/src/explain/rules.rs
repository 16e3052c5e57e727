//! The conditions behind what rules say.

use serde_json::{Map, Value, json};
use weaver_types::{Contribution, ReasonCode};

use super::FailedCondition;
use super::condition::{failed_condition, required_people};
use crate::matching::Match;
use crate::name_condition::NameCondition;
use crate::query::Query;
use crate::rule::{Effect, JustificationNeed, Rule};
use crate::set::PolicySet;
use crate::truth::Truth;

/// How many rules that nearly matched are named.
const MAX_NEAR: usize = 3;

/// The rule that a contribution names, where it names one that matches.
fn contributing_rule<'s>(
    set: &'s PolicySet,
    query: &Query<'_>,
    of: &Contribution,
) -> Option<&'s Rule> {
    set.candidate_rules(query.capability.id().as_str()).find(|rule| {
        let named = of.detail.strip_prefix("rule `").and_then(|rest| {
            let rest = rest.strip_prefix(rule.name.as_str())?;
            rest.strip_prefix('`')
        });
        named.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" would allow it")
        }) && rule.matches.applies_to(query) != Truth::No
    })
}

/// The conditions, where a rule is behind the contribution.
pub(super) fn conditions(
    set: &PolicySet,
    query: &Query<'_>,
    of: &Contribution,
) -> Option<Vec<FailedCondition>> {
    let rule = contributing_rule(set, query, of)?;
    let mut out = match rule.effect {
        Effect::Allow => requirements(rule, query, of),
        Effect::RequireApproval => {
            let suggestion =
                format!("Have somebody with the authority release it: {}", required_people(of));
            vec![failed_condition(of, "approval", json!(of.authority), json!("none"), suggestion)]
        }
        Effect::Deny => denial(rule, query, of),
    };
    for one in &mut out {
        one.rule = Some(rule.name.clone());
    }
    Some(out)
}

/// Everything that an allow rule requires and does not find, also what the decision need not say
/// because something graver is missing too.
fn requirements(rule: &Rule, query: &Query<'_>, of: &Contribution) -> Vec<FailedCondition> {
    let (require, who) = (&rule.require, query.principal);
    let mut out = Vec::new();
    if !require.roles.met_by(&who.roles) {
        out.push(roles(&require.roles, query, of));
    }
    let missing: Vec<_> = require.permissions.difference(&who.permissions).collect();
    if !missing.is_empty() {
        let words: Vec<_> = missing.iter().map(|name| format!("'{name}'")).collect();
        let suggestion =
            format!("Add permission {} to principal '{}'", words.join(" and "), who.id);
        let (required, actual) = (json!(require.permissions), json!(who.permissions));
        out.push(failed_condition(of, "permissions", required, actual, suggestion));
    }
    for (name, pattern) in &require.attributes {
        let held = who.attributes.get(name);
        if held.is_none_or(|value| !pattern.matches(value)) {
            out.push(attribute(name, pattern.as_str(), query, of));
        }
    }
    if let Some(need) = &require.justification
        && let Some(one) = justification(need, query, of)
    {
        out.push(one);
    }
    for one in &mut out {
        one.reason_code = match one.condition.as_str() {
            "roles" => ReasonCode::MissingRole,
            "permissions" => ReasonCode::MissingPermission,
            "min_justification" | "justification_source" => ReasonCode::InsufficientJustification,
            _ => ReasonCode::MissingAttribute,
        };
    }
    out
}

fn roles(wanted: &NameCondition, query: &Query<'_>, of: &Contribution) -> FailedCondition {
    let (id, held) = (&query.principal.id, &query.principal.roles);
    let quoted = |names: Vec<&String>, joint: &str| {
        names.into_iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(joint)
    };
    let all: Vec<_> = wanted.all.difference(held).collect();
    let any = !wanted.any.is_empty() && wanted.any.is_disjoint(held);
    let mut parts = Vec::new();
    if any {
        parts.push(quoted(wanted.any.iter().collect(), " or "));
    }
    if !all.is_empty() {
        parts.push(quoted(all, " and "));
    }
    let required = match (wanted.any.is_empty(), wanted.all.is_empty()) {
        (false, true) => json!(wanted.any),
        (true, _) => json!(wanted.all),
        (false, false) => json!({ "any": wanted.any, "all": wanted.all }),
    };
    let suggestion = format!("Add {} role to principal '{id}'", parts.join(" and "));
    failed_condition(of, "roles", required, json!(held), suggestion)
}

fn attribute(name: &str, pattern: &str, query: &Query<'_>, of: &Contribution) -> FailedCondition {
    let id = &query.principal.id;
    let held = query.principal.attributes.get(name);
    let condition = format!("{name}_attribute");
    let actual = held.map_or(json!("absent"), |value| json!(value));
    if pattern == "*" {
        let suggestion = format!("Add '{name}' attribute to principal '{id}'");
        failed_condition(of, &condition, json!("present"), actual, suggestion)
    } else {
        let suggestion =
            format!("Give principal '{id}' an attribute '{name}' that fits '{pattern}'");
        failed_condition(of, &condition, json!(pattern), actual, suggestion)
    }
}

/// `None` where the request brings the justification.
fn justification(
    need: &JustificationNeed,
    query: &Query<'_>,
    of: &Contribution,
) -> Option<FailedCondition> {
    let given = query.request.justification.as_ref();
    let length = given.map_or(0, |given| given.length());
    let min = need.min_chars;
    if query.operation == weaver_types::Operation::View {
        return None;
    }
    if usize::try_from(min).is_ok_and(|min| length < min) {
        let suggestion =
            format!("Provide justification with at least {min} characters (currently {length})");
        return Some(failed_condition(
            of,
            "min_justification",
            json!(min),
            json!(length),
            suggestion,
        ));
    }
    let source = given.map(|given| given.source)?;
    (!need.sources.contains(&source)).then(|| {
        let suggestion = "Have the justification come from a source that counts".to_owned();
        failed_condition(of, "justification_source", json!(need.sources), json!(source), suggestion)
    })
}

/// A deny rule speaks because all it matches on holds. Where it speaks of what must be by `not`
/// or `unless`, that is what is missing; otherwise everything it matches on is named.
fn denial(rule: &Rule, query: &Query<'_>, of: &Contribution) -> Vec<FailedCondition> {
    let mut out = Vec::new();
    for matches in [&rule.matches.not, &rule.matches.unless].into_iter().flatten() {
        if !matches.roles.met_by(&query.principal.roles) {
            out.push(roles(&matches.roles, query, of));
        }
        for (name, pattern) in &matches.attributes {
            let held = query.principal.attributes.get(name);
            if held.is_none_or(|value| !pattern.matches(value)) {
                out.push(attribute(name, pattern.as_str(), query, of));
            }
        }
        for predicate in &matches.arguments {
            if predicate.evaluate(query.arguments, query.origins) != Truth::Yes {
                let actual = query.arguments.map(|args| predicate.at.find(args));
                let condition = format!("argument {}", predicate.at);
                let suggestion = format!("Change the argument at '{}'", predicate.at);
                out.push(failed_condition(
                    of,
                    &condition,
                    json!(predicate),
                    json!(actual),
                    suggestion,
                ));
            }
        }
    }
    if out.is_empty() {
        let fields = nonempty_fields(&rule.matches);
        let said: Vec<_> = fields.keys().map(String::as_str).collect();
        let suggestion = match said.as_slice() {
            [] => "Nothing in the request can change it: the rule speaks of everything".to_owned(),
            said => format!("Only a request that differs in {} escapes the rule", said.join(", ")),
        };
        let required = json!("that the rule does not match");
        out.push(failed_condition(of, "rule", required, Value::Object(fields), suggestion));
    }
    out
}

/// The fields of a match that say something.
fn nonempty_fields(matches: &Match) -> Map<String, Value> {
    match serde_json::to_value(matches) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The allow rules that are about this capability, and what keeps each from matching.
pub(super) fn nearest(set: &PolicySet, query: &Query<'_>) -> String {
    let mut near = Vec::new();
    for rule in set
        .candidate_rules(query.capability.id().as_str())
        .filter(|rule| rule.effect == Effect::Allow)
    {
        let in_the_way: Vec<_> = nonempty_fields(&rule.matches)
            .into_iter()
            .filter(|(name, _)| without(&rule.matches, name).applies_to(query) == Truth::Yes)
            .map(|(name, _)| name)
            .collect();
        if let [only] = in_the_way.as_slice() {
            near.push(format!("rule `{}` would match but for `{only}`", rule.name));
        }
        if near.len() >= MAX_NEAR {
            break;
        }
    }
    if near.is_empty() {
        "Add an allow rule that matches the request".to_owned()
    } else {
        format!("Add an allow rule that matches the request; {}", near.join("; "))
    }
}

/// The match without one of its fields.
fn without(matches: &Match, field: &str) -> Match {
    let (mut out, empty) = (matches.clone(), Match::default());
    match field {
        "capability" => out.capability = empty.capability,
        "impact" => out.impact = empty.impact,
        "world" => out.world = empty.world,
        "class" => out.class = empty.class,
        "rung" => out.rung = empty.rung,
        "sink" => out.sink = empty.sink,
        "tags" => out.tags = empty.tags,
        "sensitivity" => out.sensitivity = empty.sensitivity,
        "intent" => out.intent = empty.intent,
        "scope" => out.scope = empty.scope,
        "mode" => out.mode = empty.mode,
        "confidentiality" => out.confidentiality = empty.confidentiality,
        "integrity" => out.integrity = empty.integrity,
        "principal" => out.principal = empty.principal,
        "roles" => out.roles = empty.roles,
        "attributes" => out.attributes = empty.attributes,
        "agent" => out.agent = empty.agent,
        "time" => out.time = empty.time,
        "operation" => out.operation = empty.operation,
        "arguments" => out.arguments = empty.arguments,
        "any" => out.any = empty.any,
        "not" => out.not = empty.not,
        "unless" => out.unless = empty.unless,
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weaver_types::Timestamp;

    use super::*;
    use crate::{Source, Sources};

    /// The example has every condition there is, which a test of the schema sees to.
    #[test]
    fn each_field_of_a_match_can_be_left_out() {
        let head = |kind: &str| format!("kind = \"{kind}\"\nformat = 1\nid = \"t\"\nversion = 1\n");
        let (contracts, keys) = (head("contracts"), head("keys"));
        let policy = include_str!("../../tests/data/policy.toml");
        let sources = Sources {
            policy: Source::unsigned("policy.toml", policy),
            contracts: Source::unsigned("contracts.toml", &contracts),
            keys: Source::unsigned("keys.toml", &keys),
        };
        let set =
            PolicySet::load_unsigned_development(&sources, Timestamp::from_micros(0)).unwrap();
        let mut seen = BTreeSet::new();
        for rule in &set.policy().rules {
            let mut all = vec![&rule.matches];
            while let Some(matches) = all.pop() {
                let inner = [matches.not.as_deref(), matches.unless.as_deref()];
                all.extend(inner.into_iter().flatten().chain(&matches.any));
                for (field, _) in nonempty_fields(matches) {
                    let rest = without(matches, &field);
                    assert!(
                        nonempty_fields(&rest).iter().all(|(name, _)| *name != field),
                        "{field}"
                    );
                    seen.insert(field);
                }
            }
        }
        assert_eq!(seen.len(), FIELDS, "{seen:?}");
    }

    /// How many fields a match has.
    const FIELDS: usize = 23;
}
