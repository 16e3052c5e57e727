//! What is found in records.

use super::*;

#[test]
fn a_record_that_is_another_is_found() {
    fn version(record: &mut Option<Record>, version: u64) {
        if let Some(record) = record {
            record.version = version;
        }
    }
    let same = || Faulty { record: |_, record| version(record, 1), ..honest() };
    let gone = || Faulty { record: |_, record| *record = None, ..honest() };
    let kept = || with_commit(|ledger, batch| right(ledger, Batch { delete: Vec::new(), ..batch }));
    let early = with_commit(|ledger, mut batch| {
        batch.put.retain(|put| put.expires_at.is_none());
        right(ledger, batch)
    });
    let never = with_commit(|ledger, mut batch| {
        batch.put.iter_mut().for_each(|put| put.expires_at = None);
        right(ledger, batch)
    });
    let listed = |list| Faulty { list, ..honest() };
    found([
        (records::versions, same(), "a version is wrong"),
        (records::versions, kept(), "a new record does not start at 1"),
        (records::counters, gone(), "the sum is wrong"),
        (records::counter_form, gone(), "a new counter is wrong"),
        (records::counter_form, same(), "two steps of a batch are wrong"),
        (records::removing, kept(), "it is still there"),
        (records::steps, gone(), "a write did not follow a count"),
        (records::steps, kept(), "a removal did not follow a write"),
        (records::steps, same(), "a write did not follow a count"),
        (records::listed, listed(|_, page| page.reverse()), "after None, at most 10: [c][b][a][]"),
        (
            records::listed,
            listed(|tenant, page| {
                if tenant.as_str() == "other" {
                    page.clear();
                }
            }),
            "a tenant sees another",
        ),
        (records::exact, listed(|_, page| page.reverse()), "the order is not that of the bytes"),
        (records::exact, gone(), "\"k\""),
        (records::expiry, early, "a record went before the log reached its time"),
        (records::expiry, never, "an expired record is kept"),
        (batches::replaced, kept(), "the record was not removed"),
        (batches::replaced, same(), "the record was not replaced"),
    ]);
}
