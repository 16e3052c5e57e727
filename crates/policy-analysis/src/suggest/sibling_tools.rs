//! The other tools of a server of which an agent used several.
//!
//! Who looks into a mailbox in three ways will look into it in a fourth, and who edits and writes files
//! in a folder will make one there. What a call takes in counts as it did before: labels, information
//! flow and the firewall do not ask whether a rule allowed it. So tools are suggested as a group, in a
//! rule of their own that an operator can leave out, where
//!
//! - several different ones were called, three or two in different runs, each before its run had taken
//!   in untrusted data or in two runs: injected calls alone never open a group. For other reads these
//!   are reads; for other writes on this machine, one of them at least wrote;
//! - the others are named in the contracts one by one, and are no more than those that were called:
//!   they reach no further, stand on no higher rung, and give out nothing more confidential or of
//!   another kind. Secrets are never among it, nor is a tool of which a call was stopped;
//! - they stay where the called ones did. Of tools that named no path, the others may name none
//!   either; of tools that named paths, every path must lie in the same folders.
//!
//! What reaches out or destroys is never allowed by a suggestion. Of a server that was used, such tools
//! are asked about, so that a call of one waits for a person and is not lost.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_policy::critical::{self, Role};
use weaver_policy::{ArgumentPredicate, Effect, Match, Pattern, PolicySet, Rule};
use weaver_types::{
    Capability, CapabilityId, Confidentiality, Pointer, Rung, SafetyClass, SensitivityTag,
    SinkKind, World,
};

use super::evidence::{Evidence, Example, ToolEvidence, may_be_allowed};
use super::values::{DecidingValue, ValueKind, deciding};
use super::{MAX_NAMED, SuggestedRule, folders};
use crate::request;

/// The least number of different tools that show that a server is used at large.
const MIN_TOOLS: usize = 3;
/// The same, where they were called in several runs.
const MIN_TOOLS_IN_RUNS: usize = 2;
/// The most tools of one rule: a longer list is not read.
const MAX_TOOLS: usize = 200;

/// What tools of a server do that one rule may allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LocalEffect {
    Reads,
    Writes,
}

