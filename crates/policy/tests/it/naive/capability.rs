//! Contracts: what a capability is in force, how it stands, and who sees it.

use std::collections::BTreeSet;

use toml::{Table, Value};
use weaver_types::{
    AgentId, AllowedAgents, Capability, Confidentiality, Digest, Effects, Impact, Integrity, Rung,
    SensitivityTag, SinkKind, World,
};

use super::matching::is_about;
use super::reading::{Word, effects, fits, fits_one, tables, texts, whole, words_in};
use super::request::Asked;

/// A capability with its contract applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effective {
    pub(crate) id: String,
    pub(crate) effects: Effects,
    pub(crate) rung: Rung,
    pub(crate) sink: SinkKind,
    pub(crate) idempotent: bool,
    pub(crate) permissions: BTreeSet<String>,
    pub(crate) agents: AllowedAgents,
    pub(crate) sensitivity: BTreeSet<SensitivityTag>,
    pub(crate) tags: BTreeSet<String>,
    pub(crate) allowed_fields: BTreeSet<String>,
    pub(crate) timeout_ms: u32,
    pub(crate) output: (Confidentiality, Integrity),
    pub(crate) clearance: Confidentiality,
    pub(crate) digest: Option<Digest>,
    pub(crate) critical: BTreeSet<String>,
}

impl Effective {
    /// What the crate says is in force.
    pub(crate) fn shown(capability: &Capability) -> Self {
        let spec = capability.spec();
        Self {
            id: capability.id().to_string(),
            effects: spec.effects,
            rung: capability.rung(),
            sink: capability.sink(),
            idempotent: spec.idempotent,
            permissions: spec.permissions.clone(),
            agents: spec.agents.clone(),
            sensitivity: spec.sensitivity.clone(),
            tags: spec.tags.clone(),
            allowed_fields: spec.allowed_fields.clone(),
            timeout_ms: spec.timeout_ms,
            output: (spec.output_label.confidentiality, spec.output_label.integrity),
            clearance: spec.clearance,
            digest: spec.upstream_digest,
            critical: spec.critical_arguments.iter().map(|at| at.as_str().to_owned()).collect(),
        }
    }
}

/// How a capability stands against the approved contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Changed,
    Approved,
    Unpinned,
    Unknown,
}

/// The entries that cover one id: that of the id, and those of the patterns that fit.
struct Covering<'a> {
    own: Option<&'a Table>,
    patterns: Vec<&'a Table>,
}

fn covering<'a>(contracts: &'a Table, id: &str) -> Covering<'a> {
    let mut found = Covering { own: None, patterns: Vec::new() };
    if let Some(capabilities) = contracts.get("capabilities").and_then(Value::as_table) {
        for (key, entry) in capabilities {
            let entry = entry.as_table().unwrap();
            if key.contains('*') {
                if fits(key, id) {
                    found.patterns.push(entry);
                }
            } else if key == id {
                found.own = Some(entry);
            }
        }
    }
    found
}

impl<'a> Covering<'a> {
    /// The entries that give this field: that of the id alone, or else the patterns.
    fn giving(&self, key: &str) -> Vec<&'a Table> {
        match self.own.filter(|own| own.contains_key(key)) {
            Some(own) => vec![own],
            None => self.patterns.iter().copied().filter(|e| e.contains_key(key)).collect(),
        }
    }

    fn each<T>(&self, key: &str, read: impl Fn(&'a Value) -> T) -> Vec<T> {
        self.giving(key).into_iter().map(|entry| read(&entry[key])).collect()
    }

    /// Everything that all say together; `None` where none speaks.
    fn together(&self, key: &str) -> Option<BTreeSet<String>> {
        let sets = self.each(key, words_in);
        (!sets.is_empty()).then(|| sets.into_iter().flatten().map(str::to_owned).collect())
    }

    /// What all have in common; `None` where none speaks.
    fn common(&self, key: &str) -> Option<BTreeSet<String>> {
        let sets = self.each(key, |value| {
            words_in(value).into_iter().map(str::to_owned).collect::<BTreeSet<_>>()
        });
        sets.into_iter().reduce(|a, b| a.intersection(&b).cloned().collect())
    }

    /// The strictest effects, with the entries that gave them.
    fn effects(&self) -> Option<Effects> {
        self.each("effects", effects)
            .into_iter()
            .reduce(|a, b| Effects { impact: a.impact.max(b.impact), world: a.world.max(b.world) })
    }

    /// The rung, where an entry gives one, with the entries that give one. Where an entry that
    /// counts gives effects and no rung, it is at least that of the effects in the end.
    fn rung(&self, effects: Effects) -> Option<(Rung, Vec<&'a Table>)> {
        let gave = self.giving("rung");
        let highest = gave.iter().map(|entry| rung_of(entry)).max()?;
        let by_id = self.own.is_some_and(|own| own.contains_key("rung"));
        let silent = |entry: &&Table| entry.contains_key("effects") && !entry.contains_key("rung");
        let raised = !by_id && self.own.iter().chain(&self.patterns).any(silent);
        Some((if raised { highest.max(effects.rung()) } else { highest }, gave))
    }
}

