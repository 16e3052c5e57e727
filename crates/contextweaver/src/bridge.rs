//! The bridge from prepared packs of context to a compiled context.
//!
//! A decision says which packs it needs. [`DecisionResolver::resolve`] finds it by its key,
//! [`ContextInjector::build_plan`] chooses within a budget what is shown, and
//! [`injection_plan_to_compiled_items`] gives the items. A pack that the decision or the agent
//! requires and that is not there is an error, never a gap.

mod decision;
mod error;
mod item;
mod pack;
mod plan;

pub use decision::{AgentNeeds, ContextEnvelope, DecisionResolver, DecisionSpec};
pub use error::BridgeError;
pub use item::{CompiledContextItem, injection_plan_to_compiled_items};
pub use pack::{MAX_ID, MAX_PACK_BYTES, MAX_PACK_ENTRIES, MAX_PACKS, Pack, PackEntry, PackStore};
pub use plan::{ContextInjector, ExclusionReason, InjectionPlan};
