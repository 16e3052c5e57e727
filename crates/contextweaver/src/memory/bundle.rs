//! The three tiers of memory together.

use std::sync::Arc;

use weaver_types::ledger::RecordStore;
use weaver_types::{Clock, Tenant};

use super::bounds::Limits;
use super::entry::Tier;
use super::tier::{InProcessMemory, Memory, MemoryAuditHook};

/// The parts that a bundle is made of.
#[derive(Clone)]
pub struct BundleParts {
    /// The trace that the bundle belongs to. May be empty.
    pub trace_id: String,
    /// The session. May be empty.
    pub session_id: String,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The hook that records writes and reads of the episodic and durable tiers, if any.
    pub event_log: Option<MemoryAuditHook>,
    /// The store of the durable tier. Without one, the tier lasts only as long as the process.
    pub memory_store: Option<Arc<dyn RecordStore>>,
    /// The tenant that owns the memory.
    pub tenant: Tenant,
    /// The limits of each tier.
    pub limits: Limits,
}

impl BundleParts {
    /// Parts without a trace, session, audit hook and store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            trace_id: String::new(),
            session_id: String::new(),
            clock,
            event_log: None,
            memory_store: None,
            tenant: Tenant::default(),
            limits: Limits::default(),
        }
    }
}

/// Working, episodic and durable memory of one trace.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use contextweaver::memory::{BundleParts, MemoryBundle, PutOptions};
/// use serde_json::json;
/// use contextweaver::types::SystemClock;
///
/// let parts = BundleParts::new(Arc::new(SystemClock::default()));
/// let memory = MemoryBundle::create(BundleParts { trace_id: "4bf9".into(), ..parts });
///
/// memory.working.put("last_result", json!({ "items": [1, 2] }), &PutOptions::default())?;
/// memory.episodic.put("step_1_output", json!({ "ok": true }), &PutOptions::new("tool.vault_read"))?;
/// let day = PutOptions::new("user").with_ttl(Duration::from_secs(86_400));
/// memory.durable.put("user_preference", json!("compact"), &day)?;
///
/// assert_eq!(memory.durable.get("user_preference", json!(null))?, "compact");
/// let entry = memory.durable.entry("user_preference")?.unwrap();
/// assert_eq!(entry.entry_id(), "mem_dur_user_preference");
/// assert!(memory.durable.delete("user_preference")?);
/// assert_eq!(memory.episodic.snapshot()?.len(), 1);
/// # Ok::<(), contextweaver::memory::MemoryError>(())
/// ```
#[derive(Clone)]
pub struct MemoryBundle {
    /// Working memory, which is lost with the process.
    pub working: InProcessMemory,
    /// Episodic memory of this trace: in the process, and recorded by the audit hook if there is one.
    pub episodic: InProcessMemory,
    /// Durable memory over the store, which outlives the process.
    pub durable: Memory,
}

weaver_types::opaque_debug!(MemoryBundle);

impl MemoryBundle {
    /// A bundle of these parts, with empty working and episodic tiers.
    #[must_use]
    pub fn create(parts: BundleParts) -> Self {
        Self {
            working: InProcessMemory(Memory::new(Tier::Working, &parts)),
            episodic: InProcessMemory(Memory::new(Tier::Episodic, &parts)),
            durable: Memory::new(Tier::Durable, &parts),
        }
    }
}
