//! The confinement that the kernel really enforces.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use super::Protection;
use super::protection::listed;

/// What the kernel really keeps from a child, as the launcher found it before the child's start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnforcedConfinement {
    /// The version of the kernel's Landlock; 0 where there is none.
    pub landlock: u32,
    /// What is in force. It may be more than was asked.
    pub protections: BTreeSet<Protection>,
    /// What was asked and is not in force. Empty unless best effort was asked.
    pub lacking: BTreeSet<Protection>,
}

impl EnforcedConfinement {
    /// True when all that was asked is in force.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lacking.is_empty()
    }

    /// The fields of an event.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let names = |all: &BTreeSet<Protection>| -> Vec<&str> {
            all.iter().map(|one| one.code()).collect()
        };
        json!({
            "landlock": self.landlock,
            "protections": names(&self.protections),
            "lacking": names(&self.lacking),
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
        write!(f, "; enforced: {}", listed(&self.protections))?;
        if !self.lacking.is_empty() {
            write!(f, "; lacking: {}", listed(&self.lacking))?;
        }
        Ok(())
    }
}
