//! Figures with what is wanted of them.

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
