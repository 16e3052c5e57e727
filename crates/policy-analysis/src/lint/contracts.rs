//! Findings about contracts.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::PolicySet;
use weaver_types::{Capability, Integrity, SinkKind};

use super::{Findings, LintCode};

/// Contracts that lower a rung.
pub(super) fn lowered(set: &PolicySet, findings: &mut Findings) {
    for (pattern, contract) in &set.contracts().capabilities {
        if !contract.lower_rung {
            continue;
        }
        let message = match (contract.rung, contract.effects) {
            (Some(rung), Some(effects)) if rung < effects.rung() => {
                format!("it is put on {rung:?}, its effects are those of {:?}", effects.rung())
            }
            (Some(rung), None) => format!("it is put on {rung:?}, whatever its effects are"),
            _ => "it says `lower_rung`, so that milder words than those of its host code count"
                .to_owned(),
        };
        let place = format!("contract `{}`", pattern.as_str());
        let remedy = "make sure that somebody has looked at it, or take `lower_rung` away";
        findings.add(LintCode::LoweredRung, place, message, remedy);
    }
}

/// What a name begins with, up to its first dot.
fn namespace(id: &str) -> &str {
    id.split_once('.').map_or(id, |(namespace, _)| namespace)
}

/// Outputs that count as trusted though they come from where an untrusted run may write.
///
/// A capability writes where another reads when both have the namespace or a tag in common. What
/// is a sink is held in an untrusted run; what is none is not.
pub(super) fn trusted(tools: &[Capability], findings: &mut Findings) {
    let mut writers: BTreeMap<String, &Capability> = BTreeMap::new();
    for tool in tools {
        if tool.spec().effects.writes() && tool.sink() == SinkKind::None {
            for key in keys(tool) {
                writers.entry(key).or_insert(tool);
            }
        }
    }
    for tool in tools {
        if tool.spec().output_label.integrity != Integrity::Trusted {
            continue;
        }
        if let Some(writer) = keys(tool).iter().find_map(|key| writers.get(key)) {
            let message = format!(
                "its output counts as trusted, and `{}` may write there in an untrusted run",
                writer.id()
            );
            let remedy = "declare its output untrusted, or give the writer a sink kind";
            let place = format!("capability `{}`", tool.id());
            findings.add(LintCode::TrustedOutput, place, message, remedy);
        }
    }
}

fn keys(tool: &Capability) -> BTreeSet<String> {
    let tags = tool.spec().tags.iter().map(|tag| format!("tag {tag}"));
    tags.chain([format!("namespace {}", namespace(tool.id().as_str()))]).collect()
}
