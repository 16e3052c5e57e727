//! Why a configuration is refused.

use weaver_policy::{DocumentFinding, LoadError, MAX_FINDINGS};

/// All problems of a refused configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(findings))]
pub struct ConfigErrors {
    findings: Vec<DocumentFinding>,
}

fn list(findings: &[DocumentFinding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl ConfigErrors {
    /// Findings in the order of file, line and column, at most [`MAX_FINDINGS`].
    pub(crate) fn new(mut findings: Vec<DocumentFinding>) -> Self {
        findings.sort();
        findings.dedup();
        findings.truncate(MAX_FINDINGS);
        Self { findings }
    }

    /// All findings.
    #[must_use]
    pub fn findings(&self) -> &[DocumentFinding] {
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

/// A finding about a file as a whole.
pub(crate) fn file_finding(
    file: &str,
    code: &'static str,
    message: impl Into<String>,
    remedy: impl Into<String>,
) -> DocumentFinding {
    DocumentFinding {
        file: file.to_owned(),
        line: None,
        column: None,
        key: None,
        code,
        message: message.into(),
        remedy: remedy.into(),
    }
}
