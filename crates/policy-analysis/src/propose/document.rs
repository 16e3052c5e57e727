//! Writes proposals as documents, each entry with its reasons.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weaver_text::escape;
use weaver_types::{CapabilityId, Confidentiality, Effects, Integrity, SensitivityTag, SinkKind};

use super::ContractProposal;
use crate::toml_text::toml_string;

/// The contracts document for these proposals, by capability id. Each entry is preceded by its
/// reasons.
#[must_use]
pub fn contracts_document(
    id: &str,
    proposals: &BTreeMap<CapabilityId, ContractProposal>,
) -> String {
    let mut out = format!(
        "# Proposed by code from names, descriptions and schemas. Read it through before you sign it:\n\
         # what a tool really does, and who writes what it answers, only its operator knows.\n\
         kind = \"contracts\"\nformat = 1\nid = {}\nversion = 1\n",
        toml_string(id)
    );
    for (id, proposal) in proposals {
        write_entry(&mut out, id, proposal);
    }
    out
}

// Writing to a string cannot fail here.
fn write_entry(out: &mut String, id: &CapabilityId, proposal: &ContractProposal) {
    out.push('\n');
    for (field, why) in &proposal.reasons {
        let _ = writeln!(out, "# {field}: {}", escape::line(why));
    }
    let _ = writeln!(out, "[capabilities.{}]", toml_string(id.as_str()));
    let _ = writeln!(out, "effects = \"{}\"", effects_keyword(proposal.effects));
    if let Some(sink) = proposal.sink {
        let _ = writeln!(out, "sink = \"{}\"", sink_keyword(sink));
    }
    if !proposal.tags.is_empty() {
        let _ = writeln!(out, "tags = [{}]", quoted_list(proposal.tags.iter().map(String::as_str)));
    }
    if !proposal.critical_arguments.is_empty() {
        let places = proposal.critical_arguments.iter().map(weaver_types::JsonPointer::as_str);
        let _ = writeln!(out, "critical_arguments = [{}]", quoted_list(places));
    }
    if !proposal.sends_to.is_empty() {
        let places = proposal.sends_to.iter().map(weaver_types::JsonPointer::as_str);
        let _ = writeln!(out, "sends_to = [{}]", quoted_list(places));
    }
    if let Some(records) = &proposal.records {
        let name = records.name.as_ref().map(|name| format!(", name = {}", toml_string(name)));
        let name = name.unwrap_or_default();
        let _ = writeln!(out, "records = {{ id = {}{name} }}", toml_string(&records.id));
    }
    if !proposal.sensitivity.is_empty() {
        let words = proposal.sensitivity.iter().map(|tag| sensitivity_keyword(*tag));
        let _ = writeln!(out, "sensitivity = [{}]", quoted_list(words));
    }
    if proposal.idempotent {
        let _ = writeln!(out, "idempotent = true");
    }
    if let Some(digest) = proposal.upstream_digest {
        let _ = writeln!(out, "upstream_digest = \"{digest}\"");
    }
    let mut label = Vec::new();
    if let Some(confidentiality) = proposal.output.confidentiality {
        label.push(format!("confidentiality = \"{}\"", confidentiality_keyword(confidentiality)));
    }
    if let Some(integrity) = proposal.output.integrity {
        let word = if integrity == Integrity::Trusted { "trusted" } else { "untrusted" };
        label.push(format!("integrity = \"{word}\""));
    }
    if !label.is_empty() {
        let _ = writeln!(out, "output = {{ {} }}", label.join(", "));
    }
}

/// The terms of standing approvals for the writes in these proposals, by file name: one file per
/// kind of sink. They release only calls held by the floor; calls held by information flow still
/// need a person.
#[must_use]
pub fn standing_approval_terms(
    proposals: &BTreeMap<CapabilityId, ContractProposal>,
    principal: &str,
) -> BTreeMap<String, String> {
    let mut kinds: BTreeMap<SinkKind, Vec<&str>> = BTreeMap::new();
    for (id, proposal) in proposals {
        // Tools that could not be classified are left to people.
        let known = proposal.sink.is_some() && proposal.effects.writes();
        if known && proposal.effective_sink() != SinkKind::None {
            kinds.entry(proposal.effective_sink()).or_default().push(id.as_str());
        }
    }
    let file = |(sink, ids): (SinkKind, Vec<&str>)| {
        let word = sink_keyword(sink);
        let text = format!(
            "# Proposed by code. These terms release calls that only the floor holds. Calls held by\n\
             # information flow still need a person.\n\
             capability = [{}]\nprincipals = {}\nuses = 100\nexpires = \"30d\"\n",
            quoted_list(ids.into_iter()),
            toml_string(principal)
        );
        (format!("{word}.toml"), text)
    };
    kinds.into_iter().map(file).collect()
}

fn effects_keyword(effects: Effects) -> &'static str {
    match effects {
        Effects::READ_LOCAL => "read_local",
        Effects::READ_OPEN => "read_open",
        Effects::WRITE_LOCAL => "write_local",
        Effects::WRITE_OPEN => "write_open",
        _ => "destructive",
    }
}

fn sink_keyword(sink: SinkKind) -> &'static str {
    match sink {
        SinkKind::None => "none",
        SinkKind::ExternalSend => "external_send",
        SinkKind::Payment => "payment",
        SinkKind::Credential => "credential",
        SinkKind::Destructive => "destructive",
    }
}

fn confidentiality_keyword(of: Confidentiality) -> &'static str {
    match of {
        Confidentiality::Public => "public",
        Confidentiality::Internal => "internal",
        Confidentiality::Confidential => "confidential",
        Confidentiality::Restricted => "restricted",
    }
}

fn sensitivity_keyword(tag: SensitivityTag) -> &'static str {
    match tag {
        SensitivityTag::Memory => "memory",
        SensitivityTag::Pii => "pii",
        SensitivityTag::Pci => "pci",
        SensitivityTag::Secrets => "secrets",
    }
}

fn quoted_list<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    texts.map(toml_string).collect::<Vec<_>>().join(", ")
}
