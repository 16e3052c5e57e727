//! Which contract counts for an id: what stands under the id itself, before what the globs say together.
//!
//! Several globs may cover one id, and no order of them may matter. So they are joined field by field,
//! the stricter value winning: a join in a lattice is associative and commutative, whichever glob is
//! taken first. What stands under the id replaces the join, since somebody wrote it for this very id.

use std::collections::{BTreeSet, HashMap};

use weaver_text::glob::Kind;
use weaver_types::{Agents, Capability, Confidentiality, Effects, Rung, SinkKind};

use super::{Contract, ContractStatus, Contracts};
use crate::pattern::Pattern;

/// The contracts, split into those of one id and those of many.
#[derive(Debug)]
pub(crate) struct ContractResolver {
    exact: HashMap<String, Contract>,
    globs: Vec<(Pattern, Contract)>,
}

/// What is said of one capability in the end.
#[derive(Debug, Default)]
pub(crate) struct ResolvedContract {
    pub(crate) contract: Contract,
    /// Whether any entry speaks of the id.
    pub(crate) declared: bool,
    /// Whether an entry gave effects and no rung: then the rung is at least that of the effects.
    pub(crate) by_effects: bool,
    /// Whether every entry that gave a rung said that it lowers.
    pub(crate) lower_rung: bool,
    /// Whether the entries that gave the effects said that they lower them.
    pub(crate) lower_effects: bool,
}

impl ContractResolver {
    pub(crate) fn new(contracts: &Contracts) -> Self {
        let mut out = Self { exact: HashMap::new(), globs: Vec::new() };
        for (pattern, contract) in &contracts.capabilities {
            match pattern.glob().kind() {
                Kind::Exact(id) => {
                    out.exact.insert(id.to_owned(), contract.clone());
                }
                _ => out.globs.push((pattern.clone(), contract.clone())),
            }
        }
        out
    }

    /// What counts for the id; `None` when nothing is said of it.
    pub(crate) fn resolve(&self, id: &str) -> Option<ResolvedContract> {
        let globs = self.globs.iter().filter(|(pattern, _)| pattern.matches(id));
        let merged =
            globs.map(|(_, contract)| contract).fold(None, |out: Option<ContractMerge>, next| {
                Some(out.unwrap_or_default().with(next))
            });
        let exact = self.exact.get(id);
        if merged.is_none() && exact.is_none() {
            return None;
        }
        let base = merged.unwrap_or_default().finish();
        let resolved = match exact {
            Some(exact) => overridden_by(base, exact),
            None => base,
        };
        Some(resolved)
    }

    /// How the capability stands against what was approved.
    pub(crate) fn status(&self, proposal: &Capability) -> ContractStatus {
        let id = proposal.id().as_str();
        let pinned = self.exact.get(id).and_then(|contract| contract.upstream_digest);
        match (pinned, proposal.spec().upstream_digest) {
            (Some(approved), Some(found)) if approved == found => ContractStatus::Approved,
            (Some(approved), Some(found)) => ContractStatus::Changed { approved, found },
            (Some(approved), None) => {
                ContractStatus::Changed { approved, found: proposal.fingerprint() }
            }
            (None, None) => ContractStatus::Approved,
            (None, Some(_)) if self.covers(id) => ContractStatus::Unpinned,
            (None, Some(_)) => ContractStatus::Unknown,
        }
    }

    /// Whether an entry stands under the id itself.
    pub(crate) fn names(&self, id: &str) -> bool {
        self.exact.contains_key(id)
    }

    fn covers(&self, id: &str) -> bool {
        self.exact.contains_key(id) || self.globs.iter().any(|(pattern, _)| pattern.matches(id))
    }

    /// Whether the contracts hide the capability from everybody.
    pub(crate) fn hidden(&self, id: &str) -> bool {
        if let Some(visible) = self.exact.get(id).and_then(|contract| contract.visible) {
            return !visible;
        }
        let mut globs = self.globs.iter().filter(|(pattern, _)| pattern.matches(id));
        globs.any(|(_, contract)| contract.visible == Some(false))
    }
}

/// The strictest of several globs, field by field.
#[derive(Default)]
struct ContractMerge {
    out: Contract,
    /// Whether an entry gives effects and no rung.
    by_effects: bool,
    /// Whether every entry with a rung said that it lowers; `None` without any.
    lower_rung: Option<bool>,
    lower_effects: Option<bool>,
    /// Whether there was an entry before.
    of_many: bool,
    /// Whether two entries name the ids of records differently; then none counts.
    records_differ: bool,
}

fn both<T>(a: Option<T>, b: Option<T>, strictest: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(strictest(a, b)),
        (a, b) => a.or(b),
    }
}

/// What both sets hold: the stricter where a set says what is let through.
fn intersection(a: BTreeSet<String>, b: BTreeSet<String>) -> BTreeSet<String> {
    a.intersection(&b).cloned().collect()
}

