//! A violation of a rule, and how it is printed.

use std::fmt;

/// Whether a finding fails the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Warning,
    Error,
}

/// One violation of one rule. Sorts by position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the root of the workspace.
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    pub rule: &'static str,
    pub message: String,
    pub remedy: String,
    pub severity: Severity,
}

impl Finding {
    /// A finding that fails the run.
    pub fn error(
        rule: &'static str,
        place: (&str, usize),
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (path, line) = place;
        Self {
            path: path.to_owned(),
            line,
            rule,
            message: message.into(),
            remedy: remedy.into(),
            severity: Severity::Error,
        }
    }

    /// The same finding as a warning.
    pub fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, message, remedy, severity } = self;
        let warning = if *severity == Severity::Warning { "warning: " } else { "" };
        write!(f, "{path}:{line}: {warning}{rule}: {message}; {remedy}")
    }
}
