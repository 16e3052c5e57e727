//! Measurements with their targets.
//!
//! A machine that others use too may be half as fast for seconds at a time, so Weaver and the peer
//! are measured in turns, and each measurement is the median over the rounds.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// One measurement and its target.
pub struct TargetResult {
    pub name: &'static str,
    pub value: Option<f64>,
    /// At least this, or at most its absolute value if negative.
    pub target: f64,
    pub unit: &'static str,
}

impl TargetResult {
    /// Whether the target is met; `None` if it was not measured.
    pub fn is_met(&self) -> Option<bool> {
        let target = self.target.abs();
        self.value.map(|v| if self.target < 0.0 { v <= target } else { v >= target })
    }
}

/// The results of one round.
pub struct Round {
    pub ours: Value,
    /// Null without a peer.
    pub theirs: Value,
}

/// The targets over all rounds: the median of each measurement. Ratios are taken within a round.
pub fn medians(rounds: &[Round], lines: fn(&Round) -> Vec<TargetResult>) -> Vec<TargetResult> {
    let mut all: Vec<Vec<TargetResult>> = rounds.iter().map(lines).collect();
    let Some(mut last) = all.pop() else { return Vec::new() };
    for (place, line) in last.iter_mut().enumerate() {
        let others = all.iter().filter_map(|lines| lines.get(place));
        let values: Option<Vec<f64>> =
            others.map(|other| other.value).chain([line.value]).collect();
        line.value = values.map(median);
    }
    last
}

/// One value with the median of each number; other values are those of the first.
pub fn median_of(values: &[&Value]) -> Value {
    match values.first() {
        Some(Value::Object(members)) => {
            let member = |key: &String| {
                let found: Vec<&Value> = values.iter().filter_map(|value| value.get(key)).collect();
                (key.clone(), median_of(&found))
            };
            Value::Object(members.keys().map(member).collect())
        }
        Some(Value::Number(_)) => json!(median(values.iter().filter_map(|v| v.as_f64()).collect())),
        Some(other) => (*other).clone(),
        None => Value::Null,
    }
}

/// The middle value, or the upper one of two; NaN if there are none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A number at a path in the results.
pub fn number(value: &Value, path: &[&str]) -> Option<f64> {
    path.iter().try_fold(value, |at, key| at.get(key))?.as_f64()
}

/// One number divided by the other.
pub fn ratio(of: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(of? / to?)
}

/// The figures for each size, below a heading, and those of the peer.
pub fn table_of_sizes(heading: &str, ours: &Value, theirs: &Value) -> String {
    let mut out = heading.to_owned();
    for (size, found) in ours.as_object().into_iter().flatten() {
        let _ = writeln!(out, "{size:>8}  {found}");
    }
    let _ = writeln!(out, "{:>8}  {theirs}\n", "peer");
    out
}

/// For scripts.
pub fn json(lines: &[TargetResult], ours: &Value, theirs: &Value) -> Value {
    let target: Vec<Value> = lines
        .iter()
        .map(|line| {
            let bound = if line.target < 0.0 { "at_most" } else { "at_least" };
            json!({ "name": line.name, "value": line.value, bound: line.target.abs(), "good": line.is_met() })
        })
        .collect();
    json!({ "weaver": ours, "peer": theirs, "wanted": target })
}

/// The results of all rounds as one round.
pub fn summary(rounds: &[Round]) -> Round {
    let ours: Vec<&Value> = rounds.iter().map(|round| &round.ours).collect();
    let theirs: Vec<&Value> = rounds.iter().map(|round| &round.theirs).collect();
    Round { ours: median_of(&ours), theirs: median_of(&theirs) }
}

/// For people.
pub fn text(lines: &[TargetResult]) -> String {
    let mut out = String::new();
    for line in lines {
        let (sign, target) =
            (if line.target < 0.0 { "at most" } else { "at least" }, line.target.abs());
        let value = line.value.map_or("not measured".to_owned(), |v| format!("{v:.2}"));
        let word = match line.is_met() {
            Some(true) => "ok",
            Some(false) => "NOT",
            None => "-",
        };
        let _ = writeln!(
            out,
            "{word:<4}{:<44}{value:>14} {:<5} wanted: {sign} {target:.2}",
            line.name, line.unit
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ours: f64, theirs: f64) -> Round {
        Round { ours: json!({ "us": ours, "name": "x" }), theirs: json!({ "us": theirs }) }
    }

    fn lines(round: &Round) -> Vec<TargetResult> {
        let value = ratio(number(&round.theirs, &["us"]), number(&round.ours, &["us"]));
        vec![TargetResult { name: "times", value, target: 2.0, unit: "x" }]
    }

    #[test]
    fn a_ratio_is_taken_within_its_round() {
        let rounds = [round(1.0, 3.0), round(10.0, 30.0), round(1.0, 30.0)];
        assert_eq!(medians(&rounds, lines)[0].value, Some(3.0));
        let Round { ours, theirs } = summary(&rounds);
        assert_eq!(ours, json!({ "us": 1.0, "name": "x" }));
        assert_eq!(theirs, json!({ "us": 30.0 }));
    }

    #[test]
    fn what_one_round_did_not_measure_is_not_measured() {
        let rounds = [round(1.0, 3.0), Round { ours: json!({ "us": 1.0 }), theirs: Value::Null }];
        assert_eq!(medians(&rounds, lines)[0].value, None);
        assert!(medians(&[], lines).is_empty());
    }
}
