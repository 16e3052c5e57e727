//! Proposes contracts for server features other than tools: reading resources, prompts and
//! completion. The protocol defines what these do, so no words need to be classified. Only the
//! reach of caller-supplied URIs is open.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_types::{Confidentiality, Effects, JsonPointer, SinkKind};

use super::{ContractProposal, untrusted_output};

/// Proposes a contract for reading the resources of a server. The definition has the form of a tool
/// whose annotations contain the URI templates.
#[must_use]
pub fn propose_resource_reading(definition: &Value) -> ContractProposal {
    let templates = definition.pointer("/annotations/resourceTemplates").and_then(Value::as_array);
    let templates = templates.into_iter().flatten();
    let reach = templates.filter_map(|one| template_reach(one.get("uriTemplate")?.as_str()?)).max();
    let (effects, sink, why) = match reach {
        None => (
            Effects::READ_LOCAL,
            SinkKind::None,
            "the protocol has resources read only, and no template leads out",
        ),
        Some(TemplateReach::Web) => {
            (Effects::READ_OPEN, SinkKind::None, "a template leads to an address on the web")
        }
        Some(TemplateReach::AnyHost) => (
            Effects::READ_OPEN,
            SinkKind::ExternalSend,
            "a template takes an address of the caller's, which can carry data out",
        ),
    };
    let mut proposal = read_only_proposal(effects, sink, why);
    if sink != SinkKind::None {
        proposal.critical_arguments = JsonPointer::parse("/uri").into_iter().collect();
        proposal.reasons.insert("critical_arguments", "the URI says where it goes".to_owned());
    }
    proposal
}

/// Proposes a contract for prompts: texts that the server fills in.
#[must_use]
pub fn propose_prompt() -> ContractProposal {
    read_only_proposal(
        Effects::READ_LOCAL,
        SinkKind::None,
        "a prompt is a text that the server fills in",
    )
}

/// Proposes a contract for completion of arguments.
#[must_use]
pub fn propose_completion() -> ContractProposal {
    read_only_proposal(
        Effects::READ_LOCAL,
        SinkKind::None,
        "the server proposes values of an argument",
    )
}

fn read_only_proposal(effects: Effects, sink: SinkKind, why: &str) -> ContractProposal {
    let output = "whoever writes for the server writes what it says";
    let reasons = [
        ("effects", why),
        ("sink", "it only reads"),
        ("idempotent", "reading twice is reading once"),
        ("output", output),
    ];
    let mut reasons: BTreeMap<_, _> =
        reasons.into_iter().map(|(field, why)| (field, why.to_owned())).collect();
    if sink != SinkKind::None {
        reasons.insert("sink", why.to_owned());
    }
    ContractProposal {
        effects,
        sink: Some(sink),
        tags: BTreeSet::new(),
        critical_arguments: BTreeSet::new(),
        sends_to: BTreeSet::new(),
        records: None,
        sensitivity: BTreeSet::new(),
        idempotent: true,
        upstream_digest: None,
        output: untrusted_output(Confidentiality::Internal),
        reasons,
    }
}

/// How far the URIs of a template can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TemplateReach {
    /// To a host that the template names.
    Web,
    /// To any host.
    AnyHost,
}

/// How far a template can reach; `None` if it stays with the server.
fn template_reach(template: &str) -> Option<TemplateReach> {
    let lower = template.to_ascii_lowercase();
    // A leading expression can expand to any scheme and host.
    if lower.starts_with('{') {
        return Some(TemplateReach::AnyHost);
    }
    let schemes = ["http://", "https://", "ftp://", "ws://", "wss://"];
    let rest = schemes.iter().find_map(|scheme| lower.strip_prefix(scheme))?;
    let host = rest.split('/').next().unwrap_or_default();
    Some(if host.contains('{') { TemplateReach::AnyHost } else { TemplateReach::Web })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(templates: &[&str]) -> ContractProposal {
        let templates: Vec<Value> =
            templates.iter().map(|uri| json!({ "uriTemplate": uri, "name": "t" })).collect();
        propose_resource_reading(&json!({ "annotations": { "resourceTemplates": templates } }))
    }

    #[test]
    fn reading_is_local_unless_a_template_leads_out() {
        for local in [&[][..], &["note://{id}"], &["file:///{+path}", "demo://resource/{id}"]] {
            let proposal = of(local);
            assert_eq!(
                (proposal.effects, proposal.sink),
                (Effects::READ_LOCAL, Some(SinkKind::None))
            );
            assert!(proposal.critical_arguments.is_empty());
        }
        let web = of(&["note://{id}", "https://docs.example/{page}"]);
        assert_eq!((web.effects, web.sink), (Effects::READ_OPEN, Some(SinkKind::None)));
        for any in ["{+url}", "https://{host}/x", "HTTP://a.{zone}/x"] {
            let proposal = of(&["note://{id}", any]);
            assert_eq!(proposal.sink, Some(SinkKind::ExternalSend), "{any}");
            assert_eq!(
                proposal.critical_arguments,
                JsonPointer::parse("/uri").into_iter().collect()
            );
        }
    }

    #[test]
    fn what_a_server_says_is_never_trusted() {
        for proposal in [of(&[]), propose_prompt(), propose_completion()] {
            assert_eq!(proposal.output, untrusted_output(Confidentiality::Internal));
            assert!(!proposal.effects.writes() && proposal.idempotent);
        }
    }
}
