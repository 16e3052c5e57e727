//! Resolves the contract for an id: the entry for the exact id, over the join of all matching
//! globs.
//!
//! Several globs may match one id, and their order must not matter. They are therefore joined field
//! by field, and the stricter value wins: a join in a lattice is associative and commutative. The
//! entry for the exact id overrides the join, because somebody wrote it for this very id.

use std::collections::{BTreeSet, HashMap};

use weaver_text::glob::Kind;
use weaver_types::{AllowedAgents, Capability, Confidentiality, Effects, Rung, SinkKind};

use super::{Contract, ContractStatus, Contracts};
use crate::pattern::Pattern;

/// The contracts, split into exact ids and globs.
#[derive(Debug)]
pub(crate) struct ContractResolver {
    exact: HashMap<String, Contract>,
    globs: Vec<(Pattern, Contract)>,
}

/// The contract that applies to one capability, after all entries are combined.
#[derive(Debug, Default)]
pub(crate) struct ResolvedContract {
    pub(crate) contract: Contract,
    /// Whether any entry covers the id.
    pub(crate) has_entry: bool,
    /// Whether an entry declares effects without a rung. The rung is then at least that of the
    /// effects.
    pub(crate) rung_from_effects: bool,
    /// Whether every entry that declares a rung also sets `lower_rung`.
    pub(crate) lower_rung: bool,
    /// Whether every entry that declares effects also sets `lower_rung`.
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

    /// The contract for the id; `None` if no entry covers it.
    pub(crate) fn resolve(&self, id: &str) -> Option<ResolvedContract> {
        let globs = self.globs.iter().filter(|(pattern, _)| pattern.matches(id));
        let merged =
            globs.map(|(_, contract)| contract).fold(None, |out: Option<ContractMerge>, next| {
                Some(out.unwrap_or_default().merge(next))
            });
        let exact = self.exact.get(id);
        if merged.is_none() && exact.is_none() {
            return None;
        }
        let base = merged.unwrap_or_default().finish();
        let resolved = match exact {
            Some(exact) => override_with(base, exact),
            None => base,
        };
        Some(resolved)
    }

    /// Compares the capability with the approved one.
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

    /// Whether the entry for the exact id has a digest.
    pub(crate) fn is_pinned(&self, id: &str) -> bool {
        self.exact.get(id).is_some_and(|contract| contract.upstream_digest.is_some())
    }

    /// Whether there is an entry for the exact id.
    pub(crate) fn has_exact_entry(&self, id: &str) -> bool {
        self.exact.contains_key(id)
    }

    fn covers(&self, id: &str) -> bool {
        self.exact.contains_key(id) || self.globs.iter().any(|(pattern, _)| pattern.matches(id))
    }

    /// Whether the contracts hide the capability from everybody.
    pub(crate) fn is_hidden(&self, id: &str) -> bool {
        if let Some(visible) = self.exact.get(id).and_then(|contract| contract.visible) {
            return !visible;
        }
        let mut globs = self.globs.iter().filter(|(pattern, _)| pattern.matches(id));
        globs.any(|(_, contract)| contract.visible == Some(false))
    }
}

/// The join of several globs, field by field.
#[derive(Default)]
struct ContractMerge {
    out: Contract,
    /// Whether an entry declares effects without a rung.
    rung_from_effects: bool,
    /// Whether every entry with a rung sets `lower_rung`; `None` if there is none.
    lower_rung: Option<bool>,
    lower_effects: Option<bool>,
    /// Whether an entry has been merged yet.
    has_entries: bool,
    /// Whether two entries name different record id fields. Then neither is used.
    records_differ: bool,
}

fn merge_options<T>(a: Option<T>, b: Option<T>, strictest: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(strictest(a, b)),
        (a, b) => a.or(b),
    }
}

/// For a set of things that are let through, the intersection is the stricter value.
fn intersect(a: BTreeSet<String>, b: BTreeSet<String>) -> BTreeSet<String> {
    a.intersection(&b).cloned().collect()
}

fn intersect_agents(a: AllowedAgents, b: AllowedAgents) -> AllowedAgents {
    match (a, b) {
        (AllowedAgents::Any, other) | (other, AllowedAgents::Any) => other,
        (AllowedAgents::Only(a), AllowedAgents::Only(b)) => {
            AllowedAgents::Only(a.intersection(&b).cloned().collect())
        }
    }
}

