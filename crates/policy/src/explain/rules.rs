//! Derives unmet conditions from rules.

use serde_json::{Map, Value, json};
use weaver_types::{CheckResult, ReasonCode};

use super::FailedCondition;
use super::condition::{describe_authority, failed_condition};
use crate::match_conditions::MatchConditions;
use crate::name_condition::NameCondition;
use crate::policy_set::PolicySet;
use crate::query::PolicyQuery;
use crate::rule::{Effect, JustificationRequirement, Rule};
use crate::truth::Truth;

/// The maximum number of nearly matching rules that are named.
const MAX_NEAREST_RULES: usize = 3;

/// The matching rule that a result names in its detail, if any.
fn rule_behind_result<'s>(
    set: &'s PolicySet,
    query: &PolicyQuery<'_>,
    result: &CheckResult,
) -> Option<&'s Rule> {
    set.candidate_rules(query.capability.id().as_str()).find(|rule| {
        let named = result.detail.strip_prefix("rule `").and_then(|rest| {
            let rest = rest.strip_prefix(rule.name.as_str())?;
            rest.strip_prefix('`')
        });
        named.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" would allow it")
        }) && rule.matches.applies_to(query) != Truth::No
    })
}

/// The unmet conditions, if a rule is behind the result.
pub(super) fn rule_conditions(
    set: &PolicySet,
    query: &PolicyQuery<'_>,
    result: &CheckResult,
) -> Option<Vec<FailedCondition>> {
    let rule = rule_behind_result(set, query, result)?;
    let mut out = match rule.effect {
        Effect::Allow => unmet_requirements(rule, query, result),
        Effect::RequireApproval => {
            let suggestion = format!(
                "Have somebody with the authority release it: {}",
                describe_authority(result)
            );
            vec![failed_condition(
                result,
                "approval",
                json!(result.authority),
                json!("none"),
                suggestion,
            )]
        }
        Effect::Deny => denial_conditions(rule, query, result),
    };
    for one in &mut out {
        one.rule = Some(rule.name.clone());
    }
    Some(out)
}

/// All unmet requirements of an allow rule, including those that the decision omits because a more
/// serious one is missing.
fn unmet_requirements(
    rule: &Rule,
    query: &PolicyQuery<'_>,
    result: &CheckResult,
) -> Vec<FailedCondition> {
    let (require, who) = (&rule.require, query.principal);
    let mut out = Vec::new();
    if !require.roles.is_met_by(&who.roles) {
        out.push(role_condition(&require.roles, query, result));
    }
    let missing: Vec<_> = require.permissions.difference(&who.permissions).collect();
    if !missing.is_empty() {
        let words: Vec<_> = missing.iter().map(|name| format!("'{name}'")).collect();
        let suggestion =
            format!("Add permission {} to principal '{}'", words.join(" and "), who.id);
        let (required, actual) = (json!(require.permissions), json!(who.permissions));
        out.push(failed_condition(result, "permissions", required, actual, suggestion));
    }
    for (name, pattern) in &require.attributes {
        let value = who.attributes.get(name);
        if value.is_none_or(|value| !pattern.matches(value)) {
            out.push(attribute_condition(name, pattern.as_str(), query, result));
        }
    }
    if let Some(need) = &require.justification
        && let Some(one) = justification_condition(need, query, result)
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

fn role_condition(
    wanted: &NameCondition,
    query: &PolicyQuery<'_>,
    result: &CheckResult,
) -> FailedCondition {
    let (id, actual) = (&query.principal.id, &query.principal.roles);
    let quoted = |names: Vec<&String>, joint: &str| {
        names.into_iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(joint)
    };
    let all: Vec<_> = wanted.all.difference(actual).collect();
    let any = !wanted.any.is_empty() && wanted.any.is_disjoint(actual);
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
    failed_condition(result, "roles", required, json!(actual), suggestion)
}

fn attribute_condition(
    name: &str,
    pattern: &str,
    query: &PolicyQuery<'_>,
    result: &CheckResult,
) -> FailedCondition {
    let id = &query.principal.id;
    let value = query.principal.attributes.get(name);
    let condition = format!("{name}_attribute");
    let actual = value.map_or(json!("absent"), |value| json!(value));
    if pattern == "*" {
        let suggestion = format!("Add '{name}' attribute to principal '{id}'");
        failed_condition(result, &condition, json!("present"), actual, suggestion)
    } else {
        let suggestion =
            format!("Give principal '{id}' an attribute '{name}' that fits '{pattern}'");
        failed_condition(result, &condition, json!(pattern), actual, suggestion)
    }
}

/// `None` if the request has the justification.
fn justification_condition(
    need: &JustificationRequirement,
    query: &PolicyQuery<'_>,
    result: &CheckResult,
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
            result,
            "min_justification",
            json!(min),
            json!(length),
            suggestion,
        ));
    }
    let source = given.map(|given| given.source)?;
    (!need.sources.contains(&source)).then(|| {
        let suggestion = "Have the justification come from a source that counts".to_owned();
        failed_condition(
            result,
            "justification_source",
            json!(need.sources),
            json!(source),
            suggestion,
        )
    })
}

