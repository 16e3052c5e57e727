//! Made-up events of the shapes that the kernel writes.

use std::ops::Range;

use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_trace_store::SqliteLedger;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, Ledger, MAX_BATCH_EVENTS, NewEvent};
use weaver_types::{CallId, EventKind, RunId, Timestamp};

use crate::support::open;

/// Now, for the questions; the events lie before it, and end there.
pub(crate) const AT: i64 = 1_700_000_000_000_000;
/// After so many events the shapes begin again.
pub(crate) const EVERY: u64 = 12 * 35;

/// A ledger file of made-up events.
pub(crate) struct Store {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ledger: SqliteLedger,
}

impl Store {
    pub(crate) fn of(events: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = open(&folder.path().join("ledger.db"));
        fill(&ledger, 0..events);
        Self { folder, ledger }
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("ledger.db")
    }
}

const PEOPLE: [&str; 5] = ["ann", "bob", "cleo", "Ann", "d'arc"];
const THINGS: [&str; 7] = [
    "files.read", "files.delete", "files.write_note", "mail.send", "Files.read", "x", "files-read",
];
const AGENTS: [&str; 3] = ["planner", "default", "writer"];
const GOALS: [&str; 6] = [
    "the weekly report", "Ärger with a report", "quarterly numbers", "weekly", "nothing",
    "reports of the quarter",
];

/// The event of a number, `step` microseconds before the next.
fn numbered(n: u64, last: u64) -> NewEvent {
    let pick = |list: &[&'static str], by: u64| {
        list[usize::try_from((n / by) % 997).unwrap() % list.len()]
    };
    let (who, what, goal) = (pick(&PEOPLE, 1), pick(&THINGS, 2), pick(&GOALS, 3));
    let call = format!("call_{}", n / 2);
    let (kind, payload) = match n % 12 {
        0 | 4 => (EventKind::Intent, intent(n, who, what, goal)),
        1 | 5 => (EventKind::Outcome, outcome(n, who, what)),
        2 => (EventKind::Refused, refused(n, who, what, goal, "deny")),
        3 => (EventKind::Refused, refused(n, who, what, goal, "hold")),
        6 => (EventKind::ApprovalRequested, requested(n, who, what)),
        7 => (EventKind::ApprovalGranted, granted(n, who, what)),
        8 => (EventKind::OutcomeUnknown, json!({ "principal": who, "capability": what, "v": 1 })),
        9 => (
            EventKind::HandleResolved,
            json!({ "principal": who, "handle": format!("hdl_{n}"), "rows": 3, "verdict": "allow", "warnings": [{ "kind": "redacted_email", "count": 2 }] }),
        ),
        10 => (
            EventKind::Routed,
            json!({ "principal": who, "goal": goal, "shortlist": [what], "run": {} }),
        ),
        _ => (
            EventKind::RunStarted,
            json!({
                "principal": who, "run_agent": pick(&AGENTS, 12), "session_id": format!("sess_{}", n % 7),
                "user_sid": goal, "v": 1,
            }),
        ),
    };
    let before = i64::try_from(last.saturating_sub(n)).unwrap();
    NewEvent {
        kind,
        at: Timestamp::from_micros(AT - before * 1_000_000 * 60),
        run: (n % 12 != 7).then(|| RunId::parse(format!("run_{}", n % 3)).unwrap()),
        call: (n % 12 < 6).then(|| CallId::parse(call).unwrap()),
        payload: bytes(&payload).into(),
    }
}

fn bytes(payload: &Value) -> Vec<u8> {
    canonical::to_bytes(payload, Profile::Record).unwrap()
}

fn label(n: u64) -> Value {
    let level = ["public", "internal", "confidential"][usize::try_from(n % 3).unwrap()];
    let trust = if (n / 5).is_multiple_of(2) { "trusted" } else { "untrusted" };
    json!({ "confidentiality": level, "integrity": trust })
}

fn intent(n: u64, who: &str, what: &str, goal: &str) -> Value {
    json!({
        "principal": who, "capability": what, "goal": goal, "verdict": "allow",
        "reason": "rule_allow", "checks": [{ "reason": "rule_allow" }],
        "token": format!("tok_{}", n % 40), "worst_label": label(n), "run": { "tool_calls": 1 },
        "arguments": { "text": "{\"note\":\"weekly\"}", "salt": "00", "bytes": 17 },
    })
}

fn outcome(n: u64, who: &str, what: &str) -> Value {
    let failed = n.is_multiple_of(7);
    let status = if n.is_multiple_of(5) { "partial" } else { "success" };
    let mut payload = json!({
        "principal": who, "capability": what, "success": !failed, "retries": n % 2,
        "run": { "latency_us": 7, "prompt_tokens": 3, "label": label(n / 2) },
        "frame": {
            "handle": format!("hdl_{n}"), "status": status, "label": label(n / 2),
            "warnings": [{ "kind": "redacted_email", "count": 4 }, { "kind": "rows_omitted", "count": 9 }],
        },
    });
    if failed {
        payload["reason"] = json!("execution_failed");
    }
    payload
}

fn refused(n: u64, who: &str, what: &str, goal: &str, verdict: &str) -> Value {
    let second = if n.is_multiple_of(3) { "untrusted_influence" } else { "floor_hold" };
    let reason = if verdict == "deny" { "explicit_deny_rule" } else { "floor_hold" };
    json!({
        "principal": who, "capability": what, "goal": goal, "verdict": verdict, "reason": reason,
        "checks": [{ "reason": reason }, { "reason": second }],
        "request": format!("apr_{}", n % 30), "run": { "denials": 1 },
    })
}

fn requested(n: u64, who: &str, what: &str) -> Value {
    json!({
        "principal": who, "capability": what, "request": format!("apr_{}", n % 30),
        "holds": [{ "reason": "floor_hold" }], "label": label(n),
    })
}

fn granted(n: u64, who: &str, what: &str) -> Value {
    json!({
        "principal": who, "capability": what, "request": format!("apr_{}", n % 30),
        "opened_at": AT - 400_000_000_000, "by": "owner",
    })
}

/// Appends the numbered events.
pub(crate) fn fill(ledger: &dyn Ledger, numbers: Range<u64>) {
    let last = numbers.end;
    let events: Vec<NewEvent> = numbers.map(|n| numbered(n, last)).collect();
    append(ledger, &events);
}

/// Appends events, many a batch.
pub(crate) fn append(ledger: &dyn Ledger, events: &[NewEvent]) {
    for part in events.chunks(MAX_BATCH_EVENTS) {
        let mut batch = Batch::new(Durability::Os);
        batch.events = part.to_vec();
        ledger.commit(batch).wait().unwrap();
    }
}

/// Any event: of a shape above, or with a payload of another form.
pub(crate) fn any() -> impl Strategy<Value = NewEvent> {
    let odd = proptest::sample::select(vec![
        json!({}),
        json!({ "principal": 7, "checks": "none", "run": [] }),
        json!({ "principal": "ann", "reason": ["x"], "verdict": {}, "frame": null }),
        json!({ "principal": "a\u{1}\"b* c", "capability": "files.\u{202e}*", "goal": "WEEKLY Report" }),
        json!(["weekly", { "deep": ["report", ["quartz"]] }]),
        json!("weekly report"),
    ]);
    (0u64..600, proptest::option::weighted(0.2, odd)).prop_map(|(n, odd)| {
        let event = numbered(n, 600);
        match odd {
            Some(payload) => NewEvent { payload: bytes(&payload).into(), ..event },
            None => event,
        }
    })
}
