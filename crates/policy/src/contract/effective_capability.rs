//! A capability with its contract applied: what counts in decisions, tokens and fingerprints.

use weaver_types::{
    Capability, CapabilityDraft, Confidentiality, Effects, Integrity, Label, Rung, SensitivityTag,
    Taints,
};

use super::ContractResolver;
use super::contract_resolver::ResolvedContract;
use crate::critical;
use crate::error::ContractError;

/// The capability as it counts. What a server says of itself lowers nothing: without a contract
/// its effects are undeclared. What host code declares stands, and the contract may override it.
pub(crate) fn effective(
    resolver: &ContractResolver,
    proposal: &Capability,
) -> Result<Capability, ContractError> {
    let resolved = resolver.resolve(proposal.id().as_str()).unwrap_or_default();
    let mut draft = proposal.spec().clone();
    if draft.upstream_digest.is_some() {
        distrust(&mut draft);
    } else {
        check_host(&draft, &resolved)?;
    }
    let declared = draft.rung;
    apply(&mut draft, &resolved)?;
    let natural = draft.effects.rung();
    // What stands without the contract: the rung of the effects, or a higher one that host code
    // declares. Whoever goes below it has to say so.
    let from = declared.map_or(natural, |declared| declared.max(natural));
    let to = draft.rung.unwrap_or(natural);
    if to < from && !resolved.lower_rung {
        return Err(ContractError::Lowers { id: draft.id.to_string(), from, to });
    }
    Ok(draft.build()?)
}

/// Takes away everything that a server might have said in its own favour.
fn distrust(draft: &mut CapabilityDraft) {
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

/// Host code may raise a rung up to L4. L2, L5 and anything lower than the effects are the
/// operator's to declare.
fn check_host(draft: &CapabilityDraft, resolved: &ResolvedContract) -> Result<(), ContractError> {
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

fn apply(draft: &mut CapabilityDraft, resolved: &ResolvedContract) -> Result<(), ContractError> {
    let contract = &resolved.contract;
    if let Some(effects) = contract.effects {
        draft.effects = effects;
    }
    let own = draft.rung.map(|rung| rung.max(draft.effects.rung()));
    let least = if resolved.by_effects { Some(draft.effects.rung()) } else { None };
    draft.rung = contract.rung.map(|rung| least.map_or(rung, |least| rung.max(least))).or(own);
    draft.sink = contract.sink.or(draft.sink);
    draft.sensitivity.extend(contract.sensitivity.iter().copied());
    draft.reveal = contract.reveal.clone().unwrap_or_default();
    draft.records = contract.records.clone();
    draft.sends_to.clone_from(&contract.sends_to);
    draft.accepts_masked = contract.accepts_masked.clone().unwrap_or_default();
    let personal = [SensitivityTag::Pii, SensitivityTag::Pci];
    draft.mask_personal =
        !resolved.declared || personal.iter().any(|tag| draft.sensitivity.contains(tag));
    draft.permissions.extend(contract.permissions.iter().cloned());
    if let Some(tags) = &contract.tags {
        draft.tags.clone_from(tags);
    }
    if let Some(fields) = &contract.allowed_fields {
        // An empty set means no restriction, so it must never come out of two that disagree.
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
        draft.critical_arguments = critical::arguments(draft.input_schema.as_deref(), sink);
    }
    label(draft, contract.output);
    Ok(())
}

/// The declared label, never below what the sensitive data in a redacted frame calls for.
fn label(draft: &mut CapabilityDraft, output: super::OutputLabel) {
    let label = &mut draft.output_label;
    label.confidentiality = output.confidentiality.unwrap_or(label.confidentiality);
    label.integrity = output.integrity.unwrap_or(label.integrity);
    if label.integrity == Integrity::Trusted {
        label.taints = Taints::none();
    }
    let framed = draft.sensitivity.iter().map(|tag| tag.framed()).max();
    label.confidentiality = label.confidentiality.max(framed.unwrap_or(label.confidentiality));
}
