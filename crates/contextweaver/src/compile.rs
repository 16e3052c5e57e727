//! Compiles a conversation into a context that fits a token budget.
//!
//! A [`ContextLog`] analyses each item once, when it is added. A build then runs these stages in
//! order: select the candidates of the phase, add the items they depend on, drop or redact what is
//! too confidential, score, drop duplicates, select groups within the budget, render, and account
//! for every candidate.

mod accounting;
mod cached_counter;
mod candidate;
mod closure;
mod compiler;
mod dedupe;
mod dropped_items;
mod durable;
mod explain;
mod firewall;
mod frame_text;
mod group;
mod item;
mod item_block;
mod item_forest;
mod item_outcome;
mod kind;
mod log;
mod messages;
mod native_calls;
mod phase;
mod previous_build;
mod rank;
mod ranked_candidates;
mod redaction_hook;
mod render;
mod render_cache;
mod rendered_item;
mod rendered_totals;
mod report;
mod request;
mod score;
mod select;
mod selected_groups;
mod sensitivity;
mod shortening;
mod stats;
mod stored_item;
mod text_equivalence;
mod vocabulary;

pub use compiler::{Compiler, ContextPack};
pub use dropped_items::{DroppedItem, DroppedItems};
pub use durable::DurableLog;
pub use explain::Explanation;
pub use firewall::{ResultFirewall, ResultView, ToolOutput, item_from_output, item_from_view};
pub use item::{ContextItem, StructuredCall};
pub use kind::ContextItemKind;
pub use log::{ContextLog, MAX_ITEM_BYTES, MAX_LOG_BYTES, MAX_LOG_ITEMS};
pub use phase::{Phase, PhaseSpec};
pub use redaction_hook::{MaskRedactionHook, RedactionHook};
pub use rendered_item::RenderedItem;
pub use request::{
    CallStyle, CompileRequest, OverflowAction, OverflowPolicy, PromptFormat, SensitivityAction,
    Summariser,
};
pub use shortening::HeadAndTail;
pub use stats::{BuildStats, DropReason};

use crate::error::BuildError;

/// Compiles a context from a log.
///
/// Candidates are the items of the kinds of the phase and everything that they depend on. Items at
/// or above the sensitivity floor are redacted, or left out together with their dependents. The
/// rest is ranked by age, by the words it shares with the query, by kind and by length. Of
/// duplicates the newest stays. A call and its results are taken together or not at all, and no
/// item is taken without its parent. The complete rendering is counted and shortened by whole groups
/// until it is within the budget, if necessary to nothing; then groups that were passed over are
/// added if they fit.
///
/// # Errors
/// [`BuildError::Overflow`] if an item does not fit that the request does not allow to be left out.
pub fn build(log: &ContextLog, request: &CompileRequest<'_>) -> Result<ContextPack, BuildError> {
    Compiler::new().build(log, request)
}
