//! The ledger in memory.

mod event_arena;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::digest::Digest;
use weaver_types::ledger::{
    Batch, Durability, Head, HeadAfter, Heads, Ledger, LedgerError, MAX_PAGE, Namespace, Receipt,
    Record, RecordKey, StoredEvent, Ticket,
};
use weaver_types::{LogId, Random, RandomError, Tenant};

use crate::log::{Row, SealedEvent, Tip};
use crate::merkle::{Hash, Tree, empty_root};
use crate::prepare::prepare;
use crate::prune;
use crate::record_map::RecordMap;
use crate::salt::Salts;
use crate::verify::{Extent, Prove, Source, no_such_proof};
use event_arena::EventArena;

/// A ledger that ends with the process. It keeps every event; it is meant for tests, examples and
/// hosts whose runs are short.
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
    salts: Salts,
    state: Arc<Mutex<State>>,
    /// What receipts ask for their heads.
    heads: Heads,
}

struct State {
    tip: Tip,
    /// Events up to the last batch that asked to be synced.
    synced: u64,
    /// The events; their leaf hashes stand in the tree.
    events: EventArena,
    tree: Tree,
    records: RecordMap,
}

impl MemoryLedger {
    /// An empty ledger whose log has a random id. `random` gives the salts too.
    ///
    /// # Errors
    /// [`RandomError`], when there is no randomness.
    pub fn fresh(random: Arc<dyn Random>) -> Result<Self, RandomError> {
        Ok(Self::new(LogId::random(random.as_ref())?, random))
    }

    /// An empty ledger. `random` gives the salts.
    #[must_use]
    pub fn new(log: LogId, random: Arc<dyn Random>) -> Self {
        let state = State {
            synced: 0,
            tip: Tip::new(log),
            events: EventArena::default(),
            tree: Tree::default(),
            records: RecordMap::default(),
        };
        let state = Arc::new(Mutex::new(state));
        let asked = Arc::clone(&state);
        // A tree that a thread died over still has the roots of before.
        let heads = move |size| {
            let state = asked.lock().unwrap_or_else(PoisonError::into_inner);
            let root = state.tree.root(size).unwrap_or_else(empty_root);
            Head { log: state.tip.log.clone(), size, root: Digest::from_bytes(root) }
        };
        Self { salts: Salts::new(random), state, heads: Arc::new(heads) }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, LedgerError> {
        self.state
            .lock()
            .map_err(|_| LedgerError::Failed("a thread died while it wrote".to_owned()))
    }

    fn apply(&self, batch: Arc<Batch>) -> Result<Receipt, LedgerError> {
        let prepared = prepare(batch, &self.salts)?;
        let durability = prepared.batch.durability;
        let mut state = self.lock()?;
        let first = state.tip.frontier.size();
        let now = prune::time_after(state.tip.highest, &prepared.batch);
        let writes = state.records.plan(&prepared.batch)?;
        prune::check(&prepared, first, now, &mut *state)?;
        let State { tip, tree, events, .. } = &mut *state;
        let mut complete = |level: u32, _, hash| tree.put(level as usize, hash);
        tip.append(prepared.events(), &mut complete, &mut |sealed| {
            let SealedEvent { header, salt, payload, .. } = sealed;
            events.push(&header, &salt, payload, durability);
            Ok(())
        })?;
        let first_seq = (tip.frontier.size() > first).then_some(first);
        state.prune(&prepared.prune);
        let now = state.tip.highest;
        state.records.write(writes, now);
        let size = state.tip.frontier.size();
        if durability == Durability::Disk {
            state.synced = size;
        }
        let head = HeadAfter::later(size, Arc::clone(&self.heads));
        Ok(Receipt { first_seq, at: state.tip.highest, durability, head })
    }
}

impl State {
    fn prune(&mut self, seqs: &[u64]) {
        for seq in seqs {
            self.events.prune(*seq);
        }
    }

    fn page(&self, from: u64, limit: usize) -> impl Iterator<Item = Row> {
        self.events.after(from).take(limit.min(MAX_PAGE)).filter_map(|(seq, bytes)| {
            let leaf = Digest::from_bytes(self.tree.leaf(seq)?);
            let (salt, payload) =
                bytes.open.map(|(salt, payload)| (salt.to_vec(), payload.to_vec())).unzip();
            let (header, durability) = (bytes.header.to_vec(), bytes.durability);
            Some(Row { event: StoredEvent { seq, header, salt, payload, durability }, leaf })
        })
    }
}

impl prune::PruneStore for State {
    fn event(&mut self, seq: u64) -> Result<Option<Row>, LedgerError> {
        Ok(self.page(seq, 1).next())
    }

    fn is_there(&mut self, namespace: Namespace, id: &str) -> Result<bool, LedgerError> {
        Ok(self.records.is_there(namespace, id))
    }
}

impl Ledger for MemoryLedger {
    fn submit(&self, batch: Arc<Batch>) -> Ticket {
        Ticket::ready(self.apply(batch))
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

    fn head(&self) -> Result<Head, LedgerError> {
        Ok(self.lock()?.tip.head())
    }

    /// Nothing here outlives the process: this is the head after the last batch that asked for
    /// [`Durability::Disk`], as a store on disk would have it.
    fn synced_head(&self) -> Result<Head, LedgerError> {
        let state = self.lock()?;
        let (log, size) = (state.tip.log.clone(), state.synced);
        let root = state.tree.root(size).ok_or_else(|| no_such_proof(size, size))?;
        Ok(Head { log, size, root: Digest::from_bytes(root) })
    }
}

impl Source for MemoryLedger {
    fn extent(&self) -> Result<Extent, LedgerError> {
        let state = self.lock()?;
        let Tip { frontier, highest, .. } = state.tip.clone();
        let head = state.tip.head();
        let last = head.size.checked_sub(1);
        Ok(Extent { head, frontier, first: last.map(|_| 0), last, highest, synced: None })
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, LedgerError> {
        Ok(self.lock()?.page(from, limit).collect())
    }
}

impl Prove for MemoryLedger {
    fn root(&self, size: u64) -> Result<Hash, LedgerError> {
        self.lock()?.tree.root(size).ok_or_else(|| no_such_proof(size, size))
    }

    fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError> {
        self.lock()?.tree.inclusion(index, size).ok_or_else(|| no_such_proof(index, size))
    }

    fn consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError> {
        self.lock()?.tree.consistency(old, new).ok_or_else(|| no_such_proof(old, new))
    }
}
