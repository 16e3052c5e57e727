//! Why a client's file cannot be read or changed.

use std::path::Path;

use weaver_policy::DocumentFinding;

use crate::config::file_finding;

/// Why a client's file cannot be read or changed: location, cause and remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{finding}")]
pub struct ClientFileError {
    finding: Box<DocumentFinding>,
}

impl ClientFileError {
    pub(crate) fn new(
        file: &Path,
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let finding = file_finding(&file.display().to_string(), code, message, remedy);
        Self { finding: Box::new(finding) }
    }

    /// Adds the line and column of an offset in `text`.
    pub(super) fn with_location(mut self, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        self.finding.line = Some(line);
        self.finding.column = Some(column);
        self
    }

    pub(super) fn with_key(mut self, key: impl Into<String>) -> Self {
        self.finding.key = Some(key.into());
        self
    }

    /// The error as a finding, the form used for all file problems.
    #[must_use]
    pub fn finding(&self) -> &DocumentFinding {
        &self.finding
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.finding.code
    }
}

/// A text that cannot be parsed or edited, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxFault {
    /// The byte offset in the text.
    pub(super) offset: usize,
    pub(super) message: String,
}
