//! The table, the totals, and the acceptance bounds.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::session::ToolAccess;
use super::task_runner::{Outcome, TaskResult};

/// A bound and the measured value.
pub struct AcceptanceBound {
    pub access: ToolAccess,
    pub what: &'static str,
    pub bound: f64,
    pub measured: f64,
    /// Whether the value must be at least the bound, not at most.
    at_least: bool,
}

impl AcceptanceBound {
    /// Whether the bound is met. A value that cannot be computed meets no bound.
    pub fn is_met(&self) -> bool {
        if self.at_least { self.measured >= self.bound } else { self.measured <= self.bound }
    }
}

/// One tool access compared with direct access, over the tasks that both completed.
struct Comparison {
    access: ToolAccess,
    /// Tasks completed with direct access, and how many of them with this one.
    tasks: (usize, usize),
    calls: f64,
    result_tokens: f64,
    median_result_tokens: f64,
    all_tokens: f64,
    differing: usize,
}

/// All acceptance bounds.
pub fn acceptance(results: &[TaskResult]) -> Vec<AcceptanceBound> {
    let direct = results
        .iter()
        .filter(|result| outcome(result, ToolAccess::Direct).is_some_and(Outcome::is_done));
    let done = ratio(direct.count(), results.len());
    let mut lines = vec![AcceptanceBound {
        access: ToolAccess::Direct,
        what: "tasks done",
        bound: 1.0,
        measured: done,
        at_least: true,
    }];
    for comparison in comparisons(results) {
        let at_most = |what, bound, measured| AcceptanceBound {
            access: comparison.access,
            what,
            bound,
            measured,
            at_least: false,
        };
        let done = ratio(comparison.tasks.1, comparison.tasks.0);
        lines.push(AcceptanceBound {
            access: comparison.access,
            what: "tasks done / direct",
            bound: 0.98,
            measured: done,
            at_least: true,
        });
        lines.push(at_most("calls / direct, discovery apart", 1.15, comparison.calls));
        lines.push(at_most("tokens of results / direct", 1.05, comparison.result_tokens));
        lines.push(at_most("the same, median task", 1.2, comparison.median_result_tokens));
        if comparison.access == ToolAccess::Gateway {
            lines.push(at_most("tokens with tool lists / direct", 0.5, comparison.all_tokens));
        }
        let differing = u32::try_from(comparison.differing).unwrap_or(u32::MAX);
        lines.push(at_most("differing files, repositories, databases", 0.0, differing.into()));
    }
    lines
}

/// A row per task and access, the totals, and the acceptance bounds.
pub fn table(results: &[TaskResult]) -> String {
    let mut text = format!(
        "{:<28} {:<8} {:<5} {:>6} {:>9} {:>9} {:>9} {:>7}\n",
        "task", "way", "done", "calls", "tokens", "discover", "lists", "differ"
    );
    for result in results {
        for outcome in &result.outcomes {
            let cost = outcome.cost;
            let _ = writeln!(
                text,
                "{:<28} {:<8} {:<5} {:>6} {:>9} {:>9} {:>9} {:>7}",
                result.name,
                outcome.access.name(),
                if outcome.is_done() { "yes" } else { "NO" },
                cost.calls,
                cost.result_tokens,
                cost.discovery_calls,
                cost.list_tokens,
                outcome.differences.len()
            );
        }
    }
    for result in results {
        for outcome in result.outcomes.iter().filter(|outcome| !outcome.is_done()) {
            let why = outcome.failure.as_deref().unwrap_or("all facts were shown");
            let _ = write!(text, "\nFAIL: {}, {}: {why}", result.name, outcome.access.name());
            if !outcome.differences.is_empty() {
                let _ = write!(text, "; differs: {}", outcome.differences.join(", "));
            }
        }
    }
    text.push_str("\n\n");
    text.push_str(&totals_text(results));
    text.push('\n');
    for line in acceptance(results) {
        let (sign, met) = (
            if line.at_least { ">=" } else { "<=" },
            if line.is_met() { "kept" } else { "MISSED" },
        );
        let (access, what) = (line.access.name(), line.what);
        let _ = writeln!(
            text,
            "{access:<8} {what:<42} {sign} {:<5} {:>7.3} {met}",
            line.bound, line.measured
        );
    }
    text
}

fn totals_text(results: &[TaskResult]) -> String {
    let mut text = String::new();
    for access in accesses(results) {
        let of_way = || results.iter().filter_map(|result| outcome(result, access));
        let done = of_way().filter(|outcome| outcome.is_done()).count();
        let sum = |pick: fn(&Outcome) -> usize| of_way().map(pick).sum::<usize>();
        let _ = writeln!(
            text,
            "{:<8} {done} of {} done, {} calls, {} tokens of results, {} calls of discovery, {} tokens of lists",
            access.name(),
            results.len(),
            sum(|outcome| outcome.cost.calls),
            sum(|outcome| outcome.cost.result_tokens),
            sum(|outcome| outcome.cost.discovery_calls),
            sum(|outcome| outcome.cost.list_tokens),
        );
    }
    text
}

