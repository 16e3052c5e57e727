//! Runs: the context of the calls of one task, with its budget and its safety mode.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{AgentId, IdError, RunId, hex};
use crate::random::{Random, RandomError};
use crate::time::{Clock, Timestamp};

/// How many texts of its user a run keeps.
pub const MAX_USER_TEXTS: usize = 256;
/// The longest text of a user that a run keeps, in bytes.
pub const MAX_USER_TEXT_BYTES: usize = 64 * 1024;
/// The most metadata of a run, in bytes of JSON.
pub const MAX_METADATA_BYTES: usize = 64 * 1024;

/// How careful a run is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum SafetyMode {
    /// Only the policy decides.
    #[default]
    Normal,
    /// Local reads only, no network.
    Safe,
    /// As `Safe`, and results are returned as handles only.
    Strict,
}

/// The language of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
pub enum LocaleCode {
    /// American English.
    #[default]
    #[serde(rename = "en-US")]
    EnUs,
    /// Indian English.
    #[serde(rename = "en-IN")]
    EnIn,
    /// Hindi.
    #[serde(rename = "hi-IN")]
    HiIn,
}

/// An amount of money in thousandths of a US cent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Millicents(pub u64);

impl Millicents {
    /// In cents.
    #[must_use]
    pub fn cents(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// What a run may consume. `None` means no cap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunBudget {
    /// Calls; default 20.
    pub max_tool_calls: Option<u64>,
    /// Retries of one tool; default 3.
    pub max_retries_per_tool: u8,
    /// Prompt tokens; default 4,000.
    pub max_prompt_tokens: Option<u64>,
    /// Milliseconds of execution; default 30,000.
    pub max_latency_ms: Option<u64>,
    /// Cost; default 10 US cents.
    pub max_cost: Option<Millicents>,
}

impl Default for RunBudget {
    fn default() -> Self {
        Self {
            max_tool_calls: Some(20),
            max_retries_per_tool: 3,
            max_prompt_tokens: Some(4_000),
            max_latency_ms: Some(30_000),
            max_cost: Some(Millicents(10_000)),
        }
    }
}

impl RunBudget {
    /// A budget without caps, the gateway's default.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            max_tool_calls: None,
            max_retries_per_tool: 3,
            max_prompt_tokens: None,
            max_latency_ms: None,
            max_cost: None,
        }
    }
}

/// What a run has consumed so far. Fields are in canonical order, because it is written with each
/// call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct RunMeters {
    /// Cost.
    pub cost: Millicents,
    /// Calls that were refused.
    pub denials: u64,
    /// Microseconds of execution.
    pub latency_us: u64,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Calls that were executed, failed ones included.
    pub tool_calls: u64,
}

impl RunMeters {
    /// How many calls are left; `None` without a cap.
    #[must_use]
    pub fn remaining_tool_calls(&self, budget: &RunBudget) -> Option<u64> {
        budget.max_tool_calls.map(|max| max.saturating_sub(self.tool_calls))
    }

    /// The name of the first cap that is reached.
    #[must_use]
    pub fn exceeded(&self, budget: &RunBudget) -> Option<&'static str> {
        let hit = |cap: Option<u64>, used: u64| cap.is_some_and(|cap| used >= cap);
        if hit(budget.max_tool_calls, self.tool_calls) {
            Some("max_tool_calls")
        } else if hit(budget.max_prompt_tokens, self.prompt_tokens) {
            Some("max_prompt_tokens")
        } else if hit(budget.max_latency_ms, self.latency_us / 1000) {
            Some("max_latency_ms")
        } else if hit(budget.max_cost.map(|c| c.0), self.cost.0) {
            Some("max_cost_usd_cents")
        } else {
            None
        }
    }

    /// True when any cap is reached.
    #[must_use]
    pub fn budget_exceeded(&self, budget: &RunBudget) -> bool {
        self.exceeded(budget).is_some()
    }
}