impl LocalEffect {
    /// What a tool does, if nothing leaves this machine and nothing is destroyed.
    fn of(capability: &Capability) -> Option<Self> {
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

/// The tools of a kind that were called at one server.
#[derive(Debug, Default)]
struct ServerUse {
    /// How many name a place, whether they count or not.
    with_places: usize,
    /// Those that name no place.
    free: UsedTools,
    /// Those that name paths, and nothing else that decides where a call goes.
    placed: UsedTools,
    /// These paths.
    paths: BTreeSet<String>,
}

/// Tools that count, with their calls.
#[derive(Debug, Default)]
struct UsedTools {
    tools: usize,
    runs: BTreeSet<String>,
    calls: usize,
    after_untrusted: usize,
    named: Vec<String>,
    bounds: ToolBounds,
}

/// How far the tools that were called go.
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

impl UsedTools {
    fn add(&mut self, capability: &Capability, examples: &[&Example]) {
        self.calls += examples.len();
        self.after_untrusted += examples.iter().filter(|one| one.after_untrusted).count();
        let room = MAX_NAMED.saturating_sub(self.named.len());
        self.named.extend(examples.iter().take(room).map(|one| one.id.clone()));
        if is_supported(examples) {
            self.runs.extend(examples.iter().map(|one| one.run.clone()));
            self.tools += 1;
            self.bounds.widen(capability);
        }
    }

    /// Whether these, with those other ones, show that the server is used at large.
    fn is_established(&self, with: Option<&Self>) -> bool {
        let tools = self.tools + with.map_or(0, |with| with.tools);
        let runs = with.map_or(0, |with| with.runs.difference(&self.runs).count());
        let several = self.runs.len() + runs > 1;
        self.tools > 0 && (tools >= MIN_TOOLS || tools >= MIN_TOOLS_IN_RUNS && several)
    }
}

/// Whether a call came before any untrusted data, or calls came in two runs.
fn is_supported(examples: &[&Example]) -> bool {
    let runs: BTreeSet<&str> = examples.iter().map(|one| one.run.as_str()).collect();
    runs.len() > 1 || examples.iter().any(|one| !one.after_untrusted)
}

impl ServerUse {
    fn add(&mut self, tool: &ToolEvidence) {
        let effects = tool.capability.spec().effects;
        let values = |one: &Example| deciding(&one.arguments, SinkKind::None, effects);
        let placed: Vec<(&Example, Vec<DecidingValue>)> =
            tool.examples.iter().map(|one| (one, values(one))).collect();
        if placed.iter().all(|(_, values)| values.is_empty()) {
            let all: Vec<&Example> = tool.examples.iter().collect();
            return self.free.add(&tool.capability, &all);
        }
        self.with_places += 1;
        // A place that was masked, or that lies where keys do, shows nothing.
        let shows = |(one, values): &&(&Example, Vec<DecidingValue>)| {
            one.has_exact_destination && !texts(values).any(folders::is_sensitive)
        };
        let shown: Vec<_> = placed.iter().filter(shows).collect();
        let paths_alone = shown
            .iter()
            .all(|(_, values)| values.iter().all(|value| value.kind == ValueKind::Path));
        let examples: Vec<&Example> = shown.iter().map(|(one, _)| *one).collect();
        if paths_alone && is_supported(&examples) {
            self.placed.add(&tool.capability, &examples);
            self.paths.extend(shown.iter().flat_map(|(_, v)| texts(v)).map(str::to_owned));
        }
    }

    /// Where the other tools may go, by what the called ones show and those that only read `beside`
    /// them.
    fn others(&self, beside: Option<&Self>) -> Vec<(&UsedTools, ArgumentPredicate)> {
        let Ok(whole) = Pointer::parse("") else { return Vec::new() };
        let mut out = Vec::new();
        // Where most tools name a place, one that names none is the exception, and goes anywhere.
        let mostly_free = self.free.tools > self.with_places;
        if mostly_free && self.free.is_established(beside.map(|beside| &beside.free)) {
            let nowhere = ArgumentPredicate {
                holds_paths: Some(false),
                ..ArgumentPredicate::at(whole.clone())
            };
            out.push((&self.free, nowhere));
        }
        if self.placed.is_established(beside.map(|beside| &beside.placed))
            && let Some(folders) = folders::cover(&self.paths)
        {
            let paths_inside = folders.into_iter().collect();
            let inside = ArgumentPredicate { paths_inside, ..ArgumentPredicate::at(whole) };
            out.push((&self.placed, inside));
        }
        out
    }
}

fn texts(values: &[DecidingValue]) -> impl Iterator<Item = &str> {
    values.iter().flat_map(|value| value.values.iter().filter_map(Value::as_str))
}

/// The tools that the contracts name one by one: what a pattern covers may be anything.
fn named_tools(set: &PolicySet) -> impl Iterator<Item = (&str, CapabilityId)> {
    let named = set.contracts().capabilities.keys().filter(|one| !one.as_str().contains('*'));
    named.filter_map(|pattern| {
        let (server, _) = pattern.as_str().split_once('.')?;
        Some((server, CapabilityId::parse(pattern.as_str()).ok()?))
    })
}

/// The rules for the other tools that work on this machine, and the one for those that are asked
/// about.
pub(super) fn suggestions(set: &PolicySet, evidence: &Evidence) -> Vec<SuggestedRule> {
    let mut servers: BTreeMap<(&str, LocalEffect), ServerUse> = BTreeMap::new();
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, tool) in &evidence.tools {
        let Some((server, _)) = id.as_str().split_once('.') else { continue };
        *used.entry(server).or_default() += tool.examples.len();
        if let Some(effect) = LocalEffect::of(&tool.capability) {
            servers.entry((server, effect)).or_default().add(tool);
        }
    }
    let mut uncalled: BTreeMap<(&str, Option<LocalEffect>), Vec<Capability>> = BTreeMap::new();
    for (server, id) in named_tools(set).filter(|(server, _)| used.contains_key(server)) {
        let is_known = evidence.tools.contains_key(&id) || evidence.stopped.contains(&id);
        let Ok(capability) = request::proposed(set, &id) else { continue };
        let effect = LocalEffect::of(&capability);
        if !is_known && (effect.is_some() || !may_be_allowed(&capability)) {
            uncalled.entry((server, effect)).or_default().push(capability);
        }
    }
    let mut rules = Vec::new();
    for ((server, effect), of) in &servers {
        let others = uncalled.remove(&(*server, Some(*effect))).unwrap_or_default();
        let reads = servers.get(&(*server, LocalEffect::Reads));
        let beside = reads.filter(|_| *effect == LocalEffect::Writes);
        let name = format!("suggested-{server}-other-{}", effect.name());
        rules.extend(allowing(&name, of.others(beside), others));
    }
    rules.extend(asking(&used, uncalled));
    rules
}

/// The rules that allow other tools of a server.
fn allowing(
    name: &str,
    places: Vec<(&UsedTools, ArgumentPredicate)>,
    mut others: Vec<Capability>,
) -> Vec<SuggestedRule> {
    let mut rules = Vec::new();
    for (used, place) in places {
        let nowhere = place.holds_paths.is_some();
        let fits = |one: &mut Capability| {
            used.bounds.hold(one) && (!nowhere || names_no_place(one.id().as_str()))
        };
        let ids: BTreeSet<CapabilityId> =
            others.extract_if(.., fits).map(|one| one.id().clone()).collect();
        if ids.is_empty() || ids.len() > MAX_TOOLS {
            continue;
        }
        let number = if rules.is_empty() { "" } else { "-2" };
        let mut rule = rule(format!("{name}{number}"), Effect::Allow, &ids);
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
            named: used.named.clone(),
            not_covered: not_covered.to_owned(),
            uncalled: ids,
        });
    }
    rules
}