fn agents(a: Agents, b: Agents) -> Agents {
    match (a, b) {
        (Agents::Any, other) | (other, Agents::Any) => other,
        (Agents::Only(a), Agents::Only(b)) => Agents::Only(a.intersection(&b).cloned().collect()),
    }
}

impl ContractMerge {
    fn with(mut self, next: &Contract) -> Self {
        let next = next.clone();
        if next.rung.is_some() {
            self.lower_rung = Some(self.lower_rung.unwrap_or(true) && next.lower_rung);
        }
        if next.effects.is_some() {
            self.lower_effects = Some(self.lower_effects.unwrap_or(true) && next.lower_rung);
        }
        self.by_effects |= next.effects.is_some() && next.rung.is_none();
        let out = &mut self.out;
        out.effects = both(out.effects, next.effects, Effects::join);
        out.rung = both(out.rung, next.rung, Rung::max);
        out.sink = both(out.sink, next.sink, SinkKind::max);
        out.sensitivity.extend(next.sensitivity);
        out.reveal = both(out.reveal.take(), next.reveal, intersection);
        out.accepts_masked = both(out.accepts_masked.take(), next.accepts_masked, intersection);
        out.tags = both(out.tags.take(), next.tags, |mut a, b| {
            a.extend(b);
            a
        });
        out.allowed_fields = both(out.allowed_fields.take(), next.allowed_fields, intersection);
        out.agents = both(out.agents.take(), next.agents, agents);
        out.permissions.extend(next.permissions);
        out.records = match (out.records.take(), next.records) {
            (Some(a), Some(b)) if a != b => {
                self.records_differ = true;
                Some(a)
            }
            (a, b) => a.or(b),
        };
        let (a, b) = (out.output, next.output);
        out.output.confidentiality = both(a.confidentiality, b.confidentiality, Ord::max);
        out.output.integrity = both(a.integrity, b.integrity, Ord::max);
        out.clearance = both(out.clearance, next.clearance, Confidentiality::min);
        out.idempotent = both(out.idempotent, next.idempotent, |a, b| a && b);
        out.timeout_ms = both(out.timeout_ms, next.timeout_ms, Ord::min);
        out.preconditions.extend(next.preconditions);
        out.critical_arguments.extend(next.critical_arguments);
        // Where an entry does not say it, every call may go somewhere.
        out.sends_to = match self.of_many {
            true => out.sends_to.intersection(&next.sends_to).cloned().collect(),
            false => next.sends_to,
        };
        self.of_many = true;
        self
    }

    fn finish(mut self) -> ResolvedContract {
        self.out.records.take_if(|_| self.records_differ);
        ResolvedContract {
            contract: self.out,
            declared: true,
            by_effects: self.by_effects,
            lower_rung: self.lower_rung.unwrap_or(false),
            lower_effects: self.lower_effects.unwrap_or(false),
        }
    }
}

fn or_base<T>(own: BTreeSet<T>, base: BTreeSet<T>) -> BTreeSet<T> {
    if own.is_empty() { base } else { own }
}

/// What stands under the id replaces what the globs say, field by field.
fn overridden_by(base: ResolvedContract, exact: &Contract) -> ResolvedContract {
    let exact = exact.clone();
    let (by_effects, lower_rung) = match (exact.rung, exact.effects) {
        (Some(_), _) => (false, exact.lower_rung),
        (None, Some(_)) => (true, base.lower_rung),
        (None, None) => (base.by_effects, base.lower_rung),
    };
    let lower_effects = if exact.effects.is_some() { exact.lower_rung } else { base.lower_effects };
    let base = base.contract;
    let contract = Contract {
        effects: exact.effects.or(base.effects),
        rung: exact.rung.or(base.rung),
        lower_rung: exact.lower_rung,
        sink: exact.sink.or(base.sink),
        sensitivity: or_base(exact.sensitivity, base.sensitivity),
        reveal: exact.reveal.or(base.reveal),
        accepts_masked: exact.accepts_masked.or(base.accepts_masked),
        tags: exact.tags.or(base.tags),
        allowed_fields: exact.allowed_fields.or(base.allowed_fields),
        agents: exact.agents.or(base.agents),
        permissions: or_base(exact.permissions, base.permissions),
        upstream_digest: exact.upstream_digest,
        records: exact.records.or(base.records),
        output: super::OutputLabel {
            confidentiality: exact.output.confidentiality.or(base.output.confidentiality),
            integrity: exact.output.integrity.or(base.output.integrity),
        },
        clearance: exact.clearance.or(base.clearance),
        idempotent: exact.idempotent.or(base.idempotent),
        timeout_ms: exact.timeout_ms.or(base.timeout_ms),
        // Not joined: `hidden` asks the entries themselves.
        visible: exact.visible,
        preconditions: or_base(exact.preconditions, base.preconditions),
        critical_arguments: or_base(exact.critical_arguments, base.critical_arguments),
        sends_to: or_base(exact.sends_to, base.sends_to),
    };
    ResolvedContract { contract, declared: true, by_effects, lower_rung, lower_effects }
}
