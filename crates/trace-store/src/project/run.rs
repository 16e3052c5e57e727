//! Run records, as the SecondBrain kernel keeps them.

use std::collections::BTreeMap;

use serde::Serialize;
use weaver_types::EventKind;

use crate::query::{Facts, Filter, Lookup, QueryError, each};
use crate::verify::Source;

/// The most runs of one answer; the rest is left out and said so by [`runs`].
pub const MAX_RUNS: usize = 10_000;

/// One run: who, under what, and what it used up.
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
    /// When it was ended; a run of which nothing more is heard has no end.
    pub ended_at: Option<String>,
    /// The time of its latest event.
    pub last_at: Option<String>,
    /// Events.
    pub events: u64,
    /// Calls that were begun.
    pub tool_calls: u64,
    /// Calls that were refused.
    pub denials: u64,
    /// Repeated attempts.
    pub retries: u64,
    /// Microseconds of execution.
    pub latency_us: u64,
    /// Tokens of what was shown.
    pub prompt_tokens: u64,
}

impl RunRecord {
    fn add(&mut self, facts: &Facts) {
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

/// The runs that the events of a filter belong to, by id, counted over these events; true when
/// there were more than [`MAX_RUNS`].
///
/// # Errors
/// [`QueryError`], when the log cannot be read.
pub fn runs(
    source: &dyn Source,
    lookup: Option<&dyn Lookup>,
    filter: &Filter,
) -> Result<(Vec<RunRecord>, bool), QueryError> {
    let mut runs: BTreeMap<String, RunRecord> = BTreeMap::new();
    let mut more = false;
    each(source, lookup, filter, |facts| {
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
