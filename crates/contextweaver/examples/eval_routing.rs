//! Measures recall of the router on a folder with `tools.jsonl` and `queries.jsonl`.
//!
//! `cargo run --example eval_routing -- FOLDER…`

use std::path::Path;
use std::time::Instant;

use contextweaver::catalog::Catalog;
use contextweaver::route::Router;

/// One query with its right answers.
#[derive(serde::Deserialize)]
struct Line {
    query: String,
    gold: Vec<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    if folders.is_empty() {
        return Err("name at least one folder with tools.jsonl and queries.jsonl".into());
    }
    for folder in folders {
        let row = measure(Path::new(&folder))?;
        writeln(&row)?;
    }
    Ok(())
}

fn writeln(row: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    writeln!(std::io::stdout(), "{row}")
}

fn measure(folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let tools = std::fs::read_to_string(folder.join("tools.jsonl"))?;
    let queries = std::fs::read_to_string(folder.join("queries.jsonl"))?;
    let start = Instant::now();
    let router = Router::new(Catalog::from_jsonl(&tools)?)?;
    let built = start.elapsed();
    let depths = [1, 3, 5, 10, 20];
    let mut recall = [0.0; 5];
    let mut micros = Vec::new();
    for line in queries.lines() {
        let line: Line = serde_json::from_str(line)?;
        let start = Instant::now();
        let hits = router.route(&line.query, 20);
        micros.push(start.elapsed().as_micros());
        let ranked: Vec<&str> = hits
            .iter()
            .filter_map(|hit| router.catalog().get(&hit.id))
            .map(|item| item.source_id())
            .collect();
        for (sum, depth) in recall.iter_mut().zip(depths) {
            let found = line.gold.iter().filter(|id| ranked.iter().take(depth).any(|r| r == id));
            *sum += found.count() as f64 / line.gold.len().max(1) as f64;
        }
    }
    micros.sort_unstable();
    let p50 = micros.get(micros.len() / 2).copied().unwrap_or(0);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let percent = recall.map(|sum| format!("{:5.1}", 100.0 * sum / micros.len().max(1) as f64));
    Ok(format!(
        "{name:12} {:5} tools {:5} queries  R@1,3,5,10,20 {}  p50 {p50} µs  build {} ms",
        router.catalog().len(),
        micros.len(),
        percent.join(" "),
        built.as_millis()
    ))
}
