//! Compares a capability with its registered version, its signed contract and its approved
//! baseline.
//!
//! The order of the checks decides about security: see [`compare_contract`].

use serde::Serialize;
use weaver_policy::{ContractEnforcement, ContractStatus, Drift, PolicySet};
use weaver_types::{
    Capability, CapabilityId, CheckKind, CheckResult, Digest, Effects, ReasonCode, SafetyClass,
    Verdict,
};

use super::{BaselineState, Baselines};
use crate::registry::RegisteredCapability;
use crate::registry::suspicion_kinds;

/// The tag of a capability that declares effects outside this system, whatever its class is.
const EXTERNAL_WRITE_TAG: &str = "side_effect_level=external_write";

/// How a capability compares with its registered and approved versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractState {
    /// It equals every version it was compared with.
    Match,
    /// It differs from the registered or the approved version.
    Changed,
    /// It is not among the approved ones.
    New,
    /// Its description contains instructions for a model, and nobody approved it.
    Suspicious,
    /// The approved version cannot be read.
    Unreadable,
    /// The policy switches comparison off.
    NotCompared,
}

/// The result of comparing a capability with its registered and approved versions.
#[derive(Debug, Clone)]
pub struct ContractComparison {
    /// The fingerprint of the live version.
    pub fingerprint: Digest,
    /// The fingerprint at registration.
    pub registered: Digest,
    /// The result of the comparison.
    pub state: ContractState,
    /// What the policy does about a mismatch.
    pub enforcement: ContractEnforcement,
    /// What changed, if the older version is available.
    pub drift: Drift,
    /// The check result for the decision: none, a denial, or an allowance that names the mismatch.
    pub check_result: Option<Box<CheckResult>>,
}

impl ContractComparison {
    /// True when a comparison was made and found a difference.
    #[must_use]
    pub fn is_mismatch(&self) -> bool {
        !matches!(self.state, ContractState::Match | ContractState::NotCompared)
    }

    /// True when every call is denied.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.check_result.as_ref().is_some_and(|check_result| check_result.verdict == Verdict::Deny)
    }
}

/// The digest that identifies a version: that of its server's description, or the fingerprint if
/// host code describes it.
fn identity(capability: &Capability) -> Digest {
    capability.spec().upstream_digest.unwrap_or(capability.fingerprint())
}

/// A difference that was found.
struct Difference {
    state: ContractState,
    reason: ReasonCode,
    detail: String,
    drift: Drift,
    /// The effects of the older version.
    effects: Effects,
    /// Whether it is denied whatever the class of the tool.
    deny_whatever_class: bool,
}

/// Compares the live version; `effective` is the live version with its signed contract, `older`
/// reads an approved version, and `baselines` is `None` when their lock is poisoned, which counts as
/// unreadable.
///
/// A pin in a signed contract decides alone, since somebody signed exactly that version. Otherwise
/// the registration is checked first: a tool that changed while the process runs is reported as
/// changed, whatever its text. Suspicious text is checked next, unless a readable baseline shows
/// that an operator has read a version of the tool; an unreadable baseline is no such proof. Then
/// the baseline is compared, and last, if there is none, the time at which the tool appeared. The
/// first difference decides.
pub(crate) fn compare_contract(
    policy: &PolicySet,
    baselines: Option<&Baselines>,
    entry: &RegisteredCapability,
    effective: &Capability,
    older: &dyn Fn(&CapabilityId) -> Option<Capability>,
) -> ContractComparison {
    let (live, first) = (entry.capability(), entry.first_version());
    let first: &Capability = &first;
    let enforcement = policy.policy().contract_enforcement;
    let mut comparison = ContractComparison {
        fingerprint: live.fingerprint(),
        registered: first.fingerprint(),
        state: ContractState::Match,
        enforcement,
        drift: Drift::default(),
        check_result: None,
    };
    if enforcement == ContractEnforcement::Off {
        comparison.state = ContractState::NotCompared;
        return comparison;
    }
    let difference = match policy.contract_status(live) {
        ContractStatus::Changed { approved, .. } => Some(pin_difference(live, first, approved)),
        // Somebody signed exactly this version, whatever was registered or approved before.
        ContractStatus::Approved if live.spec().upstream_digest.is_some() => None,
        status => {
            // An unreadable baseline does not prove that an operator has read the tool.
            let state = baselines.map(|baselines| baselines.compare(live));
            let has_baseline =
                matches!(state, Some(BaselineState::Match(_) | BaselineState::Changed(_)));
            registration_difference(live, first)
                .or_else(|| if has_baseline { None } else { suspicion_difference(entry) })
                .or_else(|| baseline_difference(live, baselines, older))
                .or_else(|| {
                    if has_baseline {
                        None
                    } else {
                        late_difference(policy, status, entry, effective)
                    }
                })
        }
    };
    let Some(difference) = difference else { return comparison };
    let reads = [first.spec().effects, live.spec().effects, effective.spec().effects]
        .into_iter()
        .fold(difference.effects, Effects::join)
        .class()
        == SafetyClass::ReadOnly;
    let outside =
        [first, live].iter().any(|version| version.spec().tags.contains(EXTERNAL_WRITE_TAG));
    let verdict = match enforcement {
        ContractEnforcement::Enforce if difference.deny_whatever_class || outside || !reads => {
            Verdict::Deny
        }
        _ => Verdict::Allow,
    };
    let check_result =
        CheckResult::new(CheckKind::Contract, verdict, difference.reason, difference.detail);
    ContractComparison {
        state: difference.state,
        drift: difference.drift,
        check_result: Some(Box::new(check_result)),
        ..comparison
    }
}

