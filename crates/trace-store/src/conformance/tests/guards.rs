//! What is found in batches.

use super::*;

/// Takes what must be refused, without its guards and bounds.
fn careless(ledger: &MemoryLedger, batch: Batch) -> Result<CommitReceipt, LedgerError> {
    right(ledger, batch.clone()).or_else(|_| right(ledger, loose(batch)))
}

fn loose(batch: Batch) -> Batch {
    let put = batch.puts().cloned().collect();
    let add =
        batch.add.into_iter().map(|add| CounterChange { min: i64::MIN, max: i64::MAX, ..add });
    Batch { expect: Vec::new(), replace: Vec::new(), put, add: add.collect(), ..batch }
}

/// Refuses what must be refused, and applies a part of it all the same.
fn leaking(ledger: &MemoryLedger, batch: Batch, part: Batch) -> Result<CommitReceipt, LedgerError> {
    let done = right(ledger, batch);
    if done.is_err() {
        right(ledger, part)?;
    }
    done
}

#[test]
fn a_batch_that_applies_in_part_or_against_its_guards_is_found() {
    let stripped = with_commit(|ledger, mut batch| {
        batch.put.retain(|put| *put.key.id != *"b");
        right(ledger, batch)
    });
    let uncounted = with_commit(|ledger, batch| right(ledger, Batch { add: Vec::new(), ..batch }));
    let silent = with_commit(|ledger, batch| right(ledger, Batch { events: Vec::new(), ..batch }));
    let puts = with_commit(|ledger, batch| {
        let part = Batch { put: loose(batch.clone()).put, ..support::batch() };
        leaking(ledger, batch, part)
    });
    let counts = with_commit(|ledger, batch| {
        let part = Batch { add: loose(batch.clone()).add, ..support::batch() };
        leaking(ledger, batch, part)
    });
    let otherwise = || {
        with_commit(|ledger, batch| {
            right(ledger, batch).map_err(|error| match error {
                LedgerError::Conflict { .. } | LedgerError::OutOfBounds { .. } => {
                    LedgerError::Full("wrong".to_owned())
                }
                LedgerError::Malformed(_) => LedgerError::Full("wrong".to_owned()),
                other => other,
            })
        })
    };
    let wrong = "refused for the wrong reason: the ledger is full for now: wrong";
    let applied = "a batch that must be refused was applied";
    found([
        (batches::whole, with_commit(careless), applied),
        (batches::whole, puts, "a refused batch left something behind"),
        (batches::whole, counts, "a counter of a refused batch moved"),
        (batches::whole, otherwise(), wrong),
        (batches::whole, stripped, "the record was not written"),
        (batches::whole, uncounted, applied),
        (batches::whole, silent, "the event was not appended"),
        (batches::once, with_commit(careless), applied),
        (batches::replaced, with_commit(careless), applied),
        (batches::race, with_commit(careless), "160 wins in 20 races"),
        (records::counters, with_commit(careless), applied),
        (records::counters, otherwise(), wrong),
        (limits::refused, otherwise(), "a long payload: refused for the wrong reason"),
        (limits::canonical, otherwise(), "refused for the wrong reason"),
    ]);
}
