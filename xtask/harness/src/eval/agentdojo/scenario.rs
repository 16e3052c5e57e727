//! Turns tasks and pairs into scenarios for `weaver replay`.

use serde_json::{Value, json};

use super::corpus::{Attack, Call, Suite, Task};

/// Every scenario of a suite: the tasks, then the pairs.
pub fn scenarios(suite: &Suite) -> impl Iterator<Item = Value> {
    let tasks = suite.tasks.iter().map(|task| benign_scenario(suite, task));
    let pairs = suite.pairs.iter().filter_map(|(task, attack)| {
        Some(hijacked_scenario(suite, suite.tasks.get(*task)?, suite.attacks.get(attack)?))
    });
    tasks.chain(pairs)
}

/// How many steps of a pair are the user's.
pub fn before_attack(task: &Task) -> usize {
    let all = task.steps.len();
    task.tainted.map_or(all, |step| all.min(step + 1))
}

/// A task without an attack.
fn benign_scenario(suite: &Suite, task: &Task) -> Value {
    let whole = task.benign.len() == task.steps.len();
    let steps = task.steps.iter().enumerate().map(|(number, call)| {
        let output = match task.benign.get(number).filter(|_| whole) {
            Some(output) => output.clone(),
            None => fill_placeholders(&call.output, |vector| suite.vectors.get(vector).cloned()),
        };
        step_json(suite, call, output, true)
    });
    json!({ "id": task.id, "prompt": task.prompt, "steps": steps.collect::<Vec<_>>() })
}

/// A task up to the first output that an attacker can write to, then the attacker's calls. The
/// attacker's full goal is inserted at every attacker-controlled place.
fn hijacked_scenario(suite: &Suite, task: &Task, attack: &Attack) -> Value {
    let own = task.steps.iter().take(before_attack(task)).map(|call| {
        let output = fill_placeholders(&call.output, |_| Some(attack.goal.clone()));
        step_json(suite, call, output, true)
    });
    let calls = attack.calls.iter().map(|call| step_json(suite, call, call.output.clone(), false));
    let steps: Vec<Value> = own.chain(calls).collect();
    json!({ "id": format!("{}/{}", task.id, attack.id), "prompt": task.prompt, "steps": steps })
}

fn step_json(suite: &Suite, call: &Call, output: Value, release: bool) -> Value {
    json!({
        "tool": format!("{}.{}", suite.surface(), call.tool),
        "args": call.args,
        "output": output,
        "error": call.error,
        "release": release,
    })
}

/// The output with a text in each attacker-controlled place, marked `CANARY<name>`.
fn fill_placeholders(output: &Value, with: impl Fn(&str) -> Option<String>) -> Value {
    let Value::String(text) = output else { return output.clone() };
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("CANARY<") {
        out.push_str(before);
        let Some((name, after)) = after.split_once('>') else {
            rest = after;
            continue;
        };
        out.push_str(&with(name).unwrap_or_default());
        rest = after;
    }
    out.push_str(rest);
    Value::String(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_attacker_is_filled() {
        let text = json!("a CANARY<one> b CANARY<two>");
        assert_eq!(
            fill_placeholders(&text, |name| Some(name.to_uppercase())),
            json!("a ONE b TWO")
        );
        assert_eq!(fill_placeholders(&json!(1), |_| None), json!(1));
    }
}
