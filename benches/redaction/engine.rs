//! The redactor alone, with all rules.

use std::hint::black_box;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde_json::{Value, json};
use weaver_benches::{Failure, records};
use weaver_firewall::Firewall;

use crate::Effort;
use weaver_benches::measure::{median, once, speed};

/// The size of the pieces of a stream, in bytes.
const PIECE: usize = 4_096;

/// Megabytes a second over each text: whole, in pieces, and a bare pass over the anchors with an
/// Aho-Corasick automaton.
pub fn speeds(effort: &Effort) -> Result<Value, Failure> {
    let firewall = Firewall::new();
    let bare = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(firewall.anchors())?;
    let texts = [
        ("logs", records::logs(effort.bytes)),
        ("prose", records::prose(effort.bytes)),
        ("json", records::rows(effort.bytes)),
        ("dense", records::dense(effort.bytes)),
        ("mixed", records::mixed(effort.bytes)),
    ];
    let measure = |(name, text): (&str, String)| {
        let redacted = firewall.redact_text(&text);
        let values: u64 = redacted.counts.values().sum();
        let whole = median(effort.runs, || {
            black_box(firewall.redact_text(&text));
        });
        let stream = median(effort.runs, || streamed(&firewall, &text));
        let anchors = median(effort.runs, || {
            black_box(bare.find_overlapping_iter(&text).count());
        });
        let found = json!({
            "bytes": text.len(), "values": values,
            "whole_mb_s": speed(text.len(), whole),
            "stream_mb_s": speed(text.len(), stream),
            "anchors_mb_s": speed(text.len(), anchors),
        });
        (name.to_owned(), found)
    };
    Ok(texts.into_iter().map(measure).collect())
}

fn streamed(firewall: &Firewall, text: &str) {
    let mut stream = firewall.stream_redactor();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE.min(rest.len())));
        black_box(stream.push(piece));
        rest = after;
    }
    black_box(stream.finish());
}

/// Nanoseconds a byte over texts that are made to be slow, beside those over clean text.
pub fn hostile(effort: &Effort) -> Value {
    let firewall = Firewall::new();
    let clean = records::prose(effort.hostile);
    let per_byte = |text: &str, runs: usize| {
        let time = once(runs, || {
            black_box(firewall.redact_text(text));
        });
        1_000.0 / speed(text.len(), time)
    };
    black_box(firewall.redact_text("warm"));
    let base = per_byte(&clean, effort.runs);
    let measure = |(name, unit): (&str, &str)| {
        let taken = per_byte(&records::hostile(unit, effort.hostile), 1);
        (name.to_owned(), json!({ "ns_per_byte": taken, "of_clean": taken / base }))
    };
    let mut all: serde_json::Map<String, Value> =
        records::HOSTILE.into_iter().map(measure).collect();
    all.insert("clean".to_owned(), json!({ "ns_per_byte": base, "of_clean": 1.0 }));
    Value::Object(all)
}
