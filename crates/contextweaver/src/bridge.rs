//! Injects prepared packs of context into a compiled context.
//!
//! A decision names the packs that it needs. [`DecisionResolver::resolve`] finds a decision by its
//! key, [`ContextInjector::build_plan`] chooses entries of packs within a token budget, and
//! [`injection_plan_to_compiled_items`] turns the plan into items. If a pack that the decision or
//! the agent requires is missing, planning fails: a required pack is never silently left out.

mod decision;
mod error;
mod item;
mod pack;
mod plan;

pub use decision::{AgentNeeds, ContextEnvelope, DecisionResolver, DecisionSpec};
pub use error::BridgeError;
pub use item::{CompiledContextItem, injection_plan_to_compiled_items};
pub use pack::{
    MAX_ID_BYTES, MAX_PACK_BYTES, MAX_PACK_ENTRIES, MAX_PACKS, Pack, PackEntry, PackStore,
};
pub use plan::{ContextInjector, ExclusionReason, InjectionPlan};