/// The rung that an entry says, or that of its effects.
fn rung_of(entry: &Table) -> Rung {
    entry
        .get("rung")
        .map_or_else(|| effects(&entry["effects"]).rung(), |word| Rung::of(word.as_str().unwrap()))
}

fn may_lower(entry: &Table) -> bool {
    entry.get("lower_rung").and_then(Value::as_bool) == Some(true)
}

/// Whether the contracts are refused: an entry with effects and a lower rung must say so.
pub(crate) fn is_refused(contracts: &Table) -> bool {
    let entries = contracts.get("capabilities").and_then(Value::as_table);
    entries.is_some_and(|entries| {
        entries.values().filter_map(Value::as_table).any(|entry| {
            entry.contains_key("effects")
                && entry.contains_key("rung")
                && rung_of(entry) < effects(&entry["effects"]).rung()
                && !may_lower(entry)
        })
    })
}

fn host_declares(proposal: &Capability) -> Option<()> {
    let allowed = proposal.spec().rung.is_none_or(|rung| {
        !matches!(rung, Rung::L2 | Rung::L5) && rung >= proposal.spec().effects.rung()
    });
    allowed.then_some(())
}

/// The capability in force; `None` where it is not offered.
pub(crate) fn effective(contracts: &Table, proposal: &Capability) -> Option<Effective> {
    let spec = proposal.spec();
    let from_server = spec.upstream_digest.is_some();
    let covering = covering(contracts, proposal.id().as_str());
    let undeclared = Effects { impact: Impact::Destroy, world: World::Open };
    let declared = if from_server { undeclared } else { spec.effects };
    let declared_rung = spec.rung.filter(|_| !from_server);
    let effects = covering.effects().unwrap_or(declared);
    let rung = match covering.rung(effects) {
        Some((rung, gave)) => {
            let below = rung < effects.rung() || declared_rung.is_some_and(|own| rung < own);
            if below && !gave.iter().all(|entry| may_lower(entry)) {
                return None;
            }
            rung
        }
        None => {
            if !from_server {
                host_declares(proposal)?;
            }
            declared_rung.map_or(effects.rung(), |own| own.max(effects.rung()))
        }
    };
    let milder = effects.impact < declared.impact || effects.world < declared.world;
    if !from_server && milder && !covering.giving("effects").iter().all(|e| may_lower(e)) {
        return None;
    }
    Some(Effective {
        rung,
        effects,
        allowed_fields: allowed_fields(&covering, &spec.allowed_fields)?,
        ..rest(&covering, proposal, effects)
    })
}

fn allowed_fields(
    covering: &Covering<'_>,
    proposed: &BTreeSet<String>,
) -> Option<BTreeSet<String>> {
    match covering.common("allowed_fields") {
        Some(fields) if fields.is_empty() => None,
        Some(fields) => Some(fields),
        None => Some(proposed.clone()),
    }
}

fn agents(covering: &Covering<'_>, proposed: &AllowedAgents) -> AllowedAgents {
    let said = covering.each("agents", |value| match value {
        Value::String(_) => AllowedAgents::Any,
        list => AllowedAgents::Only(
            words_in(list).iter().map(|id| AgentId::parse(id).unwrap()).collect(),
        ),
    });
    let common = said.into_iter().reduce(|a, b| match (a, b) {
        (AllowedAgents::Any, other) | (other, AllowedAgents::Any) => other,
        (AllowedAgents::Only(a), AllowedAgents::Only(b)) => {
            AllowedAgents::Only(a.intersection(&b).cloned().collect())
        }
    });
    common.unwrap_or_else(|| proposed.clone())
}

