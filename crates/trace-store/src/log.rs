//! The growing end of the log: the frontier and the highest time.

use std::cell::OnceCell;

use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, Head, LedgerError, StoredEvent};
use weaver_types::{LogId, Timestamp};

use crate::entry::{HEADER_VERSION, Header};
use crate::merkle::{self, Frontier, Hash};
use crate::prepare::Prepared;

/// An event with its leaf hash, as a store holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The event.
    pub event: StoredEvent,
    /// The leaf hash stored beside the header. It is derived: it serves proofs, and tells a
    /// changed header from a changed neighbour.
    pub leaf: Digest,
}

/// Where the log goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) log: LogId,
    pub(crate) frontier: Frontier,
    pub(crate) highest: Timestamp,
    /// The root over the frontier, once somebody has asked for it.
    root: OnceCell<Hash>,
}

impl Tip {
    /// The beginning of a log. Its time starts at the Unix epoch.
    pub(crate) fn new(log: LogId) -> Self {
        Self::at(log, Frontier::default(), Timestamp::default())
    }

    /// The end of a log that is there already.
    pub(crate) fn at(log: LogId, frontier: Frontier, highest: Timestamp) -> Self {
        Self { log, frontier, highest, root: OnceCell::new() }
    }

    /// The root. It takes a hash for each subtree of the frontier, so it is computed once a group.
    pub(crate) fn root(&self) -> Hash {
        *self.root.get_or_init(|| self.frontier.root())
    }

    pub(crate) fn head(&self) -> Head {
        Head {
            log: self.log.clone(),
            size: self.frontier.size(),
            root: Digest::from_bytes(self.root()),
        }
    }

    /// Appends the events of a batch, and takes them out of it. `complete` is given every leaf and
    /// every subtree that became complete, as [`Frontier::push_with`] gives them.
    pub(crate) fn append(
        &mut self,
        prepared: &mut Prepared,
        durability: Durability,
        complete: &mut dyn FnMut(u32, u64, Hash),
    ) -> Result<Vec<Row>, LedgerError> {
        let events = std::mem::take(&mut prepared.batch.events);
        let seals = std::mem::take(&mut prepared.seals);
        if !events.is_empty() {
            self.root.take();
        }
        let mut rows = Vec::with_capacity(events.len());
        for (event, seal) in events.into_iter().zip(seals) {
            self.highest = self.highest.max(event.at);
            let seq = self.frontier.size();
            let header = Header {
                log: self.log.clone(),
                seq,
                at: self.highest,
                kind: event.kind,
                run: event.run,
                call: event.call,
                commit: seal.commit,
            };
            let header = header.to_bytes().map_err(|error| {
                LedgerError::Failed(format!("event {seq} (header v{HEADER_VERSION}): {error}"))
            })?;
            let leaf = merkle::leaf_hash(&header);
            self.frontier.push_with(leaf, complete);
            let (salt, payload) = (Some(seal.salt.to_vec()), Some(event.payload));
            rows.push(Row {
                event: StoredEvent { seq, header, salt, payload, durability },
                leaf: Digest::from_bytes(leaf),
            });
        }
        Ok(rows)
    }
}
