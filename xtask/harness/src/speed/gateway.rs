//! A call over stdio through the gateway: of a call directly to its server, and what is wanted of it.

use serde_json::Value;

use super::line::{self, Line, number, ratio};

fn lines(ours: &Value) -> Vec<Line> {
    let median = |tool, way| number(ours, &[tool, way, "median_us"]);
    let p99 = |tool, way| number(ours, &[tool, way, "p99_us"]);
    let times = |name, value, wanted: f64| Line { name, value, wanted: -wanted, unit: "x" };
    vec![
        times(
            "a read through shim and daemon, of a direct one",
            ratio(median("get", "shared"), median("get", "direct")),
            5.0,
        ),
        times(
            "the same, its slowest hundredth of its median",
            ratio(p99("get", "shared"), median("get", "shared")),
            3.0,
        ),
        times(
            "a read through shim and daemon, of a gateway alone",
            ratio(median("get", "shared"), median("get", "alone")),
            1.2,
        ),
    ]
}

/// For scripts.
pub fn json(ours: &Value) -> Value {
    line::json(&lines(ours), ours, &Value::Null)
}

/// For people.
pub fn table(ours: &Value) -> String {
    let mut out = String::from("microseconds of a call over stdio, one caller\n\n");
    for (tool, ways) in ours.as_object().into_iter().flatten() {
        for (way, spread) in ways.as_object().into_iter().flatten() {
            out.push_str(&format!("{tool:<6}{way:<10}{spread}\n"));
        }
    }
    out.push('\n');
    out + &line::text(&lines(ours))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ratios_are_of_the_direct_call() {
        let spread =
            |median_us: u32, p99_us: u32| json!({ "median_us": median_us, "p99_us": p99_us });
        let ours = json!({
            "get": { "direct": spread(100, 200), "alone": spread(450, 900), "shared": spread(490, 1_500) },
        });
        let good: Vec<Option<bool>> = lines(&ours).iter().map(Line::good).collect();
        assert_eq!(good, [true, false, true].map(Some));
    }
}
