//! The growing end of the log: frontier, latest time, and how events are appended.

use std::borrow::Cow;
use std::cell::OnceCell;

use weaver_types::digest::Digest;
use weaver_types::ledger::{Durability, LedgerError, NewEvent, StoredEvent, TreeHead};
use weaver_types::{LogId, Timestamp};

use crate::entry::{EventHeaderRef, HEADER_VERSION, SALT_BYTES};
use crate::merkle::{self, Frontier, Hash};
use crate::prepare::PayloadCommitment;

/// A stored event with its leaf hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The event.
    pub event: StoredEvent,
    /// The leaf hash stored next to the header. It is redundant: it serves proofs, and
    /// distinguishes a changed header from a changed neighbour.
    pub leaf: Digest,
}

/// As [`EventRow`], borrowed from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRowRef<'a> {
    /// The sequence number.
    pub seq: u64,
    /// The canonical header.
    pub header: &'a [u8],
    /// The leaf hash stored beside it.
    pub leaf: Digest,
    /// The salt; `None` when the event was pruned.
    pub salt: Option<&'a [u8]>,
    /// The payload; `None` when the event was pruned.
    pub payload: Option<&'a [u8]>,
    /// How durable it was when it was acknowledged.
    pub durability: Durability,
}

impl EventRowRef<'_> {
    /// An owned copy.
    #[must_use]
    pub fn to_row(&self) -> EventRow {
        let Self { seq, header, leaf, salt, payload, durability } = *self;
        EventRow {
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

impl EventRow {
    /// The row, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> EventRowRef<'_> {
        let StoredEvent { seq, header, salt, payload, durability } = &self.event;
        EventRowRef {
            seq: *seq,
            header,
            leaf: self.leaf,
            salt: salt.as_deref(),
            payload: payload.as_deref(),
            durability: *durability,
        }
    }
}

/// An event that is being appended, with its payload.
#[derive(Debug)]
pub(crate) struct AppendedEvent<'b> {
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "a row has its number"))]
    pub(crate) seq: u64,
    pub(crate) header: Vec<u8>,
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "a row has its leaf"))]
    pub(crate) leaf: Hash,
    pub(crate) salt: [u8; SALT_BYTES],
    pub(crate) payload: &'b [u8],
}

/// The end of the log, where the next event is appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogTip {
    pub(crate) log: LogId,
    pub(crate) frontier: Frontier,
    /// The latest time of an event so far.
    pub(crate) latest_time: Timestamp,
    /// The root over the frontier, computed on first use.
    root: OnceCell<Hash>,
}

impl LogTip {
    /// The end of a new log. Its time starts at the Unix epoch.
    pub(crate) fn new(log: LogId) -> Self {
        Self::at(log, Frontier::default(), Timestamp::default())
    }

    /// The end of an existing log.
    pub(crate) fn at(log: LogId, frontier: Frontier, latest_time: Timestamp) -> Self {
        Self { log, frontier, latest_time, root: OnceCell::new() }
    }

    /// The root. It takes one hash per subtree of the frontier, so it is computed once per commit
    /// group.
    pub(crate) fn root(&self) -> Hash {
        *self.root.get_or_init(|| self.frontier.root())
    }

    pub(crate) fn head(&self) -> TreeHead {
        TreeHead {
            log: self.log.clone(),
            size: self.frontier.size(),
            root: Digest::from_bytes(self.root()),
        }
    }

    /// Appends the events of a batch and passes each to `take`. `complete` receives every leaf and
    /// every completed subtree, as [`Frontier::push_with`] reports them.
    pub(crate) fn append<'b>(
        &mut self,
        events: impl ExactSizeIterator<Item = (&'b NewEvent, &'b PayloadCommitment)>,
        complete: &mut dyn FnMut(u32, u64, Hash),
        take: &mut dyn FnMut(AppendedEvent<'b>) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        if events.len() > 0 {
            self.root.take();
        }
        for (event, commitment) in events {
            self.latest_time = self.latest_time.max(event.at);
            let seq = self.frontier.size();
            let header = EventHeaderRef {
                log: Cow::Borrowed(self.log.as_str()),
                seq,
                at: self.latest_time,
                kind: event.kind,
                run: event.run.as_ref().map(|run| Cow::Borrowed(run.as_str())),
                call: event.call.as_ref().map(|call| Cow::Borrowed(call.as_str())),
                commit: commitment.commit,
            };
            let header = header.to_bytes().map_err(|error| {
                LedgerError::Failed(format!("event {seq} (header v{HEADER_VERSION}): {error}"))
            })?;
            let leaf = merkle::leaf_hash(&header);
            self.frontier.push_with(leaf, complete);
            take(AppendedEvent {
                seq,
                header,
                leaf,
                salt: commitment.salt,
                payload: &event.payload,
            })?;
        }
        Ok(())
    }
}
