//! Stores the events of the in-memory ledger one after the other in chunks that never move: an
//! arena (Hanson, *Fast allocation and deallocation of memory based on object lifetimes*, 1990).
//! All events live as long as the ledger, so separate allocations would only scatter them.

use weaver_types::ledger::Durability;

use crate::entry::SALT_BYTES;

/// The size of a chunk; a larger event gets a chunk of its own.
const CHUNK: usize = 256 * 1024;

/// Events by sequence number.
#[derive(Debug, Default)]
pub(super) struct EventArena {
    chunks: Vec<Vec<u8>>,
    entries: Vec<EventLocation>,
}

/// Where an event's header, salt and payload are stored.
#[derive(Debug, Clone, Copy)]
struct EventLocation {
    chunk: usize,
    start: usize,
    header: usize,
    payload: usize,
    durability: Durability,
    /// Whether salt and payload were pruned.
    pruned: bool,
}

/// A stored event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventBytes<'a> {
    pub(super) header: &'a [u8],
    /// Salt and payload; `None` after pruning.
    pub(super) salted_payload: Option<(&'a [u8], &'a [u8])>,
    pub(super) durability: Durability,
}

impl EventArena {
    /// Appends an event.
    pub(super) fn push(
        &mut self,
        header: &[u8],
        salt: &[u8; SALT_BYTES],
        payload: &[u8],
        durability: Durability,
    ) {
        let len = header.len() + SALT_BYTES + payload.len();
        let has_capacity = |chunk: &&mut Vec<u8>| chunk.capacity() - chunk.len() >= len;
        let start = match self.chunks.last_mut().filter(has_capacity) {
            Some(chunk) => append_event(chunk, header, salt, payload),
            None => {
                let mut chunk = Vec::with_capacity(len.max(CHUNK));
                append_event(&mut chunk, header, salt, payload);
                self.chunks.push(chunk);
                0
            }
        };
        self.entries.push(EventLocation {
            chunk: self.chunks.len() - 1,
            start,
            header: header.len(),
            payload: payload.len(),
            durability,
            pruned: false,
        });
    }

    /// Overwrites salt and payload of an event with zeros, and stops returning them.
    pub(super) fn prune(&mut self, seq: u64) {
        let Some(entry) = usize::try_from(seq).ok().and_then(|at| self.entries.get_mut(at)) else {
            return;
        };
        entry.pruned = true;
        let from = entry.start + entry.header;
        let salted_payload = from..from + SALT_BYTES + entry.payload;
        let bytes =
            self.chunks.get_mut(entry.chunk).and_then(|chunk| chunk.get_mut(salted_payload));
        bytes.into_iter().for_each(|bytes| bytes.fill(0));
    }

    /// The events from a sequence number on.
    pub(super) fn iter_from(&self, from: u64) -> impl Iterator<Item = (u64, EventBytes<'_>)> {
        let skip = usize::try_from(from).unwrap_or(usize::MAX);
        let entries = self.entries.iter().enumerate().skip(skip);
        entries.filter_map(|(seq, entry)| Some((seq as u64, self.bytes(entry)?)))
    }

    fn bytes(&self, entry: &EventLocation) -> Option<EventBytes<'_>> {
        let bytes = self.chunks.get(entry.chunk)?.get(entry.start..)?;
        let (header, rest) = bytes.split_at_checked(entry.header)?;
        let (salt, rest) = rest.split_at_checked(SALT_BYTES)?;
        let salted_payload = (salt, rest.get(..entry.payload)?);
        let salted_payload = (!entry.pruned).then_some(salted_payload);
        Some(EventBytes { header, salted_payload, durability: entry.durability })
    }
}

/// Appends an event to a chunk; returns where it begins.
fn append_event(
    chunk: &mut Vec<u8>,
    header: &[u8],
    salt: &[u8; SALT_BYTES],
    payload: &[u8],
) -> usize {
    let start = chunk.len();
    chunk.extend_from_slice(header);
    chunk.extend_from_slice(salt);
    chunk.extend_from_slice(payload);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_every_length_come_back_as_they_were() {
        let mut arena = EventArena::default();
        let lengths = [0, 1, 700, CHUNK - 300, CHUNK, 3, CHUNK + 1, 5_000, CHUNK - 5_100];
        let event =
            |n: usize, len: usize| (vec![n as u8; n], [n as u8; SALT_BYTES], vec![!n as u8; len]);
        for (n, len) in lengths.into_iter().enumerate() {
            let (header, salt, payload) = event(n, len);
            arena.push(&header, &salt, &payload, Durability::Os);
        }
        for (n, len) in lengths.into_iter().enumerate() {
            let (header, salt, payload) = event(n, len);
            let (seq, found) = arena.iter_from(n as u64).next().unwrap();
            assert_eq!((seq, found.header), (n as u64, &*header));
            assert_eq!(found.salted_payload, Some((&salt[..], &*payload)));
        }
        assert_eq!(arena.iter_from(0).count(), lengths.len());
        assert_eq!(arena.iter_from(lengths.len() as u64).count(), 0);
    }

    #[test]
    fn of_a_pruned_event_nothing_is_left_but_its_header() {
        let mut arena = EventArena::default();
        for payload in [b"first", b"other", b"third"] {
            arena.push(b"header", &[9; SALT_BYTES], payload, Durability::Disk);
        }
        arena.prune(1);
        arena.prune(7);
        let salted_payload: Vec<bool> =
            arena.iter_from(0).map(|(_, event)| event.salted_payload.is_some()).collect();
        assert_eq!(salted_payload, [true, false, true]);
        assert!(arena.iter_from(1).next().is_some_and(|(_, event)| event.header == b"header"));
        let all = arena.chunks.concat();
        let salts = all.iter().filter(|byte| **byte == 9).count();
        assert!(!all.windows(5).any(|bytes| bytes == b"other") && salts == 2 * SALT_BYTES);
        assert!(all.windows(5).any(|bytes| bytes == b"third"));
    }
}
