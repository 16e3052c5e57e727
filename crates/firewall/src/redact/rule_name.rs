//! The rules as they are listed.

use std::sync::Arc;

use weaver_types::ValueFamily;

/// What a rule is called and what it finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleName {
    /// Its name.
    pub id: Arc<str>,
    /// The kind of value that it finds.
    pub kind: Arc<str>,
    /// Whether such a value is a secret or personal data.
    pub family: ValueFamily,
    /// Its examples: texts, and what of each is masked.
    pub masks: Vec<(String, String)>,
}
