//! Cedar: a policy a rule. What needs an approval is permitted, and an annotation on the policies
//! that determined the answer says so.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::str::FromStr as _;

use cedar_policy::{
    Authorizer, Context, Decision, Entities, Entity, EntityUid, PolicyId, PolicySet, Request,
    RestrictedExpression,
};
use weaver_benches::Failure;
use weaver_benches::scenario::{Answer, Call, Condition, ROLES, Scenario, USERS, roles};

use super::{Engine, ReadyEngine};
use crate::measure::timed;

struct Cedar {
    authorizer: Authorizer,
    rules: Rules,
    requests: Vec<Request>,
}

struct Rules {
    policies: PolicySet,
    approve: HashSet<PolicyId>,
    entities: Entities,
}

/// Reads the rules as Cedar policies.
pub fn read(scenario: &Scenario) -> Result<ReadyEngine<'_>, Failure> {
    let source = source(scenario)?;
    let (rules, load) = timed(|| rules(&source));
    let requests = scenario.calls.iter().map(request).collect::<Result<_, _>>()?;
    let engine = Cedar { authorizer: Authorizer::new(), rules: rules?, requests };
    Ok(ReadyEngine { engine: Box::new(engine), load })
}

fn source(scenario: &Scenario) -> Result<String, Failure> {
    let mut out = String::new();
    for line in &scenario.lines {
        let (word, approve) = match line.answer {
            Answer::Allow => ("permit", ""),
            Answer::Approve => ("permit", "@approve(\"yes\")\n"),
            Answer::Deny => ("forbid", ""),
        };
        let condition = match &line.condition {
            Condition::None => String::new(),
            Condition::AtMost(most) => format!(" && context.amount <= {most}"),
            Condition::Below(folder) => format!(" && context.path like \"{folder}*\""),
        };
        writeln!(
            out,
            "{approve}{word}(principal in Role::\"{}\", action, resource) when {{ \
             context.tool like \"{}\" && context.level >= {} && context.level <= {}{condition} }};",
            line.role,
            line.tools,
            line.levels.start(),
            line.levels.end()
        )?;
    }
    Ok(out)
}

fn rules(source: &str) -> Result<Rules, Failure> {
    let policies = PolicySet::from_str(source)?;
    let approve = policies
        .policies()
        .filter(|policy| policy.annotation("approve").is_some())
        .map(|policy| policy.id().clone())
        .collect();
    let mut entities = Vec::new();
    for role in ROLES {
        entities.push(Entity::new_no_attrs(uid("Role", role)?, HashSet::new()));
    }
    for user in 0..USERS {
        let parents = roles(user).iter().map(|role| uid("Role", role)).collect::<Result<_, _>>()?;
        entities.push(Entity::new_no_attrs(uid("User", &user.to_string())?, parents));
    }
    let entities = Entities::from_entities(entities, None)?;
    Ok(Rules { policies, approve, entities })
}

fn request(call: &Call) -> Result<Request, Failure> {
    let long = |number: i64| RestrictedExpression::new_long(number);
    let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
    let context = Context::from_pairs([
        ("tool".to_owned(), text(&call.tool)),
        ("level".to_owned(), long(i64::try_from(call.level)?)),
        ("amount".to_owned(), long(call.amount)),
        ("path".to_owned(), text(&call.path)),
    ])?;
    let user = uid("User", &call.user.to_string())?;
    Ok(Request::new(user, uid("Action", "call")?, uid("Tool", "tool")?, context, None)?)
}

fn uid(kind: &str, name: &str) -> Result<EntityUid, Failure> {
    Ok(EntityUid::from_str(&format!("{kind}::\"{name}\""))?)
}

impl Engine for Cedar {
    fn answer(&mut self, call: usize) -> Result<Answer, Failure> {
        let Rules { policies, approve, entities } = &self.rules;
        let request = self.requests.get(call).ok_or("no such call")?;
        let response = self.authorizer.is_authorized(request, policies, entities);
        Ok(match response.decision() {
            Decision::Deny => Answer::Deny,
            Decision::Allow if response.diagnostics().reason().any(|id| approve.contains(id)) => {
                Answer::Approve
            }
            Decision::Allow => Answer::Allow,
        })
    }
}
