//! Suggests rules for the unused tools of a server, if an agent used several similar ones.
//!
//! An agent that reads a mailbox in three ways will probably need a fourth, and one that edits and
//! writes files in a folder will create one there. Such a rule does not weaken other protections:
//! labels, information flow and the firewall apply to allowed calls as before. Tools are therefore
//! suggested as a group, in a separate rule that an operator can leave out, if
//!
//! - several different tools were called (three, or two in different runs), each either before its
//!   run had taken in untrusted data or in two runs, so injected calls alone never open a group. To
//!   suggest reads, these must be reads; to suggest local writes, at least one of them must be a
//!   write;
//! - the contracts name the suggested tools individually, and they exceed the called ones in
//!   nothing: neither in reach nor in rung, nor in the confidentiality or kind of their output.
//!   Tools that return secrets, and tools with a stopped call, are never suggested;
//! - they stay where the called tools did: if those used no paths, neither may the suggested ones;
//!   if those used paths, every path must be in the same folders.
//!
//! Tools that reach out or destroy are never allowed by a suggestion. For servers in use, they get
//! a rule that requires approval, so a call waits for a person instead of being denied.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_policy::critical::{self, ArgumentRole};
use weaver_policy::{ArgumentPredicate, Effect, MatchConditions, Pattern, PolicySet, Rule};
use weaver_types::{
    Capability, CapabilityId, Confidentiality, JsonPointer, Rung, SafetyClass, SensitivityTag,
    SinkKind, World,
};

use super::destination_values::{DestinationValue, ValueKind, destination_values};
use super::evidence::{Evidence, ExampleCall, ToolEvidence, may_be_allowed};
use super::{MAX_EXAMPLE_CALLS, SuggestedRule, folders};
use crate::recorded_request;

/// The minimum number of different tools which shows that a server is used broadly.
const MIN_TOOLS: usize = 3;
/// The minimum if they were called in several runs.
const MIN_TOOLS_IN_RUNS: usize = 2;
/// The maximum number of tools in one rule; nobody would review a longer list.
const MAX_TOOLS: usize = 200;

/// The local effect of a tool, by which tools are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LocalEffect {
    Reads,
    Writes,
}

impl LocalEffect {
    /// The effect of a tool, if nothing leaves this machine and nothing is destroyed.
    fn from_capability(capability: &Capability) -> Option<Self> {
        let is_closed = capability.spec().effects.world == World::Closed
            && capability.sink() == SinkKind::None
            && may_be_allowed(capability);
        let writes = capability.spec().effects.writes();
        match capability.class() {
            SafetyClass::ReadOnly if is_closed => Some(Self::Reads),
            _ if is_closed && writes => Some(Self::Writes),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
        }
    }
}

/// The called tools of one server with the same effect.
#[derive(Debug, Default)]
struct ServerUse {
    /// The number of tools that used a destination value, whether or not they count.
    with_places: usize,
    /// The tools that used no destination value.
    pathless: UsedTools,
    /// The tools whose only destination values were paths.
    with_paths: UsedTools,
    /// These paths.
    paths: BTreeSet<String>,
}

/// Tools that count as used, with their calls.
#[derive(Debug, Default)]
struct UsedTools {
    tools: usize,
    runs: BTreeSet<String>,
    calls: usize,
    after_untrusted: usize,
    example_calls: Vec<String>,
    bounds: ToolBounds,
}

/// The upper bounds of the called tools.
#[derive(Debug)]
struct ToolBounds {
    rung: Rung,
    confidentiality: Confidentiality,
    sensitivity: BTreeSet<SensitivityTag>,
}

impl Default for ToolBounds {
    fn default() -> Self {
        let (rung, confidentiality) = (Rung::L0, Confidentiality::Public);
        Self { rung, confidentiality, sensitivity: BTreeSet::new() }
    }
}

impl ToolBounds {
    fn widen(&mut self, capability: &Capability) {
        let spec = capability.spec();
        self.rung = self.rung.max(capability.rung());
        self.confidentiality = self.confidentiality.max(spec.output_label.confidentiality);
        self.sensitivity.extend(&spec.sensitivity);
    }

    fn admits(&self, capability: &Capability) -> bool {
        let spec = capability.spec();
        let secret = spec.sensitivity.contains(&SensitivityTag::Secrets)
            || spec.output_label.confidentiality == Confidentiality::Restricted;
        !secret
            && capability.rung() <= self.rung
            && spec.output_label.confidentiality <= self.confidentiality
            && spec.sensitivity.is_subset(&self.sensitivity)
    }
}

