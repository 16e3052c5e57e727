//! Precision and recall of the built-in rules on a folder of labelled texts.
//!
//! `cargo run --example redaction_figures -- FOLDER` reads every `*.jsonl` file in the folder:
//! lines with `id`, `text`, `spans` of `start`, `end` (in characters) and `type`, and `source`.
//! A span counts as found when all of it is masked; a masked stretch is right when it touches one.
//! `--misses` prints what was missed and what was masked without a span.

#![expect(clippy::print_stdout, reason = "its output is its purpose")]
#![expect(clippy::indexing_slicing, reason = "indexing a JSON value gives null, never a panic")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use weaver_firewall::{Firewall, MASK};

#[derive(Default, Clone, Copy)]
struct Tally {
    spans: u32,
    found: u32,
    masked: u32,
    right: u32,
    clean: u32,
    clean_masked: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut folder = None;
    let mut misses = false;
    for argument in std::env::args().skip(1) {
        if argument == "--misses" { misses = true } else { folder = Some(argument) }
    }
    let folder = folder.ok_or("name the folder with the labelled texts")?;
    let firewall = Firewall::new();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for entry in std::fs::read_dir(Path::new(&folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for line in std::fs::read_to_string(&path)?.lines() {
                let case: Value = serde_json::from_str(line)?;
                if case["spans"].is_array() {
                    score(&firewall, &case, misses, &mut tallies);
                }
            }
        }
    }
    for (name, t) in &tallies {
        let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
        println!(
            "{name:44} spans {:4} recall {:.3}  masked {:4} precision {:.3}  clean {:4} masked {:.3}",
            t.spans,
            share(t.found, t.spans),
            t.masked,
            share(t.right, t.masked),
            t.clean,
            share(t.clean_masked, t.clean),
        );
    }
    Ok(())
}

fn score(firewall: &Firewall, case: &Value, misses: bool, tallies: &mut BTreeMap<String, Tally>) {
    let text = case["text"].as_str().unwrap_or_default();
    let source = case["source"].as_str().unwrap_or("?");
    let masked = masked_ranges(text, &firewall.redact_text(text).text);
    let spans: Vec<(usize, usize, &str)> = case["spans"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|span| {
            let at = |key: &str| span[key].as_u64().unwrap_or(0) as usize;
            (at("start"), at("end"), span["type"].as_str().unwrap_or("?"))
        })
        .collect();
    let short: String = text.chars().take(140).collect();
    for (start, end, kind) in &spans {
        let found = masked.iter().any(|(a, b)| a <= start && end <= b);
        if misses && !found {
            println!("MISS {source} {} {kind} {short:?}", case["rule"]);
        }
        for name in [format!("source {source}"), format!("type {kind}"), group(kind).to_owned()] {
            let tally = tallies.entry(name).or_default();
            tally.spans += 1;
            tally.found += u32::from(found);
        }
    }
    let clean = spans.is_empty();
    for name in [format!("source {source}"), "all".to_owned()] {
        let tally = tallies.entry(name.clone()).or_default();
        tally.clean += u32::from(clean);
        tally.clean_masked += u32::from(clean && !masked.is_empty());
        for (a, b) in &masked {
            let right = spans.iter().any(|(start, end, _)| a < end && start < b);
            tally.masked += 1;
            tally.right += u32::from(right);
            if misses && !right && name == "all" {
                println!("WRONG {source} {} {short:?}", case["rule"]);
            }
        }
    }
}

fn group(kind: &str) -> &'static str {
    match kind {
        "SECRET" | "JWT" | "PRIVATE_KEY" | "CONN_STRING" | "PASSWORD" => "= secrets",
        "EMAIL" | "PHONE" | "CREDIT_CARD" | "US_SSN" | "IBAN" => "= personal, of the kinds covered",
        _ => "= personal, of other kinds",
    }
}

/// Where the masks of `out` stand in `text`, in characters: what lies between masks is found
/// again from left to right.
fn masked_ranges(text: &str, out: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut at = 0;
    let parts: Vec<&str> = out.split(MASK).collect();
    for (n, part) in parts.iter().enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        let last = n + 1 == parts.len();
        let found = if n == 0 {
            0
        } else if last {
            rest.len().saturating_sub(part.len())
        } else {
            // The mask stands for something, so the part begins after at least one character.
            let skip = rest.chars().next().map_or(0, char::len_utf8);
            rest.get(skip..).and_then(|r| r.find(part)).map_or(rest.len(), |i| i + skip)
        };
        if n > 0 {
            let chars = |bytes: usize| text.get(..bytes).map_or(0, |t| t.chars().count());
            ranges.push((chars(at), chars(at + found)));
        }
        at += found + part.len();
    }
    ranges
}
