//! Why a configuration is refused.

use weaver_policy::{Finding, LoadError, MAX_FINDINGS};

/// A refused configuration with everything that is wrong in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(findings))]
pub struct ConfigErrors {
    findings: Vec<Finding>,
}

fn list(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl ConfigErrors {
    /// In the order of file, line and column, at most [`MAX_FINDINGS`].
    pub(super) fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort();
        findings.dedup();
        findings.truncate(MAX_FINDINGS);
        Self { findings }
    }

    /// Everything that is wrong.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The stable code of the first finding.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.findings.first().map_or("config.refused", |finding| finding.code)
    }
}

impl From<LoadError> for ConfigErrors {
    fn from(error: LoadError) -> Self {
        Self::new(error.findings().to_vec())
    }
}

/// A finding about a whole file.
pub(super) fn whole(
    file: &str,
    code: &'static str,
    message: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding {
        file: file.to_owned(),
        line: None,
        column: None,
        key: None,
        code,
        message: message.into(),
        remedy: remedy.into(),
    }
}
