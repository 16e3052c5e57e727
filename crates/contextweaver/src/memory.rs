//! The memory of an agent beyond one context: three tiers, and two stores in the durable one.
//!
//! Working memory lasts as long as the process, episodic memory as long as a trace, durable memory
//! as long as its file. [`EpisodicStore`] and [`FactStore`] are views of the durable tier;
//! [`recall`](fn@recall) selects the entries of both that are relevant to a query, within separate
//! limits. Every entry carries the label of its origin and keeps it in every later session.

mod bounds;
mod bundle;
mod candidate;
mod candidate_cache;
mod consolidate;
mod entry;
mod episode;
mod error;
mod fact;
mod memory_record;
mod process_records;
mod put;
mod recall;
mod tier;
mod tier_store;
mod time;

pub use bounds::{
    Limits, MAX_CLAIMS, MAX_KEY_BYTES, MAX_PAGE, MAX_SOURCE_BYTES, MAX_SUMMARY_BYTES,
};
pub use bundle::{BundleParts, MemoryBundle};
pub use consolidate::{ConsolidatedFact, RecurrenceCriteria, consolidate};
pub use entry::{Confidence, EntryKind, EntryOrigin, MemoryEntry, Tier};
pub use episode::EpisodicStore;
pub use error::{MemoryError, MemoryLogError};
pub use fact::{Claim, Fact, FactStore};
pub use memory_record::{ENTRY_VERSION, Supersession};
pub use put::PutOptions;
pub use recall::{RecallLimits, RecallRequest, RecallResult, recall};
pub use tier::{Access, EntryPage, InProcessMemory, Memory, MemoryAuditHook};
