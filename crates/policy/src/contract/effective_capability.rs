//! Applies a contract to a capability. The result is what decisions, tokens and fingerprints use.

use weaver_types::{
    Capability, CapabilityDraft, Confidentiality, Effects, Integrity, Label, Rung, SensitivityTag,
    Taints,
};

use super::ContractResolver;
use super::contract_resolver::ResolvedContract;
use crate::critical;
use crate::error::ContractError;

/// The capability with its contract applied. What a server says about its own tool never relaxes
/// anything: without a contract, its effects are undeclared. Declarations by host code are kept,
/// and the contract may override them.
pub(crate) fn apply_contract(
    resolver: &ContractResolver,
    proposal: &Capability,
) -> Result<Capability, ContractError> {
    let resolved = resolver.resolve(proposal.id().as_str()).unwrap_or_default();
    let mut draft = proposal.spec().clone();
    if draft.upstream_digest.is_some() {
        reset_server_claims(&mut draft);
    } else {
        check_host_declaration(&draft, &resolved)?;
    }
    let declared_rung = draft.rung;
    apply_fields(&mut draft, &resolved)?;
    let effects_rung = draft.effects.rung();
    // The rung without the contract: that of the effects, or a higher one that host code declares.
    // A contract that goes below it must set `lower_rung` explicitly, so a typo cannot lower a
    // rung.
    let from = declared_rung.map_or(effects_rung, |rung| rung.max(effects_rung));
    let to = draft.rung.unwrap_or(effects_rung);
    if to < from && !resolved.lower_rung {
        return Err(ContractError::Lowers { id: draft.id.to_string(), from, to });
    }
    Ok(draft.build()?)
}

/// Resets every field in which a server could have claimed something in its own favour.
fn reset_server_claims(draft: &mut CapabilityDraft) {
    draft.effects = Effects::UNDECLARED;
    draft.rung = None;
    draft.sink = None;
    draft.idempotent = false;
    draft.tags.clear();
    draft.output_label = Label::undeclared_output();
    draft.clearance = Confidentiality::Internal;
    draft.critical_arguments.clear();
    draft.sends_to.clear();
}

/// Host code may raise a rung up to L4. Only the operator may declare L2, L5, or a rung below that
/// of the effects.
fn check_host_declaration(
    draft: &CapabilityDraft,
    resolved: &ResolvedContract,
) -> Result<(), ContractError> {
    let id = || draft.id.to_string();
    if let Some(rung) = draft.rung
        && resolved.contract.rung.is_none()
        && (matches!(rung, Rung::L2 | Rung::L5) || rung < draft.effects.rung())
    {
        return Err(ContractError::OperatorOnly { id: id(), rung });
    }
    if let Some(effects) = resolved.contract.effects
        && !draft.effects.within(effects)
        && !resolved.lower_effects
    {
        return Err(ContractError::LowersEffects { id: id() });
    }
    Ok(())
}

fn apply_fields(
    draft: &mut CapabilityDraft,
    resolved: &ResolvedContract,
) -> Result<(), ContractError> {
    let contract = &resolved.contract;
    if let Some(effects) = contract.effects {
        draft.effects = effects;
    }
    let own = draft.rung.map(|rung| rung.max(draft.effects.rung()));
    let least = if resolved.rung_from_effects { Some(draft.effects.rung()) } else { None };
    draft.rung = contract.rung.map(|rung| least.map_or(rung, |least| rung.max(least))).or(own);
    draft.sink = contract.sink.or(draft.sink);
    draft.sensitivity.extend(contract.sensitivity.iter().copied());
    draft.reveal = contract.reveal.clone().unwrap_or_default();
    draft.records = contract.records.clone();
    draft.sends_to.clone_from(&contract.sends_to);
    draft.accepts_masked = contract.accepts_masked.clone().unwrap_or_default();
    let personal = [SensitivityTag::Pii, SensitivityTag::Pci];
    draft.mask_personal =
        !resolved.has_entry || personal.iter().any(|tag| draft.sensitivity.contains(tag));
    draft.permissions.extend(contract.permissions.iter().cloned());
    if let Some(tags) = &contract.tags {
        draft.tags.clone_from(tags);
    }
    if let Some(fields) = &contract.allowed_fields {
        // An empty set means no restriction, so it must never result from two restrictions that
        // have nothing in common.
        if fields.is_empty() {
            return Err(ContractError::NoFields { id: draft.id.to_string() });
        }
        draft.allowed_fields.clone_from(fields);
    }
    if let Some(agents) = &contract.agents {
        draft.agents = agents.clone();
    }
    draft.idempotent = contract.idempotent.unwrap_or(draft.idempotent);
    draft.timeout_ms = contract.timeout_ms.unwrap_or(draft.timeout_ms);
    draft.clearance = contract.clearance.unwrap_or(draft.clearance);
    if !contract.critical_arguments.is_empty() {
        draft.critical_arguments.clone_from(&contract.critical_arguments);
    }
    if draft.critical_arguments.is_empty() {
        let sink = draft.sink.unwrap_or_else(|| draft.effects.strictest_sink());
        draft.critical_arguments =
            critical::tool_arguments(draft.id.as_str(), draft.input_schema.as_deref(), sink);
    }
    apply_output_label(draft, contract.output);
    Ok(())
}

/// Applies the declared label, but never below the confidentiality that a redacted frame with this
/// sensitive data requires.
fn apply_output_label(draft: &mut CapabilityDraft, output: super::OutputLabel) {
    let label = &mut draft.output_label;
    label.confidentiality = output.confidentiality.unwrap_or(label.confidentiality);
    label.integrity = output.integrity.unwrap_or(label.integrity);
    if label.integrity == Integrity::Trusted {
        label.taints = Taints::none();
    }
    let framed = draft.sensitivity.iter().map(|tag| tag.framed_confidentiality()).max();
    label.confidentiality = label.confidentiality.max(framed.unwrap_or(label.confidentiality));
}
