//! Contracts proposed for what a server offers beside its tools: reading its resources, its prompts,
//! completion. The protocol says what these do, so no words have to be weighed; what is left open is
//! how far an address of the caller's reaches.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_types::{Confidentiality, Effects, Pointer, SinkKind};

use super::{Proposal, untrusted};

/// Proposes a contract for reading the resources of a server, described in the form of a tool: its
/// annotations hold the templates of URIs.
#[must_use]
pub fn resource_reading(definition: &Value) -> Proposal {
    let templates = definition.pointer("/annotations/resourceTemplates").and_then(Value::as_array);
    let templates = templates.into_iter().flatten();
    let reach = templates.filter_map(|one| reach(one.get("uriTemplate")?.as_str()?)).max();
    let (effects, sink, why) = match reach {
        None => (
            Effects::READ_LOCAL,
            SinkKind::None,
            "the protocol has resources read only, and no template leads out",
        ),
        Some(Reach::Web) => {
            (Effects::READ_OPEN, SinkKind::None, "a template leads to an address on the web")
        }
        Some(Reach::AnyHost) => (
            Effects::READ_OPEN,
            SinkKind::ExternalSend,
            "a template takes an address of the caller's, which can carry data out",
        ),
    };
    let mut proposal = reading(effects, sink, why);
    if sink != SinkKind::None {
        proposal.critical_arguments = Pointer::parse("/uri").into_iter().collect();
        proposal.reasons.insert("critical_arguments", "the URI says where it goes".to_owned());
    }
    proposal
}

/// Proposes a contract for a prompt: a text that the server fills in.
#[must_use]
pub fn prompt() -> Proposal {
    reading(Effects::READ_LOCAL, SinkKind::None, "a prompt is a text that the server fills in")
}

/// Proposes a contract for completion of arguments.
#[must_use]
pub fn completion() -> Proposal {
    reading(Effects::READ_LOCAL, SinkKind::None, "the server proposes values of an argument")
}

fn reading(effects: Effects, sink: SinkKind, why: &str) -> Proposal {
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
    Proposal {
        effects,
        sink: Some(sink),
        tags: BTreeSet::new(),
        critical_arguments: BTreeSet::new(),
        sensitivity: BTreeSet::new(),
        idempotent: true,
        upstream_digest: None,
        output: untrusted(Confidentiality::Internal),
        reasons,
    }
}

/// How far the URIs of a template reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// To a host that the template names.
    Web,
    /// To any host.
    AnyHost,
}

/// How far a template reaches; `None` where it stays with the server.
fn reach(template: &str) -> Option<Reach> {
    let lower = template.to_ascii_lowercase();
    // An expression in front stands for any scheme and host.
    if lower.starts_with('{') {
        return Some(Reach::AnyHost);
    }
    let schemes = ["http://", "https://", "ftp://", "ws://", "wss://"];
    let rest = schemes.iter().find_map(|scheme| lower.strip_prefix(scheme))?;
    let host = rest.split('/').next().unwrap_or_default();
    Some(if host.contains('{') { Reach::AnyHost } else { Reach::Web })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(templates: &[&str]) -> Proposal {
        let templates: Vec<Value> =
            templates.iter().map(|uri| json!({ "uriTemplate": uri, "name": "t" })).collect();
        resource_reading(&json!({ "annotations": { "resourceTemplates": templates } }))
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
            assert_eq!(proposal.critical_arguments, Pointer::parse("/uri").into_iter().collect());
        }
    }

    #[test]
    fn what_a_server_says_is_never_trusted() {
        for proposal in [of(&[]), prompt(), completion()] {
            assert_eq!(proposal.output, untrusted(Confidentiality::Internal));
            assert!(!proposal.effects.writes() && proposal.idempotent);
        }
    }
}
