//! Conditions on the sensitivity of a capability.

use serde::{Deserialize, Serialize};
use weaver_types::SensitivityTag;

/// A condition on the sensitivity of a capability: a kind of sensitive data, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensitivityCondition {
    /// The capability has no sensitivity tag.
    None,
    /// The agent's memory.
    Memory,
    /// Personal data.
    Pii,
    /// Payment card data.
    Pci,
    /// Credentials and keys.
    Secrets,
}

impl SensitivityCondition {
    /// The condition that a capability with this tag meets.
    pub(crate) fn of_tag(tag: SensitivityTag) -> Self {
        match tag {
            SensitivityTag::Memory => Self::Memory,
            SensitivityTag::Pii => Self::Pii,
            SensitivityTag::Pci => Self::Pci,
            SensitivityTag::Secrets => Self::Secrets,
        }
    }
}
