//! Plans the context that is shown for a decision.

use std::collections::BTreeSet;

use weaver_text::token::TokenCounter;
use weaver_types::Label;

use super::decision::{ContextEnvelope, DecisionSpec};
use super::error::BridgeError;
use super::item::{CompiledContextItem, entry_id};
use super::pack::{Pack, PackStore, shown};

/// Why something was left out of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExclusionReason {
    /// The store has no such pack.
    Missing,
    /// It is more confidential than the context may show.
    Sensitivity,
    /// There was no room for it.
    Budget,
}

/// What is injected for one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionPlan {
    /// The key of the decision.
    pub decision: String,
    /// The trace that it belongs to.
    pub trace_id: String,
    /// What is shown, in this order: the required packs, then the optional ones.
    pub(super) items: Vec<CompiledContextItem>,
    /// Optional packs, or entries of them as `pack/entry`, that are not shown, and why.
    pub left_out: Vec<(String, ExclusionReason)>,
    /// The tokens that there were.
    pub budget_tokens: usize,
    /// The tokens of what is shown.
    pub used_tokens: usize,
    /// The labels of what is shown, joined.
    pub label: Label,
}

/// Makes plans, with one counter of tokens.
#[derive(Clone, Copy)]
pub struct ContextInjector<'a>(&'a dyn TokenCounter);

impl<'a> ContextInjector<'a> {
    /// An injector that counts tokens so.
    #[must_use]
    pub fn new(counter: &'a dyn TokenCounter) -> Self {
        Self(counter)
    }

    /// Chooses what is shown for a decision. Required packs, those of the decision and then those
    /// of the agent, are shown whole; of optional ones what has room, entry by entry.
    ///
    /// # Errors
    /// [`BridgeError`], when a required pack is missing, may not be shown or has no room.
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
            left_out: Vec::new(),
            budget_tokens: budget,
            used_tokens: 0,
            label: Label::clean(),
        };
        let required = required(spec, envelope, store)?;
        let mut needed = 0_usize;
        for pack in &required {
            for item in self.items(pack) {
                let item = CompiledContextItem { required: true, ..item };
                // What could not be counted never fits.
                let tokens = item
                    .tokens
                    .ok_or(BridgeError::Budget { needed: budget.saturating_add(1), budget })?;
                needed = needed.saturating_add(tokens);
                plan.show(item);
            }
        }
        if needed > budget {
            return Err(BridgeError::Budget { needed, budget });
        }
        let shown: BTreeSet<&str> = required.iter().map(|pack| pack.id.as_str()).collect();
        for id in spec.optional_packs.iter().filter(|id| !shown.contains(id.as_str())) {
            self.prefer(&mut plan, id, store.get(id), envelope);
        }
        Ok(plan)
    }

    /// Shows what has room of an optional pack.
    fn prefer(
        &self,
        plan: &mut InjectionPlan,
        id: &str,
        pack: Option<&Pack>,
        envelope: &ContextEnvelope,
    ) {
        let Some(pack) = pack else {
            return plan.left_out.push((id.to_owned(), ExclusionReason::Missing));
        };
        if pack.label.confidentiality > envelope.clearance {
            return plan.left_out.push((id.to_owned(), ExclusionReason::Sensitivity));
        }
        for item in self.items(pack) {
            let room = plan.budget_tokens - plan.used_tokens;
            if item.tokens.is_some_and(|tokens| tokens <= room) {
                plan.show(item);
            } else {
                plan.left_out.push((entry_id(&pack.id, &item.entry), ExclusionReason::Budget));
            }
        }
    }

    /// The entries of a pack, as optional ones.
    fn items(&self, pack: &Pack) -> Vec<CompiledContextItem> {
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
    fn show(&mut self, item: CompiledContextItem) {
        self.used_tokens = self.used_tokens.saturating_add(item.tokens.unwrap_or_default());
        self.label = std::mem::replace(&mut self.label, Label::clean()).join(&item.label);
        self.items.push(item);
    }
}

/// The packs that must be shown, each once.
fn required<'s>(
    spec: &DecisionSpec,
    envelope: &ContextEnvelope,
    store: &'s PackStore,
) -> Result<Vec<&'s Pack>, BridgeError> {
    let decision = spec.required_packs.iter().map(|id| (id, format!("decision `{}`", spec.key)));
    let agents = envelope.agent.iter().flat_map(|agent| {
        agent.required_packs.iter().map(|id| (id, format!("agent `{}`", shown(&agent.agent_name))))
    });
    let mut seen = BTreeSet::new();
    let mut packs = Vec::new();
    for (id, by) in decision.chain(agents) {
        let pack = shown(id);
        let found = match store.get(id) {
            None => return Err(BridgeError::MissingPack { pack, by }),
            Some(found) if found.label.confidentiality > envelope.clearance => {
                return Err(BridgeError::Withheld { pack, by });
            }
            Some(found) => found,
        };
        if seen.insert(id.as_str()) {
            packs.push(found);
        }
    }
    Ok(packs)
}
