//! One capability, compared with what was registered and with what was approved.

use serde::Serialize;
use weaver_policy::{ContractStatus, Drift, Enforcement, PolicySet};
use weaver_types::{
    Capability, CapabilityId, Check, Contribution, Digest, Effects, ReasonCode, SafetyClass,
    Verdict,
};

use super::{BaselineState, Baselines};
use crate::registry::RegisteredCapability;
use crate::registry::kinds;

/// The tag of a capability that says of itself that it reaches outside, whatever its class is.
const EXTERNAL_WRITE: &str = "side_effect_level=external_write";

/// How a capability stands against what was registered and approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractState {
    /// It is the same everywhere it was compared.
    Match,
    /// It is not what was registered, or not what was approved.
    Changed,
    /// It is not among what was approved.
    New,
    /// Its words speak to a model, and nobody approved them.
    Suspicious,
    /// What was approved cannot be read.
    Unreadable,
    /// The policy does not have contracts compared.
    NotCompared,
}

/// A capability beside what was registered and approved of it.
#[derive(Debug, Clone)]
pub struct ContractComparison {
    /// The fingerprint of what is live.
    pub fingerprint: Digest,
    /// The fingerprint at registration.
    pub registered: Digest,
    /// How the two stand, and the approved ones.
    pub state: ContractState,
    /// What the policy wants to be done about it.
    pub enforcement: Enforcement,
    /// What changed, where the older version is at hand.
    pub drift: Drift,
    /// What that means for a call: nothing, a denial, or an allowance that says what was seen.
    pub contribution: Option<Box<Contribution>>,
}

impl ContractComparison {
    /// True when something was compared and is not as it was.
    #[must_use]
    pub fn mismatch(&self) -> bool {
        !matches!(self.state, ContractState::Match | ContractState::NotCompared)
    }

    /// True when no call goes through.
    #[must_use]
    pub fn denied(&self) -> bool {
        self.contribution.as_ref().is_some_and(|said| said.verdict == Verdict::Deny)
    }
}

/// What tells one version of a capability from another: what its server said of it, or, where host
/// code describes it, its fingerprint.
fn identity(capability: &Capability) -> Digest {
    capability.spec().upstream_digest.unwrap_or(capability.fingerprint())
}

/// What was found to be different.
struct Difference {
    state: ContractState,
    reason: ReasonCode,
    detail: String,
    drift: Drift,
    /// The effects of the older version.
    effects: Effects,
    /// Whether it is denied whatever its class.
    guarded: bool,
}

/// Compares what is live; `effective` is it with its signed contract, `older` reads an approved
/// version. Baselines that are no longer usable count as unreadable.
pub(crate) fn compare(
    policy: &PolicySet,
    known: Result<&Baselines, ()>,
    entry: &RegisteredCapability,
    effective: &Capability,
    older: &dyn Fn(&CapabilityId) -> Option<Capability>,
) -> ContractComparison {
    let (live, first) = (entry.capability(), entry.first());
    let first: &Capability = &first;
    let enforcement = policy.policy().contract_enforcement;
    let mut out = ContractComparison {
        fingerprint: live.fingerprint(),
        registered: first.fingerprint(),
        state: ContractState::Match,
        enforcement,
        drift: Drift::default(),
        contribution: None,
    };
    if enforcement == Enforcement::Off {
        out.state = ContractState::NotCompared;
        return out;
    }
    let found = match policy.contract_status(live) {
        ContractStatus::Changed { approved, .. } => Some(pin_difference(live, first, approved)),
        // Somebody signed exactly this version, whatever was registered or approved before.
        ContractStatus::Approved if live.spec().upstream_digest.is_some() => None,
        status => {
            // What cannot be read says of nothing that an operator has read it.
            let state = known.ok().map(|known| known.state(live));
            let has_baseline =
                matches!(state, Some(BaselineState::Match(_) | BaselineState::Changed(_)));
            registration_difference(live, first)
                .or_else(|| if has_baseline { None } else { suspicion_difference(entry) })
                .or_else(|| baseline_difference(live, known, older))
                .or_else(|| {
                    if has_baseline {
                        None
                    } else {
                        late_difference(policy, status, entry, effective)
                    }
                })
        }
    };
    let Some(found) = found else { return out };
    let reads = [first.spec().effects, live.spec().effects, effective.spec().effects]
        .into_iter()
        .fold(found.effects, Effects::join)
        .class()
        == SafetyClass::ReadOnly;
    let outside = [first, live].iter().any(|one| one.spec().tags.contains(EXTERNAL_WRITE));
    let verdict = match enforcement {
        Enforcement::Enforce if found.guarded || outside || !reads => Verdict::Deny,
        _ => Verdict::Allow,
    };
    let said = Contribution::new(Check::Contract, verdict, found.reason, found.detail);
    ContractComparison {
        state: found.state,
        drift: found.drift,
        contribution: Some(Box::new(said)),
        ..out
    }
}

