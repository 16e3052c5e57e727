//! Run records, in the form of the SecondBrain kernel.

use std::collections::BTreeMap;

use serde::Serialize;
use weaver_types::EventKind;

use crate::query::{CandidateLookup, EventFacts, EventFilter, QueryError, for_each_event};
use crate::verify::LogSource;

/// The most runs of one answer; [`runs`] reports whether there are more.
pub const MAX_RUNS: usize = 10_000;

/// A run: its principal, its settings, and what it consumed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RunRecord {
    /// The run.
    pub run_id: String,
    /// Its trace, 32 hexadecimal digits.
    pub trace_id: Option<String>,
    /// Who.
    pub principal: Option<String>,
    /// Through which agent.
    pub agent_id: Option<String>,
    /// In which session of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// In which session of the end user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_sid: Option<String>,
    /// What for, as the host or agent says.
    pub intent: Option<String>,
    /// The safety mode.
    pub safety_mode: Option<String>,
    /// When it began, RFC 3339.
    pub started_at: Option<String>,
    /// When it was finished; absent for a run that was abandoned.
    pub ended_at: Option<String>,
    /// The time of its latest event.
    pub last_at: Option<String>,
    /// Events.
    pub events: u64,
    /// Calls that were begun.
    pub tool_calls: u64,
    /// Calls that were refused.
    pub denials: u64,
    /// Retries.
    pub retries: u64,
    /// Microseconds of execution.
    pub latency_us: u64,
    /// Tokens of what was shown.
    pub prompt_tokens: u64,
}

impl RunRecord {
    fn add(&mut self, facts: &EventFacts) {
        let at = facts.at().map(|at| at.rfc3339());
        let text = |path: &[&str]| facts.text(path).map(str::to_owned);
        self.events += 1;
        self.last_at.clone_from(&at);
        match facts.kind() {
            Some(EventKind::RunStarted) => {
                self.started_at = at;
                self.principal = text(&["principal"]);
                self.agent_id = text(&["run_agent"]);
                self.session_id = text(&["session_id"]);
                self.user_sid = text(&["user_sid"]);
                self.intent = text(&["intent"]);
                self.safety_mode = text(&["safety_mode"]);
                self.trace_id = text(&["trace_id"]);
            }
            Some(EventKind::RunFinished) => self.ended_at = at,
            _ => {
                let charged = |name| facts.number(&["run", name]).unwrap_or_default();
                let retries = facts.number(&["retries"]).unwrap_or_default();
                for (own, more) in [
                    (&mut self.tool_calls, charged("tool_calls")),
                    (&mut self.denials, charged("denials")),
                    (&mut self.latency_us, charged("latency_us")),
                    (&mut self.prompt_tokens, charged("prompt_tokens")),
                    (&mut self.retries, retries),
                ] {
                    *own = own.saturating_add(more);
                }
            }
        }
    }
}

/// The runs of the events that match a filter, by id, with totals over these events. The flag is
/// true when there are more than [`MAX_RUNS`].
///
/// # Errors
/// [`QueryError`], when the log cannot be read.
pub fn runs(
    source: &dyn LogSource,
    lookup: Option<&dyn CandidateLookup>,
    filter: &EventFilter,
) -> Result<(Vec<RunRecord>, bool), QueryError> {
    let mut runs: BTreeMap<String, RunRecord> = BTreeMap::new();
    let mut more = false;
    for_each_event(source, lookup, filter, |facts| {
        let Some(run) = facts.run() else { return Ok(()) };
        if let Some(record) = runs.get_mut(run) {
            record.add(&facts);
        } else if runs.len() < MAX_RUNS {
            let mut record = RunRecord { run_id: run.to_owned(), ..RunRecord::default() };
            record.add(&facts);
            runs.insert(run.to_owned(), record);
        } else {
            more = true;
        }
        Ok::<_, QueryError>(())
    })?;
    Ok((runs.into_values().collect(), more))
}
