//! The context compiler: our times compared with the peer's, and the targets.

use serde_json::Value;

use super::line::{self, TargetResult, number, ratio};

fn lines(ours: &Value, theirs: &Value) -> Vec<TargetResult> {
    let line = |name, value, target, unit| TargetResult { name, value, target, unit };
    let build = |size: &str| number(ours, &[size, "build_ms"]);
    let again = |size: &str| number(ours, &[size, "rebuild_of_cold"]);
    // The peer's log has as many events as its output says.
    let events = theirs.get("events").map_or_else(String::new, Value::to_string);
    let whole = ratio(number(theirs, &["whole_ms"]), number(ours, &[&events, "whole_ms"]));
    vec![
        line("append of 300 bytes", number(ours, &["1000", "append_300_bytes_us"]), -30.0, "us"),
        line("build over 100, without the count", build("100"), -0.5, "ms"),
        line("build over 1,000", build("1000"), -2.0, "ms"),
        line("build over 10,000", build("10000"), -10.0, "ms"),
        line("build over 100,000", build("100000"), -100.0, "ms"),
        line("rebuild after one event, of a cold one (100)", again("100"), -0.1, "x"),
        line("rebuild of 1,000", again("1000"), -0.1, "x"),
        line("rebuild of 10,000", again("10000"), -0.1, "x"),
        line("rebuild of 100,000", again("100000"), -0.1, "x"),
        line("append and build, of the peer", whole, 300.0, "x"),
    ]
}

/// For scripts.
pub fn json(ours: &Value, theirs: &Value) -> Value {
    line::json(&lines(ours, theirs), ours, theirs)
}

/// For people.
pub fn table(ours: &Value, theirs: &Value) -> String {
    line::table_of_sizes("processor time; one thread, cl100k_base, phase answer\n\n", ours, theirs)
        + &line::text(&lines(ours, theirs))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_peer_is_compared_at_its_own_size() {
        let ours = json!({
            "1000": { "append_300_bytes_us": 31.0, "build_ms": 1.0, "rebuild_of_cold": 0.2, "whole_ms": 2.0 },
            "10000": { "build_ms": 11.0, "rebuild_of_cold": 0.05, "whole_ms": 100.0 },
        });
        let theirs = json!({ "events": 1000, "whole_ms": 800.0 });
        let good: Vec<Option<bool>> =
            lines(&ours, &theirs).iter().map(TargetResult::is_met).collect();
        let builds = [None, Some(true), Some(false), None];
        let again = [None, Some(false), Some(true), None];
        let expected = [&[Some(false)][..], &builds, &again, &[Some(true)]].concat();
        assert_eq!(good, expected);
        assert_eq!(lines(&ours, &Value::Null).last().unwrap().is_met(), None);
        assert!(table(&ours, &theirs).contains("peer"));
    }
}
