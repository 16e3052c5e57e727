//! The limits, counted anew from every call that was allowed.

use toml::{Table, Value};
use weaver_types::{CheckKind, Operation, ReasonCode};

use super::capability::Effective;
use super::decision::Part;
use super::matching::applies;
use super::reading::{tables, texts, whole};
use super::request::Asked;

/// A call that was allowed.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) asked: Asked,
    pub(crate) capability: Effective,
}

/// Whether two calls are counted together.
fn together(limit: &Table, call: &Call, capability: &Effective, asked: &Asked) -> bool {
    let mut by = texts(limit, "by");
    if by.is_empty() {
        by = vec!["principal", "capability"];
    }
    by.into_iter().all(|what| match what {
        "principal" => call.asked.principal.id == asked.principal.id,
        "capability" => call.capability.id == capability.id,
        "run" => call.asked.run == asked.run,
        "agent" => call.asked.principal.agent == asked.principal.agent,
        other => panic!("no such word: {other}"),
    })
}

fn max_calls(limit: &Table, asked: &Asked) -> usize {
    let more = tables(limit.get("for_roles")).into_iter().filter(|entry| {
        texts(entry, "any").iter().any(|role| asked.principal.roles.contains(*role))
    });
    let own = whole(limit, "max_calls");
    own.into_iter().chain(more.filter_map(|entry| whole(entry, "max_calls"))).max().unwrap()
}

fn is_limited(limit: &Table, capability: &Effective, asked: &Asked) -> bool {
    let matches = limit.get("match").and_then(Value::as_table).unwrap();
    asked.operation == Operation::Invoke && applies(matches, capability, asked) != Some(false)
}

/// A denial for each limit that is used up.
pub(crate) fn parts(
    policy: &Table,
    capability: &Effective,
    asked: &Asked,
    late: &[Call],
) -> Vec<Part> {
    let mut parts = Vec::new();
    for limit in tables(policy.get("limits")) {
        if !is_limited(limit, capability, asked) {
            continue;
        }
        let window = whole::<i64>(limit, "window_s").unwrap() * 1_000_000;
        let now = asked.now.micros();
        let mut counted: Vec<i64> = late
            .iter()
            .filter(|call| call.asked.now.micros() > now - window)
            .filter(|call| is_limited(limit, &call.capability, &call.asked))
            .filter(|call| together(limit, call, capability, asked))
            .map(|call| call.asked.now.micros())
            .collect();
        counted.sort_unstable();
        let most = max_calls(limit, asked);
        if counted.len() >= most {
            let last_to_leave = counted[counted.len() - most];
            let wait = last_to_leave + window - now;
            let mut part = Part::deny(CheckKind::Limit, ReasonCode::RateLimited);
            part.wait_ms = Some(u64::try_from((wait + 999) / 1000).unwrap());
            parts.push(part);
        }
    }
    parts
}
