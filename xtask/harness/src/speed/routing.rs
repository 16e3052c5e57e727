//! Routing: our times compared with the peer's and a plain BM25, and the targets.

use serde_json::Value;

use super::line::{self, TargetResult, number, ratio};

fn lines(ours: &Value, theirs: &Value) -> Vec<TargetResult> {
    let line = |name, value, target, unit| TargetResult { name, value, target, unit };
    let own = |path: &[&str]| number(ours, path);
    let of_peer =
        |size: &str| ratio(number(theirs, &[size, "p50_us"]), own(&[size, "words", "p50_us"]));
    let of_plain =
        |size: &str| ratio(own(&[size, "bm25", "p50_us"]), own(&[size, "words", "p50_us"]));
    vec![
        line("by words, 1,000 tools", own(&["1000", "words", "p50_us"]), -15.0, "us"),
        line(
            "what the table adds, 1,000 tools",
            own(&["1000", "table_over_words_us"]),
            -20.0,
            "us",
        ),
        line("of the peer, 83 tools", of_peer("83"), 50.0, "x"),
        line("of the peer, 1,000 tools", of_peer("1000"), 1_000.0, "x"),
        line("of a plain BM25, 83 tools", of_plain("83"), 0.0, "x"),
        line("of a plain BM25, 1,000 tools", of_plain("1000"), 0.0, "x"),
    ]
}

/// For scripts.
pub fn json(ours: &Value, theirs: &Value) -> Value {
    line::json(&lines(ours, theirs), ours, theirs)
}

/// For people.
pub fn table(ours: &Value, theirs: &Value) -> String {
    line::table_of_sizes("processor time; one thread, ten tools of each request\n\n", ours, theirs)
        + &line::text(&lines(ours, theirs))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_peer_is_compared_over_as_many_tools() {
        let size = |words: f64| {
            json!({
                "words": { "p50_us": words }, "bm25": { "p50_us": 8.0 }, "table_over_words_us": 30.0,
            })
        };
        let ours = json!({ "83": size(4.0), "1000": size(10.0) });
        let theirs = json!({ "83": { "p50_us": 600.0 }, "1000": { "p50_us": 9_000.0 } });
        let good: Vec<Option<bool>> =
            lines(&ours, &theirs).iter().map(TargetResult::is_met).collect();
        assert_eq!(good, [true, false, true, false, true, true].map(Some));
        assert_eq!(lines(&ours, &Value::Null)[2].is_met(), None);
        assert!(table(&ours, &theirs).contains("peer"));
    }
}
