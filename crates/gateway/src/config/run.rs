//! `[run]`: the limits of a run, and how its results are shown.

use std::path::Path;
use std::time::Duration;

use weaver_firewall::SessionBudget;
use weaver_policy::DocumentFinding;
use weaver_types::{LocaleCode, Millicents, RunBudget, RunSettings, SafetyMode};

use super::error::file_finding;
use super::expansion::ExpansionContext;
use super::node::Node;
use super::redaction;

pub(super) const SAFETY_MODES: [(&str, SafetyMode); 3] =
    [("NORMAL", SafetyMode::Normal), ("SAFE", SafetyMode::Safe), ("STRICT", SafetyMode::Strict)];
pub(super) const LOCALES: [(&str, LocaleCode); 3] =
    [("en-US", LocaleCode::EnUs), ("en-IN", LocaleCode::EnIn), ("hi-IN", LocaleCode::HiIn)];
#[cfg(feature = "tiktoken")]
const TOKEN_COUNTER_REMEDY: &str =
    "name the model's own: `token_counter = \"o200k_base\"`, or \"cl100k_base\", \"chars4\"";
#[cfg(not(feature = "tiktoken"))]
const TOKEN_COUNTER_REMEDY: &str = "this build has `token_counter = \"chars4\"` and \"estimate\"; the feature `tiktoken` adds the others";
/// The default number of minutes without a call after which a run ends.
const IDLE_MINUTES: u64 = 60;

/// The parsed section.
pub(super) struct RunSection {
    pub(super) settings: RunSettings,
    pub(super) idle: Duration,
    /// The token budget; present if any cap needs a token count.
    pub(super) session: Option<SessionBudget>,
    pub(super) placeholders: bool,
    pub(super) frame_tokens: Option<u32>,
    /// The texts of the operator's rule files.
    pub(super) redaction: Vec<String>,
}

/// Parses the section.
pub(super) fn read(
    file: &Path,
    section: Option<&Node>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> RunSection {
    let get = |name: &str| section?.get(name);
    let number = |name: &str| get(name)?.integer();
    let mut budget = RunBudget::unlimited();
    budget.max_tool_calls = number("max_tool_calls");
    budget.max_latency_ms = number("max_latency_ms");
    budget.max_prompt_tokens = number("max_prompt_tokens");
    budget.max_cost =
        number("max_cost_usd_cents").map(|cents| Millicents(cents.saturating_mul(1_000)));
    if let Some(retries) = number("max_retries_per_tool") {
        budget.max_retries_per_tool = u8::try_from(retries).unwrap_or(0);
    }
    let settings = RunSettings {
        safety_mode: get("safety_mode")
            .and_then(|node| node.word(&SAFETY_MODES))
            .unwrap_or_default(),
        locale: get("locale").and_then(|node| node.word(&LOCALES)).unwrap_or_default(),
        budget,
        ..RunSettings::default()
    };
    RunSection {
        settings,
        idle: Duration::from_secs(number("idle_minutes").unwrap_or(IDLE_MINUTES) * 60),
        session: read_session_budget(file, section, findings),
        placeholders: get("placeholders").and_then(Node::flag).unwrap_or(true),
        frame_tokens: number("frame_tokens").and_then(|n| u32::try_from(n).ok()),
        redaction: get("redaction_rules")
            .map(|node| redaction::read(node, context, findings))
            .unwrap_or_default(),
    }
}

/// The token budget, counted by the configured counter.
fn read_session_budget(
    file: &Path,
    section: Option<&Node>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<SessionBudget> {
    let section = section?;
    let total = section.get("session_tokens").and_then(Node::integer);
    let Some(named) = section.get("token_counter") else {
        let cap = ["session_tokens", "max_prompt_tokens"]
            .into_iter()
            .find(|cap| section.get(cap).is_some())?;
        let message = format!("`token_counter` is missing, by which `{cap}` is counted");
        findings.push(file_finding(
            &file.display().to_string(),
            "config.missing_key",
            message,
            TOKEN_COUNTER_REMEDY,
        ));
        return None;
    };
    match SessionBudget::from_counter_name(named.text()?) {
        Ok(budget) => {
            let total = total.and_then(|total| u32::try_from(total).ok());
            Some(budget.with_total(total.unwrap_or(u32::MAX)))
        }
        Err(error) => {
            findings.push(named.finding("config.word", error.to_string(), TOKEN_COUNTER_REMEDY));
            None
        }
    }
}