/// All results as one object.
pub fn json(results: &[TaskResult]) -> Value {
    let tasks: Vec<Value> = results.iter().map(|result| {
        let outcomes: Vec<Value> = result.outcomes.iter().map(|outcome| json!({
            "way": outcome.access.name(), "done": outcome.is_done(), "failure": outcome.failure,
            "calls": outcome.cost.calls, "result_tokens": outcome.cost.result_tokens,
            "discovery_calls": outcome.cost.discovery_calls, "list_tokens": outcome.cost.list_tokens,
            "differences": outcome.differences,
        })).collect();
        json!({ "task": result.name, "outcomes": outcomes })
    }).collect();
    let lines: Vec<Value> = acceptance(results)
        .iter()
        .map(|line| {
            json!({
                "way": line.access.name(), "what": line.what, "bound": line.bound, "seen": line.measured,
                "kept": line.is_met(),
            })
        })
        .collect();
    json!({ "tasks": tasks, "acceptance": lines })
}

fn comparisons(results: &[TaskResult]) -> Vec<Comparison> {
    accesses(results)
        .into_iter()
        .filter(|access| *access != ToolAccess::Direct)
        .map(|access| compare(results, access))
        .collect()
}

fn compare(results: &[TaskResult], access: ToolAccess) -> Comparison {
    let with_both = results.iter().filter_map(|result| {
        Some((outcome(result, ToolAccess::Direct)?, outcome(result, access)?))
    });
    let by_direct: Vec<_> = with_both.filter(|(direct, _)| direct.is_done()).collect();
    let both: Vec<_> = by_direct.iter().filter(|(_, other)| other.is_done()).collect();
    let sums = |pick: fn(&Outcome) -> usize| {
        let other: usize = both.iter().map(|(_, other)| pick(other)).sum();
        ratio(other, both.iter().map(|(direct, _)| pick(direct)).sum())
    };
    let mut ratios: Vec<f64> = both
        .iter()
        .map(|(direct, other)| ratio(other.cost.result_tokens, direct.cost.result_tokens))
        .collect();
    ratios.sort_by(f64::total_cmp);
    Comparison {
        access,
        tasks: (by_direct.len(), both.len()),
        calls: sums(|outcome| outcome.cost.calls),
        result_tokens: sums(|outcome| outcome.cost.result_tokens),
        median_result_tokens: ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN),
        all_tokens: sums(|outcome| outcome.cost.result_tokens + outcome.cost.list_tokens),
        differing: by_direct.iter().map(|(_, other)| other.differences.len()).sum(),
    }
}

fn accesses(results: &[TaskResult]) -> Vec<ToolAccess> {
    let outcomes = results.first().map(|result| result.outcomes.as_slice()).unwrap_or_default();
    outcomes.iter().map(|outcome| outcome.access).collect()
}

fn outcome(result: &TaskResult, access: ToolAccess) -> Option<&Outcome> {
    result.outcomes.iter().find(|outcome| outcome.access == access)
}

/// NaN if there is nothing to compare with, so that it meets no bound.
fn ratio(part: usize, whole: usize) -> f64 {
    let float = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    if whole == 0 { f64::NAN } else { float(part) / float(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::work::agent::Cost;

    fn outcome(access: ToolAccess, tokens: usize) -> Outcome {
        let cost = Cost { calls: 1, result_tokens: tokens, ..Cost::default() };
        Outcome { access, failure: None, cost, differences: Vec::new() }
    }

    fn results(change: impl Fn(&mut Outcome)) -> Vec<TaskResult> {
        let mut gateway = outcome(ToolAccess::Gateway, 40);
        change(&mut gateway);
        vec![TaskResult { name: "a", outcomes: vec![outcome(ToolAccess::Direct, 100), gateway] }]
    }

    fn missed(results: &[TaskResult]) -> Vec<&'static str> {
        acceptance(results).iter().filter(|line| !line.is_met()).map(|line| line.what).collect()
    }

    #[test]
    fn a_run_like_the_direct_one_keeps_every_line() {
        assert!(missed(&results(|_| ())).is_empty());
    }

    #[test]
    fn a_fact_that_was_not_shown_misses_the_first_line() {
        let results = results(|outcome| outcome.failure = Some("not shown".to_owned()));
        assert!(missed(&results).contains(&"tasks done / direct"));
        assert!(table(&results).contains("FAIL: a, gateway: not shown"));
    }

    #[test]
    fn a_differing_file_misses_two_lines() {
        let results = results(|outcome| outcome.differences = vec!["files/x".to_owned()]);
        let missed = missed(&results);
        assert!(missed.contains(&"tasks done / direct"), "{missed:?}");
        assert!(missed.contains(&"differing files, repositories, databases"), "{missed:?}");
    }

    #[test]
    fn too_many_calls_and_tokens_miss_their_lines() {
        let results = results(|outcome| {
            outcome.cost.calls = 2;
            outcome.cost.result_tokens = 121;
        });
        assert_eq!(
            missed(&results),
            [
                "calls / direct, discovery apart",
                "tokens of results / direct",
                "the same, median task",
                "tokens with tool lists / direct",
            ]
        );
    }

    #[test]
    fn a_task_that_fails_without_weaver_is_no_measure() {
        let mut results = results(|_| ());
        results[0].outcomes[0].failure = Some("broken script".to_owned());
        assert!(missed(&results).contains(&"tasks done"));
        assert!(missed(&[]).contains(&"tasks done"));
    }
}