impl Difference {
    fn changed(live: &Capability, word: &str, older: Digest, drift: Drift) -> Self {
        let how = match drift.summary() {
            summary if summary.is_empty() => String::new(),
            summary => format!(" ({summary})"),
        };
        let found = identity(live);
        Self {
            state: ContractState::Changed,
            reason: ReasonCode::ContractChanged,
            detail: format!(
                "the tool is not what was {word}{how}: it is {found}; {word} is {older}"
            ),
            drift,
            effects: live.spec().effects,
            guarded: live.spec().upstream_digest.is_some(),
        }
    }

    fn unknown(state: ContractState, live: &Capability, detail: String) -> Self {
        // Had it been read, it could have shown that the server's tool is new or another one.
        let compared = matches!(state, ContractState::New | ContractState::Unreadable);
        let guarded = compared && live.spec().upstream_digest.is_some();
        Self {
            state,
            reason: ReasonCode::ContractUnknown,
            detail,
            drift: Drift::default(),
            // What is unreadable may have been anything, but the signed contract counts.
            effects: Effects::READ_LOCAL,
            guarded,
        }
    }
}

/// Its words speak to a model.
fn suspicion_difference(entry: &RegisteredCapability) -> Option<Difference> {
    let found = entry.suspicions();
    if found.is_empty() {
        return None;
    }
    let detail = format!(
        "the words of the tool's server speak to a model ({}); an operator has to read and approve \
         them: `weaver contracts list` shows where they stand",
        kinds(found)
    );
    let reason = ReasonCode::ContractSuspicious;
    let unknown = Difference::unknown(ContractState::Suspicious, entry.capability(), detail);
    Some(Difference { reason, guarded: true, ..unknown })
}

/// It came after its server's first listing, under a glob that was written for what stood there.
fn late_difference(
    policy: &PolicySet,
    status: ContractStatus,
    entry: &RegisteredCapability,
    effective: &Capability,
) -> Option<Difference> {
    let live = entry.capability();
    let by_glob = status == ContractStatus::Unpinned && !policy.names_contract(live.id());
    let reads = effective.spec().effects.class() == SafetyClass::ReadOnly;
    if !by_glob || reads || !entry.is_late() {
        return None;
    }
    let detail = "the tool came after its server's first listing, and no contract names it; an \
                  operator has to approve it: `weaver contracts approve`"
        .to_owned();
    // It does more than read, so it is denied anyway.
    Some(Difference::unknown(ContractState::New, live, detail))
}

/// The signed contracts pin another version.
fn pin_difference(live: &Capability, first: &Capability, approved: Digest) -> Difference {
    let same = identity(first) == approved;
    let drift = if same { Drift::between(first, live) } else { Drift::default() };
    Difference { guarded: true, ..Difference::changed(live, "approved", approved, drift) }
}

/// Another version was registered first.
fn registration_difference(live: &Capability, first: &Capability) -> Option<Difference> {
    if identity(first) == identity(live) {
        return None;
    }
    let drift = Drift::between(first, live);
    let found = Difference::changed(live, "registered", identity(first), drift);
    let guarded = found.guarded || first.spec().upstream_digest.is_some();
    Some(Difference { guarded, ..found })
}

/// Another version was approved in the ledger, or none.
fn baseline_difference(
    live: &Capability,
    known: Result<&Baselines, ()>,
    older: &dyn Fn(&CapabilityId) -> Option<Capability>,
) -> Option<Difference> {
    let unreadable = |problem: &str| {
        let detail = format!("what was approved of the tool cannot be read: {problem}");
        Some(Difference::unknown(ContractState::Unreadable, live, detail))
    };
    let Ok(known) = known else { return unreadable("a thread died while it wrote it") };
    match known.state(live) {
        BaselineState::None | BaselineState::Match(_) => None,
        BaselineState::Unreadable(problem) => unreadable(&problem.to_string()),
        BaselineState::New => {
            let detail = "the tool is not among those that were approved".to_owned();
            Some(Difference::unknown(ContractState::New, live, detail))
        }
        BaselineState::Changed(baseline) => {
            let drift = older(live.id()).map(|older| Drift::between(&older, live));
            let (older, drift) = (baseline.identity(), drift.unwrap_or_default());
            let found = Difference::changed(live, "approved", older, drift);
            let guarded = found.guarded || baseline.upstream_digest.is_some();
            Some(Difference { guarded, effects: baseline.effects, ..found })
        }
    }
}

#[cfg(test)]
mod tests;
