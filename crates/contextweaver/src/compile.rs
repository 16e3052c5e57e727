//! Compiling what has happened into a context that fits a budget.
//!
//! A [`ContextLog`] analyses each item once, when it comes. A build goes through the stages in one
//! direction: the candidates of the phase, what they hang on, what is too confidential, scores,
//! what says the same, the choice, the rendering, the account.

mod account;
mod block;
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
mod item_outcome;
mod kind;
mod links;
mod log;
mod messages;
mod meter;
mod native;
mod phase;
mod plan;
mod previous_build;
mod rank;
mod redaction_hook;
mod render;
mod report;
mod request;
mod score;
mod section;
mod section_totals;
mod select;
mod selected_groups;
mod sensitivity;
mod shortening;
mod shown_sections;
mod stats;
mod stored_item;
mod text_equivalence;
mod vocabulary;

pub use compiler::{Compiler, ContextPack};
pub use dropped_items::{DroppedItem, DroppedItems};
pub use durable::DurableLog;
pub use explain::Explanation;
pub use firewall::{ResultFirewall, ToolOutput, View, admit, look};
pub use item::{CallMade, ContextItem};
pub use kind::ItemKind;
pub use log::{ContextLog, MAX_BYTES, MAX_ITEM_BYTES, MAX_LOG_ITEMS};
pub use phase::{Phase, PhaseSpec};
pub use redaction_hook::{MaskRedactionHook, RedactionHook};
pub use request::{
    CallStyle, Format, OverflowAction, OverflowPolicy, Request, SensitivityAction, Summariser,
};
pub use section::Section;
pub use shortening::HeadAndTail;
pub use stats::{BuildStats, DropReason};

use crate::error::BuildError;

/// Compiles a context.
///
/// Items of the kinds of the phase are taken together with what they hang on; those at or above
/// the floor are left out with what hangs on them, or redacted; the rest is ranked by age, by the
/// words it shares with the query, by kind and by length. Of items that say the same the newest
/// stays. A call and its results are taken together or not at all, and nothing without what it
/// hangs on. The whole rendering is counted, and cut by groups until it is within the budget, if
/// need be to nothing; whatever was passed over and fits by its own count goes in.
///
/// # Errors
/// [`BuildError::Overflow`], when the request says that something must not be left out, and it
/// does not fit.
pub fn build(log: &ContextLog, request: &Request<'_>) -> Result<ContextPack, BuildError> {
    Compiler::new().build(log, request)
}
