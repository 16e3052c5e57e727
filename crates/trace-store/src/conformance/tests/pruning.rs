//! What is found in pruning.

use super::*;

#[test]
fn pruning_that_removes_too_much_or_too_little_is_found() {
    let unpruned = || {
        with_commit(|ledger, batch| {
            let notes = batch.events.iter().any(|event| event.kind == EventKind::Pruned);
            match notes && !batch.prune.is_empty() {
                true => right(ledger, Batch::new(Durability::Os).with_event(support::event("{}"))),
                false => right(ledger, batch),
            }
        })
    };
    let dropped = |at: usize| -> Faulty {
        match at {
            0 => with_events(|from, events| {
                if from == 0 && events.len() > 10 {
                    events[0].payload = None;
                }
            }),
            1 => with_events(|from, events| {
                if from == 0 && events.len() > 10 {
                    events[0].salt = None;
                }
            }),
            2 => with_events(|from, events| {
                if from == 0 && events.len() > 10 {
                    events[0].header.push(b' ');
                }
            }),
            3 => with_events(|from, events| {
                if from == 0 && events.len() > 10 {
                    events[0].durability = Durability::Disk;
                }
            }),
            _ => with_events(|from, events| {
                if from == 0 && events.len() > 10 {
                    events.pop();
                }
            }),
        }
    };
    let half = || {
        with_events(|_, events| {
            if let [event] = events.as_mut_slice() {
                event.salt = Some(vec![0; 16]);
            }
        })
    };
    found([
        (prune::removed, unpruned(), "the rest of the batch was not applied"),
        (prune::removed, dropped(0), "the wrong payload is gone"),
        (prune::removed, dropped(1), "the wrong salt is gone"),
        (prune::removed, dropped(2), "a header has changed"),
        (prune::removed, dropped(3), "an event that was not named has changed"),
        (prune::removed, dropped(4), "an event is gone, or none tells of the pruning"),
        (prune::removed, half(), "a salt stays, or goes alone"),
        (
            prune::removed,
            Faulty { head: |head| *head = other_root(head), ..honest() },
            "the root is not that of the headers",
        ),
        (prune::bounded, unpruned(), "a batch that must be refused was applied"),
        (prune::noted, with_commit(freely), "a batch that must be refused was applied"),
        (prune::kept, unpruned(), "event 0: a batch that must be refused was applied"),
        (prune::kept, with_commit(misnamed), "event 0: refused for the wrong reason"),
        (prune::recent, unpruned(), "a batch that must be refused was applied"),
        (
            prune::recent,
            with_commit(|ledger, batch| aged(ledger, batch, 1)),
            "a batch that must be refused was applied",
        ),
        (
            prune::recent,
            with_commit(|ledger, batch| aged(ledger, batch, -1)),
            "it is an intent of the last hour",
        ),
        (prune::open, unpruned(), "in the same batch: a batch that must be refused was applied"),
    ]);
}

/// Takes notes on pruning that do not fit what is pruned.
fn freely(ledger: &MemoryLedger, batch: Batch) -> Result<CommitReceipt, LedgerError> {
    let told = batch.events.iter().any(|event| event.kind == EventKind::Pruned);
    let pruned = !batch.prune.is_empty();
    right(ledger, if told == pruned { batch } else { support::batch() })
}

/// Names another event than the one that is kept.
fn misnamed(ledger: &MemoryLedger, batch: Batch) -> Result<CommitReceipt, LedgerError> {
    right(ledger, batch).map_err(|error| match error {
        LedgerError::Kept { seq, why } => LedgerError::Kept { seq: seq + 1, why },
        other => other,
    })
}

/// Counts an intent as a microsecond older than it is, or younger.
fn aged(ledger: &MemoryLedger, mut batch: Batch, by: i64) -> Result<CommitReceipt, LedgerError> {
    for event in batch.events.iter_mut().filter(|event| event.kind == EventKind::Pruned) {
        event.at = Timestamp::from_micros(event.at.micros() + by);
    }
    right(ledger, batch)
}