/// The rule that asks about the tools of servers in use that no rule may allow.
fn asking(
    used: &BTreeMap<&str, usize>,
    uncalled: BTreeMap<(&str, Option<LocalEffect>), Vec<Capability>>,
) -> Option<SuggestedRule> {
    let asked = uncalled.into_iter().filter(|((_, effect), _)| effect.is_none());
    let (mut ids, mut calls) = (BTreeSet::new(), 0);
    for ((server, _), tools) in asked {
        calls += used.get(server).copied().unwrap_or_default();
        ids.extend(tools.iter().map(|one| one.id().clone()));
    }
    if ids.is_empty() || ids.len() > MAX_TOOLS {
        return None;
    }
    let mut rule = rule("suggested-other-asks".to_owned(), Effect::RequireApproval, &ids);
    rule.reason = "it reaches out or destroys, at a server that the agent used".to_owned();
    Some(SuggestedRule {
        rule,
        calls,
        after_untrusted: 0,
        named: Vec::new(),
        not_covered: "nothing: each call is held until somebody releases it".to_owned(),
        uncalled: ids,
    })
}

fn rule(name: String, effect: Effect, ids: &BTreeSet<CapabilityId>) -> Rule {
    let mut rule = Rule::new(name, effect);
    let patterns = ids.iter().filter_map(|id| Pattern::parse(id.as_str()).ok());
    rule.matches = Match { capability: patterns.collect(), ..Match::default() };
    rule
}

/// Whether the name of a tool speaks of no file, address or secret. What a server offers beside its
/// tools, as resources by their addresses, has a slash in its id.
fn names_no_place(id: &str) -> bool {
    let tool = id.split_once('.').map_or(id, |(_, tool)| tool);
    !tool.contains('/')
        && !matches!(critical::role(tool), Role::Path | Role::Network | Role::Secret)
}
