//! Findings about contracts.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::PolicySet;
use weaver_types::{Capability, Integrity, SinkKind};

use super::{FindingCollector, LintCode};

/// Reports contracts that lower a rung.
pub(super) fn check_lowered_rungs(set: &PolicySet, findings: &mut FindingCollector) {
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

/// The part of an id before its first dot.
fn namespace(id: &str) -> &str {
    id.split_once('.').map_or(id, |(namespace, _)| namespace)
}

/// Reports outputs that are declared trusted although an untrusted run can write to their source.
///
/// A capability is assumed to write to the source of another if both share the namespace or a tag.
/// Writers that are sinks are excluded, because they are held in an untrusted run.
pub(super) fn check_trusted_outputs(tools: &[Capability], findings: &mut FindingCollector) {
    let mut writers: BTreeMap<String, &Capability> = BTreeMap::new();
    for tool in tools {
        if tool.spec().effects.writes() && tool.sink() == SinkKind::None {
            for key in location_keys(tool) {
                writers.entry(key).or_insert(tool);
            }
        }
    }
    for tool in tools {
        if tool.spec().output_label.integrity != Integrity::Trusted {
            continue;
        }
        if let Some(writer) = location_keys(tool).iter().find_map(|key| writers.get(key)) {
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

fn location_keys(tool: &Capability) -> BTreeSet<String> {
    let tags = tool.spec().tags.iter().map(|tag| format!("tag {tag}"));
    tags.chain([format!("namespace {}", namespace(tool.id().as_str()))]).collect()
}
