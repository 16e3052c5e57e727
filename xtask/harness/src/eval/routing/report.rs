//! The figures of routing as tables, beside those of others.

use std::fmt::Write as _;

use serde_json::Value;

use super::reference;

/// The columns: what they are called, and where their figure is.
const COLUMNS: [(&str, &str); 10] = [
    ("R@1", "recall@1"),
    ("R@3", "recall@3"),
    ("R@5", "recall@5"),
    ("R@10", "recall@10"),
    ("nDCG@10", "ndcg@10"),
    ("MRR", "mrr"),
    ("all@5", "all_gold@5"),
    ("any@5", "any_gold@5"),
    ("p50 µs", "p50_us"),
    ("p99 µs", "p99_us"),
];

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

/// For people.
pub fn table(found: &Value) -> String {
    let mut out = format!("{:<34}{:<7}{:>9}", "set", "table", "examples");
    for (name, _) in COLUMNS {
        let _ = write!(out, "{name:>9}");
    }
    out.push_str("   reference R@5\n");
    for set in list(&found["sets"]) {
        for run in list(&set["runs"]) {
            let examples = run["examples"].as_u64().unwrap_or_default().to_string();
            let words = [name(set), yes_no(&run["table"]), &examples];
            write_row(&mut out, words, &run["figures"], &run["reference"]);
        }
        for note in list(&set["notes"]) {
            let _ = writeln!(out, "  {}: {}", name(set), note.as_str().unwrap_or_default());
        }
        if let Some(unknown) = set["gold_not_among_tools"].as_u64().filter(|count| *count > 0) {
            let _ =
                writeln!(out, "  {}: {unknown} of the tools asked for are not there", name(set));
        }
    }
    for one in list(&found["macro"]) {
        let all = format!("macro of {}", one["sets"]);
        write_row(&mut out, [&all, yes_no(&one["table"]), "0"], &one["figures"], &Value::Null);
    }
    for (name, figures) in reference::mean_rows() {
        write_row(&mut out, [name, "", ""], &figures, &Value::Null);
    }
    out.push_str(
        "\nReference: recall at 5 of a lexical index (or of the same with word vectors) and, in\n\
         brackets, of plain BM25 (cw83, cw1000: of contextweaver in Python), on at most 400 queries\n\
         of a set; the last rows are the means over its eight sets.\n",
    );
    write_variant_runs(&mut out, found);
    write_graph_rows(&mut out, found);
    list(&found["risk"]).for_each(|risk| write_confidence(&mut out, risk));
    out
}

fn yes_no(value: &Value) -> &'static str {
    if value.as_bool().unwrap_or_default() { "yes" } else { "no" }
}

fn write_row(out: &mut String, words: [&str; 3], figures: &Value, beside: &Value) {
    let _ = write!(out, "{:<34}{:<7}{:>9}", words[0], words[1], words[2]);
    for (_, key) in COLUMNS {
        let _ = write!(out, "{:>9}", figure_text(&figures[key]));
    }
    if let (Some(index), Some(plain)) =
        (beside["recall@5"].as_f64(), beside["plain_recall@5"].as_f64())
    {
        let _ = write!(out, "   {index:.1} ({plain:.1})");
    }
    out.push('\n');
}

fn figure_text(value: &Value) -> String {
    // The sum of no numbers is -0.0.
    value.as_f64().map_or_else(|| "-".to_owned(), |figure| format!("{:.1}", figure + 0.0))
}

/// Runs with queries or tools that differ from the files of a set.
fn write_variant_runs(out: &mut String, found: &Value) {
    let _ = writeln!(out, "\n{:<34}{:<7}{:>30}{:>9}", "set", "table", "with", "R@5");
    for set in list(&found["sets"]) {
        for run in list(&set["beyond"]) {
            let mut row = |with: &str, figures: &Value, key: &str| {
                if let Some(found) = figures[key].as_f64() {
                    let (set, table) = (name(set), yes_no(&run["table"]));
                    let _ = writeln!(out, "{set:<34}{table:<7}{with:>30}{found:>9.1}");
                }
            };
            row("a typing error each", &run["typing_errors"], "recall@5");
            row("5 accepted requests a tool", &run["lessons"], "recall@5");
            for (with, which) in [("all that is needed", "without"), ("the same, chained", "with")]
            {
                row(with, &run["chained"][which], "gold_all_recall@5");
            }
        }
    }
}

/// Graph search compared with the index.
fn write_graph_rows(out: &mut String, found: &Value) {
    let _ = writeln!(out, "\n{:<34}{:<7}{:>16}{:>12}", "set", "table", "same first %", "walk R@5");
    for set in list(&found["sets"]) {
        for one in list(&set["graph"]) {
            let (same, recall) =
                (figure_text(&one["same_top1"]), figure_text(&one["beam_recall@5"]));
            let (set, table) = (name(set), yes_no(&one["table"]));
            let _ = writeln!(out, "{set:<34}{table:<7}{same:>16}{recall:>12}");
        }
    }
}

