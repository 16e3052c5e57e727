//! The figures of routing as a table, beside those of others.

use std::fmt::Write as _;

use serde_json::Value;

/// The columns: what they are called, and where their figure is.
const COLUMNS: [(&str, &str); 9] = [
    ("R@1", "recall@1"),
    ("R@3", "recall@3"),
    ("R@5", "recall@5"),
    ("R@10", "recall@10"),
    ("nDCG@10", "ndcg@10"),
    ("MRR", "mrr"),
    ("all@5", "all_gold@5"),
    ("p50 µs", "p50_us"),
    ("p99 µs", "p99_us"),
];

/// Recall at 5 of others, where it was measured on these sets (at most 400 queries of each): a
/// field-weighted index with sentences, the same with word vectors, and BM25 over names and
/// descriptions by stems.
const OTHERS: [(&str, f64, f64, f64); 8] = [
    ("metatool", 65.2, 71.0, 55.5),
    ("metatool_multi", 63.1, 71.6, 39.0),
    ("toollinkos", 96.0, 98.5, 86.5),
    ("ultratool", 68.4, 71.3, 53.5),
    ("stabletoolbench", 72.8, 74.8, 55.3),
    ("bfcl_live", 75.8, 77.6, 61.1),
    ("seal_test", 93.2, 92.5, 74.6),
    ("livemcp", 34.6, 34.7, 29.5),
];
/// The same of the two catalogs of contextweaver (Python), with what it reaches itself.
const CATALOGS: [(&str, f64, f64, f64); 2] =
    [("cw83", 84.2, 88.8, 38.3), ("cw1000", 84.8, 84.8, 14.8)];

/// For people.
pub fn table(found: &Value) -> String {
    let mut out = format!("{:<18}{:<8}{:>9}", "set", "table", "examples");
    for (name, _) in COLUMNS {
        let _ = write!(out, "{name:>9}");
    }
    out.push_str("   reference R@5\n");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for set in list(&found["sets"]) {
        let name = set["name"].as_str().unwrap_or_default();
        for run in list(&set["runs"]) {
            let table = run["table"].as_bool().unwrap_or_default();
            let examples = run["examples"].as_u64().unwrap_or_default();
            let beside = if examples == 0 { reference(name, table) } else { None };
            line(&mut out, name, table, &examples.to_string(), &run["figures"], beside);
        }
        for note in list(&set["notes"]) {
            let _ = writeln!(out, "  {name}: {}", note.as_str().unwrap_or_default());
        }
    }
    for one in list(&found["macro"]) {
        let table = one["table"].as_bool().unwrap_or_default();
        let name = format!("macro of {}", one["sets"]);
        line(&mut out, &name, table, "0", &one["figures"], None);
    }
    out.push_str(
        "\nReference: recall at 5 of a lexical index (or of the same with word vectors) and, in\n\
         brackets, of plain BM25 (cw83, cw1000: of contextweaver in Python), on at most 400 queries.\n\
         Over the eight sets it names: 71.1 (74.0 with vectors), BM25 56.9, BM25 and MiniLM 67.9.\n",
    );
    out
}

fn reference(set: &str, table: bool) -> Option<(f64, f64)> {
    let mut all = OTHERS.iter().chain(&CATALOGS);
    let (_, words, vectors, plain) = all.find(|(name, ..)| *name == set)?;
    Some((if table { *vectors } else { *words }, *plain))
}

fn line(
    out: &mut String,
    name: &str,
    table: bool,
    examples: &str,
    figures: &Value,
    beside: Option<(f64, f64)>,
) {
    let table = if table { "yes" } else { "no" };
    let _ = write!(out, "{name:<18}{table:<8}{examples:>9}");
    for (_, key) in COLUMNS {
        match figures[key].as_f64() {
            Some(figure) => drop(write!(out, "{figure:>9.1}")),
            None => drop(write!(out, "{:>9}", "-")),
        }
    }
    if let Some((reference, plain)) = beside {
        let _ = write!(out, "   {reference:.1} ({plain:.1})");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_run_has_a_line_with_what_others_reach() {
        let figures = json!({ "recall@5": 96.2, "p50_us": 12.34 });
        let found = json!({
            "sets": [{ "name": "cw83", "notes": ["left out 1 line(s)"], "runs": [
                { "table": true, "examples": 0, "figures": figures },
                { "table": false, "examples": 5, "figures": figures },
            ]}],
            "macro": [{ "table": false, "sets": 1, "figures": figures }],
        });
        let table = table(&found);
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].contains("96.2") && lines[1].ends_with("88.8 (38.3)"), "{table}");
        assert!(lines[2].contains("12.3") && !lines[2].contains('('), "{table}");
        assert!(lines[3].contains("left out") && lines[4].starts_with("macro of 1"), "{table}");
    }
}
