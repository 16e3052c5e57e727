//! The confinement that the kernel enforces.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Protection;
use super::protection::join_names;

/// What the kernel enforces for a child, as its launcher reported it before the start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnforcedConfinement {
    /// The kernel's Landlock version; 0 if it has none.
    pub landlock: u32,
    /// The protections in force, possibly more than required.
    pub protections: BTreeSet<Protection>,
    /// The required protections that are not in force. Empty unless best effort was chosen.
    pub lacking: BTreeSet<Protection>,
}

impl EnforcedConfinement {
    /// True if everything required is in force.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lacking.is_empty()
    }

    /// As fields of an event.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "landlock": self.landlock,
            "protections": self.protections,
            "lacking": self.lacking,
        })
    }
}

impl fmt::Display for EnforcedConfinement {
    /// One line for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            0 => f.write_str("no landlock")?,
            version => write!(f, "landlock {version}")?,
        }
        write!(f, "; enforced: {}", join_names(&self.protections))?;
        if !self.lacking.is_empty() {
            write!(f, "; lacking: {}", join_names(&self.lacking))?;
        }
        Ok(())
    }
}