impl UsedTools {
    fn add(&mut self, capability: &Capability, examples: &[&ExampleCall]) {
        self.calls += examples.len();
        self.after_untrusted += examples.iter().filter(|one| one.after_untrusted).count();
        let room = MAX_EXAMPLE_CALLS.saturating_sub(self.example_calls.len());
        self.example_calls.extend(examples.iter().take(room).map(|one| one.id.clone()));
        if is_supported(examples) {
            self.runs.extend(examples.iter().map(|one| one.run.clone()));
            self.tools += 1;
            self.bounds.widen(capability);
        }
    }

    /// Whether these tools, together with the others, show that the server is used broadly.
    fn is_established(&self, with: Option<&Self>) -> bool {
        let tools = self.tools + with.map_or(0, |with| with.tools);
        let runs = with.map_or(0, |with| with.runs.difference(&self.runs).count());
        let several = self.runs.len() + runs > 1;
        self.tools > 0 && (tools >= MIN_TOOLS || tools >= MIN_TOOLS_IN_RUNS && several)
    }
}

/// Whether some call was made before any untrusted data, or calls were made in two runs.
fn is_supported(examples: &[&ExampleCall]) -> bool {
    let runs: BTreeSet<&str> = examples.iter().map(|one| one.run.as_str()).collect();
    runs.len() > 1 || examples.iter().any(|one| !one.after_untrusted)
}

impl ServerUse {
    fn add(&mut self, tool: &ToolEvidence) {
        let effects = tool.capability.spec().effects;
        let values =
            |one: &ExampleCall| destination_values(&one.arguments, SinkKind::None, effects);
        let with_paths: Vec<(&ExampleCall, Vec<DestinationValue>)> =
            tool.examples.iter().map(|one| (one, values(one))).collect();
        if with_paths.iter().all(|(_, values)| values.is_empty()) {
            let all: Vec<&ExampleCall> = tool.examples.iter().collect();
            return self.pathless.add(&tool.capability, &all);
        }
        self.with_places += 1;
        // A masked destination, or one that is sensitive, is not evidence.
        let shows = |(one, values): &&(&ExampleCall, Vec<DestinationValue>)| {
            one.has_exact_destination && !text_values(values).any(folders::is_sensitive)
        };
        let shown: Vec<_> = with_paths.iter().filter(shows).collect();
        let paths_alone = shown
            .iter()
            .all(|(_, values)| values.iter().all(|value| value.kind == ValueKind::Path));
        let examples: Vec<&ExampleCall> = shown.iter().map(|(one, _)| *one).collect();
        if paths_alone && is_supported(&examples) {
            self.with_paths.add(&tool.capability, &examples);
            self.paths.extend(shown.iter().flat_map(|(_, v)| text_values(v)).map(str::to_owned));
        }
    }

    /// The conditions for the other tools, derived from the called ones. For writes, `readers` are
    /// the tools of the same server that only read.
    fn sibling_conditions(&self, readers: Option<&Self>) -> Vec<(&UsedTools, ArgumentPredicate)> {
        let Ok(whole) = JsonPointer::parse("") else { return Vec::new() };
        let mut out = Vec::new();
        // If most tools use a destination, one without is the exception, and its unused siblings
        // could go anywhere.
        let mostly_free = self.pathless.tools > self.with_places;
        if mostly_free && self.pathless.is_established(readers.map(|readers| &readers.pathless)) {
            let nowhere = ArgumentPredicate {
                holds_paths: Some(false),
                ..ArgumentPredicate::at(whole.clone())
            };
            out.push((&self.pathless, nowhere));
        }
        if self.with_paths.is_established(readers.map(|readers| &readers.with_paths))
            && let Some(folders) =
                folders::covering_folders(&self.paths, folders::PathArgument::Any)
        {
            let paths_inside = folders.into_iter().collect();
            let inside = ArgumentPredicate { paths_inside, ..ArgumentPredicate::at(whole) };
            out.push((&self.with_paths, inside));
        }
        out
    }
}

fn text_values(values: &[DestinationValue]) -> impl Iterator<Item = &str> {
    values.iter().flat_map(|value| value.values.iter().filter_map(Value::as_str))
}

/// The tools that the contracts name individually. A pattern could cover anything.
fn named_tools(set: &PolicySet) -> impl Iterator<Item = (&str, CapabilityId)> {
    let named = set.contracts().capabilities.keys().filter(|one| !one.as_str().contains('*'));
    named.filter_map(|pattern| {
        let (server, _) = pattern.as_str().split_once('.')?;
        Some((server, CapabilityId::parse(pattern.as_str()).ok()?))
    })
}

