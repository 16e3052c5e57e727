//! What is found under load.

use super::*;

#[test]
fn a_level_that_was_not_reached_or_a_place_that_changed_is_found() {
    let second = told!(|batch, receipt| {
        if batch.durability == Durability::Disk {
            receipt.first_seq = receipt.first_seq.map(|seq| seq + 1);
        }
    });
    let moved = told!(|batch, receipt| {
        if batch.durability == Durability::Os {
            receipt.first_seq = receipt.first_seq.map(|seq| seq + 1);
        }
    });
    found([
        (
            load::order,
            Faulty { synced: |head| head.size -= 1, ..honest() },
            "what is synced is not all before it",
        ),
        (load::order, second, "what is synced is not all before it"),
        (load::order, moved, "batches of one caller changed places"),
        (load::truthful, with_events(|_, events| drop(events.pop())), "events are missing"),
        (
            load::truthful,
            told!(|batch, receipt| receipt.first_seq = Some(0)),
            "a receipt names another event",
        ),
        (
            load::truthful,
            told!(|batch, receipt| receipt.durability = Durability::Disk),
            "an event records another level than was told",
        ),
        (
            load::truthful,
            told!(|batch, receipt| receipt.head =
                TreeHead { size: receipt.head.size() - 1, ..receipt.head.head() }.into()),
            "the head of a receipt is before its event",
        ),
        (
            load::truthful,
            Faulty { synced: |head| head.size = 9, ..honest() },
            "an event counts as synced and is not",
        ),
        (load::awaited, told!(|batch, receipt| receipt.first_seq = Some(1)), "is another"),
        (
            load::awaited,
            Faulty {
                record: |key, record| {
                    if *key.id == *"unheard" {
                        *record = None;
                    }
                },
                ..honest()
            },
            "a dropped ticket took a batch back",
        ),
        (
            load::followed,
            Faulty { head: |head| head.size = 0, ..honest() },
            "an event is read before it is committed",
        ),
        (
            load::overflow,
            with_commit(|_, _| Err(LedgerError::Failed("x".to_owned()))),
            "too much at once",
        ),
        (
            load::concurrent,
            told!(|batch, receipt| receipt.first_seq = Some(3)),
            "two events have one number",
        ),
        (
            load::concurrent,
            with_events(|_, events| events.iter_mut().for_each(|event| event.seq += 1)),
            "a number is missing or stands twice",
        ),
    ]);
}
