//! The text that replaces an item that is too confidential.

use weaver_types::Confidentiality;

use crate::compile::ContextItem;

/// Supplies the text that replaces an item that is too confidential.
pub trait RedactionHook: Sync {
    /// The text that is shown instead. The level is the highest confidentiality of the item and its
    /// ancestors.
    fn redact(&self, item: &ContextItem, level: Confidentiality) -> String;
}

/// Replaces a text by `[REDACTED: level]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MaskRedactionHook;

impl RedactionHook for MaskRedactionHook {
    fn redact(&self, _: &ContextItem, level: Confidentiality) -> String {
        format!("[REDACTED: {}]", level_word(level))
    }
}

/// The word for a confidentiality level.
pub(super) fn level_word(level: Confidentiality) -> &'static str {
    match level {
        Confidentiality::Public => "public",
        Confidentiality::Internal => "internal",
        Confidentiality::Confidential => "confidential",
        Confidentiality::Restricted => "restricted",
    }
}