fn rest(covering: &Covering<'_>, proposal: &Capability, effects: Effects) -> Effective {
    let spec = proposal.spec();
    let from_server = spec.upstream_digest.is_some();
    let mut permissions = spec.permissions.clone();
    permissions.extend(covering.together("permissions").unwrap_or_default());
    let mut sensitivity = spec.sensitivity.clone();
    for tag in covering.together("sensitivity").unwrap_or_default() {
        sensitivity.insert(SensitivityTag::of(&tag));
    }
    let tags = if from_server { BTreeSet::new() } else { spec.tags.clone() };
    let sinks = covering.each("sink", |word| SinkKind::of(word.as_str().unwrap()));
    let undeclared_sink = effects.strictest_sink();
    let sink = spec.sink.filter(|_| !from_server).unwrap_or(undeclared_sink);
    let levels = covering.each("clearance", |word| Confidentiality::of(word.as_str().unwrap()));
    let clearance = if from_server { Confidentiality::Internal } else { spec.clearance };
    let idempotent = covering.each("idempotent", |flag| flag.as_bool().unwrap());
    let timeouts: Vec<u32> =
        covering.giving("timeout_ms").iter().filter_map(|e| whole(e, "timeout_ms")).collect();
    Effective {
        id: proposal.id().to_string(),
        effects,
        rung: Rung::L5,
        sink: sinks.iter().copied().max().unwrap_or(sink),
        idempotent: if idempotent.is_empty() {
            spec.idempotent && !from_server
        } else {
            !idempotent.contains(&false)
        },
        permissions,
        agents: agents(covering, &spec.agents),
        output: output(covering, proposal, &sensitivity),
        sensitivity,
        tags: covering.together("tags").unwrap_or(tags),
        allowed_fields: BTreeSet::new(),
        timeout_ms: timeouts.into_iter().min().unwrap_or(spec.timeout_ms),
        clearance: levels.into_iter().min().unwrap_or(clearance),
        digest: spec.upstream_digest,
        critical: critical(covering, sinks.into_iter().max().unwrap_or(sink)),
    }
}

/// What the contracts name; without any, and no proposal here has a schema, all of the arguments
/// where they can go anywhere.
fn critical(covering: &Covering<'_>, sink: SinkKind) -> BTreeSet<String> {
    let named = covering.together("critical_arguments").unwrap_or_default();
    if named.is_empty() && sink != SinkKind::None { [String::new()].into() } else { named }
}

fn output(
    covering: &Covering<'_>,
    proposal: &Capability,
    sensitivity: &BTreeSet<SensitivityTag>,
) -> (Confidentiality, Integrity) {
    let spec = &proposal.spec().output_label;
    let proposed = if proposal.spec().upstream_digest.is_some() {
        (Confidentiality::Internal, Integrity::Untrusted)
    } else {
        (spec.confidentiality, spec.integrity)
    };
    let level = component(covering, "confidentiality", Confidentiality::of).unwrap_or(proposed.0);
    let integrity = component(covering, "integrity", Integrity::of).unwrap_or(proposed.1);
    let least = sensitivity.iter().map(|tag| match tag {
        SensitivityTag::Secrets => Confidentiality::Restricted,
        _ => Confidentiality::Internal,
    });
    (least.fold(level, Ord::max), integrity)
}

/// A component of `output`, each by itself: that of the id, or else the strictest of the patterns.
fn component<T: Ord>(covering: &Covering<'_>, key: &str, read: fn(&str) -> T) -> Option<T> {
    let of = |entry: &Table| {
        let word = entry.get("output").and_then(|output| output.get(key));
        word.and_then(Value::as_str).map(read)
    };
    let own = covering.own.and_then(of);
    own.or_else(|| covering.patterns.iter().filter_map(|entry| of(entry)).max())
}

/// How the proposal stands.
pub(crate) fn status(contracts: &Table, proposal: &Capability) -> Status {
    let covering = covering(contracts, proposal.id().as_str());
    let pinned = covering.own.and_then(|own| own.get("upstream_digest")).and_then(Value::as_str);
    let digest = proposal.spec().upstream_digest.map(|digest| digest.to_string());
    match (pinned, digest) {
        (Some(pinned), digest) => {
            if digest.as_deref() == Some(pinned) {
                Status::Approved
            } else {
                Status::Changed
            }
        }
        (None, None) => Status::Approved,
        (None, Some(_)) if covering.own.is_some() || !covering.patterns.is_empty() => {
            Status::Unpinned
        }
        (None, Some(_)) => Status::Unknown,
    }
}

/// Whether who asks may see it.
pub(crate) fn is_visible(contracts: &Table, capability: &Effective, asked: &Asked) -> bool {
    let shown = !covering(contracts, &capability.id)
        .each("visible", |flag| flag.as_bool().unwrap())
        .contains(&false);
    let admits = match &capability.agents {
        AllowedAgents::Any => true,
        AllowedAgents::Only(agents) => {
            asked.principal.agent.as_ref().is_some_and(|a| agents.contains(a))
        }
    };
    let entries = tables(contracts.get("visible"));
    let listed = entries.is_empty()
        || entries.iter().any(|entry| {
            is_about(entry, asked) && fits_one(&texts(entry, "capabilities"), &capability.id)
        });
    capability.rung != Rung::L5 && shown && admits && listed
}