/// What abstaining costs and gains, with the router's confidence and with a fit on other data.
fn write_confidence(out: &mut String, risk: &Value) {
    let _ = writeln!(
        out,
        "\nConfidence, table: {}; {} rankings, half of them with their tools taken away, all sets \
         alike;\nout of fold: fitted {} that are not judged. In percent.",
        yes_no(&risk["table"]),
        risk["rankings"],
        if risk["folds"] == "by set" { "on the other sets," } else { "on the other half," },
    );
    for (way, name) in [("in_use", "in use"), ("out_of_fold", "out of fold")] {
        let curve = &risk[way];
        let _ = writeln!(
            out,
            "{name}: area under the curve, right {}, tool gone {}; calibration error {}",
            figure_text(&curve["auc_right"]),
            figure_text(&curve["auc_gone"]),
            figure_text(&curve["calibration_error"]),
        );
        let _ = writeln!(
            out,
            "{:>16}{:>10}{:>22}{:>23}{:>19}",
            "abstain below",
            "answered",
            "abstains, tool gone",
            "abstains, tool there",
            "right of answered"
        );
        for row in list(&curve["rows"]) {
            let _ = writeln!(
                out,
                "{:>16}{:>10}{:>22}{:>23}{:>19}",
                row["abstain_below"].to_string(),
                figure_text(&row["answered"]),
                figure_text(&row["abstains_gone"]),
                figure_text(&row["abstains_there"]),
                figure_text(&row["right_of_answered"]),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found() -> Value {
        let figures = json!({ "recall@5": 96.2, "p50_us": 12.34, "gold_all_recall@5": 41.5 });
        let rows = json!([{ "abstain_below": 150, "answered": 84.0, "abstains_gone": 22.0,
            "abstains_there": 10.3, "right_of_answered": 39.9 }]);
        let curve = json!({ "rows": rows, "auc_right": 74.9, "auc_gone": 66.3,
            "calibration_error": 3.6 });
        json!({
            "sets": [{ "name": "cw83", "notes": ["left out 1 line(s)"],
                "gold_not_among_tools": 3,
                "runs": [
                    { "table": true, "examples": 0, "figures": figures },
                    { "table": false, "examples": 5, "figures": figures },
                ],
                "graph": [{ "table": false, "same_top1": 99.5, "beam_recall@5": 88.1 }],
                "beyond": [{ "table": true, "typing_errors": { "recall@5": 81.3 },
                    "chained": { "without": figures, "with": figures } }],
            }],
            "macro": [{ "table": false, "sets": 1, "figures": figures }],
            "risk": [{ "table": true, "rankings": 400, "folds": "by set",
                "in_use": curve, "out_of_fold": curve }],
        })
    }

    #[test]
    fn every_run_has_a_line_with_what_others_reach() {
        let mut found = found();
        reference::add_references(&mut found);
        let runs = &found["sets"][0]["runs"];
        assert_eq!(runs[0]["reference"]["recall@5"], 88.8);
        assert!(runs[1]["reference"].is_null());
        assert_eq!(found["reference_macro"][1]["figures"]["all_gold@5"], 62.6);
        let table = table(&found);
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].contains("96.2") && lines[1].ends_with("88.8 (38.3)"), "{table}");
        assert!(lines[2].contains("12.3") && !lines[2].contains('('), "{table}");
        assert!(lines[3].contains("left out") && lines[4].contains("3 of the tools"), "{table}");
        assert!(lines[5].starts_with("macro of 1"), "{table}");
        assert!(lines[6].contains("71.1") && lines[7].contains("74.0"), "{table}");
    }

    #[test]
    fn a_share_of_nothing_is_zero() {
        let none: f64 = std::iter::empty::<f64>().sum();
        assert_eq!(figure_text(&json!(none)), "0.0");
    }

    #[test]
    fn what_else_was_measured_has_its_table() {
        let table = table(&found());
        for part in ["a typing error each     81.3", "chained     41.5", "99.5        88.1"] {
            assert!(table.contains(part), "{part}: {table}");
        }
        assert!(table.contains("right 74.9, tool gone 66.3; calibration error 3.6"), "{table}");
        let row = table.lines().last().unwrap();
        let figures: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(figures, ["150", "84.0", "22.0", "10.3", "39.9"]);
    }

    #[test]
    fn a_set_in_a_folder_is_known_by_its_own_name() {
        assert_eq!(reference::of_set("held/out/livemcp", false), Some((34.6, 29.5)));
        assert_eq!(reference::of_set("livemcp2", false), None);
    }
}
