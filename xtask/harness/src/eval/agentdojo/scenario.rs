//! Tasks and pairs as scenarios for `weaver replay`.

use serde_json::{Value, json};

use super::corpus::{Attack, Call, Suite, Task};

/// Every scenario of a suite: the tasks, then the pairs.
pub fn all(suite: &Suite) -> impl Iterator<Item = Value> {
    let tasks = suite.tasks.iter().map(|task| benign(suite, task));
    let pairs = suite.pairs.iter().filter_map(|(task, attack)| {
        Some(hijacked(suite, suite.tasks.get(*task)?, suite.attacks.get(attack)?))
    });
    tasks.chain(pairs)
}

/// How many steps of a pair are the user's.
pub fn before_attack(task: &Task) -> usize {
    let all = task.steps.len();
    task.tainted.map_or(all, |step| all.min(step + 1))
}

/// A task that nobody attacks.
fn benign(suite: &Suite, task: &Task) -> Value {
    let whole = task.benign.len() == task.steps.len();
    let steps = task.steps.iter().enumerate().map(|(number, call)| {
        let output = match task.benign.get(number).filter(|_| whole) {
            Some(output) => output.clone(),
            None => filled(&call.output, |vector| suite.vectors.get(vector).cloned()),
        };
        step(suite, call, output, task.tainting.contains(&number), true)
    });
    json!({ "id": task.id, "prompt": task.prompt, "steps": steps.collect::<Vec<_>>() })
}

/// A task up to the first output that an attacker writes into, then what the attacker wants. Every
/// place of the attacker says so in full.
fn hijacked(suite: &Suite, task: &Task, attack: &Attack) -> Value {
    let own = task.steps.iter().take(before_attack(task)).enumerate().map(|(number, call)| {
        let output = filled(&call.output, |_| Some(attack.goal.clone()));
        step(suite, call, output, task.tainting.contains(&number), true)
    });
    let calls = attack.calls.iter().map(|call| step(suite, call, call.output.clone(), true, false));
    let steps: Vec<Value> = own.chain(calls).collect();
    json!({ "id": format!("{}/{}", task.id, attack.id), "prompt": task.prompt, "steps": steps })
}

fn step(suite: &Suite, call: &Call, output: Value, untrusted: bool, release: bool) -> Value {
    json!({
        "tool": format!("{}.{}", suite.surface(), call.tool),
        "args": call.args,
        "output": output,
        "error": call.error,
        "untrusted": untrusted,
        "release": release,
    })
}

/// The output with something in each place of an attacker: `CANARY<name>`.
fn filled(output: &Value, with: impl Fn(&str) -> Option<String>) -> Value {
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
        assert_eq!(filled(&text, |name| Some(name.to_uppercase())), json!("a ONE b TWO"));
        assert_eq!(filled(&json!(1), |_| None), json!(1));
    }
}
