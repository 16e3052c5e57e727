//! Labels of information-flow control: how confidential data is and how far it can be trusted.

mod taints;

use serde::{Deserialize, Serialize};

use crate::id::CallId;

pub use taints::Taints;

/// How many tainting calls a label names; the most recent ones are kept.
pub const MAX_TAINTS: usize = 16;

/// How confidential data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidentiality {
    /// Anyone may see it.
    Public,
    /// For the people and agents of this run.
    Internal,
    /// For those who need it.
    Confidential,
    /// Secrets.
    Restricted,
}

/// Whether data may influence decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    /// Its source may influence decisions.
    Trusted,
    /// Somebody else may have written it.
    Untrusted,
}

/// Confidentiality and integrity of a piece of data, with the calls that tainted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// How confidential.
    pub confidentiality: Confidentiality,
    /// How trustworthy.
    pub integrity: Integrity,
    /// The calls whose output made it untrusted: the last [`MAX_TAINTS`], lowest ids first.
    #[serde(default, skip_serializing_if = "Taints::is_empty")]
    pub taints: Taints,
}

impl Label {
    /// The label of a run without input: public and trusted, the neutral element of
    /// [`Label::join`].
    #[must_use]
    pub fn clean() -> Self {
        Self::new(Confidentiality::Public, Integrity::Trusted)
    }

    /// The label of output without a declaration: internal and untrusted.
    #[must_use]
    pub fn undeclared_output() -> Self {
        Self::new(Confidentiality::Internal, Integrity::Untrusted)
    }

    /// A label without taints.
    #[must_use]
    pub fn new(confidentiality: Confidentiality, integrity: Integrity) -> Self {
        Self { confidentiality, integrity, taints: Taints::none() }
    }

    /// The least upper bound: the stricter of both components, and the taints of both up to the
    /// limit.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.confidentiality = self.confidentiality.max(other.confidentiality);
        self.integrity = self.integrity.max(other.integrity);
        self.taints.join(&other.taints);
        self
    }

    /// Adds `call` as a source of distrust if the label is untrusted.
    #[must_use]
    pub fn tainted_by(mut self, call: &CallId) -> Self {
        if self.integrity == Integrity::Untrusted {
            self.taints.add(call);
        }
        self
    }
}

/// A kind of sensitive data that a capability's output may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensitivityTag {
    /// The agent's memory.
    Memory,
    /// Personal data.
    Pii,
    /// Payment card data.
    Pci,
    /// Credentials and keys.
    Secrets,
}

impl SensitivityTag {
    /// The confidentiality of stored, unredacted data with this tag.
    #[must_use]
    pub fn stored_confidentiality(self) -> Confidentiality {
        match self {
            Self::Memory => Confidentiality::Internal,
            Self::Pii | Self::Pci => Confidentiality::Confidential,
            Self::Secrets => Confidentiality::Restricted,
        }
    }

    /// The confidentiality of a redacted frame made from data with this tag.
    #[must_use]
    pub fn framed_confidentiality(self) -> Confidentiality {
        match self {
            Self::Memory | Self::Pii | Self::Pci => Confidentiality::Internal,
            Self::Secrets => Confidentiality::Restricted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_only_tightens_and_bounds_its_taints() {
        let mut label = Label::clean();
        for n in 0..100 {
            let call = CallId::parse(format!("call_{n:03}")).unwrap();
            label = label.join(&Label::undeclared_output().tainted_by(&call));
        }
        assert_eq!(label.integrity, Integrity::Untrusted);
        assert_eq!(label.confidentiality, Confidentiality::Internal);
        assert_eq!(label.taints.len(), MAX_TAINTS);
    }

    #[test]
    fn a_trusted_label_takes_no_taint() {
        let call = CallId::parse("c").unwrap();
        assert!(Label::clean().tainted_by(&call).taints.is_empty());
    }
}