/// Why a run context cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The source of randomness failed.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// A name is malformed.
    #[error(transparent)]
    Id(#[from] IdError),
    /// `metadata.dry_run` is not a boolean.
    #[error("metadata.dry_run must be true or false")]
    DryRun,
    /// `metadata` is too long.
    #[error("metadata has {bytes} bytes of JSON, at most {MAX_METADATA_BYTES} are allowed")]
    Metadata {
        /// How many bytes it has.
        bytes: usize,
    },
}

/// The settings of a run, from a host or a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSettings {
    /// The host's session; empty by default.
    pub session_id: String,
    /// The end user's session; empty by default.
    pub user_sid: String,
    /// The goal in words; empty by default.
    pub intent: String,
    /// The language.
    pub locale: LocaleCode,
    /// How careful.
    pub safety_mode: SafetyMode,
    /// What it may use.
    pub budget: RunBudget,
    /// Arbitrary JSON of the host, at most [`MAX_METADATA_BYTES`]. It influences nothing, except
    /// that `dry_run` is read from it. Drivers receive it with each call, and the log contains it
    /// redacted.
    pub metadata: BTreeMap<String, Value>,
}

/// The context of the calls of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunContext {
    /// `run_` and 16 hexadecimal digits, or an id that the host chose.
    pub run_id: RunId,
    /// 32 hexadecimal digits for correlating spans.
    pub trace_id: String,
    /// The agent; `default` unless set.
    pub agent: AgentId,
    /// The settings.
    pub settings: RunSettings,
    /// Plan and decide only; execute nothing.
    pub dry_run: bool,
    /// When it began.
    pub started_at: Timestamp,
    started_monotonic: Duration,
    user_texts: Arc<Vec<String>>,
}

impl RunContext {
    /// A new run of the agent `default`.
    ///
    /// # Errors
    /// [`RunError`], when randomness fails or the metadata is malformed.
    pub fn create(
        settings: RunSettings,
        clock: &dyn Clock,
        random: &dyn Random,
    ) -> Result<Self, RunError> {
        let dry_run = match settings.metadata.get("dry_run") {
            None => false,
            Some(Value::Bool(dry_run)) => *dry_run,
            Some(_) => return Err(RunError::DryRun),
        };
        let bytes = serde_json::to_vec(&settings.metadata).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_METADATA_BYTES {
            return Err(RunError::Metadata { bytes });
        }
        let mut trace = [0_u8; 16];
        random.fill(&mut trace)?;
        Ok(Self {
            run_id: RunId::random(random)?,
            trace_id: hex(&trace),
            agent: AgentId::parse("default")?,
            settings,
            dry_run,
            started_at: clock.now(),
            started_monotonic: clock.monotonic(),
            user_texts: Arc::default(),
        })
    }

    /// Sets an id that the host chose.
    #[must_use]
    pub fn with_run_id(mut self, run_id: RunId) -> Self {
        self.run_id = run_id;
        self
    }

    /// Sets the agent.
    #[must_use]
    pub fn for_agent(mut self, agent: AgentId) -> Self {
        self.agent = agent;
        self
    }

    /// Records what the user said, in the user's own words. Values named there may be used in calls
    /// that leave the run, even after untrusted input; the kernel takes the text in with the next
    /// grant. False, without effect, when the text has more than [`MAX_USER_TEXT_BYTES`] or the run
    /// has [`MAX_USER_TEXTS`] texts.
    ///
    /// # Security
    /// Pass only words that a person wrote, through a channel that no model writes to. A goal, a
    /// plan or a text that the user pasted from elsewhere does not qualify.
    pub fn record_user_text(&mut self, text: impl Into<String>) -> bool {
        let text = text.into();
        if text.len() > MAX_USER_TEXT_BYTES || self.user_texts.len() >= MAX_USER_TEXTS {
            return false;
        }
        Arc::make_mut(&mut self.user_texts).push(text);
        true
    }

    /// The user's texts so far.
    #[must_use]
    pub fn user_texts(&self) -> &Arc<Vec<String>> {
        &self.user_texts
    }

