//! Checks of batches as a whole.

use weaver_types::ledger::{Batch, GuardedWrite, Ledger, LedgerError, RecordWrite, VersionGuard};

use super::support::{
    CheckOutcome, add, batch, commit, delete, ensure, event, key, put, record, refused,
};

pub(super) fn guard(id: &str, version: Option<u64>) -> Batch {
    Batch { expect: vec![VersionGuard { key: key(id), version }], ..batch() }
}

fn conflict(id: &str) -> impl FnOnce(&LedgerError) -> bool {
    let key = key(id);
    move |error| *error == LedgerError::Conflict { key }
}

pub(super) fn whole(ledger: &dyn Ledger) -> CheckOutcome {
    commit(ledger, put("a", b"1"))?;
    let change = || put("b", b"2").with_event(event("{}")).join(add("n", 1, 0..=9));
    refused(ledger, change().join(guard("a", Some(2))), conflict("a"))?;
    refused(ledger, change().join(guard("a", None)), conflict("a"))?;
    refused(ledger, change().join(guard("c", Some(1))), conflict("c"))?;
    refused(ledger, change().join(add("m", 5, 0..=4)), |error| {
        *error == LedgerError::OutOfBounds { key: key("m") }
    })?;
    ensure(record(ledger, "n")?.is_none(), "a counter of a refused batch moved")?;
    commit(ledger, change().join(guard("a", Some(1))))?;
    ensure(record(ledger, "n")? == Some((1, b"1".to_vec())), "the counter did not move")?;
    ensure(record(ledger, "b")? == Some((1, b"2".to_vec())), "the record was not written")?;
    ensure(ledger.head()?.size == 1, "the event was not appended")
}

pub(super) fn guards(ledger: &dyn Ledger) -> CheckOutcome {
    commit(ledger, guard("a", None).join(put("a", b"1")))?;
    commit(ledger, guard("a", Some(1)).join(put("a", b"2")))?;
    commit(ledger, guard("a", Some(2)).join(Batch { delete: vec![key("a")], ..batch() }))?;
    commit(ledger, guard("a", None))
}

pub(super) fn replaced(ledger: &dyn Ledger) -> CheckOutcome {
    let replace = |value: &[u8], version| {
        let put = RecordWrite { key: key("a"), value: value.to_vec(), expires_at: None };
        Batch { replace: vec![GuardedWrite { put, version }], ..batch() }
    };
    refused(ledger, replace(b"1", Some(1)).join(put("b", b"1")), conflict("a"))?;
    commit(ledger, replace(b"1", None))?;
    refused(ledger, replace(b"2", None), conflict("a"))?;
    refused(ledger, replace(b"2", Some(1)).join(guard("a", Some(2))), conflict("a"))?;
    commit(ledger, replace(b"2", Some(1)))?;
    ensure(record(ledger, "a")? == Some((2, b"2".to_vec())), "the record was not replaced")?;
    commit(ledger, put("a", b"4").join(replace(b"3", Some(2))))?;
    ensure(record(ledger, "a")? == Some((4, b"4".to_vec())), "a later write was not the last")?;
    commit(ledger, add("n", 1, 0..=9).join(delete("a")).join(replace(b"5", Some(4))))?;
    ensure(record(ledger, "a")?.is_none(), "the record was not removed")
}

pub(super) fn once(ledger: &dyn Ledger) -> CheckOutcome {
    let used = || batch().create(key("tok"), b"{}".to_vec(), None).with_event(event("{}"));
    commit(ledger, used())?;
    refused(ledger, used(), conflict("tok"))
}

pub(super) fn race(ledger: &dyn Ledger) -> CheckOutcome {
    let (racers, rounds) = (8, 20);
    let won = std::thread::scope(|scope| {
        let racers = (0..racers).map(|_| {
            scope.spawn(move || {
                (0..rounds)
                    .filter(|round| {
                        let used = batch().create(key(&format!("t{round}")), Vec::new(), None);
                        ledger.commit(used.with_event(event("{}"))).wait().is_ok()
                    })
                    .count()
            })
        });
        let racers: Vec<_> = racers.collect();
        racers.into_iter().map(|racer| racer.join().ok()).sum::<Option<usize>>()
    });
    let won = won.ok_or("a thread of the races panicked")?;
    ensure(won == rounds, format!("{won} wins in {rounds} races"))?;
    ensure(ledger.head()?.size == rounds as u64, "losers left events behind")
}