/// The rules for unused local tools, and the rule that requires approval for all others.
pub(super) fn suggestions(set: &PolicySet, evidence: &Evidence) -> Vec<SuggestedRule> {
    let mut servers: BTreeMap<(&str, LocalEffect), ServerUse> = BTreeMap::new();
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, tool) in &evidence.tools {
        let Some((server, _)) = id.as_str().split_once('.') else { continue };
        *used.entry(server).or_default() += tool.examples.len();
        if let Some(effect) = LocalEffect::from_capability(&tool.capability) {
            servers.entry((server, effect)).or_default().add(tool);
        }
    }
    let mut uncalled: BTreeMap<(&str, Option<LocalEffect>), Vec<Capability>> = BTreeMap::new();
    for (server, id) in named_tools(set).filter(|(server, _)| used.contains_key(server)) {
        let is_known = evidence.tools.contains_key(&id) || evidence.stopped.contains(&id);
        let Ok(capability) = recorded_request::proposed_capability(set, &id) else { continue };
        let effect = LocalEffect::from_capability(&capability);
        if !is_known && (effect.is_some() || !may_be_allowed(&capability)) {
            uncalled.entry((server, effect)).or_default().push(capability);
        }
    }
    let mut rules = Vec::new();
    for ((server, effect), of) in &servers {
        let others = uncalled.remove(&(*server, Some(*effect))).unwrap_or_default();
        let reads = servers.get(&(*server, LocalEffect::Reads));
        let readers = reads.filter(|_| *effect == LocalEffect::Writes);
        let name = format!("suggested-{server}-other-{}", effect.name());
        rules.extend(allow_rules(&name, of.sibling_conditions(readers), others));
    }
    rules.extend(approval_rule(&used, uncalled));
    rules
}

/// The rules that allow unused tools of a server.
fn allow_rules(
    name: &str,
    places: Vec<(&UsedTools, ArgumentPredicate)>,
    mut others: Vec<Capability>,
) -> Vec<SuggestedRule> {
    let mut rules = Vec::new();
    for (used, place) in places {
        let nowhere = place.holds_paths.is_some();
        let fits = |one: &mut Capability| {
            used.bounds.admits(one) && (!nowhere || is_free_of_locations(one.id().as_str()))
        };
        let ids: BTreeSet<CapabilityId> =
            others.extract_if(.., fits).map(|one| one.id().clone()).collect();
        if ids.is_empty() || ids.len() > MAX_TOOLS {
            continue;
        }
        let number = if rules.is_empty() { "" } else { "-2" };
        let mut rule = rule_for_tools(format!("{name}{number}"), Effect::Allow, &ids);
        let not_covered = match nowhere {
            true => "other tools; a call that names a path",
            false => "other tools; a path outside of these folders; a call without a path",
        };
        rule.matches.arguments.push(place);
        rule.reason = "the agent used others of this server in the same way".to_owned();
        rules.push(SuggestedRule {
            rule,
            calls: used.calls,
            after_untrusted: used.after_untrusted,
            example_calls: used.example_calls.clone(),
            not_covered: not_covered.to_owned(),
            uncalled: ids,
        });
    }
    rules
}

/// The rule that requires approval for tools of used servers which no suggestion may allow.
fn approval_rule(
    used: &BTreeMap<&str, usize>,
    uncalled: BTreeMap<(&str, Option<LocalEffect>), Vec<Capability>>,
) -> Option<SuggestedRule> {
    let consequential = uncalled.into_iter().filter(|((_, effect), _)| effect.is_none());
    let (mut ids, mut calls) = (BTreeSet::new(), 0);
    for ((server, _), tools) in consequential {
        calls += used.get(server).copied().unwrap_or_default();
        ids.extend(tools.iter().map(|one| one.id().clone()));
    }
    if ids.is_empty() || ids.len() > MAX_TOOLS {
        return None;
    }
    let mut rule = rule_for_tools("suggested-other-asks".to_owned(), Effect::RequireApproval, &ids);
    rule.reason = "it reaches out or destroys, at a server that the agent used".to_owned();
    Some(SuggestedRule {
        rule,
        calls,
        after_untrusted: 0,
        example_calls: Vec::new(),
        not_covered: "nothing: each call is held until somebody releases it".to_owned(),
        uncalled: ids,
    })
}

fn rule_for_tools(name: String, effect: Effect, ids: &BTreeSet<CapabilityId>) -> Rule {
    let mut rule = Rule::new(name, effect);
    let patterns = ids.iter().filter_map(|id| Pattern::parse(id.as_str()).ok());
    rule.matches = MatchConditions { capability: patterns.collect(), ..MatchConditions::default() };
    rule
}

/// Whether the name of a tool mentions no file, address or secret. Server features other than
/// tools, such as resources, have a slash in their id.
fn is_free_of_locations(id: &str) -> bool {
    let tool = id.split_once('.').map_or(id, |(_, tool)| tool);
    !tool.contains('/')
        && !matches!(
            critical::argument_role(tool),
            ArgumentRole::Path | ArgumentRole::Network | ArgumentRole::Secret
        )
}
