use std::time::Duration;

use serde_json::json;
use weaver_trace_store::MemoryLedger;
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{EventKind, SeededRandom};

use super::*;
use crate::event_payload::EventPayload;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

/// A standing approval of five uses that ends in an hour.
fn used(id: &str, used: u32) -> StandingApprovalState {
    let standing = json!({
        "v": 1, "id": id, "log": "log_1", "capability": ["git.*"], "principals": ["ana"],
        "expires": NOW.after(HOUR), "uses": 5, "opened_at": NOW,
        "nonce": "01010101010101010101010101010101",
    });
    let signed = json!({ "standing": standing, "envelopes": [] });
    serde_json::from_value(json!({ "v": 1, "signed": signed, "used": used })).unwrap()
}

fn id(text: &str) -> StandingApprovalId {
    text.parse().unwrap()
}

fn standings(all: Vec<(u64, StandingApprovalState)>) -> StandingApprovals {
    let record = |(version, state): (u64, StandingApprovalState)| {
        (state.standing_approval().id.clone(), Arc::new(StandingRecord { version, state }))
    };
    StandingApprovals(RwLock::new(all.into_iter().map(record).collect()))
}

fn names(found: &[Arc<StandingRecord>]) -> Vec<String> {
    found.iter().map(|one| one.state.standing_approval().id.to_string()).collect()
}

#[test]
fn what_is_used_up_revoked_or_over_releases_nothing() {
    let mut revoked = used("std_c", 1);
    revoked.revoke("operator");
    let all =
        vec![(1, used("std_a", 4)), (1, used("std_b", 5)), (1, revoked), (1, used("std_d", 0))];
    let standings = standings(all);
    let last = Timestamp::from_micros(NOW.after(HOUR).micros() - 1);
    assert_eq!(names(&standings.in_force(last)), ["std_a", "std_d"]);
    assert_eq!(names(&standings.in_force(NOW.after(HOUR))), Vec::<String>::new());
    assert_eq!(standings.len(), 4, "they are all kept until they expire");
    standings.evict_expired(last);
    assert_eq!(standings.len(), 4);
    standings.evict_expired(NOW.after(HOUR));
    assert_eq!(standings.len(), 0);
}

#[test]
fn an_older_record_changes_nothing_and_a_newer_one_counts() {
    let standings = standings(vec![(3, used("std_a", 2))]);
    let after = |version, count| {
        standings.apply_committed(StandingRecord { version, state: used("std_a", count) });
        standings.get(&id("std_a")).unwrap().state.use_count()
    };
    assert_eq!(after(2, 1), 2);
    assert_eq!(after(3, 4), 2, "the same version is known");
    assert_eq!(after(4, 3), 3);
    assert!(standings.get(&id("std_b")).is_none());
    standings.apply_committed(StandingRecord { version: 1, state: used("std_b", 0) });
    assert_eq!(standings.len(), 2);
}

#[test]
fn what_the_log_knows_better_than_its_record_is_taken_back_at_the_start() {
    for (recorded_uses, released) in [(2, true), (3, false), (5, false)] {
        let ledger = MemoryLedger::with_random_id(Arc::new(SeededRandom::new(1))).unwrap();
        let by = json!({ "standing": "std_a", "use": recorded_uses });
        let event =
            EventPayload::new().with("released_by", by).into_global_event(EventKind::Intent, NOW);
        let put = put(&Tenant::default(), &used("std_a", 2)).unwrap();
        let other = super::put(&Tenant::default(), &used("std_b", 2)).unwrap();
        let batch = Batch { put: vec![put, other], ..Batch::new(Durability::Os) };
        ledger.commit(batch.with_event(event.unwrap())).wait().unwrap();
        let loaded = StandingApprovals::load(&Tenant::default(), &ledger, NOW).unwrap();
        let expected: &[&str] = if released { &["std_a", "std_b"] } else { &["std_b"] };
        assert_eq!(names(&loaded.in_force(NOW)), expected, "{recorded_uses}");
        let revoked = loaded.get(&id("std_a")).unwrap();
        let by = if released { None } else { Some("kernel") };
        assert_eq!((revoked.version, revoked.state.revoked_by()), (1, by));
    }
}

#[test]
fn a_record_is_kept_for_a_day_after_its_end_and_read_under_its_own_name_alone() {
    let put = put(&Tenant::default(), &used("std_a", 2)).unwrap();
    assert_eq!(put.expires_at, Some(NOW.after(HOUR * 25)));
    let record = Record { version: 7, value: put.value.clone() };
    let known = read("std_a", &record).unwrap();
    assert_eq!((known.version, known.state), (7, used("std_a", 2)));
    let text = String::from_utf8(put.value).unwrap();
    for (id, value, problem) in [
        ("std_b", text.clone(), "it names another one"),
        (
            "std_a",
            text.replace("\"used\":2,\"v\":1", "\"used\":2,\"v\":2"),
            "its version is Some(2)",
        ),
        ("std_a", text.replace("\"used\":2,", "\"used\":2,\"uses\":2,"), "unknown field"),
        ("std_a", "nonsense".to_owned(), "`std_a`"),
    ] {
        let record = Record { version: 1, value: value.into_bytes() };
        let error = read(id, &record).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
