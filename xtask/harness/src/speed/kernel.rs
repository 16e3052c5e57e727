//! Tokens, grants and calls: our times compared with the peer's, and the targets.

use std::fmt::Write as _;

use serde_json::Value;

use super::line::{self, Round, TargetResult, number, ratio};

fn lines(Round { ours, theirs }: &Round) -> Vec<TargetResult> {
    let own = |path: &[&str]| number(ours, path);
    let times = |name, path: &[&str], target| {
        let value = ratio(number(theirs, path), own(path));
        TargetResult { name, value, target, unit: "x" }
    };
    let line = |name, value, target, unit| TargetResult { name, value, target, unit };
    vec![
        line("verify a token, over a bare HMAC", own(&["token", "over_bare_ns"]), -1_000.0, "ns"),
        line("the same, from its text", own(&["token", "over_bare_from_text_ns"]), -1_000.0, "ns"),
        times("grant, of the peer", &["grant_us"], 10.0),
        times("grant and invoke, of the peer", &["grant_invoke_us"], 10.0),
        line("a call with all stores full, of a fresh one", own(&["caps", "ratio"]), -1.2, "x"),
        line("last tenth of a long run, of its first", own(&["run", "ratio"]), -1.2, "x"),
        line("memory at its end, of that in the middle", own(&["run", "memory_ratio"]), -1.1, "x"),
    ]
}

/// For scripts.
pub fn json(rounds: &[Round]) -> Value {
    let Round { ours, theirs } = line::summary(rounds);
    line::json(&line::medians(rounds, lines), &ours, &theirs)
}

/// For people.
pub fn table(rounds: &[Round]) -> String {
    let Round { ours, theirs } = line::summary(rounds);
    let mut out = String::from("processor time; all threads of the process\n\n");
    for (name, found) in [("weaver", &ours), ("peer", &theirs)] {
        for (what, value) in found.as_object().into_iter().flatten() {
            let _ = writeln!(out, "{name:<8}{what:<18}{value}");
        }
    }
    out.push('\n');
    out + &line::text(&line::medians(rounds, lines))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ratios_are_of_the_same_figure() {
        let ours = json!({
            "token": { "over_bare_ns": 400.0, "over_bare_from_text_ns": 1_001.0 },
            "grant_us": 2.0, "grant_invoke_us": 20.0,
            "caps": { "ratio": 1.0 }, "run": { "ratio": 1.3, "memory_ratio": 1.0 },
        });
        let theirs = json!({ "grant_us": 26.0, "grant_invoke_us": 130.0 });
        let round = Round { ours: ours.clone(), theirs };
        let good: Vec<Option<bool>> = lines(&round).iter().map(TargetResult::is_met).collect();
        let all = [true, false, true, false, true, false, true].map(Some);
        assert_eq!(good, all);
        let alone = Round { ours, theirs: Value::Null };
        assert_eq!(lines(&alone)[2].is_met(), None);
        assert!(table(&[alone]).contains("not measured"));
    }
}