impl ContractMerge {
    fn merge(mut self, next: &Contract) -> Self {
        let next = next.clone();
        if next.rung.is_some() {
            self.lower_rung = Some(self.lower_rung.unwrap_or(true) && next.lower_rung);
        }
        if next.effects.is_some() {
            self.lower_effects = Some(self.lower_effects.unwrap_or(true) && next.lower_rung);
        }
        self.rung_from_effects |= next.effects.is_some() && next.rung.is_none();
        let out = &mut self.out;
        out.effects = merge_options(out.effects, next.effects, Effects::join);
        out.rung = merge_options(out.rung, next.rung, Rung::max);
        out.sink = merge_options(out.sink, next.sink, SinkKind::max);
        out.sensitivity.extend(next.sensitivity);
        out.reveal = merge_options(out.reveal.take(), next.reveal, intersect);
        out.accepts_masked =
            merge_options(out.accepts_masked.take(), next.accepts_masked, intersect);
        out.tags = merge_options(out.tags.take(), next.tags, |mut a, b| {
            a.extend(b);
            a
        });
        out.allowed_fields =
            merge_options(out.allowed_fields.take(), next.allowed_fields, intersect);
        out.agents = merge_options(out.agents.take(), next.agents, intersect_agents);
        out.permissions.extend(next.permissions);
        out.records = match (out.records.take(), next.records) {
            (Some(a), Some(b)) if a != b => {
                self.records_differ = true;
                Some(a)
            }
            (a, b) => a.or(b),
        };
        let (a, b) = (out.output, next.output);
        out.output.confidentiality = merge_options(a.confidentiality, b.confidentiality, Ord::max);
        out.output.integrity = merge_options(a.integrity, b.integrity, Ord::max);
        out.clearance = merge_options(out.clearance, next.clearance, Confidentiality::min);
        out.idempotent = merge_options(out.idempotent, next.idempotent, |a, b| a && b);
        out.timeout_ms = merge_options(out.timeout_ms, next.timeout_ms, Ord::min);
        out.preconditions.extend(next.preconditions);
        out.critical_arguments.extend(next.critical_arguments);
        // A call that names nobody at these pointers is exempt from information flow, so a pointer
        // that one entry knows must not be lost. With an entry that declares none, no call is exempt.
        match (self.has_entries, next.sends_to.is_empty()) {
            (true, true) => out.sends_to.clear(),
            (true, false) if out.sends_to.is_empty() => {}
            _ => out.sends_to.extend(next.sends_to),
        }
        self.has_entries = true;
        self
    }

    fn finish(mut self) -> ResolvedContract {
        self.out.records.take_if(|_| self.records_differ);
        ResolvedContract {
            contract: self.out,
            has_entry: true,
            rung_from_effects: self.rung_from_effects,
            lower_rung: self.lower_rung.unwrap_or(false),
            lower_effects: self.lower_effects.unwrap_or(false),
        }
    }
}

fn nonempty_or<T>(own: BTreeSet<T>, base: BTreeSet<T>) -> BTreeSet<T> {
    if own.is_empty() { base } else { own }
}

/// Overrides the join of the globs with the entry for the exact id, field by field.
fn override_with(base: ResolvedContract, exact: &Contract) -> ResolvedContract {
    let exact = exact.clone();
    let (rung_from_effects, lower_rung) = match (exact.rung, exact.effects) {
        (Some(_), _) => (false, exact.lower_rung),
        (None, Some(_)) => (true, base.lower_rung),
        (None, None) => (base.rung_from_effects, base.lower_rung),
    };
    let lower_effects = if exact.effects.is_some() { exact.lower_rung } else { base.lower_effects };
    let base = base.contract;
    let contract = Contract {
        effects: exact.effects.or(base.effects),
        rung: exact.rung.or(base.rung),
        lower_rung: exact.lower_rung,
        sink: exact.sink.or(base.sink),
        sensitivity: nonempty_or(exact.sensitivity, base.sensitivity),
        reveal: exact.reveal.or(base.reveal),
        accepts_masked: exact.accepts_masked.or(base.accepts_masked),
        tags: exact.tags.or(base.tags),
        allowed_fields: exact.allowed_fields.or(base.allowed_fields),
        agents: exact.agents.or(base.agents),
        permissions: nonempty_or(exact.permissions, base.permissions),
        upstream_digest: exact.upstream_digest,
        records: exact.records.or(base.records),
        output: super::OutputLabel {
            confidentiality: exact.output.confidentiality.or(base.output.confidentiality),
            integrity: exact.output.integrity.or(base.output.integrity),
        },
        clearance: exact.clearance.or(base.clearance),
        idempotent: exact.idempotent.or(base.idempotent),
        timeout_ms: exact.timeout_ms.or(base.timeout_ms),
        // Not joined: `is_hidden` reads the entries themselves.
        visible: exact.visible,
        preconditions: nonempty_or(exact.preconditions, base.preconditions),
        critical_arguments: nonempty_or(exact.critical_arguments, base.critical_arguments),
        sends_to: nonempty_or(exact.sends_to, base.sends_to),
    };
    ResolvedContract { contract, has_entry: true, rung_from_effects, lower_rung, lower_effects }
}
