//! What is remembered beyond one context: three tiers, and two views on the one that lasts.
//!
//! Working memory lasts as long as the process, episodic memory as long as a trace, durable memory
//! as long as its file. [`EpisodicStore`] and [`FactStore`] are views on the durable tier;
//! [`recall`](fn@recall) picks what of both bears on a query, within caps of their own. Every entry carries
//! the label of what it was made from and keeps it in every later session.

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

pub use bounds::{Limits, MAX_CLAIMS, MAX_EPISODE, MAX_KEY, MAX_PAGE, MAX_SOURCE};
pub use bundle::{BundleParts, MemoryBundle};
pub use consolidate::{Consolidation, Recurrence, consolidate};
pub use entry::{Confidence, EntryKind, MemoryEntry, Origin, Tier};
pub use episode::EpisodicStore;
pub use error::{MemoryError, MemoryLogError};
pub use fact::{Claim, Fact, FactStore};
pub use memory_record::{ENTRY_VERSION, Supersession};
pub use put::PutOptions;
pub use recall::{Caps, Recall, RecallResult, recall};
pub use tier::{Access, EntryPage, InProcessMemory, Memory, MemoryAuditHook};