impl Difference {
    fn changed(live: &Capability, word: &str, older: Digest, drift: Drift) -> Self {
        let how = match drift.summary() {
            summary if summary.is_empty() => String::new(),
            summary => format!(" ({summary})"),
        };
        // A server's tool is approved with a command, one of host code by changing the code.
        let detail = match live.spec().upstream_digest {
            Some(_) => format!(
                "the tool is not what was {word}{how}; the user sees what changed, and how to take \
                 it in, with `weaver contracts diff {}`",
                live.id()
            ),
            None => format!(
                "the tool is not what was {word}{how}: it is {}; {word} is {older}",
                identity(live)
            ),
        };
        Self {
            state: ContractState::Changed,
            reason: ReasonCode::ContractChanged,
            detail,
            drift,
            effects: live.spec().effects,
            deny_whatever_class: live.spec().upstream_digest.is_some(),
        }
    }

    fn unknown(state: ContractState, live: &Capability, detail: String) -> Self {
        // A readable baseline could have shown that the server's tool is new or has changed.
        let compared = matches!(state, ContractState::New | ContractState::Unreadable);
        let guarded = compared && live.spec().upstream_digest.is_some();
        Self {
            state,
            reason: ReasonCode::ContractUnknown,
            detail,
            drift: Drift::default(),
            // The older version is unknown; the effects of the signed contract still count.
            effects: Effects::READ_LOCAL,
            deny_whatever_class: guarded,
        }
    }
}

/// The difference of a tool whose description contains instructions for a model.
fn suspicion_difference(entry: &RegisteredCapability) -> Option<Difference> {
    let suspicions = entry.suspicions();
    if suspicions.is_empty() {
        return None;
    }
    let detail = format!(
        "the server's text about the tool addresses a model ({}); the user has to read and approve \
         it: `weaver contracts diff {}` quotes it, and names the command",
        suspicion_kinds(suspicions),
        entry.capability().id()
    );
    let reason = ReasonCode::ContractSuspicious;
    let unknown = Difference::unknown(ContractState::Suspicious, entry.capability(), detail);
    Some(Difference { reason, deny_whatever_class: true, ..unknown })
}

/// The difference of a tool that appeared after its server's first listing, if it does more than
/// read and only a glob covers it: the glob was written for the tools listed then.
fn late_difference(
    policy: &PolicySet,
    status: ContractStatus,
    entry: &RegisteredCapability,
    effective: &Capability,
) -> Option<Difference> {
    let live = entry.capability();
    let by_glob = status == ContractStatus::Unpinned && !policy.has_exact_contract(live.id());
    let reads = effective.spec().effects.class() == SafetyClass::ReadOnly;
    if !by_glob || reads || !entry.is_late() {
        return None;
    }
    let detail = "the tool came after its server's first listing, and no contract names it; the \
                  user takes it in with `weaver update`, or approves it with `weaver contracts \
                  approve`"
        .to_owned();
    // The tool does more than read, so it is denied in any case.
    Some(Difference::unknown(ContractState::New, live, detail))
}

/// The difference from the version that the signed contracts pin.
fn pin_difference(live: &Capability, first: &Capability, approved: Digest) -> Difference {
    let same = identity(first) == approved;
    let drift = if same { Drift::between(first, live) } else { Drift::default() };
    Difference {
        deny_whatever_class: true,
        ..Difference::changed(live, "approved", approved, drift)
    }
}

/// The difference from the version that was registered first.
fn registration_difference(live: &Capability, first: &Capability) -> Option<Difference> {
    if identity(first) == identity(live) {
        return None;
    }
    let drift = Drift::between(first, live);
    let difference = Difference::changed(live, "registered", identity(first), drift);
    let guarded = difference.deny_whatever_class || first.spec().upstream_digest.is_some();
    Some(Difference { deny_whatever_class: guarded, ..difference })
}

/// The difference from the version that was approved in the ledger, if any.
fn baseline_difference(
    live: &Capability,
    baselines: Option<&Baselines>,
    older: &dyn Fn(&CapabilityId) -> Option<Capability>,
) -> Option<Difference> {
    let unreadable = |problem: &str| {
        let detail = format!("what was approved of the tool cannot be read: {problem}");
        Some(Difference::unknown(ContractState::Unreadable, live, detail))
    };
    let Some(baselines) = baselines else {
        return unreadable("internal error: its lock is poisoned");
    };
    match baselines.compare(live) {
        BaselineState::None | BaselineState::Match(_) => None,
        BaselineState::Unreadable(problem) => unreadable(&problem.to_string()),
        BaselineState::New => {
            let detail = "the tool is not among those that were approved".to_owned();
            Some(Difference::unknown(ContractState::New, live, detail))
        }
        BaselineState::Changed(baseline) => {
            let drift = older(live.id()).map(|older| Drift::between(&older, live));
            let (older, drift) = (baseline.identity(), drift.unwrap_or_default());
            let difference = Difference::changed(live, "approved", older, drift);
            let guarded = difference.deny_whatever_class || baseline.upstream_digest.is_some();
            Some(Difference {
                deny_whatever_class: guarded,
                effects: baseline.effects,
                ..difference
            })
        }
    }
}

#[cfg(test)]
mod tests;