/// A deny rule applies because all of its conditions hold. Exceptions in `not` or `unless` state
/// what would have prevented it, so they are the unmet conditions. Without any, all conditions of
/// the rule are listed.
fn denial_conditions(
    rule: &Rule,
    query: &PolicyQuery<'_>,
    result: &CheckResult,
) -> Vec<FailedCondition> {
    let mut out = Vec::new();
    for matches in [&rule.matches.not, &rule.matches.unless].into_iter().flatten() {
        if !matches.roles.is_met_by(&query.principal.roles) {
            out.push(role_condition(&matches.roles, query, result));
        }
        for (name, pattern) in &matches.attributes {
            let value = query.principal.attributes.get(name);
            if value.is_none_or(|value| !pattern.matches(value)) {
                out.push(attribute_condition(name, pattern.as_str(), query, result));
            }
        }
        for predicate in &matches.arguments {
            if predicate.evaluate(query.arguments, query.origins) != Truth::Yes {
                let actual = query.arguments.map(|args| predicate.at.find(args));
                let condition = format!("argument {}", predicate.at);
                let suggestion = format!("Change the argument at '{}'", predicate.at);
                out.push(failed_condition(
                    result,
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
            [] => {
                "Nothing in the request can change it: the rule applies to every request".to_owned()
            }
            said => format!("Only a request that differs in {} escapes the rule", said.join(", ")),
        };
        let required = json!("that the rule does not match");
        out.push(failed_condition(result, "rule", required, Value::Object(fields), suggestion));
    }
    out
}

/// The non-empty fields of match conditions.
fn nonempty_fields(matches: &MatchConditions) -> Map<String, Value> {
    match serde_json::to_value(matches) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Suggests the allow rules that fail to match this query because of a single field.
pub(super) fn suggest_nearest_rules(set: &PolicySet, query: &PolicyQuery<'_>) -> String {
    let mut near = Vec::new();
    for rule in set
        .candidate_rules(query.capability.id().as_str())
        .filter(|rule| rule.effect == Effect::Allow)
    {
        let failing_fields: Vec<_> = nonempty_fields(&rule.matches)
            .into_iter()
            .filter(|(name, _)| rule.matches.without_field(name).applies_to(query) == Truth::Yes)
            .map(|(name, _)| name)
            .collect();
        if let [only] = failing_fields.as_slice() {
            near.push(format!("rule `{}` would match but for `{only}`", rule.name));
        }
        if near.len() >= MAX_NEAREST_RULES {
            break;
        }
    }
    if near.is_empty() {
        "Add an allow rule that matches the request".to_owned()
    } else {
        format!("Add an allow rule that matches the request; {}", near.join("; "))
    }
}

impl MatchConditions {
    /// The conditions without the field of this name.
    pub(crate) fn without_field(&self, name: &str) -> Self {
        let mut out = self.clone();
        match name {
            "arguments" => out.arguments.clear(),
            "any" => out.any.clear(),
            "not" => out.not = None,
            "unless" => out.unless = None,
            _ => out
                .fields_mut()
                .filter(|(field, _)| field.name == name)
                .for_each(|(_, c)| c.clear()),
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weaver_types::Timestamp;

    use super::*;
    use crate::{DocumentSource, DocumentSources};

    /// The example has every condition there is, which a test of the schema sees to.
    #[test]
    fn each_field_of_a_match_can_be_left_out() {
        let head = |kind: &str| format!("kind = \"{kind}\"\nformat = 1\nid = \"t\"\nversion = 1\n");
        let (contracts, keys) = (head("contracts"), head("keys"));
        let policy = include_str!("../../tests/data/policy.toml");
        let sources = DocumentSources {
            policy: DocumentSource::unsigned("policy.toml", policy),
            contracts: DocumentSource::unsigned("contracts.toml", &contracts),
            keys: DocumentSource::unsigned("keys.toml", &keys),
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
                    let rest = matches.without_field(&field);
                    assert!(
                        nonempty_fields(&rest).iter().all(|(name, _)| *name != field),
                        "{field}"
                    );
                    seen.insert(field);
                }
            }
        }
        assert_eq!(seen.len(), MatchConditions::FIELDS.len() + OTHER_FIELDS, "{seen:?}");
    }

    /// How many fields a match has beside those on single values.
    const OTHER_FIELDS: usize = 4;
}
