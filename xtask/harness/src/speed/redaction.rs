//! Redaction: our times compared with the peer's, and the targets.

use std::fmt::Write as _;

use serde_json::Value;

use super::line::{self, Round, TargetResult, number, ratio};

/// Texts without values.
const CLEAN_TEXTS: [&str; 3] = ["logs", "prose", "json"];

fn minimum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
}

fn maximum(value: &Value, key: &str) -> Option<f64> {
    let entries = value.as_object()?.values();
    entries
        .map(|entry| entry.get(key)?.as_f64())
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::max)
}

fn lines(Round { ours, theirs }: &Round) -> Vec<TargetResult> {
    let engine = |text: &str, key: &str| number(ours, &["engine", text, key]);
    let pipeline = |path: &[&str]| number(&ours["pipeline"], path);
    let line = |name, value, target, unit| TargetResult { name, value, target, unit };
    vec![
        line(
            "slowest clean text",
            minimum(CLEAN_TEXTS.iter().map(|text| engine(text, "whole_mb_s"))),
            80.0,
            "MB/s",
        ),
        line("dense with values", engine("dense", "whole_mb_s"), 10.0, "MB/s"),
        line(
            "clean, as a part of the bare anchor pass",
            minimum(
                CLEAN_TEXTS
                    .iter()
                    .map(|text| ratio(engine(text, "whole_mb_s"), engine(text, "anchors_mb_s"))),
            ),
            1.0 / 6.0,
            "",
        ),
        line("slowest hostile text, of clean", maximum(&ours["hostile"], "of_clean"), -10.0, "x"),
        line("peak memory, of the input", maximum(&ours["memory"], "of_input"), -4.0, "x"),
        line(
            "5 MB text, of the peer",
            ratio(engine("mixed", "whole_mb_s"), number(theirs, &["redact_mb_s"])),
            8.0,
            "x",
        ),
        line(
            "grant and invoke, 1,000 rows, summary",
            ratio(number(theirs, &["invoke_summary_us"]), pipeline(&["invoke_summary_us"])),
            20.0,
            "x",
        ),
        line(
            "grant and invoke, 1,000 rows, table",
            ratio(number(theirs, &["invoke_table_us"]), pipeline(&["invoke_table_us"])),
            20.0,
            "x",
        ),
        line(
            "expand over 10,000 rows",
            ratio(number(theirs, &["expand_us"]), pipeline(&["expand", "us"])),
            20.0,
            "x",
        ),
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
    let mut out = String::from("processor time; one thread, all rules on\n\n");
    let _ = writeln!(
        out,
        "{:<10}{:>10}{:>10}{:>10}{:>10}",
        "MB/s", "whole", "stream", "anchors", "values"
    );
    for (name, found) in ours["engine"].as_object().into_iter().flatten() {
        let figure = |key: &str| number(found, &[key]).unwrap_or_default();
        let (whole, stream) = (figure("whole_mb_s"), figure("stream_mb_s"));
        let (anchors, values) = (figure("anchors_mb_s"), figure("values"));
        let _ = writeln!(out, "{name:<10}{whole:>10.1}{stream:>10.1}{anchors:>10.1}{values:>10.0}");
    }
    let _ =
        writeln!(out, "\n{:<10}{:>10}{:>10}{:>12}", "hostile", "ns/byte", "of clean", "peak/input");
    for (name, found) in ours["hostile"].as_object().into_iter().flatten() {
        let figure = |key: &str| number(found, &[key]).unwrap_or_default();
        let (taken, of_clean) = (figure("ns_per_byte"), figure("of_clean"));
        let peak = number(&ours, &["memory", name, "of_input"]).unwrap_or_default();
        let _ = writeln!(out, "{name:<10}{taken:>10.1}{of_clean:>10.1}{peak:>12.2}");
    }
    let _ = writeln!(out, "\n{:<10}{}", "calls", ours["pipeline"]);
    let _ = writeln!(out, "{:<10}{theirs}\n", "peer");
    out.push_str(&line::text(&line::medians(rounds, lines)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_not_measured_is_neither_good_nor_bad() {
        let ours = json!({
            "engine": { "logs": { "whole_mb_s": 90.0, "anchors_mb_s": 300.0 },
                "prose": { "whole_mb_s": 70.0, "anchors_mb_s": 300.0 },
                "json": { "whole_mb_s": 100.0, "anchors_mb_s": 300.0 },
                "mixed": { "whole_mb_s": 40.0 } },
            "hostile": { "a": { "of_clean": 3.0 }, "@": { "of_clean": 11.0 } },
            "memory": { "a": { "of_input": 3.9 } },
            "pipeline": { "invoke_summary_us": 500.0, "expand": { "error": "no" } },
        });
        let theirs = json!({ "redact_mb_s": 4.0, "invoke_summary_us": 20_000.0, "expand_us": 1.0 });
        let good: Vec<Option<bool>> =
            lines(&Round { ours: ours.clone(), theirs }).iter().map(TargetResult::is_met).collect();
        let expected = [
            Some(false),
            None,
            Some(true),
            Some(false),
            Some(true),
            Some(true),
            Some(true),
            None,
            None,
        ];
        assert_eq!(good, expected);
        assert!(table(&[Round { ours, theirs: Value::Null }]).contains("not measured"));
    }
}
