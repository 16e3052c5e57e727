//! Reads the constraints and the authority of rules.

use weaver_types::{ApprovalAuthority, Constraints};

use super::node::Node;
use super::reader::DocumentReader;

/// The largest quorum that a rule may require.
const MAX_QUORUM: u64 = 16;

/// Reads the constraints that a rule imposes.
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
        allowed_fields: section.get("allowed_fields").map(|n| n.nonempty_texts(reader)),
        mode: section.get("mode").and_then(|n| n.keyword(reader)),
        timeout_ms: section.get("timeout_ms").and_then(|n| n.count(reader, 1)),
    }
}

/// Reads the authority that is needed to release a hold.
pub(super) fn authority(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> ApprovalAuthority {
    let known = ["min_trust", "clearance", "scopes", "roles", "quorum"];
    let Some(section) = node.section(reader, &known) else { return ApprovalAuthority::default() };
    let small = |n: u64| u16::try_from(n).unwrap_or(u16::MAX);
    ApprovalAuthority {
        min_trust: section.get("min_trust").and_then(|n| n.number(reader, 0..=1_000)).map(small),
        clearance: section.get("clearance").and_then(|n| n.keyword(reader)),
        scopes: section.get("scopes").map(|n| n.nonempty_texts(reader)).unwrap_or_default(),
        roles: section.get("roles").map(|n| n.nonempty_texts(reader)).into_iter().collect(),
        quorum: section
            .get("quorum")
            .and_then(|n| n.number(reader, 1..=MAX_QUORUM))
            .and_then(|n| u8::try_from(n).ok())
            .unwrap_or_default(),
    }
}
