//! The growing end of the log: the frontier and the highest time.

use std::borrow::Cow;
use std::cell::OnceCell;

use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, Head, LedgerError, NewEvent, StoredEvent};
use weaver_types::{LogId, Timestamp};

use crate::entry::{HEADER_VERSION, HeaderRef, SALT};
use crate::merkle::{self, Frontier, Hash};
use crate::prepare::Seal;

/// An event with its leaf hash, as a store holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The event.
    pub event: StoredEvent,
    /// The leaf hash stored beside the header. It is derived: it serves proofs, and tells a
    /// changed header from a changed neighbour.
    pub leaf: Digest,
}

/// A stored event with its leaf hash, where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRef<'a> {
    /// The place in the log.
    pub seq: u64,
    /// The canonical header.
    pub header: &'a [u8],
    /// The leaf hash stored beside it.
    pub leaf: Digest,
    /// The salt; `None` when the event was pruned.
    pub salt: Option<&'a [u8]>,
    /// The payload; `None` when the event was pruned.
    pub payload: Option<&'a [u8]>,
    /// How far it was synced when it was acknowledged.
    pub durability: Durability,
}

impl RowRef<'_> {
    /// A copy that stands alone.
    #[must_use]
    pub fn to_row(&self) -> Row {
        let Self { seq, header, leaf, salt, payload, durability } = *self;
        Row {
            event: StoredEvent {
                seq,
                header: header.to_vec(),
                salt: salt.map(<[u8]>::to_vec),
                payload: payload.map(<[u8]>::to_vec),
                durability,
            },
            leaf,
        }
    }
}

impl Row {
    /// The same, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> RowRef<'_> {
        let StoredEvent { seq, header, salt, payload, durability } = &self.event;
        RowRef {
            seq: *seq,
            header,
            leaf: self.leaf,
            salt: salt.as_deref(),
            payload: payload.as_deref(),
            durability: *durability,
        }
    }
}

/// An event that is being appended, whose payload is there.
#[derive(Debug)]
pub(crate) struct SealedEvent<'b> {
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "a row has its number"))]
    pub(crate) seq: u64,
    pub(crate) header: Vec<u8>,
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "a row has its leaf"))]
    pub(crate) leaf: Hash,
    pub(crate) salt: [u8; SALT],
    pub(crate) payload: &'b [u8],
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

    /// Appends the events of a batch and gives each to `take`. `complete` is given every leaf and
    /// every subtree that became complete, as [`Frontier::push_with`] gives them.
    pub(crate) fn append<'b>(
        &mut self,
        events: impl ExactSizeIterator<Item = (&'b NewEvent, &'b Seal)>,
        complete: &mut dyn FnMut(u32, u64, Hash),
        take: &mut dyn FnMut(SealedEvent<'b>) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        if events.len() > 0 {
            self.root.take();
        }
        for (event, seal) in events {
            self.highest = self.highest.max(event.at);
            let seq = self.frontier.size();
            let header = HeaderRef {
                log: Cow::Borrowed(self.log.as_str()),
                seq,
                at: self.highest,
                kind: event.kind,
                run: event.run.as_ref().map(|run| Cow::Borrowed(run.as_str())),
                call: event.call.as_ref().map(|call| Cow::Borrowed(call.as_str())),
                commit: seal.commit,
            };
            let header = header.to_bytes().map_err(|error| {
                LedgerError::Failed(format!("event {seq} (header v{HEADER_VERSION}): {error}"))
            })?;
            let leaf = merkle::leaf_hash(&header);
            self.frontier.push_with(leaf, complete);
            take(SealedEvent { seq, header, leaf, salt: seal.salt, payload: &event.payload })?;
        }
        Ok(())
    }
}
