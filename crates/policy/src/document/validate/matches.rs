//! Validates matches and limits beyond their form.

use std::collections::BTreeMap;

use super::{MAX_ENTRIES, Problem, bad_name, key};
use crate::document::MAX_DEPTH;
use crate::document::reader::PathStep;
use crate::limit::{Limit, MAX_CALLS, MAX_WINDOW};
use crate::matching::Match;
use crate::policy::Policy;

/// What is wrong in a match that stands at this place.
pub(super) fn check(matches: &Match, at: &[PathStep], depth: usize, out: &mut Vec<Problem>) {
    let mut problem = |more: &[PathStep], code, message: String, remedy| {
        let steps = at.iter().chain(more).cloned().collect();
        out.push(Problem { steps, code, message, remedy });
    };
    if depth >= MAX_DEPTH {
        let message = "matches are nested too deeply".to_owned();
        problem(&[], "policy.too_deep", message, "nest at most 32 of them");
        return;
    }
    for (index, predicate) in matches.arguments.iter().enumerate() {
        if let Err(error) = predicate.check() {
            let steps = [key("arguments"), PathStep::Index(index)];
            problem(&steps, error.code(), error.to_string(), "correct this condition");
        }
    }
    if let Some(wrong) = matches.time.as_ref().and_then(|window| window.problem()) {
        let message = format!("the window of time: {wrong}");
        problem(&[key("time")], "policy.window", message, "correct it or leave it out");
    }
    let below = |more: &[PathStep]| -> Vec<PathStep> { at.iter().chain(more).cloned().collect() };
    for (index, alternative) in matches.any.iter().enumerate() {
        check(alternative, &below(&[key("any"), PathStep::Index(index)]), depth + 1, out);
    }
    for (name, excluded) in [("not", &matches.not), ("unless", &matches.unless)] {
        if let Some(excluded) = excluded {
            check(excluded, &below(&[key(name)]), depth + 1, out);
        }
    }
}

/// What is wrong in the limits of a policy.
pub(super) fn limits(policy: &Policy, out: &mut Vec<Problem>) {
    if policy.limits.len() > MAX_ENTRIES {
        out.push(Problem {
            steps: vec![key("limits")],
            code: "policy.too_many",
            message: format!("{} limits, the most are {MAX_ENTRIES}", policy.limits.len()),
            remedy: "merge limits or remove some",
        });
        return;
    }
    let mut names = BTreeMap::new();
    for (index, limit) in policy.limits.iter().enumerate() {
        let at = [key("limits"), PathStep::Index(index)];
        if let Some(other) = names.insert(limit.name.as_str(), index) {
            out.push(Problem {
                steps: at.iter().cloned().chain([key("name")]).collect(),
                code: "policy.duplicate_name",
                message: format!("limits[{other}] has the same name"),
                remedy: "give each limit a name of its own",
            });
        }
        one_limit(limit, &at, out);
    }
}

fn one_limit(limit: &Limit, at: &[PathStep], out: &mut Vec<Problem>) {
    let mut problem = |field: &str, code, message: &str, remedy| {
        let steps = at.iter().cloned().chain([key(field)]).collect();
        out.push(Problem { steps, code, message: message.to_owned(), remedy });
    };
    if let Some(message) = bad_name(&limit.name) {
        problem("name", "policy.text", message, "write 1 to 128 visible bytes");
    }
    if !(1..=MAX_CALLS).contains(&limit.max_calls) || !(1..=MAX_WINDOW).contains(&limit.window_s) {
        let message = "the calls or the seconds are out of bounds";
        problem("max_calls", "policy.bounds", message, "write 1 to 100000 calls, 1 to 3600 s");
    }
    let lower = |calls: u32| calls < limit.max_calls || calls > MAX_CALLS;
    if limit.for_roles.iter().any(|one| one.any.is_empty() || lower(one.max_calls)) {
        let message = "a role has fewer calls than everybody, too many, or is not named";
        problem("for_roles", "policy.bounds", message, "name roles, and at least `max_calls`");
    }
    let steps: Vec<_> = at.iter().cloned().chain([key("match")]).collect();
    check(&limit.matches, &steps, 0, out);
}
