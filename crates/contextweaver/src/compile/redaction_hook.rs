//! The text that replaces an item that is too confidential.

use weaver_types::Confidentiality;

use crate::compile::ContextItem;

/// Says what stands in place of an item that is too confidential.
pub trait RedactionHook: Sync {
    /// The text that is shown. The level is that of the item or of what it hangs on, whichever is
    /// stricter.
    fn redact(&self, item: &ContextItem, level: Confidentiality) -> String;
}

/// `[REDACTED: level]`, and nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct MaskRedactionHook;

impl RedactionHook for MaskRedactionHook {
    fn redact(&self, _: &ContextItem, level: Confidentiality) -> String {
        format!("[REDACTED: {}]", level_word(level))
    }
}

/// The word for a level.
pub(super) fn level_word(level: Confidentiality) -> &'static str {
    match level {
        Confidentiality::Public => "public",
        Confidentiality::Internal => "internal",
        Confidentiality::Confidential => "confidential",
        Confidentiality::Restricted => "restricted",
    }
}
