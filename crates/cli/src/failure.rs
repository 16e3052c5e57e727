//! A command that failed, as its user sees it: what is wrong, where, and the next step.

use std::fmt;
use std::io;

use serde_json::{Value, json};
use weaver_gateway::config::ConfigErrors;
use weaver_gateway::secret::SecretError;
use weaver_policy::{DocumentFinding, LoadError};
use weaver_types::ledger::LedgerError;

use super::exit::Exit;

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) next: Option<String>,
    pub(crate) findings: Vec<DocumentFinding>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &'static str, message: impl fmt::Display) -> Self {
        Self { exit, code, message: message.to_string(), next: None, findings: Vec::new() }
    }

    /// Adds the next step for the user.
    pub(crate) fn with_next_step(mut self, step: impl Into<String>) -> Self {
        self.next = Some(step.into());
        self
    }

    /// The failure of a command whose output nobody reads any more.
    pub(crate) fn output_closed() -> Self {
        Self::new(Exit::Ok, OUTPUT_CLOSED, "the output was closed")
    }

    /// A failure with the findings of a configuration or a set of documents.
    pub(crate) fn findings(code: &'static str, findings: &[DocumentFinding]) -> Self {
        let message = match findings.len() {
            1 => "1 finding".to_owned(),
            many => format!("{many} findings"),
        };
        let failure = Self::new(Exit::Invalid, code, message);
        Self { findings: findings.to_vec(), ..failure }
    }

    /// A ledger at this path that cannot be used.
    pub(crate) fn store(path: &std::path::Path, error: &LedgerError) -> Self {
        let failure = Self::new(Exit::Store, error.code(), format!("{}: {error}", path.display()));
        match error {
            LedgerError::Locked { .. } => failure,
            _ => failure
                .with_next_step("check the path; restore the ledger from a copy if it is damaged"),
        }
    }

    /// The failure as plain text, for a reader without a terminal.
    pub(crate) fn plain_text(&self) -> String {
        let findings = self.findings.iter().map(|finding| {
            let place = finding.line.map_or_else(String::new, |line| format!(":{line}"));
            format!("{}{place}: {}; {}", finding.file, finding.message, finding.remedy)
        });
        let mut parts: Vec<String> = findings.collect();
        if parts.is_empty() {
            parts.push(self.message.clone());
        }
        parts.extend(self.next.clone());
        parts.join(". ")
    }

    /// The failure as JSON, for scripts.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "ok": false,
            "exit": self.exit.code(),
            "code": self.code,
            "message": self.message,
            "next": self.next,
            "findings": self.findings.iter().map(finding_json).collect::<Vec<_>>(),
        })
    }
}

/// A finding as JSON.
pub(crate) fn finding_json(finding: &DocumentFinding) -> Value {
    json!({
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "key": finding.key,
        "code": finding.code,
        "message": finding.message,
        "remedy": finding.remedy,
    })
}

impl From<ConfigErrors> for Failure {
    fn from(error: ConfigErrors) -> Self {
        Self::findings(error.code(), error.findings())
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::findings(error.code(), error.findings())
    }
}

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Self {
        let exit = match &error {
            error if error.is_passphrase() => Exit::Passphrase,
            SecretError::Random(_) | SecretError::Canonical(_) => Exit::Internal,
            _ => Exit::Invalid,
        };
        Self::new(exit, error.code(), &error)
    }
}

/// Output that cannot be written. A closed pipe is not a failure of a command that only prints: see
/// `main`.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::output_closed(),
            _ => {
                Self::new(Exit::Internal, "cli.output", format!("cannot write the output: {error}"))
            }
        }
    }
}

/// The code of the failure to write after the reader closed the output.
pub(crate) const OUTPUT_CLOSED: &str = "cli.closed";
