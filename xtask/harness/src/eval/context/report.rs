//! The results as a table, and the broken guarantees.

use std::fmt::Write as _;

use serde_json::Value;

/// Counts that must be zero.
const GUARANTEES: [&str; 6] = [
    "over_budget", "reported_otherwise", "unaccounted", "orphans", "out_of_order",
    "statements_lost",
];

/// The results as a table.
pub fn table(rows: &[Value]) -> String {
    let mut out = format!(
        "{:<22}{:>7}{:>8}{:>10}{:>9}{:>9}{:>9}{:>6}{:>5}\n",
        "log", "events", "budget", "included", "tokens", "orphans", "disorder", "lost", "ok"
    );
    for row in rows {
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        // Formatting a JSON value ignores the width, so it becomes a text first.
        let number = |key: &str| row[key].to_string();
        let ok = if violations(row).is_none() { "ok" } else { "NOT" };
        let _ = writeln!(
            out,
            "{:<22}{:>7}{:>8}{:>10}{:>9}{:>9}{:>9}{:>6}{:>5}",
            word("log"),
            number("events"),
            number("budget"),
            number("included"),
            number("tokens"),
            number("orphans"),
            number("out_of_order"),
            number("statements_lost"),
            ok
        );
        let peer = &row["peer"];
        if !peer.is_null() {
            let [included, tokens, orphans, reported] =
                ["included", "tokens", "orphans", "reported_tokens"].map(|k| peer[k].to_string());
            let _ = writeln!(
                out,
                "{:<37}{included:>10}{tokens:>9}{orphans:>9}   (it reports {reported} tokens)",
                "  the peer"
            );
        }
    }
    out
}

/// The broken guarantees of a row.
pub fn violations(row: &Value) -> Option<String> {
    let broken: Vec<String> = GUARANTEES
        .iter()
        .filter(|name| row[**name] != 0)
        .map(|name| format!("{name}: {}", row[*name]))
        .collect();
    let of = format!("{} within {}", row["log"], row["budget"]);
    (!broken.is_empty()).then(|| format!("{of}: {}", broken.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_broken_promise_is_named() {
        let mut row = json!({ "log": "l", "budget": 9, "tokens": 8 });
        GUARANTEES.iter().for_each(|name| row[*name] = json!(0));
        assert_eq!(violations(&row), None);
        row["orphans"] = json!(2);
        assert_eq!(violations(&row).as_deref(), Some("\"l\" within 9: orphans: 2"));
        row["peer"] = json!({ "included": 3, "reported_tokens": 7 });
        let table = table(&[row]);
        assert!(table.contains("       9") && table.contains("NOT") && table.contains("reports 7"));
    }
}
