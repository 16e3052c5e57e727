//! Chooses the context that is shown for a decision.

use std::collections::BTreeSet;

use weaver_text::token::TokenCounter;
use weaver_types::Label;

use super::decision::{ContextEnvelope, DecisionSpec};
use super::error::BridgeError;
use super::item::{CompiledContextItem, entry_id};
use super::pack::{Pack, PackStore, printable};

/// Why a pack or an entry was left out of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExclusionReason {
    /// The store has no such pack.
    Missing,
    /// The pack is more confidential than the context may show.
    Sensitivity,
    /// The entry did not fit into the remaining budget.
    Budget,
}

/// What is injected for one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionPlan {
    /// The key of the decision.
    pub decision: String,
    /// The trace that the decision belongs to.
    pub trace_id: String,
    /// The items that are shown, in this order: required packs first, then optional ones.
    pub(super) items: Vec<CompiledContextItem>,
    /// Optional packs, or entries of them as `pack/entry`, that are not shown, each with the reason.
    pub excluded: Vec<(String, ExclusionReason)>,
    /// The token budget of the plan.
    pub budget_tokens: usize,
    /// The tokens of all items that are shown.
    pub used_tokens: usize,
    /// The join of the labels of all items that are shown.
    pub label: Label,
}

/// Makes plans; holds the token counter that they are measured with.
#[derive(Clone, Copy)]
pub struct ContextInjector<'a>(&'a dyn TokenCounter);

impl<'a> ContextInjector<'a> {
    /// An injector that counts tokens with this counter.
    #[must_use]
    pub fn new(counter: &'a dyn TokenCounter) -> Self {
        Self(counter)
    }

    /// Chooses what is shown for a decision. Required packs are shown in full, those of the
    /// decision before those of the agent. Of optional packs, each entry that still fits is shown.
    ///
    /// # Errors
    /// [`BridgeError`] if a required pack is missing, may not be shown or does not fit.
    pub fn build_plan(
        &self,
        spec: &DecisionSpec,
        envelope: &ContextEnvelope,
        store: &PackStore,
    ) -> Result<InjectionPlan, BridgeError> {
        let budget = envelope
            .budget_tokens
            .map_or(spec.budget_tokens, |tokens| tokens.min(spec.budget_tokens));
        let mut plan = InjectionPlan {
            decision: spec.key.clone(),
            trace_id: envelope.trace_id.clone(),
            items: Vec::new(),
            excluded: Vec::new(),
            budget_tokens: budget,
            used_tokens: 0,
            label: Label::clean(),
        };
        let required = required_packs(spec, envelope, store)?;
        let mut needed = 0_usize;
        for pack in &required {
            for item in self.compiled_items(pack) {
                let item = CompiledContextItem { required: true, ..item };
                // An item whose tokens could not be counted never fits.
                let tokens = item
                    .tokens
                    .ok_or(BridgeError::Budget { needed: budget.saturating_add(1), budget })?;
                needed = needed.saturating_add(tokens);
                plan.push(item);
            }
        }
        if needed > budget {
            return Err(BridgeError::Budget { needed, budget });
        }
        let required_ids: BTreeSet<&str> = required.iter().map(|pack| pack.id.as_str()).collect();
        for id in spec.optional_packs.iter().filter(|id| !required_ids.contains(id.as_str())) {
            self.add_optional_pack(&mut plan, id, store.get(id), envelope);
        }
        Ok(plan)
    }

    /// Adds the entries of an optional pack that fit, one by one.
    fn add_optional_pack(
        &self,
        plan: &mut InjectionPlan,
        id: &str,
        pack: Option<&Pack>,
        envelope: &ContextEnvelope,
    ) {
        let Some(pack) = pack else {
            return plan.excluded.push((id.to_owned(), ExclusionReason::Missing));
        };
        if pack.label.confidentiality > envelope.clearance {
            return plan.excluded.push((id.to_owned(), ExclusionReason::Sensitivity));
        }
        for item in self.compiled_items(pack) {
            let remaining = plan.budget_tokens - plan.used_tokens;
            if item.tokens.is_some_and(|tokens| tokens <= remaining) {
                plan.push(item);
            } else {
                plan.excluded.push((entry_id(&pack.id, &item.entry), ExclusionReason::Budget));
            }
        }
    }

    /// The entries of a pack as items, marked as optional.
    fn compiled_items(&self, pack: &Pack) -> Vec<CompiledContextItem> {
        let item = |entry: &super::pack::PackEntry| CompiledContextItem {
            id: format!("pack:{}", entry_id(&pack.id, &entry.id)),
            pack: pack.id.clone(),
            version: pack.version.clone(),
            entry: entry.id.clone(),
            text: entry.text.clone(),
            tokens: self.0.count(&format!("{}\n", entry.text)).tokens(),
            label: pack.label.clone(),
            source: pack.source.clone(),
            required: false,
        };
        pack.entries.iter().map(item).collect()
    }
}

impl InjectionPlan {
    fn push(&mut self, item: CompiledContextItem) {
        self.used_tokens = self.used_tokens.saturating_add(item.tokens.unwrap_or_default());
        self.label = std::mem::replace(&mut self.label, Label::clean()).join(&item.label);
        self.items.push(item);
    }
}

/// The packs that must be shown, each once: those of the decision, then those of the agent.
fn required_packs<'s>(
    spec: &DecisionSpec,
    envelope: &ContextEnvelope,
    store: &'s PackStore,
) -> Result<Vec<&'s Pack>, BridgeError> {
    let decision = spec.required_packs.iter().map(|id| (id, format!("decision `{}`", spec.key)));
    let agents = envelope.agent.iter().flat_map(|agent| {
        agent
            .required_packs
            .iter()
            .map(|id| (id, format!("agent `{}`", printable(&agent.agent_name))))
    });
    let mut seen = BTreeSet::new();
    let mut packs = Vec::new();
    for (id, by) in decision.chain(agents) {
        let pack = printable(id);
        let pack_to_show = match store.get(id) {
            None => return Err(BridgeError::MissingPack { pack, by }),
            Some(found) if found.label.confidentiality > envelope.clearance => {
                return Err(BridgeError::Withheld { pack, by });
            }
            Some(found) => found,
        };
        if seen.insert(id.as_str()) {
            packs.push(pack_to_show);
        }
    }
    Ok(packs)
}
