//! The in-memory ledger.

mod event_arena;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::digest::Digest;
use weaver_types::ledger::{
    Batch, CommitReceipt, CommitTicket, Durability, HeadSource, LazyTreeHead, Ledger, LedgerError,
    MAX_PAGE, Namespace, Record, RecordKey, StoredEvent, TreeHead,
};
use weaver_types::{LogId, Random, RandomError, Tenant};

use crate::log::{AppendedEvent, EventRow, LogTip};
use crate::merkle::{Hash, MerkleTree, empty_root};
use crate::prepare::prepare;
use crate::prune;
use crate::record_map::RecordMap;
use crate::salt::SaltPool;
use crate::verify::{LogExtent, LogProver, LogSource, no_such_proof, no_such_size};
use event_arena::EventArena;

/// A ledger that lives as long as the process and keeps every event. It is meant for tests,
/// examples and hosts with short runs.
///
/// ```
/// use std::sync::Arc;
/// use weaver_trace_store::MemoryLedger;
/// use weaver_types::ledger::{Batch, Durability, Ledger, Namespace, RecordKey};
/// use weaver_types::{LogId, OsRandom, Tenant};
///
/// let ledger = MemoryLedger::new(LogId::parse("log_example")?, Arc::new(OsRandom));
/// let key = RecordKey::new(Tenant::default(), Namespace::TokenUse, "tok_1");
/// let used = Batch::new(Durability::Os).create(key, b"{}".to_vec(), None);
/// assert!(ledger.commit(used.clone()).wait().is_ok());
/// assert!(ledger.commit(used).wait().is_err(), "a token is used once");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryLedger {
    salts: SaltPool,
    state: Arc<Mutex<State>>,
    /// Computes the heads of receipts on demand.
    heads: HeadSource,
}

weaver_types::opaque_debug!(MemoryLedger);

struct State {
    tip: LogTip,
    /// Events up to the last batch that requested a sync.
    synced: u64,
    /// The events; their leaf hashes are in the tree.
    events: EventArena,
    tree: MerkleTree,
    records: RecordMap,
}

impl MemoryLedger {
    /// An empty ledger whose log has a random id. `random` also provides the salts.
    ///
    /// # Errors
    /// [`RandomError`], when there is no randomness.
    pub fn with_random_id(random: Arc<dyn Random>) -> Result<Self, RandomError> {
        Ok(Self::new(LogId::random(random.as_ref())?, random))
    }

    /// An empty ledger. `random` provides the salts.
    #[must_use]
    pub fn new(log: LogId, random: Arc<dyn Random>) -> Self {
        let state = State {
            synced: 0,
            tip: LogTip::new(log),
            events: EventArena::default(),
            tree: MerkleTree::default(),
            records: RecordMap::default(),
        };
        let state = Arc::new(Mutex::new(state));
        let head_state = Arc::clone(&state);
        // After a panic in another thread the tree still has the roots of earlier sizes.
        let heads = move |size| {
            let state = head_state.lock().unwrap_or_else(PoisonError::into_inner);
            let root = state.tree.root(size).unwrap_or_else(empty_root);
            TreeHead { log: state.tip.log.clone(), size, root: Digest::from_bytes(root) }
        };
        Self { salts: SaltPool::new(random), state, heads: Arc::new(heads) }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, LedgerError> {
        self.state
            .lock()
            .map_err(|_| LedgerError::Failed("a thread died while it used the ledger".to_owned()))
    }

    fn apply(&self, batch: Arc<Batch>) -> Result<CommitReceipt, LedgerError> {
        let prepared = prepare(batch, &self.salts)?;
        let durability = prepared.batch.durability;
        let mut state = self.lock()?;
        let first = state.tip.frontier.size();
        let now = prune::time_after(state.tip.latest_time, &prepared.batch);
        let writes = state.records.plan(&prepared.batch)?;
        prune::check(&prepared, first, now, &mut *state)?;
        let State { tip, tree, events, .. } = &mut *state;
        let mut complete = |level: u32, _, hash| tree.put(level as usize, hash);
        tip.append(prepared.events(), &mut complete, &mut |appended| {
            let AppendedEvent { header, salt, payload, .. } = appended;
            events.push(&header, &salt, payload, durability);
            Ok(())
        })?;
        let first_seq = (tip.frontier.size() > first).then_some(first);
        state.prune(&prepared.prune);
        let now = state.tip.latest_time;
        state.records.write(writes, now);
        let size = state.tip.frontier.size();
        if durability == Durability::Disk {
            state.synced = size;
        }
        let head = LazyTreeHead::lazy(size, Arc::clone(&self.heads));
        Ok(CommitReceipt { first_seq, at: state.tip.latest_time, durability, head })
    }
}

impl State {
    fn prune(&mut self, seqs: &[u64]) {
        for seq in seqs {
            self.events.prune(*seq);
        }
    }

    fn page(&self, from: u64, limit: usize) -> impl Iterator<Item = EventRow> {
        self.events.iter_from(from).take(limit.min(MAX_PAGE)).filter_map(|(seq, bytes)| {
            let leaf = Digest::from_bytes(self.tree.leaf(seq)?);
            let (salt, payload) = bytes
                .salted_payload
                .map(|(salt, payload)| (salt.to_vec(), payload.to_vec()))
                .unzip();
            let (header, durability) = (bytes.header.to_vec(), bytes.durability);
            Some(EventRow { event: StoredEvent { seq, header, salt, payload, durability }, leaf })
        })
    }
}

impl prune::PruningView for State {
    fn event(&mut self, seq: u64) -> Result<Option<EventRow>, LedgerError> {
        Ok(self.page(seq, 1).next())
    }

    fn has_record(&mut self, namespace: Namespace, id: &str) -> Result<bool, LedgerError> {
        Ok(self.records.has_record(namespace, id))
    }
}

impl Ledger for MemoryLedger {
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket {
        CommitTicket::ready(self.apply(batch))
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        Ok(self.lock()?.records.get(key).cloned().map(Record::from))
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        Ok(self.lock()?.records.page(tenant, namespace, after, limit))
    }

    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        Ok(self.lock()?.page(from, limit).map(|row| row.event).collect())
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        Ok(self.lock()?.tip.head())
    }

    /// Nothing here survives the process. This is the head after the last batch with
    /// [`Durability::Disk`], as a store on disk would report it.
    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        let state = self.lock()?;
        let (log, size) = (state.tip.log.clone(), state.synced);
        let root = state.tree.root(size).ok_or_else(|| no_such_size(size))?;
        Ok(TreeHead { log, size, root: Digest::from_bytes(root) })
    }
}

impl LogSource for MemoryLedger {
    fn extent(&self) -> Result<LogExtent, LedgerError> {
        let state = self.lock()?;
        let LogTip { frontier, latest_time, .. } = state.tip.clone();
        let head = state.tip.head();
        let last = head.size.checked_sub(1);
        Ok(LogExtent { head, frontier, first: last.map(|_| 0), last, latest_time, synced: None })
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<EventRow>, LedgerError> {
        Ok(self.lock()?.page(from, limit).collect())
    }
}

impl LogProver for MemoryLedger {
    fn root(&self, size: u64) -> Result<Hash, LedgerError> {
        self.lock()?.tree.root(size).ok_or_else(|| no_such_size(size))
    }

    fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError> {
        self.lock()?.tree.inclusion(index, size).ok_or_else(|| no_such_proof(index, size))
    }

    fn consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError> {
        self.lock()?.tree.consistency(old, new).ok_or_else(|| no_such_proof(old, new))
    }
}
