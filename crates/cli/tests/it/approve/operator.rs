//! What operators say: requests are taken back, the clock is confirmed, runs end.

use serde_json::json;
use weaver_agent_kernel::SignedFileOutcome;
use weaver_types::ledger::Namespace;

use super::desk::{Desk, failed, now};
use super::id;

#[test]
fn an_operator_takes_a_granted_request_back() {
    let desk = Desk::new();
    let request = desk.push();
    assert_eq!(desk.signed("bob", &["grant", &request]).code, 0);
    assert_eq!(desk.deliver(), [SignedFileOutcome::Granted { request: id(&request) }]);
    let run = desk.signed("bob", &["revoke", &request]);
    assert_eq!(failed(&run), (8, "approve.not_operator".to_owned()));
    let run = desk.signed("alice", &["revoke", &request]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.json()["word"]["revoke_request"]["request"], json!(request));
    assert_eq!(desk.deliver(), [SignedFileOutcome::RequestRevoked { request: id(&request) }]);
    assert!(!desk.goes_through("repo.push", &json!({ "branch": "main" })));
    let shown = desk.approve(&["show", &request]);
    assert!(shown.out.contains("revoked by alice"), "{shown:?}");
    let run = desk.signed("alice", &["revoke", &request]);
    assert_eq!(failed(&run), (9, "approve.already_resolved".to_owned()));
    let run = desk.signed("alice", &["revoke", "apr_none"]);
    assert_eq!(failed(&run), (7, "approve.unknown".to_owned()));
    let run = desk.signed("alice", &["revoke", "std_none"]);
    assert_eq!(failed(&run), (2, "approve.standing".to_owned()));
}

#[test]
fn the_clock_is_confirmed_up_to_a_time_to_come() {
    let desk = Desk::new();
    let run = desk.signed("alice", &["clock", "--until", "2h"]);
    assert_eq!(run.code, 0, "{run:?}");
    let received = desk.deliver();
    let [SignedFileOutcome::ClockConfirmed { until }] = received[..] else {
        panic!("{received:?}")
    };
    let left = until.since(now()).as_secs();
    assert!((7_100..=7_200).contains(&left), "{left}");
    for (until, code) in [("0s", "approve.time"), ("2020-01-01T00:00:00Z", "approve.time")] {
        assert_eq!(
            failed(&desk.signed("alice", &["clock", "--until", until])),
            (2, code.to_owned())
        );
    }
    let run = desk.signed_with("bob", &["clock"], "wrong horse\n");
    assert_eq!(failed(&run), (8, "approve.not_operator".to_owned()));
}

#[test]
fn a_run_is_ended_by_its_name_or_as_the_current_one() {
    let desk = Desk::new();
    let run = desk.signed("alice", &["end-run", "--current"]);
    assert_eq!(failed(&run), (7, "approve.unknown".to_owned()), "none is under way");
    desk.push();
    let name = desk.run.run_id.as_str().to_owned();
    let client = |gateway: &str| json!({ "gateway": gateway });
    let current = json!({ "v": 3, "principal": "owner", "client": client("gw_1"), "run": name,
        "trace_id": "0", "last_used": 1 });
    desk.plant(Namespace::CurrentRun, "gateway/gw_1 owner", current.to_string().as_bytes());
    let other = current.to_string().replace(&name, "run_x").replace("owner", "somebody");
    desk.plant(Namespace::CurrentRun, "gateway/gw_1 somebody", other.as_bytes());
    for args in [&["end-run", "--current"][..], &["end-run", &name]] {
        let run = desk.signed("alice", args);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(desk.deliver(), [SignedFileOutcome::RunEnded { run: desk.run.run_id.clone() }]);
    }
    // Another client of the same principal, whose process cannot be told here to be gone.
    let other = json!({ "v": 3, "principal": "owner", "client": client("gw_2"), "run": "run_y",
        "trace_id": "0", "last_used": 2 });
    desk.plant(Namespace::CurrentRun, "gateway/gw_2 owner", other.to_string().as_bytes());
    let run = desk.signed("alice", &["end-run", "--current"]);
    assert_eq!(failed(&run), (7, "approve.unknown".to_owned()));
    for told in [
        "several runs are under way: ",
        "run_y (owner, a client that is not known, used 1970-",
        &name,
    ] {
        assert!(run.err.contains(told), "{told}: {run:?}");
    }
    assert_eq!(desk.signed("alice", &["end-run", "run_y"]).code, 0);
    let run = desk.signed("alice", &["end-run", "run_none"]);
    assert_eq!(failed(&run), (7, "approve.unknown".to_owned()));
    assert_eq!(desk.approve(&["end-run", "--key", "x"]).code, 2, "a run must be named");
}
