//! What is uncertain in a proposed contract.

use weaver_policy_analysis::propose::ContractProposal;

/// Why the effects of a tool are uncertain.
pub(super) fn of_effects(proposal: &ContractProposal) -> Option<String> {
    let why = proposal.reasons.get("effects")?;
    let open = ["no word says", "takes a program"].iter().any(|words| why.contains(words));
    open.then(|| why.clone())
}
