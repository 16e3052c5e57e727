//! How long questions about 10,000 rows take: a filter, three fields, a page far in.
//!
//! `cargo run --release -p weaver-firewall --example expand_figures [FILE]`, where FILE holds a JSON
//! list of objects with the field `status`; without one, rows are made up. Times are medians of the
//! wall clock.

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weaver_firewall::handle::OpenResult;
use weaver_firewall::{Firewall, FrameBudget, FrameSpec, HandleQuery};
use weaver_types::{
    AllowedAgents, CallId, CapabilityDraft, CapabilityId, Constraints, Effects, Frame, Label,
    RawResult, ResponseMode, Timestamp,
};

const STATUS: [&str; 4] = ["paid", "unpaid", "draft", "void"];
const ROUNDS: usize = 41;

fn main() -> Result<(), Box<dyn Error>> {
    let value = match std::env::args().nth(1) {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        None => made_up(),
    };
    let first = value.get(0).and_then(Value::as_object).ok_or("the file holds no rows")?;
    let fields: Vec<String> = first.keys().take(3).cloned().collect();
    let wanted = first.get("status").cloned().unwrap_or_else(|| json!("unpaid"));
    let query =
        json!({"filter": {"status": wanted}, "fields": fields, "offset": 1_000, "limit": 50});
    let query = HandleQuery::parse(&query)?;
    let bytes = value.to_string().len() as u64;
    let raw = RawResult::json(value);

    let firewall = Firewall::new();
    let id = CapabilityId::parse("db.rows")?;
    let draft = CapabilityDraft {
        description: "Rows.".to_owned(),
        ..CapabilityDraft::new(id, "rows", Effects::READ_LOCAL, AllowedAgents::Any)
    };
    let (capability, call) = (draft.build()?, CallId::parse("call_1")?);
    let constraints = Constraints::default();
    let spec = FrameSpec {
        call: &call,
        capability: &capability,
        mode: ResponseMode::Table,
        budget: FrameBudget { max_chars: 20_000, ..FrameBudget::default() },
        constraints: &constraints,
        pii_reader: false,
        handle: None,
        label: Label::undeclared_output(),
        now: Timestamp::from_micros(1_767_323_045_000_006),
        strict: false,
        goal: None,
    };
    let opened = OpenResult::new(raw.clone(), bytes, None);
    let mut out = std::io::stdout().lock();
    let once = || firewall.expand(&raw, &query, &spec);
    writeln!(out, "rows of the page: {}", once()?.table.len())?;
    writeln!(out, "asked once:       {:?}", median(&|| once().ok()))?;
    writeln!(
        out,
        "first question:   {:?}",
        timed(&|| firewall.expand_open(&opened, &query, &spec).ok())
    )?;
    writeln!(
        out,
        "the next ones:    {:?}",
        median(&|| firewall.expand_open(&opened, &query, &spec).ok())
    )?;
    let sort = HandleQuery::parse(&json!({"sort": ["-status"], "limit": 50, "fields": fields}))?;
    writeln!(
        out,
        "sorted:           {:?}",
        median(&|| firewall.expand_open(&opened, &sort, &spec).ok())
    )?;
    Ok(())
}

fn timed(run: &dyn Fn() -> Option<Frame>) -> Duration {
    let start = Instant::now();
    let frame = run();
    let spent = start.elapsed();
    drop(frame);
    spent
}

fn median(run: &dyn Fn() -> Option<Frame>) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| timed(run)).collect();
    times.sort_unstable();
    times.get(ROUNDS / 2).copied().unwrap_or_default()
}

fn made_up() -> Value {
    let mut seed = 1_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut row = |n: u64| {
        let status = STATUS.get(usize::try_from(next() % 4).unwrap_or(0));
        json!({
            "id": n,
            "name": format!("Customer {}", next() % 100_000),
            "status": status,
            "amount": (next() % 100_000) as f64 / 100.0,
            "region": if next() % 2 == 0 { "eu" } else { "us" },
            "active": next() % 2 == 0,
            "note": format!("ordered {} pieces by phone", next() % 90),
        })
    };
    (0..10_000).map(&mut row).collect()
}
