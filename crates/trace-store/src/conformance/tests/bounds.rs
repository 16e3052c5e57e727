//! What is found in limits.

use super::*;

#[test]
fn a_limit_that_is_not_kept_is_found_by_its_name() {
    /// Takes what breaks a limit, as if it were nothing.
    fn takes(
        ledger: &MemoryLedger,
        batch: Batch,
        is_one: bool,
    ) -> Result<CommitReceipt, LedgerError> {
        right(ledger, if is_one { support::batch() } else { batch })
    }
    found([
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.events.iter().any(|event| event.payload.len() > 300);
                takes(ledger, batch, one)
            }),
            "a long payload: a batch that must be refused was applied",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.events.len() > 1_024;
                takes(ledger, batch, one)
            }),
            "many events: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.put.iter().any(|put| put.key.id.len() > 512);
                takes(ledger, batch, one)
            }),
            "a long key: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = !batch.add.is_empty();
                takes(ledger, batch, one)
            }),
            "a long key to count: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = !batch.delete.is_empty();
                takes(ledger, batch, one)
            }),
            "a long key to remove: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.put.iter().any(|put| put.value.len() > 9);
                takes(ledger, batch, one)
            }),
            "a large value: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.put.len() > 9;
                takes(ledger, batch, one)
            }),
            "many records: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.replace.iter().any(|one| one.put.key.id.len() > 512);
                takes(ledger, batch, one)
            }),
            "a long key to make: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.replace.iter().any(|one| one.put.value.len() > 9);
                takes(ledger, batch, one)
            }),
            "a large value to make: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                // The guards that belong to the writes are not counted.
                let one = (9..=MAX_BATCH_RECORDS).contains(&batch.replace.len());
                takes(ledger, batch, one)
            }),
            "many records to make, each with its guard: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.events.iter().any(|event| event.at.micros() == (1 << 53) + 1);
                takes(ledger, batch, one)
            }),
            "a time beyond 2^53: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.events.iter().any(|event| event.at.micros() == i64::MAX);
                takes(ledger, batch, one)
            }),
            "the end of time: a batch",
        ),
        (
            limits::refused,
            with_commit(|ledger, batch| {
                let one = batch.events.iter().any(|event| event.at.micros() == i64::MIN);
                takes(ledger, batch, one)
            }),
            "the beginning of time: a batch",
        ),
        (
            limits::taken,
            with_commit(|ledger, batch| {
                let most = batch.events.len() == 1_024;
                takes(ledger, batch, most)
            }),
            "events are missing",
        ),
        (
            limits::canonical,
            with_commit(|ledger, batch| {
                let one = batch.events.iter().any(|event| event.payload[..] == *b"1.5");
                takes(ledger, batch, one)
            }),
            "1.5: a batch",
        ),
    ]);
}