    /// True in modes `Safe` and `Strict`.
    #[must_use]
    pub fn is_safe_mode(&self) -> bool {
        self.settings.safety_mode >= SafetyMode::Safe
    }

    /// Milliseconds since it began.
    #[must_use]
    pub fn elapsed_ms(&self, clock: &dyn Clock) -> f64 {
        clock.monotonic().saturating_sub(self.started_monotonic).as_secs_f64() * 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;
    use crate::time::ManualClock;
    use serde_json::json;

    #[test]
    fn defaults_are_those_of_the_kernel() {
        let clock = ManualClock::default();
        let run =
            RunContext::create(RunSettings::default(), &clock, &SeededRandom::new(1)).unwrap();
        assert_eq!((run.run_id.as_str().len(), run.trace_id.len()), (20, 32));
        assert!(run.run_id.as_str().starts_with("run_"));
        assert_eq!(run.agent.as_str(), "default");
        assert!(!run.is_safe_mode() && !run.dry_run);
        assert_eq!(RunMeters::default().remaining_tool_calls(&run.settings.budget), Some(20));
        clock.advance(Duration::from_millis(7));
        assert!((run.elapsed_ms(&clock) - 7.0).abs() < f64::EPSILON);
    }

    #[test]
    fn dry_run_is_read_from_the_metadata_and_must_be_a_boolean() {
        let clock = ManualClock::default();
        let with = |value| RunSettings {
            metadata: [("dry_run".to_owned(), value)].into(),
            ..Default::default()
        };
        assert!(
            RunContext::create(with(json!(true)), &clock, &SeededRandom::new(1)).unwrap().dry_run
        );
        assert_eq!(
            RunContext::create(with(json!("yes")), &clock, &SeededRandom::new(1)).unwrap_err(),
            RunError::DryRun
        );
    }

    #[test]
    fn metadata_is_bounded() {
        let clock = ManualClock::default();
        let with = |length: usize| RunSettings {
            metadata: [("a".to_owned(), json!("b".repeat(length)))].into(),
            ..Default::default()
        };
        let around = r#"{"a":""}"#.len();
        let random = SeededRandom::new(1);
        RunContext::create(with(MAX_METADATA_BYTES - around), &clock, &random).unwrap();
        assert_eq!(
            RunContext::create(with(MAX_METADATA_BYTES - around + 1), &clock, &random).unwrap_err(),
            RunError::Metadata { bytes: MAX_METADATA_BYTES + 1 }
        );
    }

    #[test]
    fn safe_mode_is_that_of_safe_and_of_strict() {
        for (safety_mode, wanted) in
            [(SafetyMode::Normal, false), (SafetyMode::Safe, true), (SafetyMode::Strict, true)]
        {
            let settings = RunSettings { safety_mode, ..RunSettings::default() };
            let (clock, random) = (ManualClock::default(), SeededRandom::new(1));
            let run = RunContext::create(settings, &clock, &random).unwrap();
            assert_eq!(run.is_safe_mode(), wanted, "{safety_mode:?}");
        }
    }

    #[test]
    fn any_cap_exhausts_the_budget() {
        let budget = RunBudget::default();
        assert_eq!(
            RunMeters { prompt_tokens: 4_000, ..Default::default() }.exceeded(&budget),
            Some("max_prompt_tokens")
        );
        assert_eq!(
            RunMeters { tool_calls: 20, ..Default::default() }.exceeded(&budget),
            Some("max_tool_calls")
        );
        assert_eq!(
            RunMeters { latency_us: 30_000_000, ..Default::default() }.exceeded(&budget),
            Some("max_latency_ms")
        );
        assert_eq!(
            RunMeters { cost: Millicents(10_000), ..Default::default() }.exceeded(&budget),
            Some("max_cost_usd_cents")
        );
        assert!(!RunMeters { tool_calls: 19, ..Default::default() }.budget_exceeded(&budget));
    }
}
