//! Constraints and authority, as rules write them.

use weaver_types::{Authority, Constraints};

use super::node::Node;
use super::reader::DocumentReader;

/// The most people that a rule may ask for.
const MAX_QUORUM: u64 = 16;

/// Reads what a rule limits.
pub(super) fn constraints(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Constraints {
    let known = [
        "max_tokens", "max_rows", "max_fields", "max_chars", "allowed_fields", "mode", "timeout_ms",
    ];
    let Some(section) = node.section(reader, &known) else { return Constraints::default() };
    Constraints {
        max_tokens: section.get("max_tokens").and_then(|n| n.count(reader, 1)),
        max_rows: section.get("max_rows").and_then(|n| n.count(reader, 0)),
        max_fields: section.get("max_fields").and_then(|n| n.count(reader, 0)),
        max_chars: section.get("max_chars").and_then(|n| n.count(reader, 0)),
        allowed_fields: section.get("allowed_fields").map(|n| n.some_texts(reader)),
        mode: section.get("mode").and_then(|n| n.word(reader)),
        timeout_ms: section.get("timeout_ms").and_then(|n| n.count(reader, 1)),
    }
}

/// Reads who may release what a rule holds.
pub(super) fn authority(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Authority {
    let known = ["min_trust", "clearance", "scopes", "roles", "quorum"];
    let Some(section) = node.section(reader, &known) else { return Authority::default() };
    let small = |n: u64| u16::try_from(n).unwrap_or(u16::MAX);
    Authority {
        min_trust: section.get("min_trust").and_then(|n| n.number(reader, 0..=1_000)).map(small),
        clearance: section.get("clearance").and_then(|n| n.word(reader)),
        scopes: section.get("scopes").map(|n| n.some_texts(reader)).unwrap_or_default(),
        roles: section.get("roles").map(|n| n.some_texts(reader)).into_iter().collect(),
        quorum: section
            .get("quorum")
            .and_then(|n| n.number(reader, 1..=MAX_QUORUM))
            .and_then(|n| u8::try_from(n).ok())
            .unwrap_or_default(),
    }
}
