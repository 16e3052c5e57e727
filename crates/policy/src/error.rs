//! Errors for documents that are rejected, and for contracts that cannot be applied.

use std::fmt;

use weaver_types::{CapabilityError, Rung};

/// The maximum number of findings in one error.
pub const MAX_FINDINGS: usize = 100;

/// One problem in a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentFinding {
    /// The file, as [`DocumentSource::name`](crate::DocumentSource) gave it; `code` for a policy built in code.
    pub file: String,
    /// The line, counted from 1, if known.
    pub line: Option<usize>,
    /// The column in characters, counted from 1, if known.
    pub column: Option<usize>,
    /// The key inside the document, for example `rules[2].match.capability`.
    pub key: Option<String>,
    /// The stable code, for example `policy.unknown_key`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub remedy: String,
}

impl fmt::Display for DocumentFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}; {} [{}]", self.message, self.remedy, self.code)
    }
}

/// Documents were rejected; contains everything that is wrong in them. There is no partial load:
/// one finding rejects all three documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(findings))]
pub struct LoadError {
    findings: Vec<DocumentFinding>,
}

fn list(findings: &[DocumentFinding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl LoadError {
    /// An error with these findings, ordered by file, line and column, at most [`MAX_FINDINGS`].
    pub(crate) fn new(mut findings: Vec<DocumentFinding>) -> Self {
        findings.sort();
        findings.dedup();
        findings.truncate(MAX_FINDINGS);
        Self { findings }
    }

    /// An error with one finding about a whole file.
    pub(crate) fn for_file(file: &str, code: &'static str, message: String, remedy: &str) -> Self {
        Self::new(vec![DocumentFinding {
            file: file.to_owned(),
            line: None,
            column: None,
            key: None,
            code,
            message,
            remedy: remedy.to_owned(),
        }])
    }

    /// All findings.
    #[must_use]
    pub fn findings(&self) -> &[DocumentFinding] {
        &self.findings
    }

    /// The stable code of the first finding.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.findings.first().map_or("policy.refused", |finding| finding.code)
    }
}

/// Why the signed contract cannot be applied to a capability. The capability must then not be
/// offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The contract puts the capability on a lower rung than its effects or its host code, without
    /// setting `lower_rung`.
    #[error(
        "capability `{id}`: its contract lowers it from {from:?} to {to:?}; write \
         `lower_rung = true` in that entry of the contracts, or raise it"
    )]
    Lowers {
        /// The capability.
        id: String,
        /// The rung without the contract.
        from: Rung,
        /// The rung that the contract gives.
        to: Rung,
    },
    /// The contract declares milder effects than host code, without setting `lower_rung`.
    #[error(
        "capability `{id}`: its contract declares milder effects than its host code; write \
         `lower_rung = true` in that entry of the contracts, or declare at least the same effects"
    )]
    LowersEffects {
        /// The capability.
        id: String,
    },
    /// Host code declares a rung that only the operator may declare.
    #[error(
        "capability `{id}`: host code declares rung {rung:?}, which only the contracts may \
         declare; move it there"
    )]
    OperatorOnly {
        /// The capability.
        id: String,
        /// The rung.
        rung: Rung,
    },
    /// Several globs restrict the output fields and have none in common.
    #[error(
        "capability `{id}`: the globs that match it leave no allowed field; declare \
         `allowed_fields` under its id"
    )]
    NoFields {
        /// The capability.
        id: String,
    },
    /// The result is not a valid capability.
    #[error("the contract breaks a bound: {0}")]
    Capability(#[from] CapabilityError),
}

impl ContractError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Lowers { .. } => "policy.contract_lowers",
            Self::LowersEffects { .. } => "policy.contract_lowers_effects",
            Self::OperatorOnly { .. } => "policy.contract_operator_only",
            Self::NoFields { .. } => "policy.contract_no_fields",
            Self::Capability(_) => "policy.contract_capability",
        }
    }
}
