//! Casbin knows two answers, so there are two enforcers: one over all rules says whether a call
//! may go on at all, one over the approval rules alone whether somebody must release it.

use ::casbin::function_map::OperatorFunction;
use ::casbin::prelude::{CoreApi as _, DefaultModel, Enforcer, MemoryAdapter, MgmtApi as _};
use ::casbin::rhai::Dynamic;
use tokio::runtime::{Builder, Runtime};
use weaver_benches::Failure;
use weaver_benches::scenario::{Answer, Call, Condition, Line, Scenario, USERS, fits, roles};

use super::{Engine, ReadyEngine};
use crate::measure::timed;

const MODEL: &str = "[request_definition]
r = user, tool, level, amount, path
[policy_definition]
p = name, tools, role, least, most, condition, value, eft
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = toolFits(p.tools, r.tool) && g(r.user, p.role) && between(r.level, p.least, p.most) \
&& conditionHolds(p.condition, p.value, r.amount, r.path)
";

type Request = (String, String, String, String, String);

struct Casbin {
    all: Enforcer,
    approvals: Enforcer,
    requests: Vec<Request>,
}

/// Reads the rules into both enforcers.
pub fn read(scenario: &Scenario) -> Result<ReadyEngine<'_>, Failure> {
    let runtime = Builder::new_current_thread().build()?;
    let lines: Vec<_> = scenario.lines.iter().enumerate().collect();
    let approvals = lines.iter().filter(|(_, line)| line.answer == Answer::Approve);
    let (all, approvals) = (policies(lines.iter()), policies(approvals));
    let (enforcers, load) = timed(|| -> Result<_, Failure> {
        Ok((enforcer(&runtime, all)?, enforcer(&runtime, approvals)?))
    });
    let (all, approvals) = enforcers?;
    let requests = scenario.calls.iter().map(request).collect();
    Ok(ReadyEngine { engine: Box::new(Casbin { all, approvals, requests }), load })
}

fn policies<'a>(lines: impl Iterator<Item = &'a (usize, &'a Line)>) -> Vec<Vec<String>> {
    lines.map(|(place, line)| policy(*place, line)).collect()
}

fn policy(place: usize, line: &Line) -> Vec<String> {
    let (condition, value) = match &line.condition {
        Condition::None => ("none", "-".to_owned()),
        Condition::AtMost(most) => ("amount", most.to_string()),
        Condition::Below(folder) => ("path", folder.clone()),
    };
    let effect = if line.answer == Answer::Deny { "deny" } else { "allow" };
    vec![
        place.to_string(),
        line.tools.clone(),
        line.role.to_owned(),
        line.levels.start().to_string(),
        line.levels.end().to_string(),
        condition.to_owned(),
        value,
        effect.to_owned(),
    ]
}

fn enforcer(runtime: &Runtime, policies: Vec<Vec<String>>) -> Result<Enforcer, Failure> {
    let users = (0..USERS)
        .flat_map(|user| roles(user).into_iter().map(move |r| vec![user.to_string(), r.to_owned()]))
        .collect();
    runtime.block_on(async {
        let model = DefaultModel::from_str(MODEL).await?;
        let mut enforcer = Enforcer::new(model, MemoryAdapter::default()).await?;
        enforcer.enable_auto_save(false);
        enforcer.add_function("toolFits", OperatorFunction::Arg2(tool_fits));
        enforcer.add_function("between", OperatorFunction::Arg3(between));
        enforcer.add_function("conditionHolds", OperatorFunction::Arg4(condition_holds));
        if !policies.is_empty() {
            enforcer.add_policies(policies).await?;
        }
        enforcer.add_grouping_policies(users).await?;
        Ok(enforcer)
    })
}

fn text(value: Dynamic) -> String {
    value.into_string().unwrap_or_default()
}

fn tool_fits(pattern: Dynamic, tool: Dynamic) -> Dynamic {
    fits(&text(pattern), &text(tool)).into()
}

fn between(level: Dynamic, least: Dynamic, most: Dynamic) -> Dynamic {
    let number = |value| text(value).parse::<usize>().ok();
    match (number(level), number(least), number(most)) {
        (Some(level), Some(least), Some(most)) => ((least..=most).contains(&level)).into(),
        _ => false.into(),
    }
}

fn condition_holds(kind: Dynamic, value: Dynamic, amount: Dynamic, path: Dynamic) -> Dynamic {
    let value = text(value);
    match text(kind).as_str() {
        "none" => true.into(),
        "amount" => match (text(amount).parse::<i64>(), value.parse::<i64>()) {
            (Ok(amount), Ok(most)) => (amount <= most).into(),
            _ => false.into(),
        },
        _ => text(path).starts_with(&value).into(),
    }
}

fn request(call: &Call) -> Request {
    let Call { user, tool, level, amount, path } = call;
    (user.to_string(), tool.clone(), level.to_string(), amount.to_string(), path.clone())
}

impl Engine for Casbin {
    fn answer(&mut self, call: usize) -> Result<Answer, Failure> {
        let request = self.requests.get(call).ok_or("no such call")?;
        Ok(if !self.all.enforce(request.clone())? {
            Answer::Deny
        } else if self.approvals.enforce(request.clone())? {
            Answer::Approve
        } else {
            Answer::Allow
        })
    }
}
