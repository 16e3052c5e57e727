//! What a run has written since one of its calls was held, and where it has moved a session: it may have
//! changed what the arguments of that call name, so whoever agrees has to see it.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_agent_kernel::{OpenApproval, RunState};
use weaver_types::EventKind;
use weaver_types::ledger::{Namespace, RecordKey};

use super::approval_store::ApprovalStore;
use super::terminal_text;
use crate::Failure;

/// The most calls that are listed.
const MAX_LISTED: usize = 12;
/// The most events that are searched for them, from the end of the log.
const MAX_EVENTS: u64 = 50_000;
/// The longest arguments in a line, in characters.
const MAX_ARGUMENTS_CHARS: usize = 400;
/// The longest name of a tool, in characters.
const MAX_NAME_CHARS: usize = 120;

/// The calls that a run has made since one of its calls was held, that write, and that nobody was
/// asked about.
pub(super) struct WritesSince {
    /// How many such calls the run has made in all, before and since.
    pub(super) total: u64,
    /// How many of them since.
    since: u64,
    /// The last of them, in the order of the log.
    listed: Vec<String>,
}

impl WritesSince {
    pub(super) fn of(store: &ApprovalStore, open: &OpenApproval) -> Result<Self, Failure> {
        let request = &open.request;
        let key = RecordKey::new(request.tenant.clone(), Namespace::Run, request.run.as_str());
        let state = store.record(&key)?;
        let state = state.and_then(|record| serde_json::from_slice::<RunState>(&record.value).ok());
        let total = state.map_or(request.unreviewed_writes, |state| state.unreviewed_writes);
        let since = total.saturating_sub(request.unreviewed_writes);
        let mut listed = Vec::new();
        let mut calls = BTreeSet::new();
        if since > 0 {
            let from = store.log_size()?.saturating_sub(MAX_EVENTS);
            store.for_each_event(from, |header, payload| {
                let is_write = payload.pointer("/run/unreviewed_writes").is_some();
                if header.kind == EventKind::Intent
                    && header.run.as_ref() == Some(&request.run)
                    && header.at >= request.opened_at
                    && is_write
                    && calls.insert(header.call.clone())
                {
                    listed.push(call_text(payload));
                }
            })?;
        }
        let first = listed.len().saturating_sub(MAX_LISTED);
        Ok(Self { total, since, listed: listed.split_off(first) })
    }

    /// One line for each, with a heading; empty where nothing was written.
    pub(super) fn text(&self) -> String {
        if self.since == 0 {
            return String::new();
        }
        let mut out =
            "since then  the agent has also made these calls, which nobody was asked about:\n"
                .to_owned();
        for call in &self.listed {
            out.push_str(&format!("            {call}\n"));
        }
        let listed = u64::try_from(self.listed.len()).unwrap_or(u64::MAX);
        match self.since.saturating_sub(listed) {
            0 => {}
            more => out.push_str(&format!(
                "            and {more} more: `weaver trace list event:call.intent`\n"
            )),
        }
        out
    }
}

/// A call with its arguments, as the log has them.
fn call_text(payload: &Value) -> String {
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (capability, arguments) = (text("/capability"), text("/arguments/text"));
    format!(
        "{}  {}",
        terminal_text::escape_line(capability, MAX_NAME_CHARS),
        terminal_text::escape_line(arguments, MAX_ARGUMENTS_CHARS)
    )
}
