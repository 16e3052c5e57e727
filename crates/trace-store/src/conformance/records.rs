//! Checks of records.

use weaver_types::ledger::{Batch, Ledger, LedgerError, Namespace, RecordKey, RecordWrite};
use weaver_types::{Tenant, Timestamp};

use super::batches::guard;
use super::support::{
    CheckOutcome, add, batch, commit, delete, ensure, event_at, key, put, put_until, record,
    refused,
};

pub(super) fn counters(ledger: &dyn Ledger) -> CheckOutcome {
    let out = |error: &LedgerError| matches!(error, LedgerError::OutOfBounds { .. });
    commit(ledger, add("n", 3, 0..=5))?;
    refused(ledger, add("n", 3, 0..=5), out)?;
    refused(ledger, add("n", -4, 0..=5), out)?;
    refused(ledger, add("n", i64::MAX, i64::MIN..=i64::MAX), out)?;
    commit(ledger, add("n", 2, 0..=5))?;
    commit(ledger, add("n", -5, 0..=5))?;
    ensure(record(ledger, "n")? == Some((3, b"0".to_vec())), "the sum is wrong")?;
    commit(ledger, put("text", b"none"))?;
    refused(ledger, add("text", 1, 0..=5), |e| matches!(e, LedgerError::Malformed(_)))
}

pub(super) fn counter_form(ledger: &dyn Ledger) -> CheckOutcome {
    commit(ledger, add("n", -7, -10..=0))?;
    ensure(record(ledger, "n")? == Some((1, b"-7".to_vec())), "a new counter is wrong")?;
    let twice = add("n", 1, -10..=0).join(add("n", 1, -10..=0));
    commit(ledger, twice)?;
    ensure(record(ledger, "n")? == Some((3, b"-5".to_vec())), "two steps of a batch are wrong")
}

pub(super) fn versions(ledger: &dyn Ledger) -> CheckOutcome {
    for (version, value) in [(1, b"a"), (2, b"b"), (3, b"b")] {
        commit(ledger, put("r", value))?;
        ensure(record(ledger, "r")? == Some((version, value.to_vec())), "a version is wrong")?;
    }
    commit(ledger, delete("r"))?;
    commit(ledger, put("r", b""))?;
    ensure(record(ledger, "r")? == Some((1, Vec::new())), "a new record does not start at 1")
}

pub(super) fn removing(ledger: &dyn Ledger) -> CheckOutcome {
    commit(ledger, delete("none"))?;
    commit(ledger, put("r", b"x"))?;
    commit(ledger, delete("r"))?;
    ensure(record(ledger, "r")?.is_none(), "it is still there")
}

pub(super) fn steps(ledger: &dyn Ledger) -> CheckOutcome {
    commit(ledger, add("n", 4, 0..=9).join(put("n", b"20")).join(put("m", b"x")))?;
    ensure(record(ledger, "n")? == Some((2, b"20".to_vec())), "a write did not follow a count")?;
    commit(ledger, put("m", b"y").join(delete("m")))?;
    ensure(record(ledger, "m")?.is_none(), "a removal did not follow a write")?;
    // The guard stands at the place of the second write, and speaks of what was before both.
    let twice = put("t", b"1").join(put("t", b"2"));
    commit(ledger, guard("u", None).join(guard("t", None)).join(twice))?;
    ensure(record(ledger, "t")? == Some((2, b"2".to_vec())), "a write did not follow a write")
}

pub(super) fn listed(ledger: &dyn Ledger) -> CheckOutcome {
    let other = Tenant::parse("other").map_err(|error| error.to_string())?;
    let keys = [
        key("b"),
        key("a"),
        key("c"),
        key(""),
        RecordKey::new(other.clone(), Namespace::TokenUse, "d"),
        RecordKey::new(Tenant::default(), Namespace::Run, "e"),
    ];
    let puts = keys.iter().map(|key| RecordWrite {
        key: key.clone(),
        value: b"x".to_vec(),
        expires_at: None,
    });
    commit(ledger, Batch { put: puts.collect(), ..batch() })?;
    let ids = |tenant: &Tenant, namespace, after: Option<&str>, limit| -> CheckOutcome<String> {
        let page = ledger.list(tenant, namespace, after, limit)?;
        Ok(page.into_iter().map(|(id, _)| format!("[{id}]")).collect())
    };
    let local = Tenant::default();
    for (after, limit, want) in [
        (None, 10, "[][a][b][c]"),
        (None, 2, "[][a]"),
        (Some(""), 10, "[a][b][c]"),
        (Some("a"), 1, "[b]"),
        (Some("bb"), 10, "[c]"),
        (Some("c"), 10, ""),
        (None, 0, ""),
    ] {
        let found = ids(&local, Namespace::TokenUse, after, limit)?;
        ensure(found == want, format!("after {after:?}, at most {limit}: {found}"))?;
    }
    ensure(ids(&other, Namespace::TokenUse, None, 10)? == "[d]", "a tenant sees another")?;
    ensure(ids(&local, Namespace::Run, None, 10)? == "[e]", "a namespace sees another")
}

pub(super) fn exact(ledger: &dyn Ledger) -> CheckOutcome {
    let ids = ["k", "K", "k ", "\u{e9}", "e\u{301}", "k\u{0}x", "'; drop table records; --", "%"];
    for id in ids {
        commit(ledger, put(id, id.as_bytes()))?;
    }
    for id in ids {
        ensure(record(ledger, id)? == Some((1, id.as_bytes().to_vec())), format!("{id:?}"))?;
    }
    let page = ledger.list(&Tenant::default(), Namespace::TokenUse, None, 100)?;
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    ensure(page.iter().map(|(id, _)| id).eq(sorted), "the order is not that of the bytes")
}

pub(super) fn expiry(ledger: &dyn Ledger) -> CheckOutcome {
    for n in 0..300 {
        commit(ledger, put_until(&format!("old{n}"), b"x", Some(500)))?;
    }
    commit(ledger, put_until("later", b"x", Some(2_000)))?;
    commit(ledger, put_until("moved", b"x", Some(500)))?;
    commit(ledger, put_until("moved", b"y", Some(2_000)))?;
    commit(ledger, put("kept", b"x"))?;
    ensure(record(ledger, "old0")?.is_some(), "a record went before the log reached its time")?;
    for _ in 0..10 {
        commit(ledger, batch().with_event(event_at(1_000, "{}")))?;
    }
    for n in 0..300 {
        ensure(record(ledger, &format!("old{n}"))?.is_none(), "an expired record is kept")?;
    }
    for id in ["later", "moved", "kept"] {
        ensure(record(ledger, id)?.is_some(), format!("record `{id}` is gone"))?;
    }
    let at = Timestamp::from_micros(1_000);
    let receipt = ledger.commit(batch()).wait()?;
    ensure(receipt.at == at, "an empty batch has another time than the log")
}
