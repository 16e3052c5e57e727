//! The disclosure of personal data to a reader.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_types::ValueFamily;

use super::field::HiddenBy;

/// What a reader may see of personal data. A secret is never shown, whatever is said here.
///
/// ```
/// use weaver_firewall::{Disclosure, Firewall};
///
/// let firewall = Firewall::new().showing(Disclosure::Personal);
/// let shown = firewall.redact_text("jane.roe@corp.example.com, password=hunter2");
/// assert_eq!(shown.text, "jane.roe@corp.example.com, password=[REDACTED]");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Disclosure {
    /// Nothing: personal data is masked as secrets are.
    #[default]
    Nothing,
    /// Personal data of these kinds.
    Kinds(Arc<BTreeSet<String>>),
    /// All personal data.
    Personal,
}

impl Disclosure {
    /// True for a value of this kind that may be seen.
    pub(crate) fn shows(&self, family: ValueFamily, kind: &str) -> bool {
        match self {
            Self::Nothing => false,
            _ if family == ValueFamily::Secret => false,
            Self::Kinds(kinds) => kinds.contains(kind),
            Self::Personal => true,
        }
    }

    /// True for a value that may be seen although its name says what it is.
    pub(crate) fn shows_named(&self, hidden: HiddenBy) -> bool {
        match (self, hidden) {
            (_, HiddenBy::Secret) | (Self::Nothing, _) => false,
            (Self::Kinds(kinds), HiddenBy::Personal(kind)) => {
                kind.is_some_and(|kind| kinds.contains(kind))
            }
            (Self::Personal, HiddenBy::Personal(_)) => true,
        }
    }
}
