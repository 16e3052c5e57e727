//! Why a client's file cannot be read or changed.

use std::path::Path;

use weaver_policy::Finding;

/// A client's file that cannot be read or changed: where, why, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{finding}")]
pub struct ClientFileError {
    finding: Box<Finding>,
}

impl ClientFileError {
    pub(crate) fn new(
        file: &Path,
        code: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let finding = Finding {
            file: file.display().to_string(),
            line: None,
            column: None,
            key: None,
            code,
            message: message.into(),
            remedy: remedy.into(),
        };
        Self { finding: Box::new(finding) }
    }

    /// The same with the place of the fault in this text.
    pub(super) fn at(mut self, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        self.finding.line = Some(line);
        self.finding.column = Some(column);
        self
    }

    pub(super) fn key(mut self, key: impl Into<String>) -> Self {
        self.finding.key = Some(key.into());
        self
    }

    /// What is wrong, in the form in which everything that is wrong in a file is told.
    #[must_use]
    pub fn finding(&self) -> &Finding {
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
    /// In bytes from the start of the text.
    pub(super) offset: usize,
    pub(super) message: String,
}
