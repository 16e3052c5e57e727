//! How much personal data a reader may see.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_types::ValueFamily;

use super::field_names::HiddenBy;

/// How much personal data a reader may see. Secrets are never shown.
///
/// ```
/// use weaver_firewall::{Disclosure, Firewall};
///
/// let firewall = Firewall::new().with_disclosure(Disclosure::Personal);
/// let shown = firewall.redact_text("jane.roe@corp.example.com, password=hunter2");
/// assert_eq!(shown.text, "jane.roe@corp.example.com, password=[REDACTED]");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Disclosure {
    /// None: personal data is masked like secrets.
    #[default]
    Nothing,
    /// Personal data of these kinds.
    Kinds(Arc<BTreeSet<String>>),
    /// All personal data.
    Personal,
}

impl Disclosure {
    /// True if a value of this kind may be shown.
    pub(crate) fn may_show(&self, family: ValueFamily, kind: &str) -> bool {
        match self {
            Self::Nothing => false,
            _ if family == ValueFamily::Secret => false,
            Self::Kinds(kinds) => kinds.contains(kind),
            Self::Personal => true,
        }
    }

    /// True if a value may be shown although its field name would hide it.
    pub(crate) fn may_show_field(&self, hidden: HiddenBy) -> bool {
        match (self, hidden) {
            (_, HiddenBy::Secret) | (Self::Nothing, _) => false,
            (Self::Kinds(kinds), HiddenBy::Personal(kind)) => {
                kind.is_some_and(|kind| kinds.contains(kind))
            }
            (Self::Personal, HiddenBy::Personal(_)) => true,
        }
    }
}
