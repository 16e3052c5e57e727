//! Figures with what is wanted of them.
//!
//! A machine that others use too may be half as fast for seconds at a time, so ours and the peer are
//! measured in turns, and each figure is the median of what it was in the rounds.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// One figure, and what it should be.
pub struct Line {
    pub name: &'static str,
    pub value: Option<f64>,
    /// At least this, or at most where it is negative.
    pub wanted: f64,
    pub unit: &'static str,
}

impl Line {
    /// Whether it is so; `None` where it was not measured.
    pub fn good(&self) -> Option<bool> {
        let wanted = self.wanted.abs();
        self.value.map(|v| if self.wanted < 0.0 { v <= wanted } else { v >= wanted })
    }
}

/// What was measured in one turn.
pub struct Round {
    pub ours: Value,
    /// Null without a peer.
    pub theirs: Value,
}

/// The lines of all rounds as one: the median of each figure. Ratios are taken within a round.
pub fn medians(rounds: &[Round], lines: fn(&Round) -> Vec<Line>) -> Vec<Line> {
    let mut all: Vec<Vec<Line>> = rounds.iter().map(lines).collect();
    let Some(mut last) = all.pop() else { return Vec::new() };
    for (place, line) in last.iter_mut().enumerate() {
        let others = all.iter().filter_map(|lines| lines.get(place));
        let values: Option<Vec<f64>> =
            others.map(|other| other.value).chain([line.value]).collect();
        line.value = values.map(median);
    }
    last
}

/// One value with the median of each number; anything else is as in the first.
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

/// The middle value, or the upper one of two; not a number where there are none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A number somewhere in what was measured.
pub fn number(value: &Value, path: &[&str]) -> Option<f64> {
    path.iter().try_fold(value, |at, key| at.get(key))?.as_f64()
}

/// One by the other.
pub fn ratio(of: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(of? / to?)
}

/// For scripts.
pub fn json(lines: &[Line], ours: &Value, theirs: &Value) -> Value {
    let wanted: Vec<Value> = lines
        .iter()
        .map(|line| {
            let bound = if line.wanted < 0.0 { "at_most" } else { "at_least" };
            json!({ "name": line.name, "value": line.value, bound: line.wanted.abs(), "good": line.good() })
        })
        .collect();
    json!({ "weaver": ours, "peer": theirs, "wanted": wanted })
}

/// The figures of all rounds as one round.
pub fn summary(rounds: &[Round]) -> Round {
    let ours: Vec<&Value> = rounds.iter().map(|round| &round.ours).collect();
    let theirs: Vec<&Value> = rounds.iter().map(|round| &round.theirs).collect();
    Round { ours: median_of(&ours), theirs: median_of(&theirs) }
}

/// For people.
pub fn text(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        let (sign, wanted) =
            (if line.wanted < 0.0 { "at most" } else { "at least" }, line.wanted.abs());
        let value = line.value.map_or("not measured".to_owned(), |v| format!("{v:.2}"));
        let word = match line.good() {
            Some(true) => "ok",
            Some(false) => "NOT",
            None => "-",
        };
        let _ = writeln!(
            out,
            "{word:<4}{:<44}{value:>14} {:<5} wanted: {sign} {wanted:.2}",
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

    fn lines(round: &Round) -> Vec<Line> {
        let value = ratio(number(&round.theirs, &["us"]), number(&round.ours, &["us"]));
        vec![Line { name: "times", value, wanted: 2.0, unit: "x" }]
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
