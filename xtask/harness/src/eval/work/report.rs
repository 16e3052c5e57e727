//! The table, the sums, and the lines of acceptance.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::measure::{Outcome, TaskResult};
use super::session::ToolAccess;

/// A bound and what was measured.
pub struct Line {
    pub way: ToolAccess,
    pub what: &'static str,
    pub bound: f64,
    pub seen: f64,
    /// Whether more is better.
    at_least: bool,
}

impl Line {
    /// Whether the bound is kept. What cannot be computed keeps no bound.
    pub fn kept(&self) -> bool {
        if self.at_least { self.seen >= self.bound } else { self.seen <= self.bound }
    }
}

/// One way beside the direct one, over the tasks that both did.
struct Comparison {
    way: ToolAccess,
    /// Tasks that the direct way did, and those of them that this way did.
    tasks: (usize, usize),
    calls: f64,
    result_tokens: f64,
    median_result_tokens: f64,
    all_tokens: f64,
    differing: usize,
}

/// All lines of acceptance.
pub fn acceptance(results: &[TaskResult]) -> Vec<Line> {
    let direct = results
        .iter()
        .filter(|result| outcome(result, ToolAccess::Direct).is_some_and(Outcome::is_done));
    let done = ratio(direct.count(), results.len());
    let mut lines = vec![Line {
        way: ToolAccess::Direct,
        what: "tasks done",
        bound: 1.0,
        seen: done,
        at_least: true,
    }];
    for of in comparisons(results) {
        let most = |what, bound, seen| Line { way: of.way, what, bound, seen, at_least: false };
        let done = ratio(of.tasks.1, of.tasks.0);
        lines.push(Line {
            way: of.way,
            what: "tasks done / direct",
            bound: 0.98,
            seen: done,
            at_least: true,
        });
        lines.push(most("calls / direct, discovery apart", 1.15, of.calls));
        lines.push(most("tokens of results / direct", 1.05, of.result_tokens));
        lines.push(most("the same, median task", 1.2, of.median_result_tokens));
        if of.way == ToolAccess::Gateway {
            lines.push(most("tokens with tool lists / direct", 0.5, of.all_tokens));
        }
        let differing = u32::try_from(of.differing).unwrap_or(u32::MAX);
        lines.push(most("differing files, repositories, databases", 0.0, differing.into()));
    }
    lines
}

/// A row a task and way, the sums, and the lines of acceptance.
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
                outcome.way.name(),
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
            let _ = write!(text, "\nFAIL: {}, {}: {why}", result.name, outcome.way.name());
            if !outcome.differences.is_empty() {
                let _ = write!(text, "; differs: {}", outcome.differences.join(", "));
            }
        }
    }
    text.push_str("\n\n");
    text.push_str(&sums(results));
    text.push('\n');
    for line in acceptance(results) {
        let (sign, met) =
            (if line.at_least { ">=" } else { "<=" }, if line.kept() { "kept" } else { "MISSED" });
        let (way, what) = (line.way.name(), line.what);
        let _ =
            writeln!(text, "{way:<8} {what:<42} {sign} {:<5} {:>7.3} {met}", line.bound, line.seen);
    }
    text
}

fn sums(results: &[TaskResult]) -> String {
    let mut text = String::new();
    for way in ways(results) {
        let of_way = || results.iter().filter_map(|result| outcome(result, way));
        let done = of_way().filter(|outcome| outcome.is_done()).count();
        let sum = |pick: fn(&Outcome) -> usize| of_way().map(pick).sum::<usize>();
        let _ = writeln!(
            text,
            "{:<8} {done} of {} done, {} calls, {} tokens of results, {} calls of discovery, {} tokens of lists",
            way.name(),
            results.len(),
            sum(|outcome| outcome.cost.calls),
            sum(|outcome| outcome.cost.result_tokens),
            sum(|outcome| outcome.cost.discovery_calls),
            sum(|outcome| outcome.cost.list_tokens),
        );
    }
    text
}

/// Everything as one object.
pub fn json(results: &[TaskResult]) -> Value {
    let tasks: Vec<Value> = results.iter().map(|result| {
        let outcomes: Vec<Value> = result.outcomes.iter().map(|outcome| json!({
            "way": outcome.way.name(), "done": outcome.is_done(), "failure": outcome.failure,
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
                "way": line.way.name(), "what": line.what, "bound": line.bound, "seen": line.seen,
                "kept": line.kept(),
            })
        })
        .collect();
    json!({ "tasks": tasks, "acceptance": lines })
}

fn comparisons(results: &[TaskResult]) -> Vec<Comparison> {
    ways(results)
        .into_iter()
        .filter(|way| *way != ToolAccess::Direct)
        .map(|way| compare(results, way))
        .collect()
}

fn compare(results: &[TaskResult], way: ToolAccess) -> Comparison {
    let with_both = results
        .iter()
        .filter_map(|result| Some((outcome(result, ToolAccess::Direct)?, outcome(result, way)?)));
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
        way,
        tasks: (by_direct.len(), both.len()),
        calls: sums(|outcome| outcome.cost.calls),
        result_tokens: sums(|outcome| outcome.cost.result_tokens),
        median_result_tokens: ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN),
        all_tokens: sums(|outcome| outcome.cost.result_tokens + outcome.cost.list_tokens),
        differing: by_direct.iter().map(|(_, other)| other.differences.len()).sum(),
    }
}

fn ways(results: &[TaskResult]) -> Vec<ToolAccess> {
    let outcomes = results.first().map(|result| result.outcomes.as_slice()).unwrap_or_default();
    outcomes.iter().map(|outcome| outcome.way).collect()
}

fn outcome(result: &TaskResult, way: ToolAccess) -> Option<&Outcome> {
    result.outcomes.iter().find(|outcome| outcome.way == way)
}

/// Not a number where there is nothing to compare with, so that no bound is kept by it.
fn ratio(part: usize, whole: usize) -> f64 {
    let float = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    if whole == 0 { f64::NAN } else { float(part) / float(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::work::agent::Cost;

    fn outcome(way: ToolAccess, tokens: usize) -> Outcome {
        let cost = Cost { calls: 1, result_tokens: tokens, ..Cost::default() };
        Outcome { way, failure: None, cost, differences: Vec::new() }
    }

    fn results(change: impl Fn(&mut Outcome)) -> Vec<TaskResult> {
        let mut gateway = outcome(ToolAccess::Gateway, 40);
        change(&mut gateway);
        vec![TaskResult { name: "a", outcomes: vec![outcome(ToolAccess::Direct, 100), gateway] }]
    }

    fn missed(results: &[TaskResult]) -> Vec<&'static str> {
        acceptance(results).iter().filter(|line| !line.kept()).map(|line| line.what).collect()
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
