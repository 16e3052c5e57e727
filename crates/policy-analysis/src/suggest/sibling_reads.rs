//! The other reads of a server of which an agent used several.
//!
//! Who looks into a mailbox in three ways will look into it in a fourth. What a read takes in counts as
//! it did before: labels, information flow and the firewall do not ask whether a rule allowed it. So
//! the reads of a server are suggested as a group, in a rule of their own that an operator can leave
//! out, where
//!
//! - several different ones were called, each before its run had taken in untrusted data or in two
//!   runs: injected calls alone never open a group;
//! - these name no path and no address, and are more than those that do: at this server a place is
//!   the exception, and a tool whose own name speaks of one is left out;
//! - the others are named in the contracts one by one, and are no more than those that were called:
//!   they reach no further, stand on no higher rung, and give out nothing more confidential or of
//!   another kind. Secrets are never among it, nor is a tool of which a call was stopped.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::critical::{self, Role};
use weaver_policy::{Effect, Match, PolicySet, Rule};
use weaver_types::{
    Capability, CapabilityId, Confidentiality, Rung, SafetyClass, SensitivityTag, SinkKind, World,
};

use super::evidence::{Evidence, Example, ToolEvidence};
use super::values::deciding;
use super::{MAX_NAMED, SuggestedRule};
use crate::request;

/// The least number of different reads that show that a server is read at large.
const MIN_TOOLS: usize = 3;
/// The most tools of one rule: a longer list is not read.
const MAX_TOOLS: usize = 200;

/// What was read of one server.
#[derive(Debug, Default)]
struct ServerReads {
    called: BTreeSet<CapabilityId>,
    /// How many name no place and count, since no injection can have caused all their calls.
    supported: usize,
    /// How many name a place.
    with_places: usize,
    calls: usize,
    after_untrusted: usize,
    named: Vec<String>,
    bounds: ReadBounds,
}

/// How far the reads that were called go.
#[derive(Debug)]
struct ReadBounds {
    rung: Rung,
    confidentiality: Confidentiality,
    sensitivity: BTreeSet<SensitivityTag>,
}

impl Default for ReadBounds {
    fn default() -> Self {
        let (rung, confidentiality) = (Rung::L0, Confidentiality::Public);
        Self { rung, confidentiality, sensitivity: BTreeSet::new() }
    }
}

impl ReadBounds {
    fn widen(&mut self, capability: &Capability) {
        let spec = capability.spec();
        self.rung = self.rung.max(capability.rung());
        self.confidentiality = self.confidentiality.max(spec.output_label.confidentiality);
        self.sensitivity.extend(&spec.sensitivity);
    }

    fn hold(&self, capability: &Capability) -> bool {
        let spec = capability.spec();
        let secret = spec.sensitivity.contains(&SensitivityTag::Secrets)
            || spec.output_label.confidentiality == Confidentiality::Restricted;
        !secret
            && capability.rung() <= self.rung
            && spec.output_label.confidentiality <= self.confidentiality
            && spec.sensitivity.is_subset(&self.sensitivity)
    }
}

/// The rules for the other reads, one a server.
pub(super) fn sibling_reads(set: &PolicySet, evidence: &Evidence) -> Vec<SuggestedRule> {
    let mut servers: BTreeMap<&str, ServerReads> = BTreeMap::new();
    for (id, tool) in &evidence.tools {
        if let Some((server, _)) =
            id.as_str().split_once('.').filter(|_| is_closed(&tool.capability))
        {
            servers.entry(server).or_default().add(id, tool);
        }
    }
    servers.retain(|_, reads| reads.supported >= MIN_TOOLS && reads.supported > reads.with_places);
    let mut others: BTreeMap<&str, BTreeSet<CapabilityId>> = BTreeMap::new();
    // What a pattern covers may be anything; only what is named is known to be a tool.
    let named = set.contracts().capabilities.keys().filter(|one| !one.as_str().contains('*'));
    for pattern in named {
        let Ok(id) = CapabilityId::parse(pattern.as_str()) else { continue };
        let Some((server, tool)) = pattern.as_str().split_once('.') else { continue };
        let Some((&server, reads)) = servers.get_key_value(server) else { continue };
        let is_news = !reads.called.contains(&id) && !evidence.stopped.contains(&id);
        if is_news && names_no_place(tool) && fits(set, &id, &reads.bounds) {
            others.entry(server).or_default().insert(id);
        }
    }
    let few = others.into_iter().filter(|(_, ids)| ids.len() <= MAX_TOOLS);
    few.filter_map(|(server, ids)| Some(rule(server, servers.remove(server)?, ids))).collect()
}

impl ServerReads {
    fn add(&mut self, id: &CapabilityId, tool: &ToolEvidence) {
        let spec = tool.capability.spec();
        let sink = tool.capability.sink();
        let places = |one: &Example| !deciding(&one.arguments, sink, spec.effects).is_empty();
        self.called.insert(id.clone());
        if tool.examples.iter().any(places) {
            self.with_places += 1;
            return;
        }
        self.calls += tool.examples.len();
        self.after_untrusted += tool.examples.iter().filter(|one| one.after_untrusted).count();
        let room = MAX_NAMED.saturating_sub(self.named.len());
        self.named.extend(tool.examples.iter().take(room).map(|one| one.id.clone()));
        if is_supported(tool) {
            self.supported += 1;
            self.bounds.widen(&tool.capability);
        }
    }
}

/// Whether a call came before any untrusted data, or calls came in two runs.
fn is_supported(tool: &ToolEvidence) -> bool {
    let runs: BTreeSet<&str> = tool.examples.iter().map(|one| one.run.as_str()).collect();
    runs.len() > 1 || tool.examples.iter().any(|one| !one.after_untrusted)
}

/// Whether it reads and nothing leaves: no address is asked, and nothing flows into a sink.
fn is_closed(capability: &Capability) -> bool {
    capability.class() == SafetyClass::ReadOnly
        && capability.spec().effects.world == World::Closed
        && capability.sink() == SinkKind::None
}

/// Whether the name of a tool speaks of no file, address or secret. What a server offers beside its
/// tools, as resources by their addresses, has a slash in its id.
fn names_no_place(tool: &str) -> bool {
    !tool.contains('/')
        && !matches!(critical::role(tool), Role::Path | Role::Network | Role::Secret)
}

fn fits(set: &PolicySet, id: &CapabilityId, bounds: &ReadBounds) -> bool {
    let capability = request::proposed(set, id);
    capability.is_ok_and(|capability| is_closed(&capability) && bounds.hold(&capability))
}

fn rule(server: &str, reads: ServerReads, ids: BTreeSet<CapabilityId>) -> SuggestedRule {
    let mut rule = Rule::new(format!("suggested-{server}-other-reads"), Effect::Allow);
    let patterns = ids.iter().filter_map(|id| weaver_policy::Pattern::parse(id.as_str()).ok());
    rule.matches = Match { capability: patterns.collect(), ..Match::default() };
    rule.reason = format!("the agent read {} tools of this server", reads.called.len());
    SuggestedRule {
        rule,
        calls: reads.calls,
        after_untrusted: reads.after_untrusted,
        named: reads.named,
        not_covered: "other tools, and other places in the arguments are free".to_owned(),
        uncalled: ids,
    }
}
