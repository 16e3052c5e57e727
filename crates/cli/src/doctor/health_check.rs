//! The result of one check.

use serde::Serialize;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Health {
    Good,
    /// It works, but may soon fail.
    Notable,
    /// It does not work.
    Bad,
}

/// What was checked, and the finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct HealthCheck {
    pub(super) subject: String,
    pub(super) health: Health,
    pub(super) finding: String,
    /// What to do about the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

impl HealthCheck {
    pub(super) fn good(subject: &str, finding: impl Into<String>) -> Self {
        Self::new(subject, Health::Good, finding)
    }

    pub(super) fn notable(subject: &str, finding: impl Into<String>, next: &str) -> Self {
        Self { next: Some(next.to_owned()), ..Self::new(subject, Health::Notable, finding) }
    }

    pub(super) fn bad(subject: &str, finding: impl Into<String>, next: &str) -> Self {
        Self { next: Some(next.to_owned()), ..Self::new(subject, Health::Bad, finding) }
    }

    fn new(subject: &str, health: Health, finding: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), health, finding: finding.into(), next: None }
    }
}
