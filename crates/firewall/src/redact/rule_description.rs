//! Rules as they are listed.

use std::sync::Arc;

use weaver_types::ValueFamily;

/// The name of a rule and what it finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDescription {
    /// Its id.
    pub id: Arc<str>,
    /// The kind of value that it finds.
    pub kind: Arc<str>,
    /// Whether such a value is a secret or personal data.
    pub family: ValueFamily,
    /// Its examples: texts, and what is masked in each.
    pub masks: Vec<(String, String)>,
}
