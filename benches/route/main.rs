//! Routing over 1,000, 10,000 and 100,000 tools: how long a request takes, an index and a change,
//! and a plain BM25 over the same tools and requests in the same run.
//!
//! `cargo bench -p weaver-benches --bench route [-- --data DIR]`; `DIR` is a folder of sets with
//! `tools.jsonl` and `queries.jsonl`, in the place of tools and requests that are made up. Times are
//! processor time of the one thread. Without `--bench` or with `--test` it does a little of
//! everything and prints nothing.

use std::path::Path;

use serde_json::Value;
use weaver_benches::Failure;
use weaver_benches::routing::{Corpus, Effort, measure};

/// A figure: its name, where it stands, its unit and what it should be at the most.
struct Row {
    name: &'static str,
    path: &'static [&'static str],
    unit: &'static str,
    wanted: [Option<f64>; 3],
}

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

const ROWS: [Row; 12] = [
    row("words, median", &["words", "p50_us"], "us", [Some(15.0), Some(30.0), Some(120.0)]),
    row("words, 99 of 100", &["words", "p99_us"], "us", [None, None, Some(2_000.0)]),
    row(
        "with the table, median",
        &["table", "p50_us"],
        "us",
        [Some(35.0), Some(50.0), Some(140.0)],
    ),
    row("with the table, 99 of 100", &["table", "p99_us"], "us", [None, None, Some(2_000.0)]),
    row("what the table adds", &["table_over_words_us"], "us", [None; 3]),
    row("plain BM25, median", &["bm25", "p50_us"], "us", [None; 3]),
    row("building the index", &["build_ms"], "ms", [None, None, Some(3_000.0)]),
    row("vectors for the table", &["table_build_ms"], "ms", [None; 3]),
    row("one change, median", &["change", "p50_us"], "us", [None, None, Some(1_000.0)]),
    row("one change, 99 of 100", &["change", "p99_us"], "us", [None, None, Some(1_000.0)]),
    row("index, of the text", &["index_of_text"], "x", [Some(2.0); 3]),
    row("growth for each request", &["growth_bytes_a_request"], "byte", [Some(1.0); 3]),
];

const fn row(
    name: &'static str,
    path: &'static [&'static str],
    unit: &'static str,
    wanted: [Option<f64>; 3],
) -> Row {
    Row { name, path, unit, wanted }
}

fn figure(found: &Value, path: &[&str]) -> Option<f64> {
    path.iter().try_fold(found, |at, key| at.get(key))?.as_f64()
}

/// Prints a line; gives how many targets were missed.
fn print(row: &Row, found: &[Value]) -> usize {
    let mut missed = 0;
    print!("{:<28}", row.name);
    for (found, wanted) in found.iter().zip(row.wanted) {
        let Some(figure) = figure(found, row.path) else {
            print!("{:>26}", "-");
            continue;
        };
        let judged = match wanted {
            None => String::new(),
            Some(wanted) if figure <= wanted => format!("of {wanted} ok"),
            Some(wanted) => format!("of {wanted} MISSED"),
        };
        missed += usize::from(judged.ends_with("MISSED"));
        print!("{figure:>11.2} {judged:<14}");
    }
    println!("{}", row.unit);
    missed
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--list") {
        return Ok(());
    }
    let data = arguments.iter().skip_while(|argument| *argument != "--data").nth(1);
    let corpus = |most| match data {
        Some(folder) => Corpus::read(Path::new(folder)),
        None => Corpus::made_up(most),
    };
    if !has("--bench") || has("--test") {
        measure(&corpus(100)?, 100, Effort { rounds: 1, requests: 5 })?;
        return Ok(());
    }
    let most = SIZES.into_iter().max().unwrap_or(0);
    let corpus = corpus(most)?;
    let mut found = Vec::new();
    for size in SIZES {
        found.push(measure(&corpus, size, Effort { rounds: 5, requests: 800 })?);
    }
    print!("{:<28}", "");
    SIZES.iter().for_each(|size| print!("{size:>11} {:<14}", "tools"));
    println!();
    let missed: usize = ROWS.iter().map(|row| print(row, &found)).sum();
    println!("{missed} targets missed");
    Ok(())
}
