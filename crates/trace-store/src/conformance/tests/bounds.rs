//! What is found in limits.

use super::*;

/// Takes a batch that breaks a limit, as if there were nothing in it.
macro_rules! takes {
    (|$batch:ident| $breaks:expr) => {
        with_commit(|ledger, $batch| {
            let breaks = $breaks;
            right(ledger, if breaks { support::batch() } else { $batch })
        })
    };
}

#[test]
fn a_limit_that_is_not_kept_is_found_by_its_name() {
    found([
        (
            limits::refused,
            takes!(|batch| batch.events.iter().any(|event| event.payload.len() > 300)),
            "a long payload: a batch that must be refused was applied",
        ),
        (limits::refused, takes!(|batch| batch.events.len() > 1_024), "many events: a batch"),
        (
            limits::refused,
            takes!(|batch| batch.put.iter().any(|put| put.key.id.len() > 512)),
            "a long key: a batch",
        ),
        (limits::refused, takes!(|batch| !batch.add.is_empty()), "a long key to count: a batch"),
        (
            limits::refused,
            takes!(|batch| !batch.delete.is_empty()),
            "a long key to remove: a batch",
        ),
        (
            limits::refused,
            takes!(|batch| batch.put.iter().any(|put| put.value.len() > 9)),
            "a large value: a batch",
        ),
        (limits::refused, takes!(|batch| batch.put.len() > 9), "many records: a batch"),
        (
            limits::refused,
            takes!(|batch| batch.replace.iter().any(|one| one.put.key.id.len() > 512)),
            "a long key to make: a batch",
        ),
        (
            limits::refused,
            takes!(|batch| batch.replace.iter().any(|one| one.put.value.len() > 9)),
            "a large value to make: a batch",
        ),
        (
            limits::refused,
            // The guards that belong to the writes are not counted.
            takes!(|batch| (9..=MAX_BATCH_RECORDS).contains(&batch.replace.len())),
            "many records to make, each with its guard: a batch",
        ),
        (
            limits::refused,
            takes!(|batch| batch.events.iter().any(|event| event.at.micros() == (1 << 53) + 1)),
            "a time beyond 2^53: a batch",
        ),
        (
            limits::refused,
            takes!(|batch| batch.events.iter().any(|event| event.at.micros() == i64::MAX)),
            "the end of time: a batch",
        ),
        (
            limits::refused,
            takes!(|batch| batch.events.iter().any(|event| event.at.micros() == i64::MIN)),
            "the beginning of time: a batch",
        ),
        (limits::taken, takes!(|batch| batch.events.len() == 1_024), "events are missing"),
        (
            limits::canonical,
            takes!(|batch| batch.events.iter().any(|event| event.payload[..] == *b"1.5")),
            "1.5: a batch",
        ),
    ]);
}
