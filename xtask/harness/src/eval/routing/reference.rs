//! Results of other routers on sets with these names, for at most 400 queries each.

use serde_json::{Value, json};

/// A set, and the recall at 5 of a field-weighted index with sentences, of the same with word
/// vectors, and of BM25 over stems of names and descriptions.
const SET_REFERENCES: [(&str, f64, f64, f64); 9] = [
    ("metatool", 65.2, 71.0, 55.5),
    ("metatool_multi", 63.1, 71.6, 39.0),
    ("toollinkos", 96.0, 98.5, 86.5),
    ("ultratool", 68.4, 71.3, 53.5),
    ("stabletoolbench", 72.8, 74.8, 55.3),
    ("bfcl_live", 75.8, 77.6, 61.1),
    ("seal_test", 93.2, 92.5, 74.6),
    ("livemcp", 34.6, 34.7, 29.5),
    ("mega", 64.1, 64.7, 49.3),
];
/// The two catalogs of contextweaver (Python), with its own recall.
const CATALOG_REFERENCES: [(&str, f64, f64, f64); 2] =
    [("cw83", 84.2, 88.8, 38.3), ("cw1000", 84.8, 84.8, 14.8)];

/// The columns of [`MEAN_REFERENCES`], as in our figures.
const COLUMNS: [&str; 7] =
    ["recall@1", "recall@3", "recall@5", "recall@10", "ndcg@10", "mrr", "all_gold@5"];
/// The means over the first eight of [`SET_REFERENCES`].
const MEAN_REFERENCES: [(&str, [f64; 7]); 4] = [
    ("field-weighted index, sentences", [38.7, 63.1, 71.1, 78.8, 67.4, 69.7, 59.6]),
    ("the same with word vectors", [41.3, 66.0, 74.0, 82.2, 70.7, 72.8, 62.6]),
    ("BM25 by stems", [30.6, 48.4, 56.9, 67.1, 54.7, 58.0, 43.0]),
    ("BM25 and MiniLM", [37.6, 59.1, 67.9, 76.6, 64.3, 67.9, 52.7]),
];

/// The recall at 5 on the set with this name: of the index (with word vectors if ours has them),
/// and of BM25.
pub fn of_set(set: &str, table: bool) -> Option<(f64, f64)> {
    let name = set.rsplit('/').next().unwrap_or(set);
    let mut all = SET_REFERENCES.iter().chain(&CATALOG_REFERENCES);
    let (_, words, vectors, plain) = all.find(|(known, ..)| *known == name)?;
    Some((if table { *vectors } else { *words }, *plain))
}

/// The rows of the means: a name and its figures.
pub fn mean_rows() -> impl Iterator<Item = (&'static str, Value)> {
    MEAN_REFERENCES.iter().map(|(name, row)| {
        let figures =
            COLUMNS.iter().zip(row).map(|(name, figure)| ((*name).to_owned(), json!(figure)));
        (*name, Value::Object(figures.collect()))
    })
}

/// Adds the reference figures to each run.
pub fn add_references(found: &mut Value) {
    for set in found["sets"].as_array_mut().into_iter().flatten() {
        let name = set["name"].as_str().unwrap_or_default().to_owned();
        for run in set["runs"].as_array_mut().into_iter().flatten() {
            let table = run["table"].as_bool().unwrap_or_default();
            let plain = run["examples"].as_u64() == Some(0);
            if let Some((index, bm25)) = of_set(&name, table).filter(|_| plain) {
                run["reference"] = json!({ "recall@5": index, "plain_recall@5": bm25 });
            }
        }
    }
    let rows =
        mean_rows().map(|(name, figures)| json!({ "name": name, "sets": 8, "figures": figures }));
    found["reference_macro"] = rows.collect();
}
