//! Validates match conditions and rate limits beyond their format.

use std::collections::BTreeMap;

use super::{MAX_DOCUMENT_ENTRIES, Problem, key_step, name_problem};
use crate::document::MAX_DOCUMENT_DEPTH;
use crate::document::reader::PathStep;
use crate::match_conditions::MatchConditions;
use crate::policy::Policy;
use crate::rate_limit::{MAX_LIMIT_CALLS, MAX_LIMIT_WINDOW_S, RateLimit};

/// Collects the problems of match conditions at this path.
pub(super) fn validate(
    matches: &MatchConditions,
    at: &[PathStep],
    depth: usize,
    out: &mut Vec<Problem>,
) {
    let mut problem = |more: &[PathStep], code, message: String, remedy| {
        let steps = at.iter().chain(more).cloned().collect();
        out.push(Problem { steps, code, message, remedy });
    };
    if depth >= MAX_DOCUMENT_DEPTH {
        let message = "matches are nested too deeply".to_owned();
        problem(&[], "policy.too_deep", message, "nest at most 32 of them");
        return;
    }
    for (index, predicate) in matches.arguments.iter().enumerate() {
        if let Err(error) = predicate.validate() {
            let steps = [key_step("arguments"), PathStep::Index(index)];
            problem(&steps, error.code(), error.to_string(), "correct this condition");
        }
    }
    if let Some(wrong) = matches.time.as_ref().and_then(|window| window.problem()) {
        let message = format!("the window of time: {wrong}");
        problem(&[key_step("time")], "policy.window", message, "correct it or leave it out");
    }
    let below = |more: &[PathStep]| -> Vec<PathStep> { at.iter().chain(more).cloned().collect() };
    for (index, alternative) in matches.any.iter().enumerate() {
        validate(alternative, &below(&[key_step("any"), PathStep::Index(index)]), depth + 1, out);
    }
    for (name, excluded) in [("not", &matches.not), ("unless", &matches.unless)] {
        if let Some(excluded) = excluded {
            validate(excluded, &below(&[key_step(name)]), depth + 1, out);
        }
    }
}

/// Collects the problems of a policy's rate limits.
pub(super) fn check_limits(policy: &Policy, out: &mut Vec<Problem>) {
    if policy.limits.len() > MAX_DOCUMENT_ENTRIES {
        out.push(Problem {
            steps: vec![key_step("limits")],
            code: "policy.too_many",
            message: format!("{} limits, the most are {MAX_DOCUMENT_ENTRIES}", policy.limits.len()),
            remedy: "merge limits or remove some",
        });
        return;
    }
    let mut names = BTreeMap::new();
    for (index, limit) in policy.limits.iter().enumerate() {
        let at = [key_step("limits"), PathStep::Index(index)];
        if let Some(other) = names.insert(limit.name.as_str(), index) {
            out.push(Problem {
                steps: at.iter().cloned().chain([key_step("name")]).collect(),
                code: "policy.duplicate_name",
                message: format!("limits[{other}] has the same name"),
                remedy: "give each limit a name of its own",
            });
        }
        check_limit(limit, &at, out);
    }
}

fn check_limit(limit: &RateLimit, at: &[PathStep], out: &mut Vec<Problem>) {
    let mut problem = |field: &str, code, message: &str, remedy| {
        let steps = at.iter().cloned().chain([key_step(field)]).collect();
        out.push(Problem { steps, code, message: message.to_owned(), remedy });
    };
    if let Some(message) = name_problem(&limit.name) {
        problem("name", "policy.text", message, "write 1 to 128 visible bytes");
    }
    if !(1..=MAX_LIMIT_CALLS).contains(&limit.max_calls)
        || !(1..=MAX_LIMIT_WINDOW_S).contains(&limit.window_s)
    {
        let message = "the calls or the seconds are out of bounds";
        problem("max_calls", "policy.bounds", message, "write 1 to 100000 calls, 1 to 3600 s");
    }
    let lower = |calls: u32| calls < limit.max_calls || calls > MAX_LIMIT_CALLS;
    if limit.for_roles.iter().any(|one| one.any.is_empty() || lower(one.max_calls)) {
        let message = "a role has fewer calls than everybody, too many, or is not named";
        problem("for_roles", "policy.bounds", message, "name roles, and at least `max_calls`");
    }
    let steps: Vec<_> = at.iter().cloned().chain([key_step("match")]).collect();
    validate(&limit.matches, &steps, 0, out);
}
