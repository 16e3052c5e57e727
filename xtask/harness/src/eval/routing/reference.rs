//! What others reach on sets of these names, at most 400 queries of each.

use serde_json::{Value, json};

/// A set: recall at 5 of a field-weighted index with sentences, of the same with word vectors, and
/// of BM25 over names and descriptions by stems.
const SETS: [(&str, f64, f64, f64); 9] = [
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
/// The two catalogs of contextweaver (Python), with what it reaches itself.
const CATALOGS: [(&str, f64, f64, f64); 2] =
    [("cw83", 84.2, 88.8, 38.3), ("cw1000", 84.8, 84.8, 14.8)];

/// The columns of [`MACRO`], as they are called in our figures.
const COLUMNS: [&str; 7] =
    ["recall@1", "recall@3", "recall@5", "recall@10", "ndcg@10", "mrr", "all_gold@5"];
/// The mean over the first eight of [`SETS`].
const MACRO: [(&str, [f64; 7]); 4] = [
    ("field-weighted index, sentences", [38.7, 63.1, 71.1, 78.8, 67.4, 69.7, 59.6]),
    ("the same with word vectors", [41.3, 66.0, 74.0, 82.2, 70.7, 72.8, 62.6]),
    ("BM25 by stems", [30.6, 48.4, 56.9, 67.1, 54.7, 58.0, 43.0]),
    ("BM25 and MiniLM", [37.6, 59.1, 67.9, 76.6, 64.3, 67.9, 52.7]),
];

/// Recall at 5 on a set of this name: of the index (with word vectors where ours has them) and of
/// the plain way.
pub fn of_set(set: &str, table: bool) -> Option<(f64, f64)> {
    let name = set.rsplit('/').next().unwrap_or(set);
    let mut all = SETS.iter().chain(&CATALOGS);
    let (_, words, vectors, plain) = all.find(|(known, ..)| *known == name)?;
    Some((if table { *vectors } else { *words }, *plain))
}

/// The rows of the means: a name and its figures.
pub fn macros() -> impl Iterator<Item = (&'static str, Value)> {
    MACRO.iter().map(|(name, row)| {
        let figures =
            COLUMNS.iter().zip(row).map(|(name, figure)| ((*name).to_owned(), json!(figure)));
        (*name, Value::Object(figures.collect()))
    })
}

/// Puts beside each run what is known of others.
pub fn put_beside(found: &mut Value) {
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
        macros().map(|(name, figures)| json!({ "name": name, "sets": 8, "figures": figures }));
    found["reference_macro"] = rows.collect();
}
